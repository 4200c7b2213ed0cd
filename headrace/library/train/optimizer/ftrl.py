"""FTRL-proximal (McMahan et al., 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.state.initializers import Constant
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, with L1, L2 and, unless zero, gradient-time L2 ("shrinkage") penalties.

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them.
      learning_rate_power: How the rate falls with the accumulator, at most 0: -0.5 as in Adagrad, 0 for a fixed rate.
      initial_accumulator_value: The accumulators' start, at least 0.
      l1_regularization_strength: The factor of the L1 penalty, at least 0.
      l2_regularization_strength: The factor of the L2 penalty, at least 0.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops.
      accum_name: The name of the slot of accumulators; None for `name`.
      linear_name: The name of the slot of linear terms; None for `name`.
      l2_shrinkage_regularization_strength: The factor of an L2 penalty that acts on gradients only, at least 0.

    >>> w = tf.Variable(1.0)
    >>> train = tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001).minimize(tf.square(w))
    """

    def __init__(
        self, learning_rate: Any, learning_rate_power: Any = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "Ftrl", accum_name: str | None = None, linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        for label, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{label} {value} needs to be greater than or equal to zero")
        if not callable(learning_rate_power) and learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            fill = Constant(self._initial_accumulator_value, dtype=dtype)
            self._get_or_make_slot_with_initializer(
                v, fill, v.get_shape(), dtype, "accum", self._accum_name or self._name
            )
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        shrinkage = self._l2_shrinkage_regularization_strength
        values = [
            (self._call_if_callable(self._learning_rate), "learning_rate"),
            (self._l1_regularization_strength, "l1_regularization_strength"),
            (self._l2_regularization_strength, "l2_regularization_strength"),
            *([(shrinkage, "l2_shrinkage_regularization_strength")] if shrinkage > 0.0 else []),
            (self._call_if_callable(self._learning_rate_power), "learning_rate_power"),
        ]
        self._tensors = [convert_to_tensor(value, name=name) for value, name in values]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        op_type = "ApplyFtrlV2" if shrinks else "ApplyFtrl"
        return update(op_type, var, *self._slots_of(var), grad, *self._scalars(var), use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        op_type = "SparseApplyFtrlV2" if shrinks else "SparseApplyFtrl"
        rows = (grad.values, grad.indices)
        return update(op_type, var, *self._slots_of(var), *rows, *self._scalars(var), use_locking=self._use_locking).op

    def _slots_of(self, var: Any) -> list[Any]:
        return [self.get_slot(var, "accum"), self.get_slot(var, "linear")]

    def _scalars(self, var: Any) -> list[Any]:
        return [cast(t, var.dtype.base_dtype) for t in self._tensors]
