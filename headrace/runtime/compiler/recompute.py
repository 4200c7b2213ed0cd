"""Cheap values are made again where gradients need them, and not kept until then.

A step is widest between its loss and its gradients: what these need of the way to the loss is all there.  Much of that is cheap
to make from something else that is kept: a GELU's tanh and its other parts from the GELU's argument.  A kernel that reads the
argument makes all of them on its way, for less than writing them out and reading them back would take.

Which values are kept is a minimum cut: of all sets of values from which the others can be made, the one with the fewest bytes.
What a library call reads is kept, since it would have to be written out a second time.
"""

from __future__ import annotations

import importlib
import math
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import torch

from headrace.runtime.compiler.torch_door.node import base, is_cheap, is_symbolic, is_view, node_arguments

aten = torch.ops.aten
SUMS: Final = (
    aten.sum.dim_IntList, aten.sum.default, aten.mean.dim, aten.mean.default, aten.amax.default, aten.amin.default,
    aten.var.correction, aten.var_mean.correction, aten.prod.dim_int, aten.any.dim, aten.any.default,
)  # fmt: skip
LONGEST: Final = 10  # ops in a row that are made again; more would take longer than to read what they made
MOST: Final = 4 * LONGEST  # ops in all for one value
AGAIN: Final = "headrace_again"  # in the meta of a node that makes its value a second time
NUMBER: Final = 8  # bytes that do not count
IN_MEMORY, BESIDE = 10, 11  # the weight of a byte that is written anyway, and of one that is written only to be kept


def recompute(module: Any) -> int:
    """Has cheap values that are kept past the widest place of a traced region made again after it.  Returns how many."""
    nodes = list(module.graph.nodes)
    if any(is_symbolic(n) for n in nodes):
        return 0
    place = {n: i for i, n in enumerate(nodes)}
    widest = _widest(nodes, place)
    late = widest + 1 + LONGEST  # what is read before that is on its way, not kept
    again = _made_again(nodes[: widest + 1], place, late)
    copies: dict[Any, Any] = {}
    for user in nodes[late:]:
        if user.target is aten.copy_.default:  # variables are new from here on, and what is written is kept
            break
        if any(a in again for a in node_arguments(user)):
            with module.graph.inserting_before(user):
                found = {a: _copy(module.graph, a, again, copies) for a in node_arguments(user) if a in again}
            for old, new in found.items():
                user.replace_input_with(old, new)
    if copies:
        module.graph.eliminate_dead_code()
        module.recompile()
    return len(copies)


def _copy(graph: Any, node: Any, again: set[Any], copies: dict[Any, Any]) -> Any:
    """The node's value, made where the graph inserts now, unless it was made before."""
    if node not in again:
        return node
    if node not in copies:
        arguments = {a: _copy(graph, a, again, copies) for a in node_arguments(node)}
        copies[node] = graph.node_copy(node, arguments.__getitem__)
        copies[node].meta[AGAIN] = True
    return copies[node]


def _widest(nodes: Sequence[Any], place: dict[Any, int]) -> int:
    """After which node the values that are needed later take the most bytes."""
    ends: dict[Any, int] = {}
    for node in nodes:
        of = base(node)
        ends[of] = max(ends.get(of, 0), *(place[u] for u in node.users), 0)
    change = [0] * (len(nodes) + 1)
    for node, end in ends.items():
        if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor):
            change[place[node]] += _bytes(node)
            change[end] -= _bytes(node)
    alive, most, widest = 0, 0, 0
    for i, by in enumerate(change):
        alive += by
        if alive > most:
            most, widest = alive, i
    return widest


def _made_again(before: Sequence[Any], place: dict[Any, int], late: int) -> set[Any]:
    """The nodes, of those up to the widest place, that are made again for what comes late."""
    made = [n for n in before if n.op == "call_function"]
    needed = [n for n in made if any(place[u] >= late for u in n.users)]
    stored = {base(n) for n in needed if _is_read_from_memory(n, place, late)}
    cheap: dict[Any, int] = {}  # how many ops in a row lead to it
    for node in made:
        if is_cheap(node) and node not in stored:
            row = max((cheap.get(a, 0) for a in node_arguments(node)), default=0) + (not is_view(node))
            if row <= LONGEST:
                cheap[node] = row
    if not any(n in cheap and not _is_free(n) for n in needed):
        return set()
    saved = _smallest_cut(made, needed, cheap, _in_memory(made, cheap, place))
    saved -= _in_passing(saved, stored, _not_saved(needed, saved), place, late)
    return _not_saved(needed, saved)


def _not_saved(needed: Sequence[Any], saved: set[Any]) -> set[Any]:
    """What is needed and not saved, and what of it is made."""
    found: set[Any] = set()
    left = [n for n in needed if n not in saved]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += [a for a in node_arguments(node) if a.op == "call_function" and a not in saved]
    return found


