"""Samples for diagonals and bands of matrices."""

import numpy as np
from sample_forms import plain

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

V = np.array([1.5, 2.5, 3.5], np.float32)
M = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 7
Q = np.arange(9, dtype=np.float32).reshape(3, 3)
I = np.arange(12, dtype=np.int32).reshape(3, 4)  # noqa: E741
BAND = np.arange(18, dtype=np.float64).reshape(2, 3, 3) / 5


SAMPLES = {
    "Diag": [Sample((V,)), Sample((M[0, :2, :2],)), plain(I[0]), plain(V[:0])],
    "DiagPart": [
        Sample((Q,)),
        Sample((M.reshape(2, 3, 4)[:, :2, :2][..., None].repeat(2, -1),)),
        Sample((M,), error=ValueError),
    ],
    "MatrixDiag": [Sample((V,)), Sample((M,)), plain(I), plain(np.array([True, False]))],
    "MatrixDiagPart": [Sample((Q,)), Sample((M,)), plain(I), Sample((V,), error=ValueError)],
    "MatrixSetDiag": [
        Sample((Q, V)),
        Sample((M, np.ones([2, 3]))),
        plain(I, np.array([7, 8, 9], np.int32)),
        Sample((Q, V[:2]), error=ValueError),
    ],
    "MatrixBandPart": [
        Sample((Q, 1, 0)),
        Sample((M, np.int64(-1), np.int64(1))),
        Sample((M, -1, -1)),
        plain(I, 0, 0),
        Sample((Q, 5, 0), error=InvalidArgumentError),
    ],
    "MatrixDiagPartV2": [
        Sample((M, 0, np.float64(0)), wrt=["input"]),
        Sample((M, 1, np.float64(0)), wrt=["input"]),
        Sample((M, [-1, 1], np.float64(0)), wrt=["input"]),
        Sample((M, [-2, -1], np.float64(0)), wrt=["input"]),
        plain(I, [1, 3], np.int32(-9)),
        Sample((Q, 5, np.float32(0)), error=ValueError),
    ],
    "MatrixSetDiagV2": [
        Sample((Q, V, 0)),
        Sample((Q, V[:2], -1)),
        plain(M, BAND, [-1, 1]),
    ],
    "MatrixDiagV2": [
        Sample((V, 0, -1, -1, np.float32(0)), wrt=["diagonal"]),
        Sample((V, 1, -1, -1, np.float32(0)), wrt=["diagonal"]),
        Sample((V, -1, 4, 5, np.float32(0)), wrt=["diagonal"]),
        plain(V, 0, -1, 4, np.float32(7)),
        plain(BAND, [-1, 1], 3, 4, np.float64(0)),
        plain(BAND[:, :2, :2], [-1, 0], -1, -1, np.float64(0)),
        Sample((V, 0, 2, 2, np.float32(0)), error=ValueError),
    ],
}
