"""Raise primitives: loops and conditionals made of Switch, Merge, Enter ... -> nodes that hold their bodies.

    %f, %t = Switch(%x, %p)   ...then of %t...   ...else of %f...   %y = Merge(%e, %d)      ->      %y = If(%p, %x; then, else)

The opposite of ``lower``.  A graph of TensorFlow 1 comes with primitives; raised, it runs inside strands, is compiled, and is cut
between devices and tasks as if it had been built here.  What has another form than TensorFlow 1 gave it, or holds something that
is fetched or fed, stays as it is: such a step is run node by node as written, since a value in it may be dead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import REGISTRY, OpDef
from headrace.graph.cell import CONDITIONAL, LOOP, NUMBER, SAME, Body, Cell, Flat, Port, cells_of, ordered
from headrace.graph.raise_loop import raise_all
from headrace.passes.instantiate import constants_among, is_instantiated, mark_numbers_of, put_constants
from headrace.passes.match import Ops
from headrace.passes.need import holds, needed_inputs, used_of_holders
from headrace.passes.step_graph import Node, StepGraph, Value

TRIGGER = Ops("ControlTrigger")


def has_primitives(graph: StepGraph) -> bool:
    return any(n.op_def.traits.primitive for n in graph.nodes)


def raise_primitives(graph: StepGraph, finish: Callable[[StepGraph], StepGraph]) -> StepGraph:
    """Raises what can be raised.  ``finish`` does with a new body what is done with those of nodes that held them before."""
    if not has_primitives(graph):
        return graph
    nodes = graph.nodes

    def make() -> Flat:
        cells = cells_of(nodes)
        fetches = [(cells[v.op], v.value_index) for v in graph.fetches]
        return Flat(ordered(cells.values()), fetches, [cells[n] for n in graph.targets])

    flat, _ = raise_all(make)
    maker = _Maker({n.name for n in nodes}, finish)
    if any(cell.role in (LOOP, CONDITIONAL) for cell in flat.cells):
        graph.nodes = maker.nodes(flat.cells, keep=True)
        fed = {v.op for v in graph.feeds} - set(graph.nodes)
        graph.nodes = [*(v.op for v in graph.feeds if v.op in fed), *graph.nodes]
        graph.fetches = [maker.value(port) for port in flat.fetches]
        graph.targets = [maker.made[cell] for cell in flat.targets]
        _keep_effects(graph)
    if not any(n.op_def.traits.primitive and n not in TRIGGER for n in graph.nodes):
        for node in graph.nodes:  # nothing can be dead
            if node in TRIGGER:
                node.op_def = REGISTRY.get("NoOp")
    graph.sort()
    return graph


def tie_holders(graph: StepGraph) -> StepGraph:
    """Where primitives are left: nodes that hold bodies wait for their inputs.

    A body need not use an input, and then the node loses it; but it is dead if the input is, and belongs to the input's frame.
    Of a loop or conditional only the inputs count that what is used of it needs: TensorFlow prunes the primitives of the others.
    """
    if not has_primitives(graph):
        return graph
    anchors: dict[Value, Node] = {}
    for node, used in used_of_holders([*graph.fetches, *graph.targets]).items():
        for value in needed_inputs(node, used):
            maker = value.op
            traits = maker.op_def.traits
            if (traits.constant or traits.handle) and not maker.predecessors():  # in no frame and no branch
                continue
            # A Switch runs even if this output is dead; who waits for a holder would have it compute all that it can.
            if (len(maker.outputs) > 1 and maker.op_def.traits.primitive) or holds(maker):
                maker = anchors.get(value) or anchors.setdefault(value, _anchor(value, graph))
            if maker not in node.control_inputs:
                node.control_inputs = [*node.control_inputs, maker]
    if anchors:
        graph.sort()
    return graph


def _anchor(value: Value, graph: StepGraph) -> Node:
    """A node that is dead if the value is."""
    maker = value.op
    dtype = value.dtype.base_dtype
    op_type = "RefIdentity" if value.dtype._is_ref_dtype else "Identity"
    node = Node(
        f"{maker.name}/_anchor_{value.value_index}", REGISTRY.get(op_type), [value], {"T": dtype}, maker.order, None,
        maker.device, maker.source, maker.origin,
    )  # fmt: skip
    node.add_outputs([(value.dtype, value.shape)])
    graph.nodes.append(node)
    return node


def _keep_effects(graph: StepGraph) -> None:
    """New holders wait for the effects behind their inputs: a body need not use an input, but what made it runs all the same."""
    holders = [n for n in graph.nodes if is_instantiated(n)]
    if not holders:
        return
    effects = graph.after_effects()
    for node in holders:
        behind = (v.op for v in node.inputs if v.op in effects and v.op not in node.control_inputs)
        node.control_inputs = [*node.control_inputs, *dict.fromkeys(behind)]


class _Maker:
    """Makes nodes of cells."""

    def __init__(self, names: set[str], finish: Callable[[StepGraph], StepGraph]) -> None:
        self.made: dict[Cell, Node] = {}
        self.names = names
        self.finish = finish
        self.within: set[str] = set()  # the names of nodes in bodies

    def value(self, port: Port) -> Value:
        cell, index = port
        return self.made[cell].outputs[index]

    def nodes(self, cells: Sequence[Cell], keep: bool = False) -> list[Node]:
        """The nodes of cells, in order.  ``keep``: the nodes that there were, not copies of them."""
        for cell in cells:
            self.made[cell] = node = self._node(cell, keep)
            if node.op_def.traits.primitive == "merge":
                continue
            node.inputs = [self.value(port) for port in cell.inputs]
            node.control_inputs = [self.made[c] for c in cell.controls]
            if cell.role == LOOP:
                self._hold_loop(node, cell)
            elif cell.role == CONDITIONAL:
                self._hold_branches(node, cell)
        for cell in cells:  # a Merge may use what comes later
            if cell.role == "merge":
                self.made[cell].inputs = [self.value(port) for port in cell.inputs]
                self.made[cell].control_inputs = [self.made[c] for c in cell.controls]
        return [self.made[cell] for cell in cells]

    def _node(self, cell: Cell, keep: bool) -> Node:
        origin: Node = cell.origin
        if not cell.role.startswith("_"):
            if keep:
                return origin
            node = self._like(origin, origin.op_def, origin.attrs, self._inner_name(origin.name), cell)
            node.colocation = origin.colocation
            if cell.role == "trigger":
                node.op_def = REGISTRY.get("NoOp")
            return node
        dtype = cell.types[0][0].base_dtype
        if cell.role == NUMBER:
            name = self._inner_name(f"{origin.name}/_number")
            if dtype == dtypes.variant:
                return self._like(origin, REGISTRY.get("_EmptyStash"), {"purpose": ""}, name, cell)
            array = np.array(b"" if dtype == dtypes.string else cell.number, dtype.as_numpy_dtype)
            return self._like(origin, REGISTRY.get("Const"), {"value": array, "dtype": dtype}, name, cell)
        if cell.role == SAME:
            return self._like(
                origin, REGISTRY.get("Identity"), {"T": dtype}, self._free_name(f"{origin.name}/_same"), cell
            )
        name = f"{origin.name}/_{'loop' if cell.role == LOOP else 'if'}"
        pure = "Stateless" * cell.is_pure
        op_type = f"{pure}{'While' if cell.role == LOOP else 'If'}"
        return self._like(origin, REGISTRY.get(op_type), {}, self._free_name(name), cell)

    def _like(self, origin: Node, op_def: OpDef, attrs: dict[str, Any], name: str, cell: Cell) -> Node:
        node = Node(
            name,
            op_def,
            [],
            attrs,
            origin.order,
            None,
            origin.device,
            origin.source,
            origin.origin,
        )
        return node.add_outputs(cell.types)

    def _inner_name(self, name: str) -> str:
        """The name of a node in a body: its own, unless the same node is in another body too."""
        if name not in self.within:
            self.within.add(name)
            return name
        return self._free_name(f"{name}/_again")

    def _free_name(self, name: str) -> str:
        free, number = name, 0
        while free in self.names:
            number += 1
            free = f"{name}_{number}"
        self.names.add(free)
        return free

    def _body(self, body: Body, given: Sequence[Value], constants: dict[int, Node]) -> StepGraph:
        feeds = []
        for cell, value in zip(body.arguments, given, strict=True):
            dtype, shape = cell.types[0]
            name = self._free_name(f"_feed/{cell.origin.name}/{value.value_index}")
            attrs = {"dtype": dtype.base_dtype, "shape": shape}
            feed = Node(
                name,
                REGISTRY.get("_Feed"),
                [],
                attrs,
                cell.origin.order,
                source=cell.origin.source,
                device=value.op.device,
            )
            self.made[cell] = feed.add_outputs([(dtype if dtype._is_ref_dtype else dtype.base_dtype, shape)])
            feeds.append(feed)
        nodes = self.nodes(body.cells)
        graph = StepGraph([*feeds, *nodes], [f.outputs[0] for f in feeds], [self.value(p) for p in body.outputs], [])
        _keep_effects(graph)
        return self.finish(put_constants(graph, constants))

    def _hold_branches(self, node: Node, cell: Cell) -> None:
        captured = node.inputs[1:]
        constants = constants_among(captured, 0)
        then_branch, else_branch = (self._body(body, captured, constants) for body in cell.bodies)
        node.attrs = {
            "then_branch": then_branch, "else_branch": else_branch, "Tout": tuple(v.dtype for v in node.outputs),
            "output_shapes": tuple(v.shape for v in node.outputs), "visible": len(node.outputs), **_captures(captured),
        }  # fmt: skip
        mark_numbers_of(node)

    def _hold_loop(self, node: Node, cell: Cell) -> None:
        count = len(cell.bodies[1].outputs)
        constants = constants_among(node.inputs, count)
        cond, body = (self._body(one, node.inputs, constants) for one in cell.bodies)
        parallel = next((n.attrs["parallel_iterations"] for n in _enters(cell)), 10)
        node.attrs = {
            "cond": cond, "body": body, "T": tuple(v.dtype for v in node.outputs[1:]),
            "output_shapes": tuple(v.shape for v in node.outputs[1:]), "visible": count, "back_prop": True,
            "parallel_iterations": parallel, "swap_memory": False, **_captures(node.inputs[count:]),
        }  # fmt: skip
        mark_numbers_of(node)


def _enters(cell: Cell) -> list[Node]:
    """The nodes through which a loop's variables entered."""
    merges: list[Node] = [argument.origin for argument in cell.bodies[1].arguments[: len(cell.bodies[1].outputs)]]
    return [merge.inputs[0].op for merge in merges]


def _captures(captured: Sequence[Value]) -> dict[str, object]:
    refs = [v for v in captured if v.dtype._is_ref_dtype]
    values = [v for v in captured if not v.dtype._is_ref_dtype]
    return {"Tin": tuple(v.dtype.base_dtype for v in values), "Tref": tuple(v.dtype.base_dtype for v in refs)}
