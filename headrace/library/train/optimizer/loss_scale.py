"""Loss scaling for half precision: the loss is multiplied, gradients divided, and steps with infinite ones left out.

Small gradients of a float16 computation would round to zero; those of a scaled loss do not (Micikevicius et al., 2018).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group, no_op
from headrace.library.numeric import math, reduction
from headrace.library.state.smart_cond import smart_cond, smart_constant_value
from headrace.library.state.variable import Variable
from headrace.library.tensor import array
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer


class LossScale:
    """What the loss is multiplied by.  Calling it gives the scale; ``update(grads)`` adapts it to a step's gradients.

    It is a base class: make a `FixedLossScale` or a `DynamicLossScale`, or write a subclass with ``__call__``, ``update`` and
    ``get_config``.

    >>> issubclass(tf.train.experimental.FixedLossScale, tf.train.experimental.LossScale)
    True
    """

    def __init__(self) -> None:
        self._weights: dict[tuple[str, Any], Any] = {}

    def __call__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say its scale")

    def update(self, grads: Any) -> tuple[Any, Any]:
        """-> an operation that adapts the scale, and whether the gradients may be applied."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it adapts")

    def get_config(self) -> dict[str, Any]:
        """The arguments to make another like this."""
        raise NotImplementedError(f"{type(self).__name__} has no configuration")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Another, from what ``get_config`` gave."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any) -> Any:
        """A variable of this name, one in each graph."""
        graph = context.get_default_graph()
        key = (name, graph)
        if key not in self._weights:
            self._weights[key] = Variable(initial_value, trainable=False, dtype=dtype, name=name)
        return self._weights[key]