def _in_passing(
    saved: set[Any], stored: set[Any], again: set[Any], place: dict[Any, int], late: int
) -> set[Any]:  # fmt: skip
    """Of the values kept for library calls those that need not be: each is made of one that is kept, and no larger.

    A GELU's value is one: the kernel that reads its argument for the gradient can write the value, too.  Nothing else that is
    made again may need it, and what it is made of stays.
    """
    found: set[Any] = set()
    makers: set[Any] = set()
    for node in sorted(saved, key=place.__getitem__):
        origin = base(node)
        if origin not in stored or origin in makers or not _only_libraries_read(origin, again, place, late):
            continue
        maker = _maker(node, saved, place)
        if maker is not None and maker not in found and _bytes(maker) <= _bytes(node):
            found.add(origin)
            makers.add(maker)
    return {node for node in saved if base(node) in found}


def _only_libraries_read(node: Any, again: set[Any], place: dict[Any, int], late: int) -> bool:
    """Whether nothing cheap reads the value that is late, or is made again."""
    for user in node.users:
        if is_view(user):
            if not _only_libraries_read(user, again, place, late):
                return False
        elif is_cheap(user) and (place[user] >= late or user in again):
            return False
    return True


def _maker(node: Any, saved: set[Any], place: dict[Any, int]) -> Any:
    """The one kept value of which cheap ops, at most ``LONGEST`` in a row, make this one; None if there are more, or others."""
    makers: set[Any] = set()
    found: set[Any] = set()
    left = [node]
    while left:
        one = left.pop()
        if one in found or one.op != "call_function" or (one in saved and _bytes(one) <= NUMBER):
            continue
        if one in saved and base(one) is not base(node):
            makers.add(base(one))
        elif is_cheap(one) and len(found) < MOST:
            found.add(one)
            left += node_arguments(one)
        else:
            return None
    rows: dict[Any, int] = {}
    for one in sorted(found, key=place.__getitem__):
        rows[one] = max((rows.get(a, 0) for a in node_arguments(one)), default=0) + (not is_view(one))
    return next(iter(makers)) if len(makers) == 1 and rows[node] <= LONGEST else None


def _in_memory(made: Sequence[Any], cheap: dict[Any, int], place: dict[Any, int]) -> set[Any]:
    """The nodes whose values are written anyway: a library call makes or reads them, or comes between them and a reader."""
    calls = [place[n] for n in made if not is_cheap(n) and n.target not in SUMS]
    written = set()
    for node in made:
        origin = base(node)
        ends = [i for i in (place[u] for u in node.users) if i <= place[made[-1]]]
        between = bisect(calls, place[node]) < bisect(calls, max(ends, default=0) - 1)
        if origin not in cheap or between or _is_read_from_memory(node, place, 0):
            written.add(origin)
    return {node for node in made if base(node) in written}


def _smallest_cut(made: Sequence[Any], needed: Sequence[Any], cheap: dict[Any, int], written: set[Any]) -> set[Any]:
    """The values to keep: the fewest bytes from which all that is needed can be made by cheap nodes.

    Each value is an edge as wide as its bytes, from (node, False) to (node, True); what is not cheap comes from "made",
    and what is needed goes to "needed".  Of several smallest cuts it is the last: what is kept is near to what is needed.
    """
    networkx = _networkx()
    flow = networkx.DiGraph()
    for node in made:
        weight = 0 if _is_free(node) else IN_MEMORY if node in written else BESIDE
        flow.add_edge((node, False), (node, True), capacity=weight * _bytes(node))
        if node not in cheap:
            flow.add_edge("made", (node, False))  # an edge without a capacity cannot be cut
        for argument in node_arguments(node):
            if argument.op == "call_function":
                flow.add_edge((argument, True), (node, False))
    for node in needed:
        flow.add_edge((node, True), "needed")
    if "made" not in flow:  # everything can be made of nothing but inputs
        return {node for node in needed if _is_free(node)}
    _, (_, near) = networkx.minimum_cut(flow, "made", "needed")
    return {node for node in made if (node, False) not in near and (node, True) in near}


@cache
def _networkx() -> Any:
    """The graph library that torch depends on, too."""
    return importlib.import_module("networkx")


def _is_read_from_memory(node: Any, place: dict[Any, int], first: int) -> bool:
    """Whether something from a place on reads the value that is no kernel of the compiler's own."""
    for user in node.users:
        if is_view(user):
            if _is_read_from_memory(user, place, first):
                return True
        elif place[user] >= first and user.op == "call_function" and not is_cheap(user) and user.target not in SUMS:
            return True
    return False


def _is_free(node: Any) -> bool:
    """Whether keeping the value takes no memory to speak of, or it is kept anyhow: as a result, or a variable's new value."""
    if _bytes(node) <= NUMBER or base(node).op == "placeholder":
        return True
    return any(u.op == "output" or u.target is aten.copy_.default for u in node.users)


def _bytes(node: Any) -> int:
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return sum(math.prod(v.shape) * v.element_size() for v in values if isinstance(v, torch.Tensor))
