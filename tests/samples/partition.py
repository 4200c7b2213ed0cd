"""Samples for ops whose result size depends on values."""

import numpy as np
from sample_forms import plain

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

F = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
I = np.array([5, 3, 5, 9, 3, 3], np.int32)  # noqa: E741
S = np.array([b"b", b"a", b"b"], dtype=object)


STITCHES = [
    Sample(([[0, 2], [3, 1]], [F[:2], F[2:]])),
    Sample(([np.int32(1), [[0], [2]]], [F[0], F[1:3].reshape(2, 1, 3)])),
    plain([[1, 0], [1]], [np.array([1, 2]), np.array([7])]),
    plain([[1, 0]], [S[:2]]),
    plain([np.zeros([0], np.int32)], [F[:0]]),
]

SAMPLES = {
    "Where": [
        plain(np.array([[True, False], [True, True]])),
        plain(np.array([0.0, 2.0, -1.0])),
        plain(np.zeros([3], bool)),
        plain(np.array([1, 0, 2])),
    ],
    "Unique": [
        plain(I),
        plain(I.astype(np.uint32)),
        plain(S),
        plain(F[:, 0], out_idx=dtypes.int64),
        plain(I[:0]),
        Sample((F,), error=ValueError),
    ],
    "UniqueWithCounts": [plain(I), plain(S), plain(I, out_idx=dtypes.int64), plain(I[:0])],
    "UniqueV2": [
        plain(I, [0]),
        plain(I, np.zeros([0], np.int64)),
        plain(F[[2, 0, 2, 1]], [0]),
        plain(np.array([[3, 1, 3], [4, 1, 4]]), np.array([1], np.int64), out_idx=dtypes.int64),
    ],
    "ListDiff": [
        plain(I, [3]),
        plain(I.astype(np.uint16), np.array([3], np.uint16)),
        plain(I > 4, I[:1] > 4),
        plain(I, I),
        plain(S, S[:1]),
        plain(F[0], F[0][:1], out_idx=dtypes.int64),
    ],
    "DynamicPartition": [
        Sample((F, [0, 1, 0, 2]), {"num_partitions": 3}),
        Sample((F, [1, 1, 1, 1]), {"num_partitions": 2}),
        Sample((F[:2, :2], [[0, 1], [1, 0]]), {"num_partitions": 2}),
        plain(I, [0, 0, 1, 1, 0, 0], num_partitions=2),
        plain(S, [1, 0, 1], num_partitions=2),
        Sample((F, [0, 1, 0, 3]), {"num_partitions": 3}, error=InvalidArgumentError),
    ],
    "DynamicStitch": STITCHES,
    "ParallelDynamicStitch": STITCHES,
}
