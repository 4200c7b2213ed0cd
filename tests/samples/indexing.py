"""Samples for gathering and scattering by index."""

import numpy as np
from sample_forms import plain

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

F = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
V = np.arange(5, dtype=np.float64)
I = np.arange(6, dtype=np.int64).reshape(3, 2)  # noqa: E741
S = np.array([b"a", b"bc", b"", b"d"], dtype=object)


UPDATES = [
    (V, [[1], [3]], np.array([10.0, 20.0])),
    (F, [[1, 2], [0, 0]], np.ones([2, 4], np.float32)),
    (F, np.array([[[0]], [[1]]], np.int64), np.ones([2, 1, 3, 4], np.float32)),
    (F, [1, 2, 3], np.float32(5)),
    (I, np.zeros([0, 1], np.int32), np.zeros([0, 2], np.int64)),
]
SCATTERS = [
    *[Sample((x, i, u), gradient=x.dtype.kind == "f") for x, i, u in UPDATES],
    Sample((V, [[7]], np.array([1.0])), error=InvalidArgumentError),
    Sample((V, [[1]], np.array([1.0, 2.0])), error=ValueError),
]
ADDS = [*SCATTERS, Sample((V, [[1], [1]], np.array([10.0, 20.0])), note="the same place twice")]

SAMPLES = {
    "GatherV2": [
        Sample((F, [1, 0, 1], 0)),
        Sample((F, [[2, 0], [1, 1]], 1)),
        Sample((F, np.array([3], np.int64), np.int64(-1))),
        Sample((F, np.int32(1), 2)),
        Sample((F, [[2, 0], [1, 1]], 1), {"batch_dims": 1}),
        Sample((F, [[0, 3], [1, 1]], 2), {"batch_dims": 1}),
        Sample((F, [[2, 0], [1, 1]], 1), {"batch_dims": -1}),
        plain(I, np.zeros([0], np.int32), 0),
        plain(S, [[3, 0]], 0),
        plain(I.astype(np.uint64), [2, 0], 0),
        plain(S.reshape(2, 2), [[1], [0]], 1, batch_dims=1),
        plain(np.array([True, False]), [1, 1], 0),
        Sample((F, [0, 2], 0), error=InvalidArgumentError),
        Sample((F, [-1], 0), error=InvalidArgumentError),
        Sample((F, [[3, 0], [1, 1]], 1), {"batch_dims": 1}, error=InvalidArgumentError),
        Sample((F, [0], 3), error=ValueError),
    ],
    "Gather": [Sample((F, [1, 1, 0])), plain(S, [1, 0]), Sample((V, [5]), error=InvalidArgumentError)],
    "_GatherGrad": [
        Sample((np.ones([2, 2, 4], np.float32), [2, 2], [2, 3, 4], 1)),
        Sample((np.ones([3, 3, 4], np.float32), [0, 1, 1], [2, 3, 4], 0)),
        Sample((np.ones([2, 2, 4], np.float32), [[2, 0], [1, 1]], [2, 3, 4], 1), {"batch_dims": 1}),
    ],
    "GatherNd": [
        Sample((F, [[1, 2], [0, 0]])),
        Sample((F, [[0], [1]])),
        Sample((F, np.array([1, 2, 3], np.int64))),
        Sample((F, np.zeros([2, 0], np.int32)), note="whole tensors"),
        plain(I, [[[2, 1]], [[0, 0]]]),
        plain(S, [[1], [3]]),
        Sample((F, [[1, 3]]), error=InvalidArgumentError),
        Sample((F, [[0, -1]]), error=InvalidArgumentError),
        Sample((V, [[0, 0]]), error=ValueError),
    ],
    "ScatterNd": [
        Sample(([[1], [3]], np.array([10.0, 20.0]), [5])),
        Sample(([[1], [1]], np.array([10.0, 20.0]), [5])),
        Sample((np.array([[1, 2]], np.int64), np.ones([1, 4], np.float32), np.array([2, 3, 4], np.int64))),
        plain([[0]], np.array([True]), [3]),
        plain(np.zeros([0, 1], np.int32), np.zeros([0], np.float32), [2]),
        Sample(([[5]], np.array([1.0]), [5]), error=InvalidArgumentError),
    ],
    "TensorScatterUpdate": SCATTERS,
    "TensorScatterAdd": ADDS,
    "TensorScatterSub": ADDS,
    "ScatterNdNonAliasingAdd": ADDS,
}
