"""Learning rates that depend on the step (tf.keras.optimizers.schedules, and the cosines of tf.keras.experimental)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.layers.named_object import deserialize_keras_object, serialize_keras_object
from headrace.library.numeric import math
from headrace.library.train import learning_rate_decay as decay


class LearningRateSchedule:
    """Base class of learning rates that depend on the step: a subclass defines ``__call__(step)``.

    >>> class Halving(tf.keras.optimizers.schedules.LearningRateSchedule):
    ...     def __call__(self, step):
    ...         return 1.0 / tf.pow(2.0, step)
    ...     def get_config(self):
    ...         return {}
    >>> optimizer = tf.keras.optimizers.SGD(Halving())
    """

    def __call__(self, step: Any) -> Any:
        """The rate of a step, a tensor for a tensor."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(step)")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments as plain data."""
        raise NotImplementedError(f"{type(self).__name__} must define get_config()")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A schedule with the arguments that `get_config` gave."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """A schedule that one of the functions of `tf.train` computes from the constructor's arguments."""

    _rule: Callable[..., Any]

    def __init__(self, name: str | None, **arguments: Any) -> None:
        self.name = name
        self._arguments = arguments
        self.__dict__.update(arguments)

    def __call__(self, step: Any) -> Any:
        arguments = dict(self._arguments)
        rate = arguments.pop("initial_learning_rate")
        return type(self)._rule(rate, step, name=self.name, **arguments)

    def get_config(self) -> dict[str, Any]:
        return {**self._arguments, "name": self.name}


class ExponentialDecay(_Decay):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``; a whole exponent if ``staircase``.

    Args:
      initial_learning_rate: The rate at step 0.
      decay_steps: After how many steps the rate is multiplied by `decay_rate` once.
      decay_rate: The factor for `decay_steps` steps.
      staircase: Whether the rate changes only at multiples of `decay_steps`.
      name: A name for the ops.

    >>> rate = tf.keras.optimizers.schedules.ExponentialDecay(1.0, decay_steps=10, decay_rate=0.5)
    >>> print(tf.Session().run(rate(20)))
    0.25
    """

    _rule = staticmethod(decay.exponential_decay)

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, decay_rate=decay_rate,
            staircase=staircase,
        )  # fmt: skip


class InverseTimeDecay(_Decay):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``; a whole quotient if ``staircase``.

    Args:
      initial_learning_rate: The rate at step 0.
      decay_steps: The number of steps that count as one period.
      decay_rate: What each period adds to the divisor.
      staircase: Whether the rate changes only at multiples of `decay_steps`.
      name: A name for the ops.

    >>> rate = tf.keras.optimizers.schedules.InverseTimeDecay(1.0, decay_steps=10, decay_rate=1.0)
    >>> print(tf.Session().run(rate(30)))
    0.25
    """

    _rule = staticmethod(decay.inverse_time_decay)

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, decay_rate=decay_rate,
            staircase=staircase,
        )  # fmt: skip


class PolynomialDecay(_Decay):
    """From the first rate to ``end_learning_rate`` in ``decay_steps`` along a power of the way left.

    Args:
      initial_learning_rate: The rate at step 0.
      decay_steps: The number of steps to `end_learning_rate`.
      end_learning_rate: The rate at the end, and after it.
      power: The exponent: 1 falls along a straight line, 2 fast at first.
      cycle: Whether the rate rises again after `decay_steps`, to fall until the next multiple.
      name: A name for the ops.

    >>> rate = tf.keras.optimizers.schedules.PolynomialDecay(1.0, decay_steps=100, end_learning_rate=0.0)
    >>> print(tf.Session().run(rate(25)))
    0.75
    """

    _rule = staticmethod(decay.polynomial_decay)

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, end_learning_rate: Any = 0.0001, power: Any = 1.0,
        cycle: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, initial_learning_rate=initial_learning_rate, decay_steps=decay_steps,
            end_learning_rate=end_learning_rate, power=power, cycle=cycle,
        )  # fmt: skip


