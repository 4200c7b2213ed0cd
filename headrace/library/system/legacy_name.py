"""Names from before TensorFlow 1.0, which programs of that time still use: each logs its newer name once."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.library.argument import deprecated
from headrace.library.linalg import matrix as linalg
from headrace.library.numeric import math
from headrace.library.tensor import array, indexing


@deprecated("tf.multiply")
def mul(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``tf.multiply``."""
    return math.multiply(x, y, name)


@deprecated("tf.subtract")
def sub(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``tf.subtract``."""
    return math.subtract(x, y, name)


@deprecated("tf.negative")
def neg(x: Any, name: str | None = None) -> Tensor:
    """``tf.negative``."""
    return math.negative(x, name)


@deprecated("tf.reciprocal")
def inv(x: Any, name: str | None = None) -> Tensor:
    """``tf.reciprocal``."""
    return math.reciprocal(x, name)


@deprecated("tf.abs")
def complex_abs(x: Any, name: str | None = None) -> Tensor:
    """``tf.abs`` of complex numbers."""
    return math.abs(x, name)


@deprecated("tf.stack")
def pack(values: Any, axis: int = 0, name: str = "pack") -> Tensor:
    """``tf.stack``."""
    return array.stack(values, axis, name)


@deprecated("tf.unstack")
def unpack(value: Any, num: int | None = None, axis: int = 0, name: str = "unpack") -> Any:
    """``tf.unstack``."""
    return array.unstack(value, num, axis, name)


@deprecated("tf.where")
def select(condition: Any, t: Any, e: Any, name: str | None = None) -> Any:
    """``tf.where`` with two tensors to choose from."""
    return indexing.where(condition, t, e, name)


@deprecated("tf.setdiff1d")
def listdiff(x: Any, y: Any, out_idx: Any = None, name: str | None = None) -> Any:
    """``tf.setdiff1d``."""
    return indexing.setdiff1d(x, y, **({} if out_idx is None else {"index_dtype": out_idx}), name=name)


@deprecated("tf.matmul")
def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """``tf.matmul`` of batches of matrices."""
    return linalg.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


@deprecated("tf.matrix_transpose")
def batch_matrix_transpose(a: Any, name: str = "batch_matrix_transpose") -> Tensor:
    """``tf.matrix_transpose``."""
    return array.matrix_transpose(a, name)


@deprecated("tf.matrix_inverse")
def batch_matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """``tf.matrix_inverse``."""
    return linalg.matrix_inverse(input, adjoint, name)


@deprecated("tf.matrix_determinant")
def batch_matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """``tf.matrix_determinant``."""
    return linalg.matrix_determinant(input, name)


@deprecated("tf.matrix_solve")
def batch_matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """``tf.matrix_solve``."""
    return linalg.matrix_solve(matrix, rhs, adjoint, name)


@deprecated("tf.matrix_triangular_solve")
def batch_matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """``tf.matrix_triangular_solve``."""
    return linalg.matrix_triangular_solve(matrix, rhs, lower, adjoint, name)


@deprecated("tf.cholesky")
def batch_cholesky(input: Any, name: str | None = None) -> Tensor:
    """``tf.cholesky``."""
    return linalg.cholesky(input, name)


@deprecated("tf.matrix_diag")
def batch_matrix_diag(diagonal: Any, name: str = "batch_matrix_diag") -> Tensor:
    """``tf.matrix_diag``."""
    return indexing.matrix_diag(diagonal, name)


@deprecated("tf.matrix_diag_part")
def batch_matrix_diag_part(input: Any, name: str = "batch_matrix_diag_part") -> Tensor:
    """``tf.matrix_diag_part``."""
    return indexing.matrix_diag_part(input, name)
