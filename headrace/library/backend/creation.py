"""New tensors and variables, under Keras's names: zeros, ones, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import convert
from headrace.graph.operation import Tensor
from headrace.library.backend.config import floatx
from headrace.library.backend.variable import variable
from headrace.library.numeric import math, random
from headrace.library.state.initializers import RandomNormal, RandomUniform
from headrace.library.tensor import creation

_MOST = 10**8  # of seeds


def _dtype(dtype: Any) -> Any:
    return dtypes.as_dtype(dtype or floatx())


def seed_or_random(seed: Any) -> int:
    return int(np.random.randint(_MOST)) if seed is None else seed


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor with a value.

    Args:
      value: A number, a list or an array.
      dtype: The dtype; None for `floatx`.
      shape: The shape; None for that of the value.
      name: A name for the op.

    Returns:
      A tensor.

    >>> tf.keras.backend.constant([1, 2]).dtype
    tf.float32
    """
    return convert.constant(value, dtype=_dtype(dtype), shape=shape, name=name or "Const")


def _filled(value: Tensor, dtype: Any, name: str | None) -> Any:
    """A variable if the shape is known, as the values of Keras's functions are; else the tensor."""
    return variable(value, dtype=dtype, name=name) if value.shape.is_fully_defined() else value


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable full of zeros.

    Args:
      shape: Its shape.
      dtype: The dtype; None for `floatx`.
      name: A name for the variable.

    Returns:
      A variable; a tensor if the shape is a tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.zeros((2,)))
    array([0., 0.], dtype=float32)
    """
    return _filled(creation.zeros(shape, _dtype(dtype), name=name), dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable full of ones.

    Args:
      shape: Its shape.
      dtype: The dtype; None for `floatx`.
      name: A name for the variable.

    Returns:
      A variable; a tensor if the shape is a tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.ones((2,)))
    array([1., 1.], dtype=float32)
    """
    return _filled(creation.ones(shape, _dtype(dtype), name=name), dtype, name)


def eye(size: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable that is an identity matrix.

    Args:
      size: The number of rows and columns.
      dtype: The dtype; None for `floatx`.
      name: A name for the variable.

    Returns:
      A variable.

    >>> tf.keras.backend.get_value(tf.keras.backend.eye(2))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return variable(creation.eye(size, dtype=_dtype(dtype)), dtype, name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros of the shape of a tensor.

    Args:
      x: A tensor or variable.
      dtype: The dtype; None for that of `x`.
      name: A name for the op.

    Returns:
      A tensor.

    >>> tf.keras.backend.zeros_like(tf.ones([2])).shape.as_list()
    [2]
    """
    return creation.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones of the shape of a tensor.

    Args:
      x: A tensor or variable.
      dtype: The dtype; None for that of `x`.
      name: A name for the op.

    Returns:
      A tensor.

    >>> tf.keras.backend.ones_like(tf.zeros([2])).shape.as_list()
    [2]
    """
    return creation.ones_like(x, dtype=dtype, name=name)


def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Normally distributed numbers.

    Args:
      shape: The shape.
      mean: Their mean.
      stddev: Their standard deviation.
      dtype: The dtype; None for `floatx`.
      seed: An int; None for a random one.

    Returns:
      A tensor.

    >>> tf.keras.backend.random_normal([2, 3]).shape.as_list()
    [2, 3]
    """
    return random.random_normal(shape, mean=mean, stddev=stddev, dtype=_dtype(dtype), seed=seed_or_random(seed))


def random_uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Uniformly distributed numbers.

    Args:
      shape: The shape.
      minval: The smallest number.
      maxval: The end of the range, which is not among them.
      dtype: The dtype; None for `floatx`.
      seed: An int; None for a random one.

    Returns:
      A tensor.

    >>> tf.keras.backend.random_uniform([2, 3]).shape.as_list()
    [2, 3]
    """
    return random.random_uniform(shape, minval=minval, maxval=maxval, dtype=_dtype(dtype), seed=seed_or_random(seed))


def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Normally distributed numbers, none farther than two standard deviations from the mean.

    Args:
      shape: The shape.
      mean: Their mean.
      stddev: Their standard deviation.
      dtype: The dtype; None for `floatx`.
      seed: An int; None for a random one.

    Returns:
      A tensor.

    >>> tf.keras.backend.truncated_normal([2, 3]).shape.as_list()
    [2, 3]
    """
    return random.truncated_normal(shape, mean, stddev, dtype=_dtype(dtype), seed=seed_or_random(seed))


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Zeros and ones at random.

    Args:
      shape: The shape.
      p: The probability of a one.
      dtype: The dtype; None for `floatx`.
      seed: An int; None for a random one.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.random_binomial([2], p=1.0))
    array([1., 1.], dtype=float32)
    """
    drawn = random.random_uniform(shape, dtype=_dtype(dtype), seed=seed_or_random(seed))
    return math.cast(math.less_equal(drawn, p), _dtype(dtype))


def random_uniform_variable(
    shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable with uniformly distributed numbers.

    Args:
      shape: Its shape.
      low: The smallest number.
      high: The end of the range, which is not among them.
      dtype: The dtype; None for `floatx`.
      name: A name for the variable.
      seed: An int; None for a random one.

    Returns:
      A variable.

    >>> tf.keras.backend.random_uniform_variable((2, 3), 0.0, 1.0).shape.as_list()
    [2, 3]
    """
    initializer = RandomUniform(low, high, dtype=_dtype(dtype), seed=seed_or_random(seed))
    return variable(initializer(shape), dtype=dtype, name=name)


def random_normal_variable(
    shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable with normally distributed numbers.

    Args:
      shape: Its shape.
      mean: Their mean.
      scale: Their standard deviation.
      dtype: The dtype; None for `floatx`.
      name: A name for the variable.
      seed: An int; None for a random one.

    Returns:
      A variable.

    >>> tf.keras.backend.random_normal_variable((2, 3), 0.0, 1.0).shape.as_list()
    [2, 3]
    """
    initializer = RandomNormal(mean, scale, dtype=_dtype(dtype), seed=seed_or_random(seed))
    return variable(initializer(shape), dtype=dtype, name=name)
