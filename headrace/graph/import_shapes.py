"""The static shapes inside imported loops.

What comes back to a Merge is known only when the whole loop is built, so the Merge is first of no known shape, as in TensorFlow.
Here it is then assumed that a variable keeps the shape with which it enters the loop.  Where an iteration would break that, the
sizes that change are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.core.shape import TensorShape, is_within
from headrace.graph.infer import infer_shapes
from headrace.graph.operation import Operation

_UNKNOWN = TensorShape(None)
_MOST = 8  # attempts


def infer_loops(merges: Sequence[Operation], ops: Sequence[Operation]) -> None:
    """Infers what the merges, and the ``ops`` that depend on them, give; ``ops`` are in an order in which they were built."""
    behind = _behind(merges, ops)
    shapes: dict[Operation, TensorShape | None] = dict.fromkeys(merges)
    for _ in range(_MOST):
        try:
            _infer(shapes, behind)
        except (ValueError, TypeError):  # the rule of an op does not take what was assumed
            break
        broken = [m for m in merges if not all(is_within(t._shape, m._outputs[0]._shape) for t in m.inputs)]
        if not broken:
            return
        for merge in broken:
            first, second = (t._shape for t in merge.inputs)
            common = first.most_specific_compatible_shape(second)
            shapes[merge] = merge._outputs[0]._shape.most_specific_compatible_shape(common)
    _infer(dict.fromkeys(merges, _UNKNOWN), behind)


def _behind(merges: Sequence[Operation], ops: Sequence[Operation]) -> list[Operation]:
    reached = set(merges)
    for op in ops:
        if any(t.op in reached for t in op.inputs):
            reached.add(op)
    return [op for op in ops if op in reached]


def _infer(shapes: Mapping[Operation, TensorShape | None], ops: Sequence[Operation]) -> None:
    """Infers the outputs of ``ops``.  ``shapes`` are those of merges; None: that of what enters, which another loop may give."""
    for op in ops:
        outputs = op._outputs
        if op in shapes:
            shape = shapes[op]
            found = [op.inputs[0]._shape if shape is None else shape, TensorShape([])]
        else:
            found = infer_shapes(op.op_def, op.inputs, op.attrs, len(outputs))
        for tensor, shape in zip(outputs, found, strict=True):
            tensor._shape = shape
            tensor._static_value = None
