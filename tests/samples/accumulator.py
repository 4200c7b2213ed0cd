"""Samples of the ops on conditional accumulators."""

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.library.scope import control_dependencies
from headrace.library.testing.opcheck import Sample

F, I32 = dtypes.float32, dtypes.int32
ROWS = np.array([[1, 2], [3, 4]], np.float32)
STEP = np.int64(0)


def dense():
    return raw_ops.ConditionalAccumulator(dtype=F, shape=[2, 2])


def sparse():
    return raw_ops.SparseConditionalAccumulator(dtype=F, shape=[None, 2])


def queue():
    return raw_ops.FIFOQueueV2(component_types=[F])


def _after(apply, handle):
    with control_dependencies([apply]):
        return raw_ops._ChooseHandle(0, [handle])


def filled():
    """The handle of an accumulator of one gradient."""
    handle = dense()
    return _after(raw_ops.AccumulatorApplyGradient(handle, STEP, ROWS), handle)


def filled_sparse():
    handle = sparse()
    apply = raw_ops.SparseAccumulatorApplyGradient(handle, STEP, [0, 3], ROWS, [], has_known_shape=False)
    return _after(apply, handle)


HANDLES = [s(dtype=F, shape=[2]), s(dtype=F, shape=None, reduction_type="SUM", shared_name="shared"),
           wrong(dtype=F, shape=[], reduction_type="MAX", error=ValueError),
           wrong(dtype=dtypes.string, shape=[], error=TypeError)]  # fmt: skip
APPLIED = [s(dense, STEP, ROWS), s(dense, np.int64(-1), ROWS[:1]), wrong(dense, STEP, ROWS[:1]),
           wrong(dense, STEP, ROWS.astype(np.float64)), wrong(sparse, STEP, ROWS), wrong(queue, STEP, ROWS),
           wrong(dense, np.int64([0]), ROWS, error=ValueError)]  # fmt: skip
TAKEN = [s(filled, np.int32(1), dtype=F), wrong(filled, np.int32(0), dtype=F),
         wrong(filled, np.int32(1), dtype=dtypes.float64), wrong(queue, np.int32(1), dtype=F),
         wrong(filled, np.int32([1]), dtype=F, error=ValueError)]  # fmt: skip
COUNTED = [s(filled), s(filled_sparse), wrong(queue)]
STEPS = [s(dense, np.int64(3)), s(sparse, np.int64(3)), wrong(queue, STEP),
         wrong(dense, np.int64([3]), error=ValueError)]  # fmt: skip
INDICES = np.int64([0, 3])
SHAPE = np.int64([5, 2])
NONE = np.zeros(0, np.int64)

SAMPLES: dict[str, list[Sample]] = {
    "ConditionalAccumulator": HANDLES,
    "ResourceConditionalAccumulator": HANDLES,
    "SparseConditionalAccumulator": HANDLES,
    "AccumulatorApplyGradient": APPLIED,
    "ResourceAccumulatorApplyGradient": APPLIED,
    "AccumulatorTakeGradient": TAKEN,
    "ResourceAccumulatorTakeGradient": TAKEN,
    "AccumulatorNumAccumulated": COUNTED,
    "ResourceAccumulatorNumAccumulated": COUNTED,
    "AccumulatorSetGlobalStep": STEPS,
    "ResourceAccumulatorSetGlobalStep": STEPS,
    "SparseAccumulatorApplyGradient": [
        s(sparse, STEP, INDICES, ROWS, SHAPE, has_known_shape=True),
        s(sparse, STEP, INDICES, ROWS, NONE, has_known_shape=False),
        wrong(sparse, STEP, INDICES, ROWS, np.int64([5]), has_known_shape=True),
        wrong(sparse, STEP, INDICES[:1], ROWS, NONE, has_known_shape=False),
        wrong(sparse, STEP, INDICES, ROWS.astype(np.float64), NONE, has_known_shape=False),
        wrong(dense, STEP, INDICES, ROWS, NONE, has_known_shape=False),
    ],
    "SparseAccumulatorTakeGradient": [
        s(filled_sparse, np.int32(1), dtype=F),
        wrong(filled_sparse, np.int32(-1), dtype=F),
        wrong(filled, np.int32(1), dtype=F),
    ],
}
