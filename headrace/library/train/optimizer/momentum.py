"""Momentum, classic and Nesterov's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class MomentumOptimizer(Optimizer):
    """``accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation``.

    With ``use_nesterov`` the gradient is taken where the accumulation alone would lead (Sutskever et al., 2013).

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them; so is `momentum`.
      momentum: The part of the accumulation that is left for the next step.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops and slots.
      use_nesterov: Whether to use Nesterov's momentum.

    >>> w = tf.Variable(5.0)
    >>> optimizer = tf.train.MomentumOptimizer(0.1, momentum=0.9, use_nesterov=True)
    >>> train = optimizer.minimize(tf.square(w - 3.0))
    >>> optimizer.get_slot(w, 'momentum').name
    'Variable/Momentum:0'
    """

    def __init__(
        self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        learning_rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert_to_tensor(learning_rate, name="learning_rate")
        momentum = self._call_if_callable(self._momentum)
        self._momentum_tensor = convert_to_tensor(momentum, name="momentum")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        dtype = var.dtype.base_dtype
        return update(
            "ApplyMomentum",
            var, self.get_slot(var, "momentum"), cast(self._learning_rate_tensor, dtype), grad,
            cast(self._momentum_tensor, dtype), use_locking=self._use_locking, use_nesterov=self._use_nesterov,
        ).op  # fmt: skip

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        dtype = var.dtype.base_dtype
        return update(
            "SparseApplyMomentum",
            var, self.get_slot(var, "momentum"), cast(self._learning_rate_tensor, dtype), grad.values, grad.indices,
            cast(self._momentum_tensor, dtype), use_locking=self._use_locking, use_nesterov=self._use_nesterov,
        ).op  # fmt: skip
