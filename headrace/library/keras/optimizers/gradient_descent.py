"""Gradient descent with momentum (tf.keras.optimizers.SGD)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.state.update import update
from headrace.library.state.variable import Variable


class SGD(OptimizerV2):
    """``var -= learning_rate * gradient``, or with momentum ``step = momentum * step - learning_rate * gradient; var += step``.

    Args:
      learning_rate: A number, a tensor, a function that returns one of them, or a `LearningRateSchedule`.
      momentum: The part of the last step that is added to the next, from 0 to 1.
      nesterov: Whether to use Nesterov's momentum.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    >>> optimizer.get_config()['nesterov']
    True
    """

    def __init__(
        self, learning_rate: Any = 0.01, momentum: Any = 0.0, nesterov: bool = False, name: str = "SGD", **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._momentum = has_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        found = super()._coefficients(dtype)
        return {**found, "momentum": self._get_hyper("momentum", dtype)} if self._momentum else found

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        if not self._momentum:
            rate = apply_state["lr_t"]
            return update("ApplyGradientDescent", var, rate, grad, use_locking=self._use_locking).op
        return update(
            "_ApplyKerasMomentum", var, self.get_slot(var, "momentum"), apply_state["lr_t"], grad, apply_state["momentum"],
            use_locking=self._use_locking, use_nesterov=self.nesterov,
        ).op  # fmt: skip

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        if not self._momentum:
            return update("ScatterAdd", var, indices, -grad * apply_state["lr_t"], use_locking=self._use_locking).op
        return update(
            "_SparseApplyKerasMomentum", var, self.get_slot(var, "momentum"), apply_state["lr_t"], grad, indices,
            apply_state["momentum"], use_locking=self._use_locking, use_nesterov=self.nesterov,
        ).op  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        return self._config_with("momentum", nesterov=self.nesterov)


def has_momentum(momentum: Any) -> bool:
    """Whether the momentum can be another number than 0; it must be from 0 to 1."""
    if isinstance(momentum, (Tensor, Variable)) or callable(momentum):
        return True
    if not 0 <= momentum <= 1:
        raise ValueError(f"`momentum` must be between [0, 1], got {momentum} {at()}")
    return bool(momentum > 0)
