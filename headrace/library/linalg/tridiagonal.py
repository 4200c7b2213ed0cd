"""Matrices of three diagonals (tf.linalg): solving and multiplying."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric import complex_number
from headrace.library.scope import name_scope
from headrace.library.tensor import array, indexing

_FORMATS = "one of 'compact', 'sequence', 'matrix' is accepted"


def _three(diagonals: Any, form: str) -> list[Any]:
    """The diagonals above, on and below the main one, all of its length."""
    if form == "matrix":
        matrix = convert_to_tensor(diagonals, name="matrix")
        sizes = matrix.shape.as_list()[-2:] if matrix.shape.ndims is not None else [None, None]
        if sizes[0] is None or sizes[0] != sizes[1]:
            raise ValueError(f"a square matrix of known size is needed, got shape {matrix.shape}")
        return [_off(matrix, 1), indexing.matrix_diag_part(matrix), _off(matrix, -1)]
    if form == "compact":
        return list(array.unstack(convert_to_tensor(diagonals, name="diagonals"), num=3, axis=-2))
    if form != "sequence":
        raise ValueError(f"Unrecognized diagonals_format: {form}; {_FORMATS}")
    if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
        raise ValueError(f"Expected diagonals to be a sequence of length 3, got {diagonals!r}")
    above, main, below = (convert_to_tensor(d) for d in diagonals)
    size = main.shape.as_list()[-1]
    return [_padded(above, size, after=True), main, _padded(below, size, after=False)]


def _padded(diagonal: Any, size: int | None, after: bool) -> Any:
    """One element longer, if it is as long as it is in the matrix."""
    own = diagonal.shape.as_list()[-1]
    if size is None or own is None or own == size:
        return diagonal
    if own != size - 1:
        raise ValueError(f"Expected a diagonal of length {size} or {size - 1}, got {own}")
    return array.pad(diagonal, [[0, 0]] * (diagonal.shape.ndims - 1) + [[0, 1] if after else [1, 0]])


def _off(matrix: Any, by: int) -> Any:
    """The diagonal beside the main one, with a zero where it leaves the matrix."""
    rolled = array.roll(matrix, -by, -1)
    part: Any = indexing.matrix_diag_part(rolled)
    size = part.shape.as_list()[-1]
    inner = part[..., :-1] if by > 0 else part[..., 1:]
    return _padded(inner, size, after=by > 0)


def tridiagonal_solve(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False,
    conjugate_rhs: bool = False, name: str | None = None, partial_pivoting: bool = True,
) -> Tensor:  # fmt: skip
    """Solves systems whose matrix has three diagonals.

    ``diagonals`` are [..., 3, size] (above, main, below; "compact"), three tensors ("sequence") or the whole "matrix".

    Args:
      diagonals: The diagonals above, on and below the main one, in the form of `diagonals_format`.
      rhs: The right-hand sides, [..., size] or [..., size, columns].
      diagonals_format: 'compact', 'sequence' or 'matrix'. The last element above and the first below do not count.
      transpose_rhs: Whether to exchange the last two dimensions of `rhs` first.
      conjugate_rhs: Whether to conjugate `rhs` first.
      name: A name for the op.
      partial_pivoting: Whether to exchange rows for accuracy.

    Returns:
      The solutions, a tensor of the type of `diagonals` and the shape of `rhs`.

    >>> x = tf.linalg.tridiagonal_solve([[1.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 1.0, 1.0]], [2.0, 4.0, 3.0])
    >>> tf.Session().run(x)
    array([1., 1., 1.], dtype=float32)
    """
    with name_scope(name, "tridiagonal_solve", [diagonals, rhs]):
        table = array.stack(_three(diagonals, diagonals_format), axis=-2)
        right = convert_to_tensor(rhs, table.dtype.base_dtype, name="rhs")
        single = right.shape.ndims is not None and right.shape.ndims == (table.shape.ndims or 0) - 1
        if single:
            right = array.expand_dims(right, -1)
        elif transpose_rhs:
            right = array.matrix_transpose(right, conjugate=conjugate_rhs)
        if conjugate_rhs and (single or not transpose_rhs):
            right = complex_number.conj(right)
        solution = raw_ops.TridiagonalSolve(table, right, partial_pivoting)
        return array.squeeze(solution, -1) if single else solution


def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None) -> Tensor:
    """A matrix of three diagonals times ``rhs``, [..., size, columns].

    Args:
      diagonals: The diagonals above, on and below the main one, in the form of `diagonals_format`.
      rhs: A tensor [..., size, columns].
      diagonals_format: 'compact', one tensor [..., 3, size]; 'sequence', three tensors; or 'matrix', the whole
        matrix.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `rhs`.

    >>> diagonals = [[1.0, 0.0], [2.0, 2.0], [0.0, 3.0]]
    >>> tf.Session().run(tf.linalg.tridiagonal_matmul(diagonals, [[1.0], [1.0]])).tolist()
    [[3.0], [5.0]]
    """
    with name_scope(name, "tridiagonal_matmul", [diagonals, rhs]):
        above, main, below = (array.expand_dims(d, -2) for d in _three(diagonals, diagonals_format))
        return raw_ops.TridiagonalMatMul(above, main, below, convert_to_tensor(rhs, main.dtype.base_dtype))
