"""Writes of variables in a region: bad indices stay bad, and nothing is written where somebody still reads the old value.

Nor is anything handed out that lies in the memory of a variable though it was computed.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from headrace.runtime.compiler.torch_door.lowering import own
from headrace.runtime.compiler.torch_door.node import base, is_view, node_arguments, op_name, writes

aten = torch.ops.aten
WRITE_ROWS: Final = ("index_put", "index_copy", "index_add", "scatter")  # in the names of ops


def settle_writes(module: Any) -> None:
    """Gives memory of its own to whatever torch's compiler would mix up with a variable, in a graph without writes."""
    write_rows_of_copies(module)
    copy_what_is_moved(module)
    own_results(module)


def write_rows_of_copies(module: Any) -> None:
    """Has rows of an input written in a copy of it, if the outcome is read and the input is written again after that.

    Torch's compiler would write them into the input itself.  It forgets that what reads the outcome, or returns it, must be done
    before the input gets its last value.
    """
    graph = module.graph
    last = {n.args[0]: base(n.args[1]) for n in graph.nodes if n.target is aten.copy_.default}
    for node in list(graph.nodes):
        if _writes_rows(node) and last.get(_written(node), node) is not node and not _is_only_written(node):
            with graph.inserting_before(node):
                node.update_arg(0, own(graph, node.args[0]))


def copy_what_is_moved(module: Any) -> None:
    """Has what is computed from one input alone and becomes the value of another kept in a copy, if the first is written too.

    Torch's compiler may find that nothing is computed at all (a copy, a type there and back).  It writes the inputs one after the
    other, and would find the new value of the first there.  An input whose numbers only change places is such another: they would
    be read where some are new already.
    """
    graph = module.graph
    last = [n for n in graph.nodes if n.target is aten.copy_.default]
    written = {n.args[0] for n in last}
    for node in last:
        moved = _only_source(node.args[1])
        if moved in written and (moved is not node.args[0] or _is_rearranged(node.args[1])):
            with graph.inserting_before(last[0]):
                node.update_arg(1, own(graph, node.args[1]))


def own_results(module: Any) -> None:
    """Has what is computed from one input alone and returned lie in memory of its own.

    Torch's compiler may find that nothing is computed at all (``x * 1``), and would return the input, which may be a variable
    that is written before the result is read.
    """
    graph = module.graph
    output = graph.output_node()
    owned = {}
    for node in dict.fromkeys(output.all_input_nodes):
        if base(node).op != "placeholder" and _only_source(node).op == "placeholder":
            with graph.inserting_after(node):
                owned[node] = own(graph, node)
    if owned:
        output.args = torch.fx.node.map_arg(output.args, lambda n: owned.get(n, n))
        module.recompile()


def _is_rearranged(node: Any) -> bool:
    """Whether the numbers of an input are handed on as they are, in other places perhaps."""
    while is_view(node) or node.target in (aten.copy.default, aten.clone.default):
        node = node.args[1 if node.target is aten.copy.default else 0]
    return bool(node.op == "placeholder")


def _only_source(node: Any) -> Any:
    """The input of which alone this is computed; else some other node on the way."""
    while True:
        sources = node.args[1:2] if node.target is aten.copy.default else node_arguments(node)
        sources = [n for n in dict.fromkeys(sources) if n.target is not aten.full.default]
        if len(sources) != 1:
            return node
        node = sources[0]


def writes_rows_and_more(module: Any) -> bool:
    """Whether a graph that writes inputs in place writes rows of one, and then writes it again: see ``write_rows_of_copies``."""
    seen: dict[Any, list[Any]] = {}
    for node in module.graph.nodes:
        if writes(node):
            written = node
            while writes(written) or is_view(written):
                written = written.args[0]
            seen.setdefault(written, []).append(node)
    return any(any(map(_writes_rows, writes[:-1])) for writes in seen.values())


def _is_only_written(node: Any) -> bool:
    """Whether all that happens with a value is that rows of it are written, once."""
    if len(node.users) != 1:
        return False
    user = next(iter(node.users))
    return _is_only_written(user) if is_view(user) else _is_written(user, node)


def _is_written(user: Any, node: Any) -> bool:
    """Whether rows of the node's value are written by its user, which does not read it otherwise."""
    return _writes_rows(user) and user.args[0] is node and node_arguments(user).count(node) == 1


def _writes_rows(node: Any) -> bool:
    return any(word in op_name(node) for word in WRITE_ROWS)


def _written(node: Any) -> Any:
    """The value whose rows are written, perhaps more than once."""
    while _writes_rows(node):
        node = base(node.args[0])
    return node
