"""Rates that fall where gradients were large (tf.keras.optimizers.Adagrad and Adadelta)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library.backend.config import epsilon as default_epsilon
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.state.initializers import Constant
from headrace.library.state.update import update


class Adagrad(OptimizerV2):
    """Each weight's rate is ``learning_rate / (sqrt(accumulator) + epsilon)``, the accumulator summing its squared gradients.

    Args:
      learning_rate: A number, a tensor, a function that returns one of them, or a `LearningRateSchedule`.
      initial_accumulator_value: The accumulators' start, at least 0.
      epsilon: What is added to the root of the accumulator.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> tf.keras.optimizers.Adagrad().get_config()['initial_accumulator_value']
    0.1
    """

    def __init__(
        self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1, epsilon: Any = 1e-7,
        name: str = "Adagrad", **kwargs: Any,
    ) -> None:  # fmt: skip
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value} {at()}")
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value))

    def _inputs(self, var: Any, apply_state: dict[str, Any]) -> list[Any]:
        epsilon = convert_to_tensor(self.epsilon, var.dtype.base_dtype)
        return [self.get_slot(var, "accumulator"), apply_state["lr_t"], epsilon]

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        inputs = self._inputs(var, apply_state)
        return update("ApplyAdagradV2", var, *inputs, grad, use_locking=self._use_locking).op

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        inputs = self._inputs(var, apply_state)
        return update("SparseApplyAdagradV2", var, *inputs, grad, indices, use_locking=self._use_locking).op

    def get_config(self) -> dict[str, Any]:
        return self._config_with(initial_accumulator_value=self._initial_accumulator_value, epsilon=self.epsilon)


class Adadelta(OptimizerV2):
    """Steps as large as past steps, relative to past gradients, by decaying means of their squares.

    Args:
      learning_rate: The factor of a step: a number, a tensor, a function that returns one, or a `LearningRateSchedule`.
      rho: The weight of the old means.
      epsilon: What is added to both means before the root is taken.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> tf.keras.optimizers.Adadelta(1.0).get_config()['rho']
    0.95
    """

    def __init__(
        self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-7, name: str = "Adadelta", **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot in ("accum_grad", "accum_var"):
            for var in var_list:
                self.add_slot(var, slot)

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        return {
            **super()._coefficients(dtype),
            "rho": self._get_hyper("rho", dtype), "epsilon": convert_to_tensor(self.epsilon, dtype),
        }  # fmt: skip

    def _inputs(self, var: Any, apply_state: dict[str, Any]) -> list[Any]:
        scalars = [apply_state[name] for name in ("lr_t", "rho", "epsilon")]
        return [self.get_slot(var, "accum_grad"), self.get_slot(var, "accum_var"), *scalars]

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        inputs = self._inputs(var, apply_state)
        return update("ApplyAdadelta", var, *inputs, grad, use_locking=self._use_locking).op

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        inputs = self._inputs(var, apply_state)
        return update("SparseApplyAdadelta", var, *inputs, grad, indices, use_locking=self._use_locking).op

    def get_config(self) -> dict[str, Any]:
        return self._config_with("rho", epsilon=self.epsilon)
