"""Decompositions, determinants, inverses and solutions of linear equations (tf.linalg)."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.linalg.matrix import matmul
from headrace.library.numeric.reduction import reduce_max, reduce_sum
from headrace.library.scope import name_scope


@learned
def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of each innermost square matrix, or the inverse of its adjoint.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers; a singular matrix is an error.
      adjoint: Whether to invert the adjoint of each matrix.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `input`.

    >>> tf.Session().run(tf.matrix_inverse([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return raw_ops.MatrixInverse(input, adjoint=adjoint, name=name)


@learned
def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinant of each innermost square matrix.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers.
      name: A name for the op.

    Returns:
      A tensor of the type of `input`, without its last two dimensions.

    >>> tf.Session().run(tf.matrix_determinant([[2.0, 0.0], [0.0, 4.0]]))
    np.float32(8.0)
    """
    return raw_ops.MatrixDeterminant(input, name=name)


def slogdet(input: Any, name: str | None = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers.
      name: A name for the op.

    Returns:
      A named tuple of two tensors without the last two dimensions: `sign` and `log_abs_determinant`.

    >>> tf.Session().run(tf.linalg.slogdet([[-1.0, 0.0], [0.0, 1.0]]).sign)
    np.float32(-1.0)
    """
    return raw_ops.LogMatrixDeterminant(input, name=name)


@learned
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular factor of each positive definite matrix.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers; only the lower triangle is read.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `input`, zero above the diagonals.

    >>> tf.Session().run(tf.cholesky([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return raw_ops.Cholesky(input, name=name)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Solves ``A x = rhs`` given the Cholesky factor of A.

    Args:
      chol: What `tf.cholesky` gives for A: a tensor [..., size, size].
      rhs: The right-hand sides, a tensor [..., size, columns].
      name: A name for the op.

    Returns:
      The solutions, a tensor of the type and shape of `rhs`.

    >>> chol = tf.cholesky([[4.0, 2.0], [2.0, 5.0]])
    >>> tf.Session().run(tf.cholesky_solve(chol, [[6.0], [7.0]])).tolist()
    [[1.0], [1.0]]
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = raw_ops.MatrixTriangularSolve(chol, rhs, adjoint=False, lower=True)
        return raw_ops.MatrixTriangularSolve(chol, y, adjoint=True, lower=True)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of each positive definite matrix.

    Args:
      matrix: A tensor [..., size, size] of positive definite matrices of floats or complex numbers.
      name: A name for the op.

    Returns:
      A tensor of real numbers, without the last two dimensions of `matrix`.

    >>> tf.Session().run(tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]]))
    np.float32(0.0)
    """
    with name_scope(name, "logdet", [matrix]):
        factor = cholesky(matrix)
        logs = raw_ops.Log(raw_ops.MatrixDiagPart(factor))
        if factor.dtype.base_dtype.is_complex:
            logs = raw_ops.Real(logs, Tout=factor.dtype.base_dtype.real_dtype)
        return 2.0 * reduce_sum(logs, [-1])


@learned
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves ``matrix x = rhs`` for square matrices.

    Args:
      matrix: A tensor [..., size, size] of floats or complex numbers; a singular matrix is an error.
      rhs: The right-hand sides, a tensor [..., size, columns].
      adjoint: Whether to solve with the adjoint of each matrix.
      name: A name for the op.

    Returns:
      The solutions, a tensor of the type and shape of `rhs`.

    >>> tf.Session().run(tf.matrix_solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]])).tolist()
    [[1.0], [0.5]]
    """
    return raw_ops.MatrixSolve(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves ``matrix x = rhs`` using one triangle of the matrix.

    Args:
      matrix: A tensor [..., size, size] of floats or complex numbers; its other triangle is not read.
      rhs: The right-hand sides, a tensor [..., size, columns].
      lower: Whether the lower triangle counts, or the upper one.
      adjoint: Whether to solve with the adjoint of each triangle.
      name: A name for the op.

    Returns:
      The solutions, a tensor of the type of `rhs`.

    >>> tf.Session().run(tf.matrix_triangular_solve([[2.0, 9.0], [1.0, 4.0]], [[2.0], [5.0]])).tolist()
    [[1.0], [1.0]]
    """
    return raw_ops.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The least-squares solution of ``matrix x = rhs``, through the normal equations.

    Args:
      matrix: A tensor [..., rows, columns] of floats or complex numbers; the last two sizes must be known.
      rhs: The right-hand sides, a tensor [..., rows, right-hand sides].
      l2_regularizer: A number, 0 or more: how much large solutions are punished.
      fast: Accepted for TensorFlow's sake; the normal equations are solved either way.
      name: A name for the op.

    Returns:
      The solutions, a tensor [..., columns, right-hand sides].

    >>> tf.Session().run(tf.matrix_solve_ls([[1.0], [1.0]], [[2.0], [4.0]])).round(3)
    array([[3.]], dtype=float32)
    """
    with name_scope(name, "matrix_solve_ls", [matrix, rhs]):
        a, b = convert_to_tensor(matrix), convert_to_tensor(rhs)
        rows, columns = a.shape.with_rank_at_least(2).as_list()[-2:]
        if rows is None or columns is None:
            raise ValueError("matrix_solve_ls needs matrices whose last two dimensions are known")
        wide = rows < columns
        gram = matmul(a, a, adjoint_b=True) if wide else matmul(a, a, adjoint_a=True)
        if l2_regularizer:
            identity = constant(np.eye(min(rows, columns)), a.dtype.base_dtype)
            gram = raw_ops.AddV2(gram, raw_ops.Mul(identity, l2_regularizer))
        factor = cholesky(gram)
        if wide:
            return matmul(a, cholesky_solve(factor, b), adjoint_a=True)
        return cholesky_solve(factor, matmul(a, b, adjoint_a=True))


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """Orthogonal times upper triangular.

    Args:
      input: A tensor [..., rows, columns] of floats or complex numbers.
      full_matrices: Whether Q is square; otherwise Q and R have as few columns and rows as the smaller size.
      name: A name for the op.

    Returns:
      A named tuple of two tensors of the type of `input`: `q` and `r`, whose product is `input`.

    >>> q, r = tf.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> tf.Session().run(tf.matmul(q, r)).round(3).tolist()
    [[3.0, 1.0], [4.0, 2.0]]
    """
    return raw_ops.Qr(input, full_matrices=full_matrices, name=name)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values ``s``, or ``s, u, v`` with ``tensor = u diag(s) adjoint(v)``.

    Args:
      tensor: A tensor [..., rows, columns] of floats or complex numbers.
      full_matrices: Whether u and v are square; otherwise they have as many columns as there are singular values.
      compute_uv: Whether to compute u and v too.
      name: A name for the op.

    Returns:
      Three tensors, s (real and falling), u and v; only s if `compute_uv` is False.

    >>> tf.Session().run(tf.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False)).tolist()
    [4.0, 3.0]
    """
    s, u, v = raw_ops.Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    dtype = s.dtype.base_dtype
    if dtype.is_complex:
        s = raw_ops.Real(s, Tout=dtype.real_dtype)
    return (s, u, v) if compute_uv else s


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, rising, and eigenvectors of self-adjoint matrices.

    Args:
      tensor: A tensor [..., size, size] of floats or complex numbers; only the lower triangle is read.
      name: A name for the op.

    Returns:
      Two tensors: the eigenvalues [..., size], and the eigenvectors [..., size, size] as columns.

    >>> values, vectors = tf.self_adjoint_eig([[2.0, 0.0], [0.0, 1.0]])
    >>> tf.Session().run(values).tolist()
    [1.0, 2.0]
    """
    values, vectors = raw_ops.SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues, rising, of self-adjoint matrices.

    Args:
      tensor: A tensor [..., size, size] of floats or complex numbers; only the lower triangle is read.
      name: A name for the op.

    Returns:
      A tensor [..., size].

    >>> tf.Session().run(tf.self_adjoint_eigvals([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 2.0]
    """
    return raw_ops.SelfAdjointEigV2(tensor, compute_v=False, name=name)[0]