class FixedLossScale(LossScale):
    """Always the same scale.

    Args:
      loss_scale_value: The scale, a Python number of at least 1.

    >>> print(tf.Session().run(tf.train.experimental.FixedLossScale(128)()))
    128.0
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError(f"loss_scale_value must be a Python int or float, got {loss_scale_value!r}")
        if loss_scale_value < 1:
            raise ValueError(f"loss_scale_value must be at least 1, got {loss_scale_value}")
        self._value = float(loss_scale_value)

    def __call__(self) -> Any:
        return constant(self._value)

    def update(self, grads: Any) -> tuple[Any, Any]:
        return no_op(), True

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._value}


def _all_finite(grads: Any) -> Any:
    flat = [g.values if isinstance(g, IndexedSlices) else g for g in grads if g is not None]
    return reduction.reduce_all(array.stack([reduction.reduce_all(math.is_finite(g)) for g in flat]))


class DynamicLossScale(LossScale):
    """Grows after ``increment_period`` steps with finite gradients, shrinks whenever there are others.

    Args:
      initial_loss_scale: The scale of the first step.
      increment_period: How many steps in a row must have finite gradients before the scale grows.
      multiplier: What the scale is multiplied by when it grows, and divided by when it shrinks, down to 1.

    >>> tf.train.experimental.DynamicLossScale(increment_period=100).get_config()['increment_period']
    100
    """

    def __init__(
        self, initial_loss_scale: float = 32768, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        super().__init__()
        self._initial, self._period, self._multiplier = (
            float(initial_loss_scale),
            int(increment_period),
            float(multiplier),
        )

    initial_loss_scale = property(lambda self: self._initial, doc="The scale of the first step.")
    increment_period = property(lambda self: self._period, doc="How many good steps in a row make the scale grow.")
    multiplier = property(lambda self: self._multiplier, doc="The factor by which the scale grows and shrinks.")

    @property
    def _current(self) -> Any:
        return self._add_weight("current_loss_scale", self._initial, dtypes.float32)

    @property
    def _good_steps(self) -> Any:
        return self._add_weight("good_steps", 0, dtypes.int64)

    def __call__(self) -> Any:
        return convert_to_tensor(self._current)

    def update(self, grads: Any) -> tuple[Any, Any]:
        finite = _all_finite(list(grads.values()) if isinstance(grads, dict) else grads)
        scale, steps = convert_to_tensor(self._current), convert_to_tensor(self._good_steps)
        due = math.greater_equal(steps + 1, constant(self._period, dtypes.int64))
        larger = scale * self._multiplier
        larger = cond(math.is_finite(larger), lambda: larger, lambda: scale)
        smaller = math.maximum(scale / self._multiplier, 1.0)
        grown = cond(due, lambda: larger, lambda: scale)
        counted = cond(due, lambda: constant(0, dtypes.int64), lambda: steps + 1)
        new_scale = cond(finite, lambda: grown, lambda: smaller)
        new_steps = cond(finite, lambda: counted, lambda: constant(0, dtypes.int64))
        return group(self._current.assign(new_scale), self._good_steps.assign(new_steps)), finite

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self._initial, "increment_period": self._period, "multiplier": self._multiplier,
        }  # fmt: skip


def loss_scale_of(loss_scale: Any) -> LossScale:
    """A number as a fixed scale, "dynamic" as a dynamic one."""
    if isinstance(loss_scale, LossScale):
        return loss_scale
    if loss_scale == "dynamic":
        return DynamicLossScale()
    if isinstance(loss_scale, (int, float)):
        return FixedLossScale(loss_scale)
    raise ValueError(f"Could not interpret loss scale {loss_scale!r}: a LossScale, a number or 'dynamic' is accepted")


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Another optimizer, on a scaled loss; steps whose gradients are not all finite change nothing.

    Args:
      opt: The optimizer that applies the gradients, after they are divided by the scale.
      loss_scale: A number, "dynamic", or a `tf.train.experimental.LossScale`.

    >>> w = tf.Variable(3.0)
    >>> opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), 128)
    >>> train = opt.minimize(tf.square(w))
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train)
    ...     print(sess.run(w))
    0.0
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {opt!r}')
        self._optimizer = opt
        self._loss_scale = loss_scale_of(loss_scale)
        super().__init__(opt._use_locking, opt._name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None, colocate_gradients_with_ops: bool = False, grad_loss: Any = None,
    ) -> GradsAndVars:  # fmt: skip
        """The gradients of the loss itself, computed from those of the scaled one."""
        scaled = (lambda: self._scaled(loss())) if callable(loss) else self._scaled(loss)
        grads_and_vars = self._optimizer.compute_gradients(
            scaled, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        inverse = 1.0 / self._loss_scale()
        return [(self._unscaled(g, inverse), v) for g, v in grads_and_vars]

    def _scaled(self, loss: Any) -> Any:
        loss = convert_to_tensor(loss)
        return loss * math.cast(self._loss_scale(), loss.dtype.base_dtype)

    def _unscaled(self, grad: Any, inverse: Any) -> Any:
        if grad is None:
            return None
        if isinstance(grad, IndexedSlices):
            values = grad.values * math.cast(inverse, grad.values.dtype.base_dtype)
            return IndexedSlices(values, grad.indices, grad.dense_shape)
        return grad * math.cast(inverse, grad.dtype.base_dtype)

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """Applies the gradients if all are finite, and adapts the scale."""
        pairs = list(grads_and_vars)
        update, finite = self._loss_scale.update([g for g, _ in pairs])
        if smart_constant_value(finite) is True:
            return group(self._optimizer.apply_gradients(pairs, global_step, name), update)

        def apply() -> Any:
            return group(self._optimizer.apply_gradients(pairs, global_step, name))

        return group(smart_cond(finite, apply, no_op), update)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        return [*self._optimizer.variables(), *self._loss_scale._weights.values()]


# ---- the managers of contrib.mixed_precision


class LossScaleManager(LossScale):
    """contrib's form: ``get_loss_scale`` and ``update_loss_scale(finite_grads)``.

    It is a base class: make a `FixedLossScaleManager` or an `ExponentialUpdateLossScaleManager`, or write a subclass with these
    two methods.

    >>> issubclass(tf.contrib.mixed_precision.FixedLossScaleManager, tf.contrib.mixed_precision.LossScaleManager)
    True
    """

    def get_loss_scale(self) -> Any:
        """The scale."""
        raise NotImplementedError(f"{type(self).__name__} does not say its scale")

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """An operation that adapts the scale."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it adapts")

    def __call__(self) -> Any:
        return self.get_loss_scale()

    def update(self, grads: Any) -> tuple[Any, Any]:
        finite = _all_finite(grads)
        return self.update_loss_scale(finite), finite


