"""Matrices as operators (tf.linalg): products, solutions and determinants that use what is known of the matrix."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape
from headrace.graph.convert import convert_to_tensor
from headrace.library.control.assertion import assert_greater, assert_none_equal
from headrace.library.linalg import decomposition, matrix
from headrace.library.numeric import complex_number, math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, broadcast, creation, indexing


class LinearOperator:
    """A batch of matrices, [..., rows, columns].  Subclasses say how to multiply, solve and take determinants.

    The hints (``is_non_singular``, ``is_self_adjoint``, ``is_positive_definite``, ``is_square``) are promises of the caller.

    Args:
      dtype: The type of the matrix's elements.
      graph_parents: The tensors that the operator is made of; None for none.
      is_non_singular: Whether the matrix has an inverse; None if that is not known.
      is_self_adjoint: Whether the matrix equals its adjoint; None if that is not known.
      is_positive_definite: Whether the matrix is positive definite; None if that is not known.
      is_square: Whether it has as many rows as columns; None takes it from the shape.
      name: A name for the operator; None for that of the class.

    >>> op = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> isinstance(op, tf.linalg.LinearOperator), op.shape.as_list()
    (True, [2, 2])
    """

    def __init__(
        self, dtype: Any, graph_parents: Any = None, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        if is_non_singular and is_square is False:
            raise ValueError("A non-singular matrix is always square.")
        if is_self_adjoint and is_square is False:
            raise ValueError("A self-adjoint matrix is always square.")
        implied = bool(is_positive_definite or is_non_singular or is_self_adjoint)
        self.dtype = dtype
        self.graph_parents = list(graph_parents or ())
        self.name = name or type(self).__name__
        self._given_square = True if implied else is_square
        self.is_non_singular = True if is_positive_definite else is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite

    # ---- what subclasses give

    def to_dense(self, name: str = "to_dense") -> Any:
        """The whole matrix."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it looks like")

    def _solve(self, rhs: Any, adjoint: bool) -> Any:
        return decomposition.matrix_solve(self.to_dense(), rhs, adjoint=adjoint)

    def _diagonal(self) -> Any:
        return indexing.matrix_diag_part(self.to_dense())

    def _log_abs_determinant(self) -> Any:
        return decomposition.slogdet(self.to_dense())[1]

    # ---- shapes

    @property
    def shape(self) -> TensorShape:
        return self.to_dense().shape  # type: ignore[no-any-return]

    @property
    def batch_shape(self) -> TensorShape:
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Any:
        return self.shape[-1]

    @property
    def range_dimension(self) -> Any:
        return self.shape[-2]

    @property
    def is_square(self) -> bool:
        sizes = self.shape.as_list()[-2:]
        if None not in sizes:
            return sizes[0] == sizes[1]
        return bool(self._given_square)

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """The shape, while running."""
        return array.shape(self.to_dense(), name=name)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape of the batch, while running."""
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """The number of dimensions, while running."""
        return array.rank(self.to_dense(), name=name)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """The number of columns, while running."""
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """The number of rows, while running."""
        return self.shape_tensor()[-2]

    # ---- what users call

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The matrix, or its adjoint, times ``x``."""
        with name_scope(name):
            x = convert_to_tensor(x, self.dtype)
            return matrix.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The matrix times a vector."""
        with name_scope(name):
            return array.squeeze(self.matmul(array.expand_dims(convert_to_tensor(x, self.dtype), -1), adjoint), -1)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """``x`` with matrix times x = rhs."""
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        if not self.is_square:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to not be square.")
        with name_scope(name):
            right = convert_to_tensor(rhs, self.dtype)
            return self._solve(matrix.adjoint(right) if adjoint_arg else right, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """``solve`` for one vector."""
        return array.squeeze(
            self.solve(array.expand_dims(convert_to_tensor(rhs, self.dtype), -1), adjoint, name=name), -1
        )

    def determinant(self, name: str = "det") -> Any:
        """The determinant."""
        with name_scope(name):
            return decomposition.matrix_determinant(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """The logarithm of the determinant's absolute value."""
        with name_scope(name):
            return self._log_abs_determinant()

    def diag_part(self, name: str = "diag_part") -> Any:
        """The diagonal."""
        with name_scope(name):
            return self._diagonal()

    def trace(self, name: str = "trace") -> Any:
        """The sum of the diagonal."""
        with name_scope(name):
            return reduction.reduce_sum(self._diagonal(), -1)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Any:
        """The matrix plus ``x``."""
        with name_scope(name):
            return self.to_dense() + convert_to_tensor(x, self.dtype)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator of the adjoint matrix."""
        with name_scope(name):
            return LinearOperatorFullMatrix(matrix.adjoint(self.to_dense()), is_non_singular=self.is_non_singular)

    H = property(adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse."""
        with name_scope(name):
            one = creation.eye(self.domain_dimension_tensor(), dtype=self.dtype)
            right = broadcast.broadcast_to(one, self.shape_tensor())
            return LinearOperatorFullMatrix(self._solve(right, False), is_non_singular=True)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangle whose product with its adjoint is this matrix, which must be positive definite."""
        if not (self.is_positive_definite and self.is_self_adjoint):
            raise ValueError(
                "Cannot take the Cholesky decomposition: the operator is not known to be positive definite and self adjoint "
                "(give is_positive_definite=True and is_self_adjoint=True)"
            )
        with name_scope(name):
            return LinearOperatorLowerTriangular(decomposition.cholesky(self.to_dense()), is_non_singular=True)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """An operation that fails if the matrix is singular."""
        with name_scope(name):
            values = decomposition.svd(self.to_dense(), compute_uv=False)
            return assert_greater(
                reduction.reduce_min(values), convert_to_tensor(0.0, self.dtype), message="Singular matrix"
            )


class LinearOperatorFullMatrix(LinearOperator):
    """Any matrix, as it is.

    Args:
      matrix: A tensor [..., rows, columns].
      is_non_singular: Whether the matrix has an inverse; None if that is not known.
      is_self_adjoint: Whether the matrix equals its adjoint; None if that is not known.
      is_positive_definite: Whether the matrix is positive definite; with `is_self_adjoint`, it is solved by Cholesky.
      is_square: Whether it has as many rows as columns; None takes it from the shape.
      name: A name for the operator.

    >>> op = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.Session().run(op.matvec([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """

    def __init__(
        self, matrix: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        self._matrix = convert_to_tensor(matrix, name="matrix")
        super().__init__(
            self._matrix.dtype.base_dtype,
            [self._matrix],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def to_dense(self, name: str = "to_dense") -> Any:
        return self._matrix

    def _solve(self, rhs: Any, adjoint: bool) -> Any:
        if self.is_positive_definite and self.is_self_adjoint:
            return decomposition.cholesky_solve(decomposition.cholesky(self._matrix), rhs)
        return super()._solve(rhs, adjoint)


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of a matrix; what is above the diagonal does not count.

    Args:
      tril: A tensor [..., size, size] of floats or complex numbers.
      is_non_singular: Whether the matrix has an inverse; None if that is not known.
      is_self_adjoint: Whether the matrix equals its adjoint; None if that is not known.
      is_positive_definite: Whether the matrix is positive definite; None if that is not known.
      is_square: None or True: the matrix must be square.
      name: A name for the operator.

    >>> op = tf.linalg.LinearOperatorLowerTriangular([[1.0, 9.0], [3.0, 4.0]])
    >>> tf.Session().run([op.matvec([1.0, 1.0]), op.solvevec([1.0, 7.0]), op.determinant()])
    [array([1., 7.], dtype=float32), array([1., 1.], dtype=float32), np.float32(4.0)]
    """

    def __init__(
        self, tril: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            whole = convert_to_tensor(tril, name="tril")
            if not whole.dtype.base_dtype.is_floating and not whole.dtype.base_dtype.is_complex:
                raise TypeError(f"Argument tril must have a floating or complex dtype, got {whole.dtype.name}")
            self._tril = indexing.matrix_band_part(whole, -1, 0)
        super().__init__(
            self._tril.dtype.base_dtype, [whole], is_non_singular, is_self_adjoint, is_positive_definite, True, name
        )

    def to_dense(self, name: str = "to_dense") -> Any:
        return self._tril

    def _solve(self, rhs: Any, adjoint: bool) -> Any:
        return decomposition.matrix_triangular_solve(self._tril, rhs, lower=True, adjoint=adjoint)

    def determinant(self, name: str = "det") -> Any:
        with name_scope(name):
            return reduction.reduce_prod(self._diagonal(), -1)

    def _log_abs_determinant(self) -> Any:
        return reduction.reduce_sum(math.log(complex_number.abs(self._diagonal())), -1)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        with name_scope(name):
            zero = creation.zeros_like(self._diagonal())
            return assert_none_equal(
                self._diagonal(), zero, message="Singular operator: the diagonal contained zero values."
            )


class LinearOperatorDiag(LinearOperator):
    """A diagonal matrix, by its diagonal.

    Args:
      diag: A tensor [..., size]: the diagonals.
      is_non_singular: Whether the matrix has an inverse; None if that is not known.
      is_self_adjoint: Whether a complex matrix equals its adjoint; a real one always does.
      is_positive_definite: Whether the matrix is positive definite; None if that is not known.
      is_square: None or True: the matrix must be square.
      name: A name for the operator.

    >>> op = tf.linalg.LinearOperatorDiag([2.0, 4.0])
    >>> tf.Session().run(op.solvevec([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """

    def __init__(
        self, diag: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        self.diag = convert_to_tensor(diag, name="diag")
        dtype = self.diag.dtype.base_dtype
        adjoint = True if not dtype.is_complex else is_self_adjoint
        super().__init__(dtype, [self.diag], is_non_singular, adjoint, is_positive_definite, True, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        return indexing.matrix_diag(self.diag)

    def _diagonal(self) -> Any:
        return self.diag

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        with name_scope(name):
            x = convert_to_tensor(x, self.dtype)
            along = complex_number.conj(self.diag) if adjoint else self.diag
            return array.expand_dims(along, -1) * (matrix.adjoint(x) if adjoint_arg else x)

    def _solve(self, rhs: Any, adjoint: bool) -> Any:
        return rhs / array.expand_dims(complex_number.conj(self.diag) if adjoint else self.diag, -1)

    def determinant(self, name: str = "det") -> Any:
        with name_scope(name):
            return reduction.reduce_prod(self.diag, -1)

    def _log_abs_determinant(self) -> Any:
        return reduction.reduce_sum(math.log(complex_number.abs(self.diag)), -1)
