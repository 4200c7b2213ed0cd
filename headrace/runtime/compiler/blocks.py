"""Blocks of a traced region that repeat (cells of an unrolled network, layers of a stack) become one subgraph, compiled once.

Unrolled, a network of twenty cells is twenty times the work for torch's compiler, which looks at pairs of nodes besides.  Here
the nodes that come again in the same order, wired in the same way, move into a subgraph, and each of their places calls it.
What a block reads from outside are the subgraph's inputs; what is read outside of any of its copies are its outputs.

Inputs of all calls lie alike in memory.  No output is a view: views that are read outside are made anew outside.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import torch

from headrace.runtime.compiler.recompute import AGAIN
from headrace.runtime.compiler.repeats import Stretch, stretches
from headrace.runtime.compiler.torch_door.lowering import own
from headrace.runtime.compiler.torch_door.node import is_cheap, is_symbolic, is_view, node_arguments, only_computes

SHORTEST: Final = 8  # nodes in a block
FEWEST: Final = 3  # copies of a block in one stretch
LEAST_SAVED: Final = 100  # nodes that need not be compiled; fewer cost less than what the compiler does for a subgraph
ALIGNED: Final = 16  # bytes: kernels for CUDA rely on what they saw of the first call's inputs

aten = torch.ops.aten
LIBRARY_CALLS: Final = (aten.mm.default, aten.addmm.default, aten.bmm.default, aten.convolution.default)


def share_blocks(module: Any) -> int:
    """Moves repeated blocks into subgraphs that their places call.  Returns how many nodes this saves."""
    if any(is_symbolic(n) for n in module.graph.nodes):
        return 0
    updates = _updates(module.graph.nodes)
    nodes = [n for n in module.graph.nodes if n.op == "call_function" and n not in updates]
    groups = [_Group(blocks) for blocks in repeated(nodes)]
    groups = [g for g in groups if g.saved >= LEAST_SAVED]
    moved: dict[Any, Any] = {}
    for i, group in enumerate(groups):
        name = f"block_{i}"
        module.add_submodule(name, group.module())
        for n in range(len(group.blocks)):
            moved |= group.call(module.graph, name, n, moved)
    if groups:
        module.graph.lint()
        module.recompile()
    return sum(g.saved for g in groups)


# ---- finding


def _updates(nodes: Any) -> set[Any]:
    """The nodes that only make new values of variables: kernels write these in place, a block would return them to be copied."""
    found: set[Any] = set()
    for node in reversed(nodes):
        if node.users and is_cheap(node) and all(u in found or u.target is aten.copy_.default for u in node.users):
            found.add(node)
    return found


def repeated(nodes: Sequence[Any]) -> list[list[list[Any]]]:
    """Groups of blocks that do the same, each block a list of neighbouring nodes."""
    numbers: dict[Any, int] = {}
    kinds = [numbers.setdefault(_kind(n), len(numbers)) for n in nodes]
    groups: dict[Any, list[list[Any]]] = {}
    for stretch in stretches(kinds, SHORTEST, FEWEST):
        for start in _starts(nodes, stretch):
            block = list(nodes[start : start + stretch.period])
            if _can_move(block):
                what = tuple(kinds[start : start + stretch.period]), _wiring(block)
                groups.setdefault(what, []).append(block)
    return [blocks for blocks in groups.values() if len(blocks) > 1]


def _kind(node: Any) -> Any:
    """Equal for two nodes that do the same to values of one shape, dtype and order in memory."""
    return str(node.target), _described(node.args), _described(node.kwargs), _layout(node.meta.get("val"))


def _described(argument: Any) -> Any:
    """Arguments as something to compare: of a value, how it lies in memory."""
    if isinstance(argument, torch.fx.Node):
        return _layout(argument.meta.get("val"))
    if isinstance(argument, dict):
        return tuple((k, _described(v)) for k, v in argument.items())
    if isinstance(argument, (list, tuple)):
        return tuple(_described(a) for a in argument)
    return type(argument).__name__, repr(argument)  # 1, 1.0 and True are equal, but not the same


def _layout(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), value.dtype, str(value.device)
    if isinstance(value, (list, tuple)):
        return tuple(_layout(v) for v in value)
    return type(value).__name__


def _wiring(block: Sequence[Any]) -> tuple[Any, ...]:
    """For every argument of every node, which node of the block it is; -1 for one from outside."""
    places = {n: i for i, n in enumerate(block)}
    return tuple(tuple(places.get(a, -1) for a in node_arguments(n)) for n in block)


def _starts(nodes: Sequence[Any], stretch: Stretch) -> range:
    """Where the blocks of a stretch begin: with a library call, if there is one, so that no kernel is cut in two.

    Of several such places the one where the fewest bytes pass from one block to the next.
    """
    place = {n: i for i, n in enumerate(nodes[stretch.start : stretch.stop])}
    middle = stretch.count // 2 * stretch.period

    def passing(shift: int) -> float:
        cut = middle + shift
        return sum(_bytes(n) for n, i in place.items() if i < cut and any(place.get(u, -1) >= cut for u in n.users))

    slack = stretch.stop - stretch.start - stretch.count * stretch.period
    shifts = range(stretch.period if stretch.count > FEWEST else slack + 1)
    calls = [s for s in shifts if nodes[stretch.start + s].target in LIBRARY_CALLS]
    shift = min(calls or shifts, key=lambda s: (passing(s), s))
    last = stretch.stop - stretch.period
    return range(stretch.start + shift, last + 1, stretch.period)


def _bytes(node: Any) -> float:
    value = node.meta.get("val")
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else float("inf")


def _can_move(block: Sequence[Any]) -> bool:
    """Whether all nodes of the block only compute, and only single tensors go in and come out.

    A result is written to memory: what is made again so that it need not be kept cannot be one.
    """
    inside = set(block)
    for node in block:
        if AGAIN in node.meta and any(u not in inside for u in node.users):
            return False
        if not only_computes(node):
            return False
        if not all(_is_tensor(a) for a in node_arguments(node) if a not in inside):
            return False
        if not _is_tensor(node) and any(u not in inside for u in node.users):
            return False
    return True


def _is_tensor(node: Any) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


# ---- moving


@dataclass(frozen=True)
class _Group:
    """Blocks that do the same, and the one subgraph for all of them."""

    blocks: list[list[Any]]

    @property
    def saved(self) -> int:
        """Nodes that need not be compiled."""
        return (len(self.blocks) - 1) * len(self.blocks[0])

    @cached_property
    def reads(self) -> dict[tuple[Any, ...], None]:
        """What the blocks read from outside, a value for each block; values that are the same for every block come once."""
        insides = [set(b) for b in self.blocks]
        rows: dict[tuple[Any, ...], None] = {}
        for same in zip(*self.blocks, strict=True):
            for row in zip(*map(node_arguments, same), strict=True):
                if row[0] not in insides[0]:
                    rows[row] = None
        return rows

    @cached_property
    def inputs(self) -> list[tuple[Any, ...]]:
        return [row for row in self.reads if not _is_number(row)]

    @cached_property
    def outputs(self) -> list[int]:
        """Positions in the block of the values that somebody outside needs."""
        needed: set[int] = set()
        for block in self.blocks:
            place = {n: i for i, n in enumerate(block)}
            for node in block:
                if any(u not in place for u in node.users):
                    while node in place and is_view(node):
                        node = node.args[0]
                    if node in place:
                        needed.add(place[node])
        return sorted(needed)

    def module(self) -> Any:
        """The subgraph."""
        graph = torch.fx.Graph()
        block = self.blocks[0]
        copies: dict[Any, Any] = {}
        rows = {row: graph.placeholder(f"input_{i}") for i, row in enumerate(self.inputs)}
        for row, placeholder in rows.items():
            placeholder.meta["val"] = row[0].meta["val"]
        for row in self.reads:
            if row not in rows:
                rows[row] = graph.node_copy(row[0])
        inside = set(block)
        for number, node in enumerate(block):
            columns = zip(*(node_arguments(b[number]) for b in self.blocks), strict=True)
            arguments = [copies[row[0]] if row[0] in inside else rows[row] for row in columns]
            copies[node] = graph.node_copy(node, partial(next, iter(arguments)))  # it asks for them in this order
        graph.output(tuple(own(graph, copies[block[i]]) for i in self.outputs))
        return torch.fx.GraphModule(torch.nn.Module(), graph)

    def call(self, graph: Any, name: str, number: int, moved: dict[Any, Any]) -> dict[Any, Any]:
        """Replaces one block by a call.  Returns what stands for its nodes now; ``moved`` says it of earlier calls."""
        block = self.blocks[number]
        inside = set(block)
        with graph.inserting_before(block[0]):
            inputs = self._values(graph, number, moved)
            subgraph = graph.get_attr(name)
            results = graph.call_function(torch.ops.higher_order.invoke_subgraph, (subgraph, name, *inputs))
            results.meta["val"] = tuple(block[position].meta["val"] for position in self.outputs)
            outside: dict[Any, Any] = {}
            for i, position in enumerate(self.outputs):
                outside[block[position]] = result = graph.call_function(operator.getitem, (results, i))
                result.meta = dict(block[position].meta)
            for node in block:
                if any(u not in inside for u in node.users):
                    node.replace_all_uses_with(
                        _outside(graph, node, inside, outside), delete_user_cb=lambda user: user not in inside
                    )
        for node in reversed(block):
            graph.erase_node(node)
        return outside

    def _values(self, graph: Any, number: int, moved: dict[Any, Any]) -> list[Any]:
        """The inputs of one call: copies, where a value comes twice or those of other calls begin elsewhere in their memory.

        Torch traces the subgraph with the inputs of a call, and takes two that are the same tensor for one.
        """
        values: list[Any] = []
        for row in self.inputs:
            value = moved.get(row[number], row[number])
            if value in values or len({_address(n) % ALIGNED for n in row}) > 1:
                value = own(graph, value)
            values.append(value)
        return values


def _outside(graph: Any, node: Any, inside: set[Any], outside: dict[Any, Any]) -> Any:
    """A node of a block as it is to be had outside: an output, or a view made anew."""
    if node not in inside:
        return node
    if node not in outside:
        outside[node] = graph.node_copy(node, lambda a: _outside(graph, a, inside, outside))
    return outside[node]


def _is_number(row: Sequence[Any]) -> bool:
    """Whether this is one number for all blocks, which is better known to the compiler."""
    first = row[0]
    return first.target is aten.full.default and not first.args[0] and all(n is first for n in row)


def _address(node: Any) -> int:
    """Where a value begins in its memory."""
    value = node.meta["val"]
    return int(value.storage_offset() * value.element_size())
