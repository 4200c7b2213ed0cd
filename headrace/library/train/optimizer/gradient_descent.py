"""Gradient descent, and its proximal form with L1 and L2 penalties."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class GradientDescentOptimizer(Optimizer):
    """``var -= learning_rate * gradient``.

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops.

    >>> w = tf.Variable(5.0)
    >>> train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w - 3.0))
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     for _ in range(3):
    ...         sess.run(train)
    ...     print(sess.run(w))
    3.25
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert_to_tensor(rate, name="learning_rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        return update("ApplyGradientDescent", var, rate, grad, use_locking=self._use_locking).op

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        # Rows that occur twice are subtracted twice, so there is nothing to add up first.
        delta = raw_ops.Mul(grad.values, cast(self._learning_rate_tensor, var.dtype.base_dtype), name="mul")
        return update("ScatterSub", var, grad.indices, delta, use_locking=self._use_locking).op


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent followed by the proximal map of ``l1 |var| + l2/2 var^2`` (Duchi and Singer, 2009).

    Args:
      learning_rate: A number or a tensor.
      l1_regularization_strength: The factor of the L1 penalty, at least 0.
      l2_regularization_strength: The factor of the L2 penalty, at least 0.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops.

    >>> w = tf.Variable(1.0)
    >>> train = tf.train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.001).minimize(tf.square(w))
    """

    def __init__(
        self, learning_rate: Any, l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        use_locking: bool = False, name: str = "ProximalGradientDescent",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._learning_rate, name="learning_rate"),
            convert_to_tensor(self._l1_regularization_strength, name="l1_regularization_strength"),
            convert_to_tensor(self._l2_regularization_strength, name="l2_regularization_strength"),
        ]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        scalars = [cast(t, var.dtype.base_dtype) for t in self._tensors]
        return update("ApplyProximalGradientDescent", var, *scalars, grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        scalars = [cast(t, var.dtype.base_dtype) for t in self._tensors]
        return update(
            "SparseApplyProximalGradientDescent",
            var,
            *scalars,
            grad.values,
            grad.indices,
            use_locking=self._use_locking,
        ).op
