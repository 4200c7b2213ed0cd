"""Matrices: products, decompositions, diagonals; Fourier transforms; sparse matrices."""

import numpy as np

from benchmarks._families.case import add, integers, normal, read

# ---- products

M = "matmul"
SIDES = (64, 256, 768)


def _square(n, r):
    return normal(r, n, n), normal(r, n, n)


add(M, "MatMul", lambda tf, x, y: tf.matmul(x, y), _square, SIDES, gradient=True)
add(M, "MatMul transpose_b", lambda tf, x, y: tf.matmul(x, y, transpose_b=True), _square, SIDES)
add(M, "MatMul by a vector", lambda tf, x, y: tf.matmul(x, y), lambda n, r: (normal(r, n, n), normal(r, n, 1)), SIDES)
add(
    M, "MatMul of a batch by weights", lambda tf, x, y: tf.matmul(x, y),
    lambda n, r: (normal(r, 16, n), normal(r, n, 2 * n)), SIDES, gradient=True,
)  # fmt: skip
add(
    M, "BatchMatMulV2", lambda tf, x, y: tf.matmul(x, y), lambda n, r: (normal(r, 8, n, 32), normal(r, 8, 32, n)),
    SIDES, gradient=True,
)  # fmt: skip
add(M, "einsum", lambda tf, x, y: tf.einsum("bik,bjk->bij", x, y),
    lambda n, r: (normal(r, 8, n, 32), normal(r, 8, n, 32)), SIDES)  # fmt: skip

# ---- linear algebra

L = "linear algebra"
ORDERS = (16, 64, 256)


def _definite(n, r):
    x = r.randn(n, n)
    return (x @ x.T / n + np.eye(n)).astype(np.float32)


def _solved(n, r):
    return _definite(n, r), normal(r, n, 4)


add(L, "Cholesky", lambda tf, x: tf.cholesky(x), lambda n, r: (_definite(n, r),), ORDERS, gradient=True, tolerance=1e-3)
add(L, "MatrixInverse", lambda tf, x: tf.matrix_inverse(x), lambda n, r: (_definite(n, r),), ORDERS, gradient=True,
    tolerance=1e-3)  # fmt: skip
add(L, "MatrixSolve", lambda tf, x, y: tf.matrix_solve(x, y), _solved, ORDERS, gradient=True, tolerance=1e-3)
add(L, "MatrixTriangularSolve", lambda tf, x, y: tf.matrix_triangular_solve(x, y), _solved, ORDERS, tolerance=1e-3)
add(L, "Qr", lambda tf, x: [tf.abs(y) for y in tf.qr(x)], lambda n, r: (_definite(n, r),), ORDERS, tolerance=1e-2)
add(L, "Svd values", lambda tf, x: tf.svd(x, compute_uv=False), lambda n, r: (normal(r, n, n),), ORDERS, tolerance=1e-3)
add(L, "SelfAdjointEigV2", lambda tf, x: tf.self_adjoint_eig(x)[0], lambda n, r: (_definite(n, r),), ORDERS,
    tolerance=1e-3)  # fmt: skip
add(L, "MatrixDiag", lambda tf, x: tf.matrix_diag(x), lambda n, r: (normal(r, 16, n),), ORDERS)
add(L, "MatrixDiagPart, Neg", read(lambda tf, x: tf.matrix_diag_part(x)), lambda n, r: (normal(r, 16, n, n),), ORDERS)
add(L, "MatrixBandPart", lambda tf, x: tf.matrix_band_part(x, -1, 0), lambda n, r: (normal(r, 16, n, n),), ORDERS)

# ---- Fourier transforms

F = "Fourier transforms"
LENGTHS = (256, 2048, 2**15)


def _waves(*shape):
    return lambda n, r: ((r.randn(16, n) + 1j * r.randn(16, n)).astype(np.complex64).reshape([16, n, *shape]),)


add(F, "FFT", lambda tf, x: tf.fft(x), _waves(), LENGTHS, gradient=True)
add(F, "RFFT", lambda tf, x: tf.signal.rfft(x), lambda n, r: (normal(r, 16, n),), LENGTHS, gradient=True)

# ---- sparse tensors

S = "sparse"
ENTRIES = (256, 4096, 2**16)
WIDTH = 64


def _entries(n, r):
    """n of the places of an n by 64 matrix, in order, and their values."""
    places = np.sort(r.choice(n * WIDTH, n, replace=False))
    return np.stack([places // WIDTH, places % WIDTH], 1).astype(np.int64), normal(r, n)


def _sparse(tf, i, v):
    """The sparse tensor, knowing its number of rows from that of its entries."""
    return tf.SparseTensor(tf.identity(i), tf.identity(v), [i.shape[0].value, WIDTH])


def _lists(n, r):
    """The rows of n ids, about four in each."""
    rows = np.sort(integers(r, max(n // 4, 1), n))
    place = np.arange(n) - np.searchsorted(rows, rows)
    return np.stack([rows, place], 1).astype(np.int64)


add(
    S, "SparseTensorDenseMatMul", lambda tf, i, v, y: tf.sparse_tensor_dense_matmul(_sparse(tf, i, v), y),
    lambda n, r: (*_entries(n, r), normal(r, WIDTH, 32)), ENTRIES, gradient=True,
)  # fmt: skip
add(S, "SparseToDense", lambda tf, i, v: tf.sparse_tensor_to_dense(_sparse(tf, i, v)), _entries, ENTRIES)
add(S, "SparseReduceSum", lambda tf, i, v: tf.sparse_reduce_sum(_sparse(tf, i, v), 1), _entries, ENTRIES)
add(
    S, "SparseAdd", lambda tf, i, v, j, w: tf.sparse_add(_sparse(tf, i, v), _sparse(tf, j, w)),
    lambda n, r: (*_entries(n, r), *_entries(n, r)), ENTRIES,
)  # fmt: skip
add(S, "SparseReorder", lambda tf, i, v: tf.sparse_reorder(_sparse(tf, i, v)),
    lambda n, r: tuple(a[r.permutation(n)] for a in _entries(n, r)), ENTRIES)  # fmt: skip
add(S, "SparseConcat", lambda tf, i, v, j, w: tf.sparse_concat(1, [_sparse(tf, i, v), _sparse(tf, j, w)]),
    lambda n, r: (*_entries(n, r), *_entries(n, r)), ENTRIES)  # fmt: skip
add(
    S, "embedding_lookup_sparse",
    lambda tf, x, i, v: tf.nn.embedding_lookup_sparse(
        x, tf.SparseTensor(tf.identity(i), tf.identity(v), [v.shape[0].value, 64]), None, combiner="sum"),
    lambda n, r: (normal(r, 1000, 32), _lists(n, r), integers(r, 1000, n, dtype=np.int64)), ENTRIES,
)  # fmt: skip
