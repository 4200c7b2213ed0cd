"""Checks of shapes, and of arguments that are one number or a pair, for layers that programs write."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """The last dimension of a shape, which must be known.

    Args:
      shape: A `tf.TensorShape`.
      min_rank: The least rank that is accepted.

    Returns:
      An int.

    >>> tf.contrib.slim.utils.last_dimension(tf.zeros([2, 8, 3]).shape, min_rank=2)
    3
    """
    return _dimension(shape, -1, "last", min_rank)


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """The dimension of the channels, which must be known.

    Args:
      shape: A `tf.TensorShape`.
      data_format: The order of the axes: channels are the second one if it begins with `NC`, else the last.
      min_rank: The least rank that is accepted.

    Returns:
      An int.

    >>> tf.contrib.slim.utils.channel_dimension(tf.zeros([2, 3, 8, 8]).shape, "NCHW")
    3
    """
    return _dimension(shape, 1 if data_format.startswith("NC") else -1, "channel", min_rank)


def _dimension(shape: Any, axis: int, what: str, min_rank: int) -> int:
    shape = shape if isinstance(shape, TensorShape) else as_shape(shape)
    if shape.ndims is None:
        raise ValueError(f"dims of shape must be known but is None {at()}")
    if shape.ndims < max(min_rank, axis + 1):
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims} {at()}")
    value = shape.as_list()[axis]
    if value is None:
        raise ValueError(f"{what} dimension of shape must be known but is None: {shape} {at()}")
    return int(value)


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """A pair of ints, of a pair, of a `tf.TensorShape` with two known dimensions, or of one int that stands for both.

    Args:
      int_or_tuple: An int, a list or tuple of two ints, or a `tf.TensorShape`.

    Returns:
      A tuple of two ints.

    >>> tf.contrib.slim.utils.two_element_tuple(3), tf.contrib.slim.utils.two_element_tuple([1, 2])
    ((3, 3), (1, 2))
    """
    if isinstance(int_or_tuple, (list, tuple)):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple} {at()}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, TensorShape) and int_or_tuple.ndims == 2 and int_or_tuple.is_fully_defined():
        first, second = int_or_tuple.as_list()
        return int(first or 0), int(second or 0)
    raise ValueError(
        f"Must be an int, a list with 2 elements or a TensorShape of length 2, got {int_or_tuple!r} {at()}"
    )


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """``n`` positive ints, of a list of so many, of a `tf.TensorShape`, or of one int that stands for all.

    Args:
      n: How many ints to give, above 0.
      value: An int, a list or tuple of `n` ints, or a `tf.TensorShape`.

    Returns:
      A tuple of `n` ints.

    >>> tf.contrib.slim.utils.n_positive_integers(3, 2)
    (2, 2, 2)
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n} {at()}")
    values: Any = value.as_list() if isinstance(value, TensorShape) else value
    values = list(values) if isinstance(values, (list, tuple)) else [values] * n
    if len(values) != n or not all(isinstance(one, int) and one >= 1 for one in values):
        raise ValueError(f"expected one positive integer or {n} of them, got {value!r} {at()}")
    return tuple(values)
