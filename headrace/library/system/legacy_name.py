"""Names from before TensorFlow 1.0, which programs of that time still use: each logs its newer name once."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.library.argument import deprecated
from headrace.library.linalg import decomposition, matrix
from headrace.library.numeric import complex_number, math
from headrace.library.tensor import array, indexing


@deprecated("tf.multiply")
def mul(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.multiply``.

    Args:
      x, y: Tensors of numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of the type of `x`.

    >>> print(tf.Session().run(tf.mul(2.0, 3.0)))
    6.0
    """
    return math.multiply(x, y, name)


@deprecated("tf.subtract")
def sub(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.subtract``.

    Args:
      x, y: Tensors of numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of the type of `x`.

    >>> print(tf.Session().run(tf.sub(2.0, 3.0)))
    -1.0
    """
    return math.subtract(x, y, name)


@deprecated("tf.negative")
def neg(x: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.negative``.

    Args:
      x: A tensor of numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `x`.

    >>> print(tf.Session().run(tf.neg(2.0)))
    -2.0
    """
    return math.negative(x, name)


@deprecated("tf.reciprocal")
def inv(x: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.reciprocal``.

    Args:
      x: A tensor of numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `x`.

    >>> print(tf.Session().run(tf.inv(2.0)))
    0.5
    """
    return math.reciprocal(x, name)


@deprecated("tf.abs")
def complex_abs(x: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.abs`` of complex numbers.

    Args:
      x: A tensor of complex numbers.
      name: A name for the op.

    Returns:
      A tensor of real numbers of the shape of `x`.

    >>> print(tf.Session().run(tf.complex_abs(3.0 + 4.0j)))
    5.0
    """
    return complex_number.abs(x, name)


@deprecated("tf.stack")
def pack(values: Any, axis: int = 0, name: str = "pack") -> Tensor:
    """The older name of ``tf.stack``.

    Args:
      values: A list of tensors of one type and shape.
      axis: The place of the new axis.
      name: A name for the op.

    Returns:
      A tensor of one rank more.

    >>> tf.Session().run(tf.pack([1, 2]))
    array([1, 2], dtype=int32)
    """
    return array.stack(values, axis, name)


@deprecated("tf.unstack")
def unpack(value: Any, num: int | None = None, axis: int = 0, name: str = "unpack") -> Any:
    """The older name of ``tf.unstack``.

    Args:
      value: A tensor of rank 1 or more.
      num: The length of `axis`; None to take it from the shape.
      axis: The axis to take apart.
      name: A name for the op.

    Returns:
      A list of tensors of one rank less.

    >>> len(tf.unpack(tf.zeros([3, 2])))
    3
    """
    return array.unstack(value, num, axis, name)


@deprecated("tf.where")
def select(condition: Any, t: Any, e: Any, name: str | None = None) -> Any:
    """The older name of ``tf.where`` with two tensors to choose from.

    Args:
      condition: A tensor of booleans: of the shape of `t`, or a vector with one for each row.
      t: What to take where it is true.
      e: What to take where it is false; of the type and shape of `t`.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `t`.

    >>> tf.Session().run(tf.select([True, False], [1, 2], [3, 4]))
    array([1, 4], dtype=int32)
    """
    return indexing.where(condition, t, e, name)


@deprecated("tf.setdiff1d")
def listdiff(x: Any, y: Any, out_idx: Any = None, name: str | None = None) -> Any:
    """The older name of ``tf.setdiff1d``.

    Args:
      x: A vector.
      y: A vector of values to leave out.
      out_idx: The type of the positions; None for tf.int32.
      name: A name for the op.

    Returns:
      A named tuple: ``out``, the values of `x` that are not in `y`, and ``idx``, their positions in `x`.

    >>> tf.Session().run(tf.listdiff([1, 2, 3], [2])).out
    array([1, 3], dtype=int32)
    """
    return indexing.setdiff1d(x, y, **({} if out_idx is None else {"index_dtype": out_idx}), name=name)


@deprecated("tf.matmul")
def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """The older name of ``tf.matmul`` of batches of matrices.

    Args:
      x, y: Tensors of matrices: the last two axes are rows and columns, those before are the same in both.
      adj_x, adj_y: Whether to transpose and conjugate the matrices of `x`, of `y`.
      name: A name for the op.

    Returns:
      A tensor of the type of `x`.

    >>> tf.batch_matmul(tf.zeros([5, 2, 3]), tf.zeros([5, 3, 4])).shape.as_list()
    [5, 2, 4]
    """
    return matrix.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


@deprecated("tf.matrix_transpose")
def batch_matrix_transpose(a: Any, name: str = "batch_matrix_transpose") -> Tensor:
    """The older name of ``tf.matrix_transpose``.

    Args:
      a: A tensor of rank 2 or more.
      name: A name for the op.

    Returns:
      `a` with its last two axes exchanged.

    >>> tf.batch_matrix_transpose(tf.zeros([5, 2, 3])).shape.as_list()
    [5, 3, 2]
    """
    return array.matrix_transpose(a, name)


@deprecated("tf.matrix_inverse")
def batch_matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The older name of ``tf.matrix_inverse``.

    Args:
      input: A tensor of square matrices, its last two axes.
      adjoint: Whether to invert the conjugate transpose.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `input`.

    >>> tf.Session().run(tf.batch_matrix_inverse([[[2.0]], [[4.0]]])).ravel()
    array([0.5 , 0.25], dtype=float32)
    """
    return decomposition.matrix_inverse(input, adjoint, name)


@deprecated("tf.matrix_determinant")
def batch_matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.matrix_determinant``.

    Args:
      input: A tensor of square matrices, its last two axes.
      name: A name for the op.

    Returns:
      A tensor without the last two axes.

    >>> tf.Session().run(tf.batch_matrix_determinant([[[2.0]], [[4.0]]]))
    array([2., 4.], dtype=float32)
    """
    return decomposition.matrix_determinant(input, name)


@deprecated("tf.matrix_solve")
def batch_matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The older name of ``tf.matrix_solve``.

    Args:
      matrix: A tensor of square matrices, its last two axes.
      rhs: A tensor of matrices, a right-hand side in each column.
      adjoint: Whether to solve with the conjugate transpose.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `rhs`.

    >>> tf.Session().run(tf.batch_matrix_solve([[[2.0]]], [[[6.0]]])).ravel()
    array([3.], dtype=float32)
    """
    return decomposition.matrix_solve(matrix, rhs, adjoint, name)


@deprecated("tf.matrix_triangular_solve")
def batch_matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The older name of ``tf.matrix_triangular_solve``.

    Args:
      matrix: A tensor of triangular matrices, its last two axes.
      rhs: A tensor of matrices, a right-hand side in each column.
      lower: Whether the lower triangle counts; if False the upper.
      adjoint: Whether to solve with the conjugate transpose.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `rhs`.

    >>> tf.Session().run(tf.batch_matrix_triangular_solve([[[2.0]]], [[[6.0]]])).ravel()
    array([3.], dtype=float32)
    """
    return decomposition.matrix_triangular_solve(matrix, rhs, lower, adjoint, name)


@deprecated("tf.cholesky")
def batch_cholesky(input: Any, name: str | None = None) -> Tensor:
    """The older name of ``tf.cholesky``.

    Args:
      input: A tensor of symmetric positive definite matrices, its last two axes.
      name: A name for the op.

    Returns:
      A tensor of lower triangular matrices, of the type and shape of `input`.

    >>> tf.Session().run(tf.batch_cholesky([[[9.0]]])).ravel()
    array([3.], dtype=float32)
    """
    return decomposition.cholesky(input, name)


@deprecated("tf.matrix_diag")
def batch_matrix_diag(diagonal: Any, name: str = "batch_matrix_diag") -> Tensor:
    """The older name of ``tf.matrix_diag``.

    Args:
      diagonal: A tensor whose last axis holds diagonals.
      name: A name for the op.

    Returns:
      A tensor of one rank more: square matrices with these diagonals.

    >>> tf.Session().run(tf.batch_matrix_diag([1, 2]))
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return indexing.matrix_diag(diagonal, name)


@deprecated("tf.matrix_diag_part")
def batch_matrix_diag_part(input: Any, name: str = "batch_matrix_diag_part") -> Tensor:
    """The older name of ``tf.matrix_diag_part``.

    Args:
      input: A tensor of matrices, its last two axes.
      name: A name for the op.

    Returns:
      A tensor of one rank less: the diagonals.

    >>> tf.Session().run(tf.batch_matrix_diag_part([[1, 2], [3, 4]]))
    array([1, 4], dtype=int32)
    """
    return indexing.matrix_diag_part(input, name)
