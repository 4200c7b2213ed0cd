"""FTRL-proximal (tf.keras.optimizers.Ftrl)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.state.initializers import Constant
from headrace.library.state.update import update

_HYPERS = ("l1_regularization_strength", "l2_regularization_strength", "learning_rate_power")


class Ftrl(OptimizerV2):
    """Follow the regularised leader, with L1, L2 and, unless zero, gradient-time L2 ("shrinkage") penalties.

    Args:
      learning_rate: A number, a tensor, a function that returns one of them, or a `LearningRateSchedule`.
      learning_rate_power: How the rate falls with the accumulator, at most 0: -0.5 as in Adagrad, 0 for a fixed rate.
      initial_accumulator_value: The accumulators' start, at least 0.
      l1_regularization_strength: The factor of the L1 penalty, at least 0.
      l2_regularization_strength: The factor of the L2 penalty, at least 0.
      name: The prefix of the names of the optimizer's variables.
      l2_shrinkage_regularization_strength: The factor of an L2 penalty that acts on gradients only, at least 0.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> tf.keras.optimizers.Ftrl(learning_rate_power=-1.0).get_config()['learning_rate_power']
    -1.0
    """

    def __init__(
        self, learning_rate: Any = 0.001, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, **kwargs)
        for label, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{label} {value} needs to be greater than or equal to zero {at()}")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero {at()}")
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value))
            self.add_slot(var, "linear")

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        shrinkage = convert_to_tensor(self._l2_shrinkage_regularization_strength, dtype)
        hypers = {name: self._get_hyper(name, dtype) for name in _HYPERS}
        return {**super()._coefficients(dtype), **hypers, "shrinkage": shrinkage}

    def _apply(self, op_type: str, var: Any, apply_state: dict[str, Any], *grad: Any) -> Any:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        names = ["lr_t", *_HYPERS[:2], *(["shrinkage"] if shrinks else []), _HYPERS[2]]
        slots = self.get_slot(var, "accumulator"), self.get_slot(var, "linear")
        scalars = [apply_state[name] for name in names]
        op_type += "V2" if shrinks else ""
        return update(op_type, var, *slots, *grad, *scalars, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        return self._apply("ApplyFtrl", var, apply_state, grad)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        return self._apply("SparseApplyFtrl", var, apply_state, grad, indices)

    def get_config(self) -> dict[str, Any]:
        return self._config_with(
            *_HYPERS, initial_accumulator_value=self._initial_accumulator_value,
            l2_shrinkage_regularization_strength=self._l2_shrinkage_regularization_strength,
        )  # fmt: skip