class PiecewiseConstantDecay(LearningRateSchedule):
    """``values[0]`` up to and including ``boundaries[0]``, then ``values[1]`` and so on.

    Args:
      boundaries: Increasing step numbers.
      values: The rates, one more than there are boundaries.
      name: A name for the ops.

    >>> rate = tf.keras.optimizers.schedules.PiecewiseConstantDecay([100], [1.0, 0.5])
    >>> print(tf.Session().run(rate(101)))
    0.5
    """

    def __init__(self, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values, got "
                f"{len(boundaries)} boundaries and {len(values)} values"
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        step = convert_to_tensor(step)
        edges = [math.cast(edge, step.dtype.base_dtype) for edge in self.boundaries]
        return decay.piecewise_constant(step, edges, self.values, name=self.name)

    def get_config(self) -> dict[str, Any]:
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


class CosineDecay(_Decay):
    """Half a cosine from the first rate to ``alpha`` times it in ``decay_steps``.

    Args:
      initial_learning_rate: The rate at step 0.
      decay_steps: The number of steps to the end; later steps have the rate of the end.
      alpha: The part of `initial_learning_rate` that is left at the end.
      name: A name for the ops.

    >>> rate = tf.keras.experimental.CosineDecay(1.0, decay_steps=100)
    >>> print(tf.Session().run(rate(50)).round(4))
    0.5
    """

    _rule = staticmethod(decay.cosine_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None) -> None:
        super().__init__(name, initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, alpha=alpha)


class CosineDecayRestarts(_Decay):
    """`CosineDecay` that starts again when it ends, ``t_mul`` times longer and ``m_mul`` times lower.

    Args:
      initial_learning_rate: The rate at step 0.
      first_decay_steps: The number of steps of the first period.
      t_mul: How many times longer each period is than the one before.
      m_mul: What the rate at the start of each period is multiplied by, for the next one.
      alpha: The part of the rate below which it does not fall.
      name: A name for the ops.

    >>> rate = tf.keras.experimental.CosineDecayRestarts(1.0, first_decay_steps=10, m_mul=0.5)
    >>> print(tf.Session().run(rate(10)).round(4))
    0.5
    """

    _rule = staticmethod(decay.cosine_decay_restarts)

    def __init__(
        self, initial_learning_rate: Any, first_decay_steps: Any, t_mul: Any = 2.0, m_mul: Any = 1.0, alpha: Any = 0.0,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, initial_learning_rate=initial_learning_rate, first_decay_steps=first_decay_steps, t_mul=t_mul,
            m_mul=m_mul, alpha=alpha,
        )  # fmt: skip


class LinearCosineDecay(_Decay):
    """The first rate times ``(alpha + linear) * cosine + beta``, where linear falls from 1 to 0.

    Args:
      initial_learning_rate: The rate at step 0 where `alpha` and `beta` are 0.
      decay_steps: The number of steps to the end; later steps have the rate of the end.
      num_periods: How many whole cosine waves there are on the way.
      alpha: What is added to the straight line.
      beta: What is added to the product of the line and the cosine.
      name: A name for the ops.

    >>> rate = tf.keras.experimental.LinearCosineDecay(1.0, decay_steps=100, beta=0.0)
    >>> print(tf.Session().run(rate(50)).round(4))
    0.25
    """

    _rule = staticmethod(decay.linear_cosine_decay)

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, num_periods: Any = 0.5, alpha: Any = 0.0, beta: Any = 0.001,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, num_periods=num_periods,
            alpha=alpha, beta=beta,
        )  # fmt: skip


class NoisyLinearCosineDecay(_Decay):
    """`LinearCosineDecay` with noise of variance ``initial_variance / (1 + step) ** variance_decay``.

    Args:
      initial_learning_rate: The rate at step 0 without noise, where `alpha` and `beta` are 0.
      decay_steps: The number of steps to the end.
      initial_variance: The variance of the noise at step 0.
      variance_decay: How fast the variance falls.
      num_periods: How many whole cosine waves there are on the way.
      alpha: What is added to the straight line.
      beta: What is added to the product of the line and the cosine.
      name: A name for the ops.

    >>> rate = tf.keras.experimental.NoisyLinearCosineDecay(1.0, decay_steps=100)
    >>> rate(50).shape.as_list()
    []
    """

    _rule = staticmethod(decay.noisy_linear_cosine_decay)

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, initial_variance: Any = 1.0, variance_decay: Any = 0.55,
        num_periods: Any = 0.5, alpha: Any = 0.0, beta: Any = 0.001, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, initial_learning_rate=initial_learning_rate, decay_steps=decay_steps,
            initial_variance=initial_variance, variance_decay=variance_decay, num_periods=num_periods, alpha=alpha,
            beta=beta,
        )  # fmt: skip


_SCHEDULES = (
    ExponentialDecay, InverseTimeDecay, PolynomialDecay, PiecewiseConstantDecay, CosineDecay, CosineDecayRestarts,
    LinearCosineDecay, NoisyLinearCosineDecay,
)  # fmt: skip
_NAMED = {schedule.__name__: schedule for schedule in _SCHEDULES}


def serialize(learning_rate_schedule: Any) -> Any:
    """What `deserialize` makes the schedule from.

    Args:
      learning_rate_schedule: A `LearningRateSchedule`.

    Returns:
      A dict of plain data.

    >>> rate = tf.keras.optimizers.schedules.PolynomialDecay(1.0, 100)
    >>> tf.keras.optimizers.schedules.serialize(rate)['class_name']
    'PolynomialDecay'
    """
    return serialize_keras_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The schedule of a configuration.

    Args:
      config: What `serialize` gave.
      custom_objects: Schedules of one's own by their names.

    Returns:
      A `LearningRateSchedule`.

    >>> rate = tf.keras.optimizers.schedules.PolynomialDecay(1.0, 100)
    >>> kept = tf.keras.optimizers.schedules.serialize(rate)
    >>> tf.keras.optimizers.schedules.deserialize(kept).decay_steps
    100
    """
    return deserialize_keras_object(
        config, module_objects=_NAMED, custom_objects=custom_objects, printable_module_name="decay"
    )
