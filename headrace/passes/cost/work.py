"""Work: what a node computes and moves, by its op and its static shapes.  Knows no device and no seconds.

A dimension that is not known counts as `ASSUMED`; a loop whose iterations are not known as `ITERATIONS` of them.  Steps that are
specialised for the shapes of their feeds leave little to assume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from headrace.core.dtypes import resource, string, variant
from headrace.graph.body import FuncGraph
from headrace.passes.bodies import held_bodies
from headrace.passes.cost.float_operation import UnknownShape
from headrace.passes.cost.product import all_float_operations
from headrace.passes.cost.use import ADDS_MANY, MOVES_PARTS, READS_ROWS, is_free_view
from headrace.passes.step_graph import Node, StepGraph, Value

ASSUMED: Final = 32  # of an unknown dimension; a round number
ITERATIONS: Final = 10  # of a loop; a round number
_OBJECT: Final = 64  # bytes of a string or a handle

Flops = Callable[[Any], int | None]
"""The float operations of a node; None where nothing is known."""


@dataclass(frozen=True, slots=True)
class Work:
    """``calls``: kernels that are called.  ``flops``: float operations.  ``read`` and ``written``: bytes of memory."""

    calls: float = 0.0
    flops: float = 0.0
    read: float = 0.0
    written: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.calls + other.calls, self.flops + other.flops, self.read + other.read, self.written + other.written
        )

    def times(self, count: float) -> Work:
        """The work of ``count`` such nodes."""
        return Work(self.calls * count, self.flops * count, self.read * count, self.written * count)


NOTHING: Final = Work()


def elements(value: Value) -> int:
    """How many elements a value has, unknown dimensions assumed."""
    dims = value.shape.tuple
    return ASSUMED if dims is None else prod(ASSUMED if d is None else d for d in dims)


def size_of(value: Value) -> int:
    """How many bytes a value takes; state takes those of what is handed on, which is nothing."""
    dtype = value.dtype
    if dtype._is_ref_dtype or dtype.base_dtype in (resource, variant):
        return 0
    return elements(value) * (_OBJECT if dtype.base_dtype is string else dtype.size)


def work_of(node: Node, flops: Flops = all_float_operations) -> Work:
    """The work of a node, that of the bodies it holds included.  A function that calls itself counts once."""
    return _work(node, flops, frozenset())


def _work(node: Any, flops: Flops, around: frozenset[Any]) -> Work:
    traits = node.op_def.traits
    bodies = held_bodies(node) or client_bodies(node)
    if bodies:
        return _held(node, [body for body in bodies if body not in around], flops, around.union(bodies))
    if traits.feed or traits.constant or traits.handle or traits.of_shapes or (traits.identity and not traits.writes):
        return NOTHING
    if traits.reads_buffer or not (node.inputs or node.outputs):  # no line of code, or none that calls
        return NOTHING
    if is_free_view(node):
        return Work(float(max(len(node.outputs), 1)))
    written = sum(map(size_of, node.outputs))
    if node in READS_ROWS:
        moved = written + sum(map(size_of, node.inputs[1:]))
        return Work(1.0, float(_most(node.outputs)), moved, written)
    state = _state(node) if traits.writes else 0.0
    return Work(_calls(node), _flops(node, flops), sum(map(size_of, node.inputs)) + state, written + state)


def _calls(node: Node) -> float:
    """Nearly always one.  What moves rows part by part: one for each part, and one to look at their numbers."""
    if node in ADDS_MANY:
        return float(max(len(node.inputs) - 1, 1))
    if node in MOVES_PARTS:
        return 1.0 + max(len(node.outputs), len(node.inputs) // 2)  # a stitch takes numbers and rows of each part
    return 1.0


def _state(node: Node) -> float:
    """The bytes of the variables that a node changes in place; of one that writes rows, those of the rows."""
    rows = max(map(size_of, node.inputs), default=0)
    total = 0.0
    for value in node.inputs:
        dtype = value.dtype
        if dtype._is_ref_dtype and not node.op_def.traits.rows and value.shape.tuple is not None:
            total += elements(value) * dtype.base_dtype.size
        elif dtype._is_ref_dtype or dtype.base_dtype is resource:
            total += rows
    return total


def _flops(node: Node, flops: Flops) -> float:
    """Those of the formula, or one for each element that goes in or comes out, whichever are more."""
    try:
        counted = flops(node)
    except UnknownShape:
        counted = None
    if counted is not None:
        return float(counted)
    return float(max(_most(node.inputs), _most(node.outputs)))


def _most(values: Iterable[Value]) -> int:
    return max((elements(v) for v in values if size_of(v)), default=0)


def client_bodies(node: Any) -> list[FuncGraph]:
    """The bodies that a node of the client's graph holds, before they are instantiated."""
    return [a for a in node.attrs.values() if isinstance(a, FuncGraph)] if node.attrs else []


def _held(node: Node, bodies: Sequence[StepGraph | FuncGraph], flops: Flops, around: frozenset[Any]) -> Work:
    """All iterations of a loop; of a conditional the branch that is more work."""
    inner = [_sum(_work(n, flops, around) for n in body.get_operations()) for body in bodies]
    if "body" in node.attrs:
        return _sum(inner).times(iterations(node))
    return max(inner, key=lambda work: (work.flops, work.read + work.written, work.calls), default=NOTHING)


def iterations(node: Node) -> int:
    """How often the body of a loop runs."""
    count = node.attrs.get("iterations")
    return count if isinstance(count, int) else ITERATIONS


def _sum(works: Iterable[Work]) -> Work:
    total = NOTHING
    for work in works:
        total += work
    return total