def expm(input: Any, name: str | None = None) -> Tensor:
    """The matrix exponential.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `input`.

    >>> tf.Session().run(tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return raw_ops.MatrixExponential(input, name=name)


def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """The matrix whose square is the input.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `input`.

    >>> tf.Session().run(tf.matrix_square_root([[4.0, 0.0], [0.0, 9.0]])).round(3).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return raw_ops.MatrixSquareRoot(input, name=name)


def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """The LU decomposition: both triangles in one matrix, and the row permutation.

    Args:
      input: A tensor [..., size, size] of floats or complex numbers; a singular matrix is an error.
      output_idx_type: The type of the permutation: `tf.int32` or `tf.int64`.
      name: A name for the op.

    Returns:
      A named tuple: `lu` of the shape of `input`, L below the diagonal (its own is 1) and U on and above it; and `p`
      [..., size]: row i of the product of L and U is row ``p[i]`` of `input`.

    >>> lu, p = tf.linalg.lu([[0.0, 2.0], [3.0, 4.0]])
    >>> [one.tolist() for one in tf.Session().run([lu, p])]
    [[[3.0, 4.0], [0.0, 2.0]], [1, 0]]
    """
    return raw_ops.Lu(input, output_idx_type=output_idx_type, name=name)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse.

    Args:
      a: A tensor [..., rows, columns] of floats.
      rcond: Singular values up to this part of the largest count as zero. None takes ``10 * max(rows, columns) *
        eps``.
      validate_args: Accepted for TensorFlow's sake; it changes nothing.
      name: A name for the op.

    Returns:
      A tensor [..., columns, rows] of the type of `a`.

    >>> tf.Session().run(tf.linalg.pinv([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    with name_scope(name or "pinv"):
        x = convert_to_tensor(a, name="a")
        if not x.dtype.base_dtype.is_floating:
            raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {x.dtype.base_dtype.name}).")
        if rcond is None:
            rows, columns = x.shape.with_rank_at_least(2).as_list()[-2:]
            if rows is None or columns is None:
                raise ValueError("pinv needs rcond when the last two dimensions are not known")
            rcond = 10.0 * max(rows, columns) * np.finfo(x.dtype.as_numpy_dtype).eps
        s, u, v = svd(x)
        cutoff = raw_ops.Mul(reduce_max(s, -1, True), convert_to_tensor(rcond, x.dtype.base_dtype))
        inverse = raw_ops.SelectV2(raw_ops.Greater(s, cutoff), raw_ops.Reciprocal(s), raw_ops.ZerosLike(s))
        return matmul(raw_ops.Mul(v, raw_ops.ExpandDims(inverse, -2)), u, adjoint_b=True)


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """How many singular values lie above a tolerance.

    Args:
      a: A tensor [..., rows, columns] of floats or complex numbers.
      tol: Singular values up to this count as zero. None takes the largest times ``max(rows, columns) * eps``.
      validate_args: Accepted for TensorFlow's sake; it changes nothing.
      name: A name for the op.

    Returns:
      An int32 tensor without the last two dimensions of `a`.

    >>> tf.Session().run(tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    np.int32(1)
    """
    with name_scope(name, "matrix_rank", [a]):
        x = convert_to_tensor(a, name="a")
        s = svd(x, compute_uv=False)
        if tol is None:
            rows, columns = x.shape.with_rank_at_least(2).as_list()[-2:]
            eps = np.finfo(x.dtype.as_numpy_dtype).eps
            tol = raw_ops.Mul(reduce_max(s, -1, True), float(eps * max(rows or 1, columns or 1)))
        above = raw_ops.Cast(raw_ops.Greater(s, tol), DstT=dtypes.int32)
        return reduce_sum(above, -1)
