"""Products, norms and traces of matrices (tf.linalg): matmul, einsum, norm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import bfloat16, float32
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.numeric.complex_number import abs as absolute
from headrace.library.numeric.complex_number import conj
from headrace.library.numeric.math import cast
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

    Args:
      a: A matrix, or a tensor [..., rows, inner] of them.
      b: A matrix, or a tensor [..., inner, columns] of them, of the type of `a`.
      transpose_a: Whether to exchange the last two dimensions of `a` first.
      transpose_b: Whether to exchange the last two dimensions of `b` first.
      adjoint_a: Whether to transpose and conjugate `a` first; not with `transpose_a`.
      adjoint_b: Whether to transpose and conjugate `b` first; not with `transpose_b`.
      a_is_sparse: A hint that `a` holds many zeros; it changes nothing.
      b_is_sparse: A hint that `b` holds many zeros; it changes nothing.
      name: A name for the op.

    Returns:
      A tensor [..., rows, columns] of the type of `a`.

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
    """The product of matrices of float32 or bfloat16 said to hold many zeros.

    Args:
      a: A matrix of float32 or bfloat16.
      b: A matrix of float32 or bfloat16.
      transpose_a: Whether to exchange rows and columns of `a` first.
      transpose_b: Whether to exchange rows and columns of `b` first.
      a_is_sparse: A hint that `a` holds many zeros; it changes nothing.
      b_is_sparse: A hint that `b` holds many zeros; it changes nothing.
      name: A name for the op.

    Returns:
      The product, a float32 matrix.

    >>> tf.Session().run(tf.sparse_matmul([[0.0, 2.0]], [[3.0], [4.0]], a_is_sparse=True)).tolist()
    [[8.0]]
    """
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
    """A matrix, or a batch of them, times a vector.

    Args:
      a: A matrix, or a tensor [..., rows, columns] of them.
      b: A vector, or a tensor [..., columns] of them.
      transpose_a: Whether to exchange the last two dimensions of `a` first.
      adjoint_a: Whether to transpose and conjugate `a` first; not with `transpose_a`.
      a_is_sparse: A hint that `a` holds many zeros; it changes nothing.
      b_is_sparse: A hint that `b` holds many zeros; it changes nothing.
      name: A name for the op.

    Returns:
      A tensor [..., rows] of the type of `a`.

    >>> tf.Session().run(tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
    with name_scope(name, "MatVec", [a, b]):
        column = raw_ops.ExpandDims(b, -1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return raw_ops.Squeeze(product, [-1])


# ---- sums over chosen axes of two tensors


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Sums of products in Einstein's notation: ``einsum("ij,jk->ik", a, b)`` is a matrix product.

    Args:
      equation: The letters of each input's axes, separated by commas, an arrow, and the letters of the result's axes.
        Without an arrow, the result has the letters that come once, in the order of the alphabet.
      *inputs: The tensors, or one list of them. A letter means the same size in each.
      **kwargs: Only ``name``, a name for the op; ``optimize`` is accepted and changes nothing.

    Returns:
      The sum over all letters that the result does not have.

    >>> tf.Session().run(tf.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
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
    """The norm of vectors (``axis`` an integer, or None for the whole tensor) or of matrices (``axis`` a pair).

    Args:
      tensor: A tensor of floats or complex numbers.
      ord: 'euclidean', 1, 2, `np.inf` or, for vectors, any positive number; for matrices also 'fro'.
      axis: None for the whole tensor as one vector, an integer for vectors, a pair of integers for matrices.
      keepdims: Whether the axes stay, with size 1.
      name: A name for the op.
      keep_dims: Another name of `keepdims`; give one of them.

    Returns:
      A tensor of real numbers without the axes.

    >>> tf.Session().run(tf.norm([3.0, 4.0]))
    np.float32(5.0)
    """
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
    if x.dtype.base_dtype.is_complex:
        values = raw_ops.Real(values, Tout=x.dtype.base_dtype.real_dtype)
    largest = reduce_max(values, -1, True)
    back = raw_ops.ExpandDims(largest, -1)
    return raw_ops.Transpose(back, np.argsort(order).astype(np.int32))


class Normalized(NamedTuple):
    """What ``normalize`` gives."""

    normalized: Tensor
    norm: Tensor


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> Normalized:
    """The tensor over its norm, and the norm.

    Args:
      tensor: A tensor of floats or complex numbers.
      ord: Which norm: 'euclidean', 1, 2, `np.inf` or, for vectors, any positive number; for matrices also 'fro'.
      axis: None for the whole tensor as one vector, an integer for vectors, a pair of integers for matrices.
      name: A name for the op.

    Returns:
      A named tuple: `normalized`, of the shape of `tensor`, and `norm`, whose axes have size 1.

    >>> tf.Session().run(tf.linalg.normalize([3.0, 4.0]).normalized).round(3)
    array([0.6, 0.8], dtype=float32)
    """
    with name_scope(name, "normalize", [tensor]):
        x = convert_to_tensor(tensor)
        size = norm(x, ord, axis, True)
        return Normalized(raw_ops.RealDiv(x, cast(size, x.dtype.base_dtype), name="truediv"), size)


@learned
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal of each innermost matrix.

    Args:
      x: A tensor [..., rows, columns] of numbers.
      name: A name for the op.

    Returns:
      A tensor of the type of `x`, without its last two dimensions.

    >>> tf.Session().run(tf.trace([[1, 2], [3, 4]]))
    np.int32(5)
    """
    with name_scope(name, "Trace", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        return reduce_sum(raw_ops.MatrixDiagPart(tensor), [-1], name=scope)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements.

    Args:
      a: A tensor of numbers whose last size is 3.
      b: A tensor of the type and shape of `a`.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `a`.

    >>> tf.Session().run(tf.cross([1, 0, 0], [0, 1, 0])).tolist()
    [0, 0, 1]
    """
    return raw_ops.Cross(a, b, name=name)


@learned
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The last two dimensions exchanged, complex numbers conjugated.

    Args:
      matrix: A tensor [..., rows, columns].
      name: A name for the op.

    Returns:
      A tensor [..., columns, rows] of the type of `matrix`.

    >>> tf.Session().run(tf.linalg.adjoint([[1 + 2j, 3 + 0j]])).tolist()
    [[(1-2j)], [(3-0j)]]
    """
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
