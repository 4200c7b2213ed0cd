"""Samples for concatenating, splitting, packing and unpacking."""

import numpy as np
from sample_forms import plain

from headrace.library.testing.opcheck import Sample

F = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
G = F[:, :1] + 10
I = np.arange(6, dtype=np.int64).reshape(3, 2)  # noqa: E741
S = np.array([[b"a", b"bc"], [b"", b"d"]], dtype=object)
B = np.array([True, False, True])


SAMPLES = {
    "ConcatV2": [
        Sample(([F, G], 1)),
        Sample(([F, F, G], -2)),
        plain([I, I], np.int64(0)),
        plain([S, S], 1),
        plain([B, B], 0),
        plain([np.zeros([0, 2], np.int64), I], 0),
        Sample(([F, G], 0), error=ValueError),
        Sample(([np.float32(1), np.float32(2)], 0), error=ValueError),
    ],
    "Concat": [Sample((1, [F, G])), plain(0, [I, I]), plain(0, [S, S])],
    "ConcatOffset": [plain(1, [[2, 3, 4], [2, 5, 4]]), plain(0, [[2], [3], [4]])],
    "ParallelConcat": [Sample(([F[:1], F[1:]],), {"shape": [2, 3, 4]}), plain([S[:1], S[1:]], shape=[2, 2])],
    "Split": [
        Sample((0, F), {"num_split": 2}),
        Sample((-1, F), {"num_split": 4}),
        plain(1, I, num_split=1),
        plain(0, S, num_split=2),
        plain(0, np.zeros([0, 2], np.float32), num_split=2),
        Sample((1, F), {"num_split": 2}, error=ValueError),
    ],
    "SplitV": [
        Sample((F, [1, 3], 2), {"num_split": 2}),
        Sample((F, [1, -1, 1], 1), {"num_split": 3}),
        plain(I, np.array([0, 3], np.int64), 0, num_split=2),
        plain(S, [1, 1], -1, num_split=2),
        Sample((F, [1, 1], 1), {"num_split": 2}, error=ValueError),
    ],
    "Pack": [
        Sample(([F, F * 2],)),
        Sample(([F, F * 2, F],), {"axis": -1}),
        plain([np.int32(1), np.int32(2)]),
        plain([S, S], axis=1),
        plain([B]),
        Sample(([F, G],), error=ValueError),
    ],
    "Unpack": [
        Sample((F,), {"num": 2}),
        Sample((F,), {"num": 4, "axis": -1}),
        plain(I, num=2, axis=1),
        plain(S, num=2),
        plain(S[0], num=2),
        plain(np.zeros([0, 2], np.float32), num=0),
        Sample((F,), {"num": 3}, error=ValueError),
    ],
}
