"""Products of small matrices.

No matrix has more than 64 by 64 elements, so no product more than 64^3 steps, which is what OpenBLAS does on one thread.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING
from headrace.ops.arrays._declare import on_arrays

_MOST = 64 * 64


@on_arrays("MatMul", most=_MOST, saves=5, T=FLOAT_OR_COMPLEX)
def _product(a, b, transpose_a, transpose_b):
    return np.dot(a.T if transpose_a else a, b.T if transpose_b else b)


@on_arrays("BatchMatMul", "BatchMatMulV2", most=_MOST, saves=5, T=FLOATING)
def _products(x, y, adj_x, adj_y):
    return np.matmul(x.swapaxes(-1, -2) if adj_x else x, y.swapaxes(-1, -2) if adj_y else y)
