"""Samples for tiling, padding, reversing and rolling."""

import numpy as np
from sample_forms import plain

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

F = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
T = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 7
I = np.arange(6, dtype=np.int64).reshape(3, 2)  # noqa: E741
S = np.array([[b"a", b"bc"], [b"", b"d"]], dtype=object)


MIRRORS = [([[1, 2], [3, 0]], "REFLECT"), ([[3, 1], [0, 4]], "SYMMETRIC"), ([[0, 0], [0, 0]], "REFLECT")]

SAMPLES = {
    "Tile": [
        Sample((F, [2, 1])),
        Sample((T, np.array([1, 2, 3], np.int64))),
        Sample((np.float32(2), np.zeros([0], np.int32))),
        plain(I, [0, 2]),
        plain(S, [1, 2]),
        Sample((F, [2]), error=ValueError),
    ],
    "Pad": [
        Sample((F, [[1, 0], [2, 1]])),
        Sample((T, np.array([[0, 0], [1, 1], [0, 2]], np.int64))),
        plain(I, [[1, 1], [0, 0]]),
        plain(S, [[0, 1], [1, 0]]),
        plain(np.array([True]), [[1, 1]]),
        Sample((F, [[1, 0]]), error=ValueError),
        Sample((F, [[-1, 0], [0, 0]]), error=ValueError),
    ],
    "PadV2": [
        Sample((F, [[1, 0], [2, 1]], np.float32(9)), wrt=["input"]),
        plain(I, [[1, 1], [0, 0]], np.int64(-4)),
        plain(S, [[0, 1], [1, 0]], np.array(b"-", dtype=object)),
        plain(np.array([True]), [[1, 1]], np.True_),
    ],
    "MirrorPad": [
        *[Sample((F, p), {"mode": m}) for p, m in MIRRORS],
        plain(I, [[2, 2], [1, 1]], mode="REFLECT"),
        plain(S, [[1, 1], [1, 0]], mode="SYMMETRIC"),
        Sample((F, [[3, 0], [0, 0]]), {"mode": "REFLECT"}, error=InvalidArgumentError),
    ],
    "MirrorPadGrad": [Sample((np.pad(F, p), p), {"mode": m}) for p, m in MIRRORS],
    "ReverseV2": [
        Sample((F, [0])),
        Sample((T, np.array([-1, 0], np.int64))),
        plain(I, np.zeros([0], np.int32)),
        plain(S, [1]),
        plain(I.astype(np.uint16), [1]),
        Sample((F, [2]), error=ValueError),
        Sample((F, [0, 0]), error=ValueError),
    ],
    "ReverseSequence": [
        Sample((F, [4, 2, 0]), {"seq_dim": 1}),
        Sample((F, np.array([3, 1, 2, 0], np.int64)), {"seq_dim": 0, "batch_dim": 1}),
        Sample((T, [1, 2, 4]), {"seq_dim": 2, "batch_dim": 1}),
        plain(S, [2, 1], seq_dim=1),
        Sample((F, [1, 2]), {"seq_dim": 1}, error=ValueError),
    ],
    "Roll": [
        Sample((F, 1, 0)),
        Sample((T, [1, -2], [0, 2])),
        plain(I, np.int64(5), np.int64(1)),
        plain(S, [1], [0]),
        plain(F, [1, 1], [0, 0]),
    ],
}
