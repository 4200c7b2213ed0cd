"""Adagrad (Duchi et al., 2011), its proximal form, and its dual-averaging form for large sparse linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.library.scope import colocate_with
from headrace.library.state.initializers import Constant
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class AdagradOptimizer(Optimizer):
    """Each weight's rate is ``learning_rate / sqrt(accumulator)``, the accumulator summing its squared gradients.

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them.
      initial_accumulator_value: The accumulators' start, above 0.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops and slots.

    >>> w = tf.Variable(1.0)
    >>> train = tf.train.AdagradOptimizer(0.1).minimize(tf.square(w))
    """

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:  # fmt: skip
        _require_positive(initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            if v.get_shape().is_fully_defined():
                fill = Constant(self._initial_accumulator_value, dtype=dtype)
                shape = v.get_shape()
                self._get_or_make_slot_with_initializer(v, fill, shape, dtype, "accumulator", self._name)
            else:
                value = raw_ops.Fill(raw_ops.Shape(v), constant(self._initial_accumulator_value, dtype))
                self._get_or_make_slot(v, value, "accumulator", self._name)

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert_to_tensor(rate, name="learning_rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        accumulator = self.get_slot(var, "accumulator")
        return update("ApplyAdagrad", var, accumulator, rate, grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        accumulator = self.get_slot(var, "accumulator")
        return update(
            "SparseApplyAdagrad", var, accumulator, rate, grad.values, grad.indices, use_locking=self._use_locking
        ).op


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad followed by the proximal map of an L1 and an L2 penalty.

    Args:
      learning_rate: A number or a tensor.
      initial_accumulator_value: The accumulators' start, above 0.
      l1_regularization_strength: The factor of the L1 penalty, at least 0.
      l2_regularization_strength: The factor of the L2 penalty, at least 0.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops and slots.

    >>> w = tf.Variable(1.0)
    >>> train = tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.001).minimize(tf.square(w))
    """

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0, use_locking: bool = False, name: str = "ProximalAdagrad",
    ) -> None:  # fmt: skip
        _require_positive(initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            with colocate_with(v):
                value = constant(self._initial_accumulator_value, v.dtype.base_dtype, v.get_shape())
            self._get_or_make_slot(v, value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._learning_rate, name="learning_rate"),
            convert_to_tensor(self._l1_regularization_strength, name="l1_regularization_strength"),
            convert_to_tensor(self._l2_regularization_strength, name="l2_regularization_strength"),
        ]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        accumulator = self.get_slot(var, "accumulator")
        scalars = [cast(t, var.dtype.base_dtype) for t in self._tensors]
        return update("ApplyProximalAdagrad", var, accumulator, *scalars, grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        accumulator = self.get_slot(var, "accumulator")
        scalars = [cast(t, var.dtype.base_dtype) for t in self._tensors]
        return update(
            "SparseApplyProximalAdagrad",
            var,
            accumulator,
            *scalars,
            grad.values,
            grad.indices,
            use_locking=self._use_locking,
        ).op


class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging: regularises by the global step, so that weights stay zero unless clearly needed.

    ``global_step`` is the variable the training loop counts with; the update reads it and never changes it.

    Args:
      learning_rate: A number or a tensor.
      global_step: The variable that counts the steps.
      initial_gradient_squared_accumulator_value: The start of the sums of squared gradients, above 0.
      l1_regularization_strength: The factor of the L1 penalty, at least 0.
      l2_regularization_strength: The factor of the L2 penalty, at least 0.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops and slots.

    >>> w, step = tf.Variable(1.0), tf.train.get_or_create_global_step()
    >>> train = tf.train.AdagradDAOptimizer(0.1, step).minimize(tf.square(w), global_step=step)
    """

    def __init__(
        self, learning_rate: Any, global_step: Any, initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:  # fmt: skip
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            with colocate_with(v):
                zeros = constant(0.0, v.dtype.base_dtype, v.get_shape())
                filled = constant(self._initial_gradient_squared_accumulator_value, v.dtype.base_dtype, v.get_shape())
            self._get_or_make_slot(v, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(v, filled, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = convert_to_tensor(self._learning_rate, name="learning_rate")
        # The step counts from one here.
        with colocate_with(self._learning_rate_tensor):
            step = raw_ops.Identity(self._global_step)
            self._global_step_on_worker = raw_ops.AddV2(step, 1, name="add")

    def _inputs(self, var: Any) -> tuple[list[Any], list[Any]]:
        dtype = var.dtype.base_dtype
        slots = [self.get_slot(var, n) for n in ("gradient_accumulator", "gradient_squared_accumulator")]
        step = cast(raw_ops.Identity(self._global_step_on_worker), dtypes.int64)
        l1 = constant(self._l1_regularization_strength, dtype, name="Cast/x")
        l2 = constant(self._l2_regularization_strength, dtype, name="Cast_1/x")
        return slots, [cast(self._learning_rate_tensor, dtype), l1, l2, step]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        slots, scalars = self._inputs(var)
        return update("ApplyAdagradDA", var, *slots, grad, *scalars, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        slots, scalars = self._inputs(var)
        return update(
            "SparseApplyAdagradDA", var, *slots, grad.values, grad.indices, *scalars, use_locking=self._use_locking
        ).op


def _require_positive(initial_accumulator_value: float) -> None:
    if initial_accumulator_value <= 0.0:
        raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
