"""Samples of the ops on queues."""

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.library.scope import control_dependencies
from headrace.library.testing.opcheck import Sample

S, F, I32 = dtypes.string, dtypes.float32, dtypes.int32
ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
WORDS = np.array([b"a", b"bc", b"d"], object)
TYPES = [F, S]


def queue():
    return raw_ops.FIFOQueueV2(component_types=TYPES, shapes=[[2], []])


def padding():
    return raw_ops.PaddingFIFOQueueV2(component_types=TYPES, shapes=[[None], []])


def shapeless():
    return raw_ops.FIFOQueueV2(component_types=TYPES)


def filled(make=queue):
    """The handle of a queue, once it holds three elements."""
    handle = make()
    with control_dependencies([raw_ops.QueueEnqueueManyV2(handle, [ROWS, WORDS])]):
        return raw_ops._ChooseHandle(0, [handle])


def taken(*kinds):
    return [s(lambda make=kind: filled(make), np.int32(2), component_types=TYPES) for kind in kinds]


SAMPLES: dict[str, list[Sample]] = {
    "FIFOQueueV2": [s(component_types=TYPES), s(component_types=[F], shapes=[[]], capacity=3, shared_name="shared")],
    "PaddingFIFOQueueV2": [s(component_types=TYPES, shapes=[[None], []])],
    "PriorityQueueV2": [s(component_types=[S], shapes=[[]]), s(shapes=[])],
    "RandomShuffleQueueV2": [s(component_types=[F], min_after_dequeue=2, capacity=5, seed=1, seed2=2)],
    "_QueueState": [s(queue), s(filled), s(lambda: filled(padding)), s(shapeless)],
    "_RestoreQueueState": [
        s(queue, np.empty((0, 2), object), np.int64([1])),
        wrong(queue, np.empty((0, 1), object), np.int64([0])),
        wrong(queue, np.empty((0, 2), object), np.int64([0, 1])),
        wrong(queue, np.array([[b"?", b"?"]], object), np.int64([0])),
    ],
    "_ChooseHandle": [s(np.int32(1), [queue, padding])],
    "QueueEnqueueV2": [
        s(queue, [ROWS[0], WORDS[0:1].reshape(())]),
        wrong(queue, [ROWS[0]]),
        wrong(queue, [ROWS, WORDS[0:1].reshape(())]),
        wrong(queue, [np.int32([1, 2]), WORDS[0:1].reshape(())]),
    ],
    "QueueEnqueueManyV2": [s(queue, [ROWS, WORDS]), s(queue, [ROWS[:0], WORDS[:0]]), wrong(queue, [ROWS, WORDS[:2]])],
    "QueueDequeueV2": [s(filled, component_types=TYPES), wrong(filled, component_types=[F])],
    "QueueDequeueManyV2": [*taken(queue, padding), wrong(shapeless, np.int32(1), component_types=TYPES)],
    "QueueDequeueUpToV2": taken(queue),
    "QueueCloseV2": [s(queue), s(queue, cancel_pending_enqueues=True)],
    "QueueSizeV2": [s(filled)],
    "QueueIsClosedV2": [s(queue)],
}
