"""Samples for shapes, reshaping, transposing and broadcasting."""

import numpy as np
from sample_forms import plain

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

F = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
M = np.arange(6, dtype=np.float64).reshape(2, 3)
I = np.arange(6, dtype=np.int32).reshape(3, 2)  # noqa: E741
S = np.array([[b"a", b"bc"], [b"", b"d"]], dtype=object)
C = (M + 1j * M[::-1]).astype(np.complex64)
EMPTY = np.zeros([0, 3], np.float32)
ONE = np.float32(2.5)


SAMPLES = {
    "Shape": [plain(F), plain(ONE), plain(EMPTY), plain(S), plain(I, out_type=dtypes.int64)],
    "ShapeN": [plain([F, F[0]]), plain([I], out_type=dtypes.int64), plain([S, S[0]])],
    "Size": [plain(F), plain(ONE), plain(EMPTY, out_type=dtypes.int64), plain(S)],
    "Rank": [plain(F), plain(ONE), plain(S)],
    "Reshape": [
        Sample((F, [4, -1])),
        Sample((F, np.array([24], np.int64))),
        Sample((ONE, [1, 1])),
        Sample((F[:1, :1, :1], np.zeros([0], np.int32)), note="to a scalar"),
        plain(EMPTY, [3, 0]),
        plain(I, [2, 3]),
        plain(S, [-1]),
        Sample((F, [5, -1]), error=ValueError),
        Sample((F, [-1, -1]), error=ValueError),
    ],
    "ExpandDims": [
        Sample((F, 0)),
        Sample((M, -1)),
        plain(I, [1]),
        plain(S, 1),
        plain(ONE, 0),
        Sample((M, 5), error=ValueError),
    ],
    "Squeeze": [
        Sample((F[:, :1],)),
        Sample((F[:1, :, :1],), {"squeeze_dims": [0]}),
        Sample((F[:1, :, :1],), {"squeeze_dims": [-1, 0]}),
        plain(S[:1]),
        plain(S[:1], squeeze_dims=[0]),
        Sample((F,), {"squeeze_dims": [1]}, error=ValueError),
    ],
    "Transpose": [
        Sample((F, [2, 0, 1])),
        Sample((M, np.array([0, 1], np.int64))),
        plain(C, [1, 0]),
        plain(I, [1, 0]),
        plain(S, [1, 0]),
        plain(ONE, np.zeros([0], np.int32)),
        Sample((F, [0, 0, 1]), error=ValueError),
    ],
    "ConjugateTranspose": [Sample((C, [1, 0])), plain(M, [1, 0])],
    "InvertPermutation": [plain([2, 0, 1]), plain(np.array([3, 2, 1, 0], np.int64)), plain(np.zeros([0], np.int32))],
    "BroadcastTo": [
        Sample((M, [4, 2, 3])),
        Sample((F[:, :1], [2, 5, 4])),
        Sample((ONE, [2, 2])),
        plain(I[:1], np.array([3, 2], np.int64)),
        plain(S[:1], [3, 2]),
        plain(EMPTY, [2, 0, 3]),
        Sample((M, [3, 3]), error=ValueError),
    ],
    "BroadcastArgs": [plain([2, 1], [3]), plain(np.zeros([0], np.int64), np.array([4], np.int64))],
    "BroadcastGradientArgs": [plain([2, 3, 1], [3, 4]), plain([2, 3], [2, 3]), plain(np.zeros([0], np.int32), [5])],
}
