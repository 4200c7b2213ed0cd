"""Samples of inverses, decompositions, solvers and Einstein sums."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

M = np.array([[2.0, 0.5, -0.3], [0.1, 1.5, 0.4], [-0.2, 0.3, 1.8]])
BATCH = np.stack([M, M.T + np.diag([0.5, 0.2, 0.1])])
UNKNOWN = np.stack([M, np.diag([2.0, np.nan, 1.0])])
SPD = np.round(M @ M.T, 4)  # the last bit of a product depends on the processor
R = np.array([[1.0, -0.5], [0.25, 2.0], [-1.5, 0.75]])
TALL = np.array([[1.0, 0.5], [-0.3, 2.0], [0.7, -1.1]])
Z = np.array([[2.0 + 0.5j, 0.25 - 0.5j], [0.1 + 0.3j, 1.5 - 0.25j]])
X = (np.arange(12, dtype=np.float64) % 5 - 1.5).reshape(2, 2, 3)
Y = (np.arange(12, dtype=np.float64) % 7 - 2.5).reshape(2, 3, 2)
SINGLE = {"gradient": False, "rtol": 1e-3, "atol": 1e-3}

_SQUARE = [
    Sample([M]),
    Sample([BATCH]),
    Sample([M.astype(np.float32)], **SINGLE),
    Sample([R], error=Exception),
]

SAMPLES: dict[str, list[Sample]] = {
    "MatrixInverse": [*_SQUARE, Sample([BATCH], {"adjoint": True}), Sample([Z])],
    "MatrixDeterminant": [*_SQUARE, Sample([UNKNOWN], gradient=False), Sample([np.zeros([0, 0])], gradient=False)],
    "LogMatrixDeterminant": [Sample([BATCH]), Sample([M.astype(np.float32)], **SINGLE)],
    "MatrixExponential": _SQUARE,
    "MatrixSquareRoot": [Sample([SPD], gradient=False), Sample([BATCH.astype(np.float32)], **SINGLE)],
    "Cholesky": [Sample([SPD.astype(np.float32)], **SINGLE), Sample([SPD], gradient=False)],
    "_CholeskyGrad": [Sample([np.linalg.cholesky(SPD), SPD], gradient=False)],
    "Qr": [
        Sample([TALL]),
        Sample([TALL], {"full_matrices": True}, gradient=False),
        Sample([BATCH], gradient=False),
        Sample([TALL.T.copy()], gradient=False),
    ],
    "Svd": [
        Sample([TALL], {"compute_uv": False}),
        Sample([TALL], gradient=False, unique=False),
        Sample([TALL.T.copy()], {"full_matrices": True}, gradient=False, unique=False),
        Sample([BATCH.astype(np.float32)], unique=False, **SINGLE),
        Sample([Z], gradient=False, unique=False),
    ],
    "SelfAdjointEigV2": [
        Sample([SPD], {"compute_v": False}, gradient=False),
        Sample([np.stack([SPD, SPD + np.eye(3)])], gradient=False, unique=False),
    ],
    "Lu": [Sample([BATCH], gradient=False), Sample([M], {"output_idx_type": dtypes.int64}, gradient=False)],
    "MatrixSolve": [
        Sample([M, R]),
        Sample([M, R], {"adjoint": True}),
        Sample([BATCH, np.stack([R, R + 1])]),
        Sample([Z, Z + 1]),
        Sample([M, TALL[:2]], error=Exception),
    ],
    "MatrixTriangularSolve": [
        Sample([M, R]),
        Sample([M, R], {"lower": False}),
        Sample([M, R], {"adjoint": True}),
        Sample([BATCH, np.stack([R, R + 1])], {"lower": False, "adjoint": True}),
    ],
    "Einsum": [
        Sample([[M, R]], {"equation": "ij,jk->ik"}),
        Sample([[X, Y]], {"equation": "bij,bjk->bik"}),
        Sample([[X, Y]], {"equation": "bij,cjk->ik"}),
        Sample([[X]], {"equation": "bij->j"}),
        Sample([[M, M]], {"equation": "ij,ij"}),
        Sample([[M, R]], {"equation": "ij,jk"}),
        Sample([[M, R, R]], {"equation": "ij,jk,lk->il"}),
        Sample([[X, Y]], {"equation": "...ij,...jk->...ik"}),
        Sample([[M]], {"equation": "ii->i"}),
        Sample([[np.int32([[1, 2]]), np.int32([[3], [4]])]], {"equation": "ij,jk->ik"}, gradient=False),
    ],
}