class FixedLossScaleManager(LossScaleManager):
    """Always the same scale; steps with infinite gradients are left out.

    Args:
      loss_scale: The scale, a number of at least 1.

    >>> print(tf.Session().run(tf.contrib.mixed_precision.FixedLossScaleManager(64).get_loss_scale()))
    64.0
    """

    def __init__(self, loss_scale: float) -> None:
        super().__init__()
        if loss_scale < 1:
            raise ValueError(f"loss scale must be at least 1, got {loss_scale}")
        self._value = float(loss_scale)

    def get_loss_scale(self) -> Any:
        return constant(self._value)

    def update_loss_scale(self, finite_grads: Any) -> Any:
        return no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """Times ``incr_ratio`` after that many good steps in a row, times ``decr_ratio`` after that many bad ones.

    Args:
      init_loss_scale: The scale of the first step.
      incr_every_n_steps: How many steps in a row must have finite gradients before the scale grows.
      decr_every_n_nan_or_inf: How many steps, not only in a row, must have other gradients before it shrinks.
      incr_ratio: What the scale is multiplied by when it grows, above 1.
      decr_ratio: What the scale is multiplied by when it shrinks, below 1.

    >>> manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(1024.0, incr_every_n_steps=1000)
    >>> manager.get_loss_scale().dtype.name
    'float32'
    """

    def __init__(
        self, init_loss_scale: float, incr_every_n_steps: int, decr_every_n_nan_or_inf: int = 2, incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:  # fmt: skip
        super().__init__()
        self._initial = float(init_loss_scale)
        self._every, self._bad_every = incr_every_n_steps, decr_every_n_nan_or_inf
        self._up, self._down = incr_ratio, decr_ratio

    def get_loss_scale(self) -> Any:
        return convert_to_tensor(self._add_weight("loss_scale", self._initial, dtypes.float32))

    def update_loss_scale(self, finite_grads: Any) -> Any:
        scale = self._add_weight("loss_scale", self._initial, dtypes.float32)
        good, bad = (self._add_weight(n, 0, dtypes.int32) for n in ("num_good_steps", "num_bad_steps"))
        now, ups, downs = (convert_to_tensor(v) for v in (scale, good, bad))
        zero = constant(0)

        def fine() -> Any:
            due = math.greater_equal(ups + 1, self._every)
            larger = now * self._up
            larger = cond(math.is_finite(larger), lambda: larger, lambda: now)
            scale_and_good = cond(due, lambda: larger, lambda: now), cond(due, lambda: zero, lambda: ups + 1)
            return *scale_and_good, cond(due, lambda: zero, lambda: downs)

        def broken() -> Any:
            due = math.greater_equal(downs + 1, self._bad_every)
            smaller = math.maximum(1.0, now * self._down)
            return cond(due, lambda: smaller, lambda: now), zero, cond(due, lambda: zero, lambda: downs + 1)

        new = cond(finite_grads, fine, broken)
        return group(*[v.assign(n) for v, n in zip((scale, good, bad), new, strict=True)])


class LossScaleOptimizer(MixedPrecisionLossScaleOptimizer):
    """contrib.mixed_precision's name for it; takes a loss scale manager.

    Args:
      opt: The optimizer that applies the gradients, after they are divided by the scale.
      loss_scale_manager: A `tf.contrib.mixed_precision.LossScaleManager`.

    >>> manager = tf.contrib.mixed_precision.FixedLossScaleManager(128)
    >>> opt = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
    >>> train = opt.minimize(tf.square(tf.Variable(3.0)))
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: Any) -> None:
        super().__init__(opt, loss_scale_manager)
