"""The static shapes inside imported loops.

What comes back to a Merge is known only when the whole loop is built, so the Merge is first of no known shape, as in TensorFlow.
Here it is then assumed that a variable keeps the shape with which it enters the loop.  Where an iteration would break that, the
sizes that change are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.shape import TensorShape
from headrace.graph.cell import either, is_within
from headrace.graph.infer import infer_shapes
from headrace.graph.operation import Operation

_UNKNOWN = TensorShape(None)
_MOST = 8  # attempts


def infer_loops(merges: Sequence[Operation], ops: Sequence[Operation]) -> None:
    """Infers what the merges, and the ``ops`` that depend on them, give; ``ops`` are in an order in which they were built."""
    behind = _behind(merges, ops)
    shapes = {merge: merge.inputs[0]._shape for merge in merges}
    for _ in range(_MOST):
        try:
            _infer(shapes, behind)
        except (ValueError, TypeError):  # the rule of an op does not take what was assumed
            break
        broken = [m for m in merges if not is_within(m.inputs[1]._shape, shapes[m])]
        if not broken:
            return
        for merge in broken:
            shapes[merge] = either(shapes[merge], merge.inputs[1]._shape)
    _infer(dict.fromkeys(merges, _UNKNOWN), behind)


def _behind(merges: Sequence[Operation], ops: Sequence[Operation]) -> list[Operation]:
    reached = set(merges)
    for op in ops:
        if any(t.op in reached for t in op.inputs):
            reached.add(op)
    return [op for op in ops if op in reached]


def _infer(shapes: dict[Operation, TensorShape], ops: Sequence[Operation]) -> None:
    for op in ops:
        outputs = op._outputs
        found = (
            [shapes[op], TensorShape([])]
            if op in shapes
            else infer_shapes(op.op_def, op.inputs, op.attrs, len(outputs))
        )
        for tensor, shape in zip(outputs, found, strict=True):
            tensor._shape = shape
            tensor._static_value = None
