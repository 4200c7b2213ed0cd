"""TF1's linear algebra: matmul, tensordot, einsum, norms, decompositions and solvers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import bfloat16, float32
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.numeric.math import abs as absolute
from headrace.library.numeric.math import cast, conj
from headrace.library.numeric.reduction import reduce_max, reduce_sum
from headrace.library.scope import name_scope


@learned
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices, or of batches of matrices, which broadcast.  The ``_is_sparse`` hints change nothing.

    A matrix of float32 and one of bfloat16 give float32.

    >>> a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.Session().run(tf.matmul(a, a))
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    >>> tf.matmul(tf.zeros([10, 2, 3]), tf.zeros([10, 4, 3]), transpose_b=True).shape
    TensorShape([Dimension(10), Dimension(2), Dimension(4)])
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        x = convert_to_tensor(a, name="a")
        y = convert_to_tensor(b, name="b", preferred_dtype=x.dtype.base_dtype)
        if {x.dtype.base_dtype, y.dtype.base_dtype} == {float32, bfloat16}:
            return sparse_matmul(
                x, y, transpose_a or adjoint_a, transpose_b or adjoint_b, a_is_sparse, b_is_sparse, scope
            )
        if _may_be_batch(x) or _may_be_batch(y):
            if transpose_a:
                x, adjoint_a = conj(x), True
            if transpose_b:
                y, adjoint_b = conj(y), True
            return raw_ops.BatchMatMulV2(x, y, adj_x=adjoint_a, adj_y=adjoint_b, name=scope)
        if adjoint_a:
            x, transpose_a = conj(x), True
        if adjoint_b:
            y, transpose_b = conj(y), True
        return raw_ops.MatMul(x, y, transpose_a=transpose_a, transpose_b=transpose_b, name=scope)


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices of float32 or bfloat16 said to hold many zeros."""
    return raw_ops.SparseMatMul(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        name=name,
    )


def _may_be_batch(x: Tensor) -> bool:
    rank = x.shape.ndims
    return rank is None or rank > 2


