"""Reductions over axes, under Keras's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import bool as boolean
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend.config import floatx
from headrace.library.factory import called
from headrace.library.network import normalization
from headrace.library.numeric import math
from headrace.library.numeric import reduction as tf_reduction


def _as_given(x: Any) -> Any:
    return x


def _no_bool(x: Any) -> Any:
    x = convert_to_tensor(x)
    return math.cast(x, floatx()) if x.dtype.base_dtype == boolean else x


def _as_bool(x: Any) -> Any:
    return math.cast(x, boolean)


def _reduction(
    name: str, function: Callable[..., Tensor], what: str, shown: str, prepare: Callable[[Any], Any] = _as_given
) -> Callable[..., Tensor]:
    text = f"""{what} of a tensor, over some of its axes.

    Args:
      x: A tensor or variable.
      axis: An axis, or a list of axes; None for all.
      keepdims: Whether the axes stay, with size 1.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.{name}(tf.constant([[1.0, 2.0], [3.0, 4.0]]), axis=0))
    {shown}
    """

    @called(name, text)
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        return function(prepare(x), axis, keepdims)

    return reduce


sum = _reduction("sum", tf_reduction.reduce_sum, "The sum", "array([4., 6.], dtype=float32)")  # noqa: A001 - Keras's names
prod = _reduction("prod", tf_reduction.reduce_prod, "The product", "array([3., 8.], dtype=float32)")
max = _reduction("max", tf_reduction.reduce_max, "The largest element", "array([3., 4.], dtype=float32)")  # noqa: A001
min = _reduction("min", tf_reduction.reduce_min, "The smallest element", "array([1., 2.], dtype=float32)")  # noqa: A001
mean = _reduction("mean", tf_reduction.reduce_mean, "The mean", "array([2., 3.], dtype=float32)", _no_bool)
var = _reduction("var", tf_reduction.reduce_variance, "The variance", "array([1., 1.], dtype=float32)", _no_bool)
std = _reduction("std", tf_reduction.reduce_std, "The standard deviation", "array([1., 1.], dtype=float32)", _no_bool)
any = _reduction("any", tf_reduction.reduce_any, "Whether any element is true", "array([ True,  True])", _as_bool)  # noqa: A001
all = _reduction("all", tf_reduction.reduce_all, "Whether every element is true", "array([ True,  True])", _as_bool)  # noqa: A001


def argmax(x: Any, axis: int = -1) -> Tensor:
    """The index of the largest element along an axis.

    Args:
      x: A tensor or variable.
      axis: The axis.

    Returns:
      A tensor of int64.

    >>> tf.keras.backend.get_value(tf.keras.backend.argmax(tf.constant([[1.0, 5.0], [3.0, 2.0]])))
    array([1, 0])
    """
    return tf_reduction.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Tensor:
    """The index of the smallest element along an axis.

    Args:
      x: A tensor or variable.
      axis: The axis.

    Returns:
      A tensor of int64.

    >>> tf.keras.backend.get_value(tf.keras.backend.argmin(tf.constant([[1.0, 5.0], [3.0, 2.0]])))
    array([0, 1])
    """
    return tf_reduction.argmin(x, axis)


def l2_normalize(x: Any, axis: Any = None) -> Tensor:
    """A tensor scaled so that its squares sum to 1 along some axes.

    Args:
      x: A tensor or variable.
      axis: An axis, or a list of axes; None for all.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.l2_normalize(tf.constant([3.0, 4.0])))
    array([0.6, 0.8], dtype=float32)
    """
    return normalization.l2_normalize(x, axis=axis)
