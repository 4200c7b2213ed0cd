"""Normalization over batches, under Keras's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.network import normalization
from headrace.library.tensor import array, creation


def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Sequence[int], epsilon: float = 1e-3
) -> tuple[Any, Any, Any]:
    """A batch with mean 0 and variance 1 over some axes, then scaled and shifted.

    Args:
      x: A tensor.
      gamma: The scale; None for 1.
      beta: What is added; None for 0.
      reduction_axes: The axes.
      epsilon: What is added to the variance.

    Returns:
      The normalized batch, the mean and the variance.

    >>> x = tf.constant([[1.0], [3.0]])
    >>> y, mean, variance = tf.keras.backend.normalize_batch_in_training(x, tf.ones([1]), tf.zeros([1]), [0])
    >>> tf.keras.backend.get_value(mean)
    array([2.], dtype=float32)
    """
    x = convert_to_tensor(x)
    axes = list(reduction_axes)
    if x.shape.ndims == 4 and axes == [0, 1, 2]:
        channels = x.shape.as_list()[3]
        gamma = creation.ones([channels], x.dtype) if gamma is None else gamma
        beta = creation.zeros([channels], x.dtype) if beta is None else beta
        return normalization.fused_batch_norm(x, gamma, beta, epsilon=epsilon, data_format="NHWC")
    mean, variance = normalization.moments(x, axes)
    if sorted(axes) == list(range(x.shape.ndims - 1)):
        return normalization.batch_normalization(x, mean, variance, beta, gamma, epsilon), mean, variance
    sizes: Any = array.shape(x)
    target = array.stack([1 if i in axes else sizes[i] for i in range(x.shape.ndims)])

    def spread(value: Any) -> Any:
        return None if value is None else array.reshape(value, target)

    normed = normalization.batch_normalization(x, spread(mean), spread(variance), spread(beta), spread(gamma), epsilon)
    return normed, mean, variance


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Tensor:
    """A batch normalized by a given mean and variance, then scaled and shifted.

    Args:
      x: A tensor.
      mean: The mean.
      var: The variance.
      beta: What is added; None for 0.
      gamma: The scale; None for 1.
      axis: The axis that is not reduced.
      epsilon: What is added to the variance.

    Returns:
      A tensor.

    >>> y = tf.keras.backend.batch_normalization(tf.constant([3.0]), 1.0, 4.0, 0.0, 1.0, epsilon=0.0)
    >>> tf.keras.backend.get_value(y)
    array([1.], dtype=float32)
    """
    x = convert_to_tensor(x)
    if x.shape.ndims == 4 and axis in (3, -1):
        mean, var, beta, gamma = (None if t is None else _flat(t) for t in (mean, var, beta, gamma))
    return normalization.batch_normalization(x, mean, var, beta, gamma, epsilon)


def _flat(value: Any) -> Any:
    value = convert_to_tensor(value)
    return array.reshape(value, [-1]) if (value.shape.ndims or 0) > 1 else value
