"""Raises the loops of a client's graph, for its gradients: what leaves a loop of primitives becomes what leaves a While.

    %y = Exit(%f)      ->      %n, %w = While(%x; cond, body)   %y = Identity(%w)

The nodes inside stay under their names.  Conditionals outside of loops stay primitives, which have gradients of their own
(autodiff/primitive.py); those in a loop are raised with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, ancestors
from headrace.graph.cell import CONDITIONAL, LOOP, NUMBER, SAME, Body, Cell, Flat, Port, Refused, cells_of, ordered
from headrace.graph.convert import make_constant
from headrace.graph.functional import build_if, build_repeat, build_while, first_variable, is_call, outside
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.graph.raise_cond import guards
from headrace.graph.raise_loop import Path, raise_loops


def raise_loops_behind(graph: Graph, ys: Sequence[Tensor], xs: Sequence[Tensor]) -> list[str]:
    """Raises the loops that some y depends on; ``xs`` must stay where they are.  Returns why some could not be raised."""
    exits = [op for op in ancestors(y.op for y in ys) if op.graph is graph and op.op_def.traits.primitive == "exit"]
    if not exits:
        return []
    cells: dict[Any, Cell] = {}

    def make() -> Flat:
        cells.clear()
        cells.update(cells_of(graph._nodes))
        fetches = [(cells[t.op], t.value_index) for t in (*ys, *xs) if t.op in cells]
        return Flat(ordered(cells.values()), fetches, [])

    refused: set[Path] = set()
    reasons = []
    while True:
        flat = make()
        try:
            raise_loops(flat, refused)
            guards(flat.cells)
            break
        except Refused as e:
            reasons.append(f"the loop {e.frame[-1]!r}: {e}" if e.frame else str(e))
            if not e.frame or e.frame in refused:
                return reasons
            refused.add(e.frame)
    builder = _Builder()
    with graph.as_default(), outside(graph), graph.name_scope(None):
        for cell in flat.cells:
            if cell.role not in (LOOP, SAME):
                continue
            holder = _loop_within(cell)
            if holder is not None:
                reasons.append(f"the loop {cell.frame[-1]!r}: {holder} holds a body with a loop of primitives")
            elif all(before.role not in (LOOP, SAME) or before in builder.made for before in cell.before()):
                builder.make(cell)
    for op, cell in cells.items():
        port = flat.now.get((cell, 0))
        if cell.role == "exit" and port is not None and port[0] in builder.made:
            _hand_on(op, builder.tensor(port))
    return reasons


def _loop_within(cell: Cell) -> str | None:
    """The name of a node in a loop whose bodies hold primitives of a loop: they came with it, and cannot be built again."""
    for body in cell.bodies:
        for inner in body.cells:
            bodies = () if inner.role else _bodies_of(inner.origin)
            if any(op.op_def.traits.primitive == "next" for inner_body in bodies for op in inner_body._nodes):
                return str(inner.origin.name)
            found = _loop_within(inner)
            if found:
                return found
    return None


def _bodies_of(op: Operation) -> list[FuncGraph]:
    """The bodies of a conditional or a loop, whose captures are nodes around it; not the function of a call."""
    return [] if is_call(op) else [a for a in op.attrs.values() if isinstance(a, FuncGraph)]


def _as_cells(graph: FuncGraph) -> Body:
    """A body that there was before, to be built again."""
    cells = cells_of(graph._nodes)
    arguments = [cells[tensor.op] for tensor in graph.inputs]
    outputs = [(cells[tensor.op], tensor.value_index) for tensor in graph.outputs]
    return Body([cell for cell in ordered(cells.values()) if cell not in arguments], arguments, outputs)


def _hand_on(op: Operation, tensor: Tensor) -> None:
    """Makes an Exit an Identity of what now leaves the loop."""
    for old in dict.fromkeys(op.inputs):
        old._consumers.remove(op)
    op.op_def, op._attrs = REGISTRY.get("Identity"), {"T": tensor.dtype.base_dtype}
    op.inputs, op._control_inputs = (tensor,), []
    tensor._consumers.append(op)
    op.graph._mutated()


class _Builder:
    """Makes the client's nodes of cells, in the default graph."""

    def __init__(self) -> None:
        self.made: dict[Cell, Operation] = {}
        self.arguments: dict[Cell, Tensor] = {}

    def tensor(self, port: Port) -> Tensor:
        cell, index = port
        if cell in self.arguments:
            return self.arguments[cell]
        return self._op(cell)._outputs[index]

    def _op(self, cell: Cell) -> Operation:
        if cell in self.arguments:
            return self.arguments[cell].op
        op: Operation = self.made.get(cell) or cell.origin
        return op

    def make(self, cell: Cell) -> None:
        graph = context.get_default_graph()
        inputs = [self.tensor(port) for port in cell.inputs]
        with graph.control_dependencies([self._op(c) for c in cell.controls]):
            op = self._make(graph, cell, inputs)
        op.source = cell.origin.source
        self.made[cell] = op

    def _make(self, graph: Graph, cell: Cell, inputs: list[Tensor]) -> Operation:
        origin: Operation = cell.origin
        if cell.role == LOOP:
            return self._loop(cell, inputs)
        if cell.role == CONDITIONAL:
            then_branch, else_branch = (self._body(b, 0, inputs[1:], "a branch") for b in cell.bodies)
            return build_if(inputs[0], then_branch, else_branch, f"{origin.name}/if")
        if cell.role == NUMBER:
            dtype = cell.types[0][0]
            if dtype == dtypes.variant:
                return raw_ops._EmptyStash(purpose="").op  # type: ignore[no-any-return]
            array = np.array(b"" if dtype == dtypes.string else cell.number, dtype.as_numpy_dtype)
            return make_constant(array, dtype).op
        if cell.role == SAME:
            return raw_ops.Identity(inputs[0]).op  # type: ignore[no-any-return]
        if cell.role == "trigger":
            return raw_ops.NoOp()  # type: ignore[no-any-return]
        if _bodies_of(origin):
            return self._again(origin, inputs)
        op = graph.create_op(
            origin.op_def, inputs, [t.dtype for t in origin._outputs], name=origin.name, attrs=dict(origin.attrs)
        )
        op._device = origin._device
        return op

    def _loop(self, cell: Cell, inputs: list[Tensor]) -> Operation:
        count = len(cell.bodies[1].outputs)
        cond, body = (self._body(b, count, inputs[count:], "a loop") for b in cell.bodies)
        enter = cell.bodies[1].arguments[0].origin.inputs[0].op
        return build_while(
            inputs[:count], cond, body, [shape for _, shape in cell.types[1:]], f"{cell.origin.name}/loop",
            parallel_iterations=enter.attrs["parallel_iterations"],
        )  # fmt: skip

    def _again(self, origin: Operation, inputs: list[Tensor]) -> Operation:
        """A node that held bodies before.  They captured what is in the loop: they are built again, with what stands for that."""
        attrs, first = origin.attrs, first_variable(origin)
        bodies = [_as_cells(body) for body in _bodies_of(origin)]
        if "body" not in attrs:
            then_branch, else_branch = (self._body(b, 0, inputs[1:], "a branch") for b in bodies)
            return build_if(inputs[0], then_branch, else_branch, origin.name)
        end = first + len(attrs["body"].args)
        *cond, body = (self._body(b, end - first, inputs[end:], "a loop") for b in bodies)
        options = {name: attrs[name] for name in ("parallel_iterations", "back_prop", "swap_memory")}
        if first:
            return build_repeat(inputs[0], inputs[first:end], body, origin.name, **options)
        return build_while(inputs[:end], cond[0], body, attrs["output_shapes"], origin.name, **options)

    def _body(self, body: Body, variables: int, captured: list[Tensor], where: str) -> FuncGraph:
        graph = FuncGraph(f"the body of {where}", context.get_default_graph())
        with graph.as_default():
            for cell in body.arguments[:variables]:
                dtype, shape = cell.types[0]
                self.arguments[cell] = graph.add_arg(dtype.base_dtype, shape, "arg")
            self.arguments.update(zip(body.arguments[variables:], captured, strict=True))
            for cell in body.cells:
                self.make(cell)
            graph.outputs = [graph._own(self.tensor(port), "body") for port in body.outputs]
        return graph
