"""Samples of products of matrices."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

A = np.array([[0.3, -0.7, 1.6], [2.4, -1.2, 0.9]], np.float32)
B = np.array([[1.3, 0.6], [-1.1, 0.5], [2.2, -0.8]], np.float32)
INTS = np.array([[1, -2, 3], [0, 4, 5]], np.int32)
Z = np.array([[0.5 + 0.25j, -0.75 + 0.5j], [1.5 - 2.0j, -0.5 - 0.25j]], np.complex64)
X = (np.arange(12, dtype=np.float32) % 5 - 1.5).reshape(2, 2, 3)
Y = (np.arange(12, dtype=np.float32) % 7 - 2.5).reshape(2, 3, 2)
LOOSE = {"rtol": 1e-3, "atol": 1e-3}

_BATCHES = [
    Sample([X, Y], **LOOSE),
    Sample([X.mT, Y], {"adj_x": True}, **LOOSE),
    Sample([X, Y.mT], {"adj_y": True}, **LOOSE),
    Sample([X.mT, Y.mT], {"adj_x": True, "adj_y": True}, **LOOSE),
    Sample([X[0], Y[0]], **LOOSE),
    Sample([X[:0], Y[:0]]),
    Sample([Z[None], Z[None]], {"adj_x": True}, **LOOSE),
    Sample([X, X], error=Exception),
]

SAMPLES: dict[str, list[Sample]] = {
    "MatMul": [
        Sample([A, B], **LOOSE),
        Sample([A.T, B], {"transpose_a": True}, **LOOSE),
        Sample([A, B.T], {"transpose_b": True}, **LOOSE),
        Sample([A.T, B.T], {"transpose_a": True, "transpose_b": True}, **LOOSE),
        Sample([A.astype(np.float64), B.astype(np.float64)]),
        Sample([A.astype(np.float16), B.astype(np.float16)], gradient=False, rtol=1e-2, atol=1e-2),
        Sample([A, B], {"T": dtypes.bfloat16}, gradient=False, rtol=5e-2, atol=5e-2),
        Sample([INTS, INTS.T], gradient=False),
        Sample([Z, Z], {"transpose_a": True}, **LOOSE),
        Sample([A[:, :0], B[:0]], note="nothing to sum"),
        Sample([A, A], error=Exception),
    ],
    "SparseMatMul": [
        Sample([A, B], {"a_is_sparse": True}, **LOOSE),
        Sample([A, B.T], {"transpose_b": True, "b_is_sparse": True}, **LOOSE),
        Sample([A, B], {"Ta": dtypes.bfloat16}, gradient=False, rtol=5e-2, atol=5e-2),
    ],
    "BatchMatMul": _BATCHES,
    "BatchMatMulV2": [
        *_BATCHES,
        Sample([X, Y[0]], note="broadcast", **LOOSE),
        Sample([X[:1], Y], note="broadcast", **LOOSE),
        Sample([X[0], Y], note="broadcast", **LOOSE),
    ],
    "Cross": [Sample([A, A[::-1].copy()]), Sample([A[0], A[1]]), Sample([INTS, INTS[::-1].copy()], gradient=False)],
}
