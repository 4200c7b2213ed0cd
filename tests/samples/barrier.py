"""Samples of the ops on barriers."""

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError, OutOfRangeError
from headrace.graph import raw_ops
from headrace.library.scope import control_dependencies
from headrace.library.testing.opcheck import Sample

F, S = dtypes.float32, dtypes.string
TYPES = [F, S]
KEYS = np.array([b"a", b"b"], object)
ROWS = np.array([[1, 2], [3, 4]], np.float32)
TEXTS = np.array([b"x", b"y"], object)


def barrier():
    return raw_ops.Barrier(component_types=TYPES, shapes=[[2], []])


def shapeless():
    return raw_ops.Barrier(component_types=TYPES)


def accumulator():
    return raw_ops.ConditionalAccumulator(dtype=F, shape=[])


def _after(handle, *operations):
    with control_dependencies(operations):
        return raw_ops._ChooseHandle(0, [handle])


def filled(make=barrier):
    """The handle of a barrier with two complete elements."""
    handle = make()
    inserts = [raw_ops.BarrierInsertMany(handle, KEYS, v, component_index=i) for i, v in enumerate((ROWS, TEXTS))]
    return _after(handle, *inserts)


def closed():
    handle = barrier()
    return _after(handle, raw_ops.BarrierClose(handle))


SAMPLES: dict[str, list[Sample]] = {
    "Barrier": [s(component_types=TYPES), s(component_types=[F], shapes=[[2]], shared_name="shared")],
    "BarrierInsertMany": [
        s(barrier, KEYS, ROWS, component_index=0),
        s(barrier, KEYS, TEXTS, component_index=1),
        s(shapeless, KEYS, ROWS[:, :, None], component_index=0),
        wrong(barrier, KEYS, ROWS, component_index=1),
        wrong(barrier, KEYS, ROWS, component_index=2),
        wrong(barrier, KEYS, ROWS, component_index=-1),
        wrong(barrier, KEYS, ROWS[:, :1], component_index=0),
        wrong(barrier, KEYS, ROWS[:, :0], component_index=0),
        s(barrier, KEYS[:0], ROWS[:0], component_index=0),
        wrong(barrier, KEYS[[0, 0]], ROWS, component_index=0),
        wrong(filled, KEYS[:1], ROWS, component_index=0, error=ValueError),
        wrong(accumulator, KEYS, ROWS, component_index=0),
    ],
    "BarrierTakeMany": [
        s(filled, np.int32(2), component_types=TYPES),
        s(lambda: filled(shapeless), np.int32(1), component_types=TYPES, allow_small_batch=True),
        s(barrier, np.int32(0), component_types=TYPES),
        wrong(filled, np.int32(-1), component_types=TYPES, error=(ValueError, InvalidArgumentError)),
        wrong(filled, np.int32([1]), component_types=TYPES, error=ValueError),
        wrong(filled, np.int32(1), component_types=[F, F]),
        wrong(filled, np.int32(1), component_types=TYPES, timeout_ms=5),
        wrong(closed, np.int32(1), component_types=TYPES, error=OutOfRangeError),
        wrong(accumulator, np.int32(1), component_types=TYPES),
    ],
    "BarrierClose": [s(barrier), s(barrier, cancel_pending_enqueues=True), wrong(accumulator)],
    "BarrierReadySize": [s(filled), s(barrier), wrong(accumulator)],
    "BarrierIncompleteSize": [s(filled), s(barrier), wrong(accumulator)],
}
