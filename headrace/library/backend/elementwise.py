"""Functions of each element, where Keras's differ from TensorFlow's."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.network import activation
from headrace.library.network import softmax as softmax_library
from headrace.library.numeric import clip as clip_library
from headrace.library.numeric import math


def sqrt(x: Any) -> Tensor:
    """The square root; of numbers below 0, 0.

    Args:
      x: A tensor.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.sqrt(tf.constant([-1.0, 4.0])))
    array([0., 2.], dtype=float32)
    """
    x = convert_to_tensor(x)
    return math.sqrt(math.maximum(x, convert_to_tensor(0.0, x.dtype.base_dtype)))


def pow(x: Any, a: Any) -> Tensor:  # noqa: A001 - Keras's name
    """The power ``x ** a``.

    Args:
      x: A tensor.
      a: An int or a tensor.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.pow(tf.constant([2.0, 3.0]), 2))
    array([4., 9.], dtype=float32)
    """
    return math.pow(x, a)


def clip(x: Any, min_value: Any, max_value: Any) -> Tensor:
    """The elements, moved into a range.

    Args:
      x: A tensor.
      min_value: The smallest result; None for minus infinity.
      max_value: The largest result; None for infinity.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.clip(tf.constant([-2.0, 0.5, 3.0]), 0.0, 1.0))
    array([0. , 0.5, 1. ], dtype=float32)
    """
    numbers = isinstance(min_value, (int, float)) and isinstance(max_value, (int, float))
    if numbers and max_value < min_value:
        max_value = min_value
    low = float("-inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    return clip_library.clip_by_value(x, low, high)


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """``x`` above a threshold, and ``alpha * (x - threshold)`` below it.

    Args:
      x: A tensor or variable.
      alpha: The slope below the threshold.
      max_value: The largest result; None for none.
      threshold: Where the slope changes.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.relu(tf.constant([-2.0, 1.0, 9.0]), alpha=0.5, max_value=6.0))
    array([-1.,  1.,  6.], dtype=float32)
    """
    x = convert_to_tensor(x)
    if alpha != 0.0 and max_value is None and threshold == 0:
        return activation.leaky_relu(x, alpha=alpha)
    slope: Any = None
    if alpha != 0.0:
        slope = activation.relu(-x + threshold) if threshold != 0 else activation.relu(-x)
    if threshold != 0:
        outputs: Any = x * math.cast(math.greater(x, threshold), x.dtype)
    elif max_value == 6:
        outputs, max_value = activation.relu6(x), None
    else:
        outputs = activation.relu(x)
    if max_value is not None:
        outputs = clip_library.clip_by_value(outputs, 0.0, max_value)
    return outputs if slope is None else outputs - alpha * slope


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    Args:
      x: A tensor or variable.
      alpha: The scale below 0.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.elu(tf.constant([1.0])))
    array([1.], dtype=float32)
    """
    outputs: Any = activation.elu(x)
    if alpha == 1:
        return outputs
    return raw_ops.Select(math.greater(x, 0), outputs, alpha * outputs)


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Exponentials that sum to 1 along an axis.

    Args:
      x: A tensor or variable.
      axis: The axis.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.softmax(tf.constant([0.0, 0.0])))
    array([0.5, 0.5], dtype=float32)
    """
    return softmax_library.softmax(x, axis=axis)


def softplus(x: Any) -> Tensor:
    """``log(exp(x) + 1)``.

    Args:
      x: A tensor or variable.

    Returns:
      A tensor.

    >>> tf.keras.backend.softplus(tf.zeros([2])).shape.as_list()
    [2]
    """
    return activation.softplus(x)


def softsign(x: Any) -> Tensor:
    """``x / (abs(x) + 1)``.

    Args:
      x: A tensor or variable.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.softsign(tf.constant([1.0])))
    array([0.5], dtype=float32)
    """
    return activation.softsign(x)


def hard_sigmoid(x: Any) -> Tensor:
    """``0.2 * x + 0.5``, moved into the range from 0 to 1.

    Args:
      x: A tensor or variable.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.hard_sigmoid(tf.constant([-3.0, 0.0])))
    array([0. , 0.5], dtype=float32)
    """
    x = convert_to_tensor(x)
    fifth, half = convert_to_tensor(0.2, x.dtype.base_dtype), convert_to_tensor(0.5, x.dtype.base_dtype)
    return clip_library.clip_by_value(math.add(math.multiply(x, fifth), half), 0.0, 1.0)
