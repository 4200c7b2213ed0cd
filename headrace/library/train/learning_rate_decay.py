"""Learning rates that fall with the global step: functions that give the rate as a tensor, to pass to an optimizer.

    rate = tf.train.exponential_decay(0.1, global_step, decay_steps=1000, decay_rate=0.96)
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=global_step)

Every argument but names and flags may be a tensor.  Where TF1 builds a conditional these select, so that the whole rate
is one piece of straight-line arithmetic.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric import division, math
from headrace.library.numeric.random import random_normal
from headrace.library.scope import name_scope


def exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``learning_rate * decay_rate ** (global_step / decay_steps)``; a whole exponent if ``staircase``.

    Args:
      learning_rate: The rate at step 0, a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: After how many steps the rate is multiplied by `decay_rate` once.
      decay_rate: The factor for `decay_steps` steps.
      staircase: Whether the rate changes only at multiples of `decay_steps`.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.exponential_decay(0.1, step, decay_steps=100, decay_rate=0.5, staircase=True)
    >>> with tf.Session() as sess:
    ...     print([float(sess.run(rate, {step: n}).round(4)) for n in (0, 99, 100, 250)])
    [0.10000000149011612, 0.10000000149011612, 0.05000000074505806, 0.02500000037252903]
    """
    _require_step(global_step)
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step]) as scope:
        rate, steps, decay = _converted(learning_rate, decay_steps, decay_rate)
        exponent = division.divide(math.cast(global_step, rate.dtype), steps)
        if staircase:
            exponent = math.floor(exponent)
        return math.multiply(rate, math.pow(decay, exponent), name=scope)


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Tensor:
    """``values[0]`` up to and including ``boundaries[0]``, then ``values[1]`` and so on.

    ``tf.train.piecewise_constant(global_step, [100000, 110000], [1.0, 0.5, 0.1])``

    Args:
      x: The scalar to look up, most often the global step.
      boundaries: Increasing numbers of the type of `x`; int32 ones are cast for an int64 `x`.
      values: The results, one more than there are boundaries, all of one type.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `values`.

    >>> print(tf.Session().run(tf.train.piecewise_constant(101, [100], [1.0, 0.5])))
    0.5
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    x = convert_to_tensor(x)
    edges = [convert_to_tensor(b) for b in boundaries]
    choices = [convert_to_tensor(v) for v in values]
    for i, edge in enumerate(edges):
        if edge.dtype.base_dtype != x.dtype.base_dtype:
            if edge.dtype.base_dtype is not dtypes.int32 or x.dtype.base_dtype is not dtypes.int64:
                type_names = edge.dtype.base_dtype.name, x.dtype.base_dtype.name
                raise ValueError(f"Boundaries ({type_names[0]}) must have the same dtype as x ({type_names[1]}).")
            edges[i] = math.cast(edge, dtypes.int64)
    for choice in choices[1:]:
        if choice.dtype.base_dtype != choices[0].dtype.base_dtype:
            raise ValueError(
                f"Values must have elements all with the same dtype ({choices[0].dtype.base_dtype.name} vs "
                f"{choice.dtype.base_dtype.name})."
            )
    with name_scope(name, "PiecewiseConstant", [x, *edges, *choices]):
        chosen = choices[-1]
        for edge, choice in zip(reversed(edges), reversed(choices[:-1]), strict=True):
            chosen = raw_ops.SelectV2(raw_ops.LessEqual(x, edge), choice, chosen)
        return chosen


piecewise_constant_decay = piecewise_constant


def polynomial_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: Any = 0.0001, power: Any = 1.0,
    cycle: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """From ``learning_rate`` to ``end_learning_rate`` in ``decay_steps`` along a power of the way left.

    With ``cycle`` the end is moved to the next multiple of ``decay_steps`` whenever it is passed.

    Args:
      learning_rate: The rate at step 0, a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: The number of steps to `end_learning_rate`.
      end_learning_rate: The rate at the end, and after it.
      power: The exponent: 1 falls along a straight line, 2 fast at first.
      cycle: Whether the rate rises again after `decay_steps`, to fall until the next multiple.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> print(tf.Session().run(tf.train.polynomial_decay(1.0, 25, decay_steps=100, end_learning_rate=0.0)))
    0.75
    """
    _require_step(global_step)
    with name_scope(name, "PolynomialDecay", [learning_rate, global_step]) as scope:
        rate, end, exponent = _converted(learning_rate, end_learning_rate, power)
        step = math.cast(global_step, rate.dtype)
        steps = math.cast(decay_steps, rate.dtype)
        if cycle:
            rounds = raw_ops.Ceil(division.divide(step, steps))
            one = convert_to_tensor(1.0, rate.dtype.base_dtype)
            first = raw_ops.Equal(step, 0)
            steps = math.multiply(steps, raw_ops.SelectV2(first, one, rounds))
        else:
            step = math.minimum(step, steps)
        left = 1 - division.divide(step, steps)
        return math.add(math.multiply(rate - end, math.pow(left, exponent)), end, name=scope)


def natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``learning_rate * exp(-decay_rate * global_step / decay_steps)``.

    Args:
      learning_rate: The rate at step 0, a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: The number of steps that count as one period.
      decay_rate: The exponent of one period: the larger, the faster the rate falls.
      staircase: Whether the rate changes only at multiples of `decay_steps`.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> print(round(float(tf.Session().run(tf.train.natural_exp_decay(1.0, 10, decay_steps=10, decay_rate=1.0))), 4))
    0.3679
    """
    per_period = math.exp(math.negative(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, per_period, staircase=staircase, name=name)


def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``learning_rate / (1 + decay_rate * global_step / decay_steps)``.

    Args:
      learning_rate: The rate at step 0, a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: The number of steps that count as one period.
      decay_rate: What each period adds to the divisor.
      staircase: Whether the rate changes only at multiples of `decay_steps`.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> print(tf.Session().run(tf.train.inverse_time_decay(1.0, 30, decay_steps=10, decay_rate=1.0)))
    0.25
    """
    _require_step(global_step)
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step]) as scope:
        rate, steps, decay = _converted(learning_rate, decay_steps, decay_rate)
        passed = division.divide(math.cast(global_step, rate.dtype), steps)
        if staircase:
            passed = math.floor(passed)
        return division.divide(rate, 1 + math.multiply(decay, passed), name=scope)


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Tensor:
    """Half a cosine from ``learning_rate`` to ``alpha * learning_rate`` in ``decay_steps``.

    Args:
      learning_rate: The rate at step 0, a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: The number of steps to the end; later steps have the rate of the end.
      alpha: The part of `learning_rate` that is left at the end.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> print(round(float(tf.Session().run(tf.train.cosine_decay(1.0, 50, decay_steps=100))), 4))
    0.5
    """
    _require_step(global_step)
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate, steps = _converted(learning_rate, decay_steps)
        done = division.divide(math.minimum(math.cast(global_step, rate.dtype), steps), steps)
        return math.multiply(rate, (1 - alpha) * _half_cosine(done) + alpha)


def cosine_decay_restarts(
    learning_rate: Any, global_step: Any, first_decay_steps: Any, t_mul: Any = 2.0, m_mul: Any = 1.0,
    alpha: Any = 0.0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``cosine_decay`` that starts again when it ends, ``t_mul`` times longer and ``m_mul`` times lower (SGDR).

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    Args:
      learning_rate: The rate at step 0, a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      first_decay_steps: The number of steps of the first period.
      t_mul: How many times longer each period is than the one before.
      m_mul: What the rate at the start of each period is multiplied by, for the next one.
      alpha: The part of `learning_rate` below which the rate does not fall.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> print(round(float(tf.Session().run(tf.train.cosine_decay_restarts(1.0, 10, first_decay_steps=10, m_mul=0.5))), 4))
    0.5
    """
    _require_step(global_step)
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate, steps, floor, longer, lower = _converted(learning_rate, first_decay_steps, alpha, t_mul, m_mul)
        done = division.divide(math.cast(global_step, rate.dtype), steps)
        # How many periods have ended, and which part of the present one has passed: a geometric series of lengths.
        even = math.floor(done)
        grown = math.floor(math.log(1 - done * (1 - longer)) / math.log(longer))
        begun = (1 - longer**grown) / (1 - longer)
        same = raw_ops.Equal(longer, 1)
        period = raw_ops.SelectV2(same, even, grown)
        passed = raw_ops.SelectV2(same, done - even, (done - begun) / longer**grown)
        decayed = (1 - floor) * (lower**period) * _half_cosine(passed) + floor
        return math.multiply(rate, decayed, name=scope)


def linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: Any = 0.5, alpha: Any = 0.0,
    beta: Any = 0.001, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``learning_rate * ((alpha + linear) * cosine + beta)``, linear falling from 1 to 0 (Bello et al., 2017).

    Args:
      learning_rate: The rate at step 0 where `alpha` and `beta` are 0; a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: The number of steps to the end; later steps have the rate of the end.
      num_periods: How many whole cosine waves there are on the way; 0.5 falls from 1 to 0 once.
      alpha: What is added to the straight line.
      beta: What is added to the product of the line and the cosine.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> print(round(float(tf.Session().run(tf.train.linear_cosine_decay(1.0, 50, decay_steps=100, beta=0.0))), 4))
    0.25
    """
    return _linear_cosine(
        learning_rate, global_step, decay_steps, num_periods, alpha, beta, name, "LinearCosineDecay", lambda step: 0
    )


def noisy_linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, initial_variance: Any = 1.0, variance_decay: Any = 0.55,
    num_periods: Any = 0.5, alpha: Any = 0.0, beta: Any = 0.001, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``linear_cosine_decay`` with noise of variance ``initial_variance / (1 + global_step) ** variance_decay``.

    Args:
      learning_rate: The rate at step 0 without noise, where `alpha` and `beta` are 0; a number or a tensor.
      global_step: The step, an integer, tensor or variable.
      decay_steps: The number of steps to the end.
      initial_variance: The variance of the noise at step 0.
      variance_decay: How fast the variance falls: the power of the step by which it is divided.
      num_periods: How many whole cosine waves there are on the way.
      alpha: What is added to the straight line.
      beta: What is added to the product of the line and the cosine.
      name: A name for the ops.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    >>> tf.train.noisy_linear_cosine_decay(1.0, 50, decay_steps=100).shape.as_list()
    []
    """

    def noise(step: Any) -> Tensor:
        variance = initial_variance / math.pow(1 + step, variance_decay)
        return random_normal([], stddev=math.sqrt(variance))

    return _linear_cosine(
        learning_rate, global_step, decay_steps, num_periods, alpha, beta, name, "NoisyLinearCosineDecay", noise
    )


def _linear_cosine(
    learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: Any, alpha: Any, beta: Any, name: str | None,
    default_name: str, noise: Callable[[Any], Any],
) -> Tensor:  # fmt: skip
    _require_step(global_step)
    with name_scope(name, default_name, [learning_rate, global_step]) as scope:
        rate, steps, periods, low, offset = _converted(learning_rate, decay_steps, num_periods, alpha, beta)
        step = math.minimum(math.cast(global_step, rate.dtype), steps)
        linear = (steps - step) / steps + noise(step)
        cosine = _half_cosine(2 * periods * (step / steps))
        return math.multiply(rate, (low + linear) * cosine + offset, name=scope)


def _half_cosine(part: Any) -> Any:
    """From 1 at 0 to 0 at 1."""
    cosine: Any = math.cos(python_math.pi * part)
    return 0.5 * (1 + cosine)


def _converted(learning_rate: Any, *others: Any) -> list[Any]:
    """The rate as a tensor, and the other arguments cast to its dtype."""
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    return [rate, *(math.cast(other, rate.dtype) for other in others)]


def _require_step(global_step: Any) -> None:
    if global_step is None:
        raise ValueError(
            "global_step is required for a learning rate that decays: pass tf.train.get_or_create_global_step()"
        )