@learned
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """A matrix, or a batch of them, times a vector."""
    with name_scope(name, "MatVec", [a, b]):
        column = raw_ops.ExpandDims(b, -1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return raw_ops.Squeeze(product, [-1])


# ---- sums over chosen axes of two tensors


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Sums of products in Einstein's notation: ``einsum("ij,jk->ik", a, b)`` is a matrix product."""
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"einsum() got an unexpected keyword argument {next(iter(kwargs))!r}")
    operands = list(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else list(inputs)
    with name_scope(name, "einsum", operands):
        return raw_ops.Einsum(operands, equation=equation)


# ---- norms


@learned
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors (``axis`` an integer, or None for the whole tensor) or of matrices (``axis`` a pair)."""
    keep = bool(either("keepdims", keepdims, "keep_dims", keep_dims))
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    if is_matrix and (len(set(axis)) != 2 or not all(isinstance(a, (int, np.integer)) for a in axis)):
        raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
    if not is_matrix and axis is not None and not isinstance(axis, (int, np.integer)):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    allowed = ["euclidean", "fro", 1, 2, np.inf] if is_matrix else ["euclidean", 1, 2, np.inf]
    if ord not in allowed and (is_matrix or not isinstance(ord, (int, float, np.number)) or ord <= 0):
        raise ValueError(
            f"'ord' must be a supported {'matrix' if is_matrix else 'vector'} norm in {allowed}, got {ord}"
        )
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        axes = list(axis) if is_matrix else axis
        result = _norm(x, ord, axes, is_matrix)
        if not keep:
            result = raw_ops.Squeeze(result, [] if axes is None else axes if is_matrix else [axes])
        return result


def _norm(x: Tensor, ord: Any, axis: Any, is_matrix: bool) -> Tensor:
    """The norm with the reduced axes kept."""
    result: Tensor
    if ord in ("fro", "euclidean", 2, 2.0):
        if is_matrix and ord in (2, 2.0):
            return _spectral(x, axis)
        squares = reduce_sum(raw_ops.Mul(x, conj(x), name="mul"), axis, True)
        if x.dtype.base_dtype.is_complex:
            squares = raw_ops.Real(squares, Tout=x.dtype.base_dtype.real_dtype)
        result = raw_ops.Sqrt(squares)
    elif ord == 1:
        result = reduce_sum(absolute(x), axis[0] if is_matrix else axis, True)
        result = reduce_max(result, axis[1], True) if is_matrix else result
    elif ord == np.inf:
        result = absolute(x)
        result = (
            reduce_max(reduce_sum(result, axis[1], True), axis[0], True)
            if is_matrix
            else reduce_max(result, axis, True)
        )
    else:
        power = reduce_sum(raw_ops.Pow(absolute(x), ord), axis, True)
        result = raw_ops.Pow(power, 1.0 / ord)
    return result


def _spectral(x: Tensor, axis: list[int]) -> Tensor:
    rank = x.shape.ndims
    if rank is None:
        raise ValueError("the 2-norm of matrices needs a tensor of known rank")
    chosen = [a % rank for a in axis]
    order = [i for i in range(rank) if i not in chosen] + chosen
    values, _, _ = raw_ops.Svd(raw_ops.Transpose(x, np.array(order, np.int32)), compute_uv=False)
    largest = reduce_max(values, -1, True)
    back = raw_ops.ExpandDims(largest, -1)
    return raw_ops.Transpose(back, np.argsort(order).astype(np.int32))


class Normalized(NamedTuple):
    """What ``normalize`` gives."""

    normalized: Tensor
    norm: Tensor


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> Normalized:
    """The tensor over its norm, and the norm."""
    with name_scope(name, "normalize", [tensor]):
        x = convert_to_tensor(tensor)
        size = norm(x, ord, axis, True)
        return Normalized(raw_ops.RealDiv(x, cast(size, x.dtype.base_dtype), name="truediv"), size)


@learned
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal of each innermost matrix."""
    with name_scope(name, "Trace", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        return reduce_sum(raw_ops.MatrixDiagPart(tensor), [-1], name=scope)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements."""
    return raw_ops.Cross(a, b, name=name)


# ---- decompositions and solvers


@learned
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The last two dimensions exchanged, complex numbers conjugated."""
    with name_scope(name, "adjoint", [matrix]):
        return _transposed(conj(convert_to_tensor(matrix, name="matrix")))


def _transposed(x: Tensor) -> Tensor:
    rank = x.shape.ndims
    if rank is None:
        n = raw_ops.Rank(x)
        front = raw_ops.Range(0, raw_ops.Sub(n, 2), 1)
        back = raw_ops.Pack([raw_ops.Sub(n, 1), raw_ops.Sub(n, 2)])
        return raw_ops.Transpose(x, raw_ops.ConcatV2([front, back], 0))
    order = [*range(rank - 2), rank - 1, rank - 2]
    return raw_ops.Transpose(x, np.array(order, np.int32), name="transpose")


@learned
def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of each innermost square matrix, or the inverse of its adjoint."""
    return raw_ops.MatrixInverse(input, adjoint=adjoint, name=name)


@learned
def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinant of each innermost square matrix."""
    return raw_ops.MatrixDeterminant(input, name=name)


def slogdet(input: Any, name: str | None = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    return raw_ops.LogMatrixDeterminant(input, name=name)


@learned
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular factor of each positive definite matrix."""
    return raw_ops.Cholesky(input, name=name)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Solves ``A x = rhs`` given the Cholesky factor of A."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = raw_ops.MatrixTriangularSolve(chol, rhs, adjoint=False, lower=True)
        return raw_ops.MatrixTriangularSolve(chol, y, adjoint=True, lower=True)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of each positive definite matrix."""
    with name_scope(name, "logdet", [matrix]):
        factor = cholesky(matrix)
        logs = raw_ops.Log(raw_ops.MatrixDiagPart(factor))
        if factor.dtype.base_dtype.is_complex:
            logs = raw_ops.Real(logs, Tout=factor.dtype.base_dtype.real_dtype)
        return 2.0 * reduce_sum(logs, [-1])


@learned
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves ``matrix x = rhs`` for square matrices."""
    return raw_ops.MatrixSolve(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves ``matrix x = rhs`` using one triangle of the matrix."""
    return raw_ops.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The least-squares solution of ``matrix x = rhs``, through the normal equations."""
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
    """Orthogonal times upper triangular."""
    return raw_ops.Qr(input, full_matrices=full_matrices, name=name)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values ``s``, or ``s, u, v`` with ``tensor = u diag(s) adjoint(v)``."""
    s, u, v = raw_ops.Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    if not compute_uv:
        return s
    real = s.dtype.base_dtype
    if real.is_complex:
        s = raw_ops.Real(s, Tout=real.real_dtype)
    return s, u, v


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, rising, and eigenvectors of self-adjoint matrices."""
    values, vectors = raw_ops.SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues, rising, of self-adjoint matrices."""
    return raw_ops.SelfAdjointEigV2(tensor, compute_v=False, name=name)[0]


def expm(input: Any, name: str | None = None) -> Tensor:
    """The matrix exponential."""
    return raw_ops.MatrixExponential(input, name=name)


def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """The matrix whose square is the input."""
    return raw_ops.MatrixSquareRoot(input, name=name)


def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """The LU decomposition: both triangles in one matrix, and the row permutation."""
    return raw_ops.Lu(input, output_idx_type=output_idx_type, name=name)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse."""
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
    """How many singular values lie above a tolerance."""
    with name_scope(name, "matrix_rank", [a]):
        x = convert_to_tensor(a, name="a")
        s = svd(x, compute_uv=False)
        if tol is None:
            rows, columns = x.shape.with_rank_at_least(2).as_list()[-2:]
            eps = np.finfo(x.dtype.as_numpy_dtype).eps
            tol = raw_ops.Mul(reduce_max(s, -1, True), float(eps * max(rows or 1, columns or 1)))
        above = raw_ops.Cast(raw_ops.Greater(s, tol), DstT=dtypes.int32)
        return reduce_sum(above, -1)
