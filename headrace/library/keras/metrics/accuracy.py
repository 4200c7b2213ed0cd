"""How many predictions are right (tf.keras.metrics)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend.config import floatx
from headrace.library.keras.metrics.metric import MeanMetricWrapper
from headrace.library.numeric import math, reduction
from headrace.library.tensor import array


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 for each prediction that equals its label, else 0.

    Args:
      y_true: The labels.
      y_pred: The predictions, of the shape of `y_true`.

    Returns:
      A tensor of their shape.
    """
    y_pred = convert_to_tensor(y_pred)
    y_true = math.cast(y_true, y_pred.dtype)
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    return math.cast(raw_ops.Equal(y_true, y_pred), floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """The share of predictions on the right side of ``threshold``, for each element of the batch.

    Args:
      y_true: The labels, 0 or 1.
      y_pred: The probabilities of 1, of the shape of `y_true`.
      threshold: A prediction above it means 1.

    Returns:
      A tensor of their shape without the last dimension.

    >>> accuracy = tf.keras.metrics.binary_accuracy([[1.0, 0.0]], [[0.75, 0.75]])
    >>> tf.Session().run(accuracy)
    array([0.5], dtype=float32)
    """
    y_pred = convert_to_tensor(y_pred)
    chosen = math.cast(raw_ops.Greater(y_pred, math.cast(threshold, y_pred.dtype)), y_pred.dtype)
    right = raw_ops.Equal(math.cast(y_true, y_pred.dtype), chosen)
    return reduction.reduce_mean(math.cast(right, floatx()), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 for each element of the batch whose best class is the correct one, else 0.

    Args:
      y_true: The correct classes, one-hot.
      y_pred: The scores of the classes, of the shape of `y_true`.

    Returns:
      A tensor of their shape without the last dimension.

    >>> accuracy = tf.keras.metrics.categorical_accuracy([[0.0, 1.0], [1.0, 0.0]], [[0.1, 0.9], [0.2, 0.8]])
    >>> tf.Session().run(accuracy)
    array([1., 0.], dtype=float32)
    """
    right = raw_ops.Equal(reduction.argmax(y_true, axis=-1), reduction.argmax(y_pred, axis=-1))
    return math.cast(right, floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 for each element of the batch whose best class is the correct one, else 0; labels are numbers of classes.

    Args:
      y_true: The numbers of the correct classes, [batch] or [batch, 1].
      y_pred: The scores of the classes, [batch, classes].

    Returns:
      A tensor of floats, one for each element.

    >>> accuracy = tf.keras.metrics.sparse_categorical_accuracy([1, 0], [[0.1, 0.9], [0.2, 0.8]])
    >>> tf.Session().run(accuracy)
    array([1., 0.], dtype=float32)
    """
    y_true, y_pred = _numbers(y_true, y_pred)
    best = math.cast(reduction.argmax(y_pred, axis=-1), y_true.dtype)
    return math.cast(raw_ops.Equal(y_true, best), floatx())


def _numbers(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Labels without a last dimension of size one."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    ranks = y_true.shape.ndims, y_pred.shape.ndims
    if None not in ranks and ranks[0] == ranks[1] and y_true.shape.tuple[-1] in (1, None):
        y_true = array.squeeze(y_true, [-1])
    return y_true, y_pred


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 for each element of the batch whose correct class is among the best ``k``, else 0.

    Args:
      y_true: The correct classes, one-hot.
      y_pred: The scores of the classes, of the shape of `y_true`.
      k: How many classes count.

    Returns:
      A tensor of floats, one for each element.

    >>> accuracy = tf.keras.metrics.top_k_categorical_accuracy([[0.0, 1.0, 0.0]], [[0.1, 0.3, 0.6]], k=2)
    >>> tf.Session().run(accuracy)
    array([1.], dtype=float32)
    """
    best = reduction.in_top_k(math.cast(y_pred, dtypes.float32), reduction.argmax(y_true, axis=-1), k)
    return math.cast(best, floatx())


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 for each element of the batch whose correct class is among the best ``k``, else 0; labels are numbers of classes.

    Args:
      y_true: The numbers of the correct classes, [batch] or [batch, 1].
      y_pred: The scores of the classes, [batch, classes].
      k: How many classes count.

    Returns:
      A tensor of floats, one for each element.

    >>> accuracy = tf.keras.metrics.sparse_top_k_categorical_accuracy([1], [[0.1, 0.3, 0.6]], k=2)
    >>> tf.Session().run(accuracy)
    array([1.], dtype=float32)
    """
    y_true, y_pred = _numbers(y_true, y_pred)
    if y_pred.shape.ndims is not None and y_pred.shape.ndims > 2:
        y_pred = array.reshape(y_pred, [-1, y_pred.shape.tuple[-1]])
    numbers = math.cast(array.reshape(y_true, [-1]), dtypes.int32)
    return math.cast(reduction.in_top_k(math.cast(y_pred, dtypes.float32), numbers, k), floatx())


class Accuracy(MeanMetricWrapper):
    """The share of predictions that equal their labels.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.Accuracy()
    >>> update = metric.update_state([1, 2, 3, 4], [0, 2, 3, 4])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.75)
    """

    def __init__(self, name: str | None = "accuracy", dtype: Any = None) -> None:
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """The share of predictions on the right side of ``threshold``.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.
      threshold: A prediction above it means 1.

    >>> metric = tf.keras.metrics.BinaryAccuracy()
    >>> update = metric.update_state([1, 1, 0, 0], [0.98, 1, 0, 0.6])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.75)
    """

    def __init__(self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """The share of elements whose best class is the correct one; labels are one-hot.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.CategoricalAccuracy()
    >>> update = metric.update_state([[0, 1], [1, 0]], [[0.1, 0.9], [0.2, 0.8]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The share of elements whose best class is the correct one; labels are numbers of classes.

    Args:
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.SparseCategoricalAccuracy()
    >>> update = metric.update_state([1, 0], [[0.1, 0.9], [0.2, 0.8]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of elements whose correct class is among the best ``k``; labels are one-hot.

    Args:
      k: How many classes count.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.TopKCategoricalAccuracy(k=1)
    >>> update = metric.update_state([[0, 1], [1, 0]], [[0.1, 0.9], [0.2, 0.8]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of elements whose correct class is among the best ``k``; labels are numbers of classes.

    Args:
      k: How many classes count.
      name: The name of the metric.
      dtype: The type of its variables.

    >>> metric = tf.keras.metrics.SparseTopKCategoricalAccuracy(k=1)
    >>> update = metric.update_state([1, 0], [[0.1, 0.9], [0.2, 0.8]])
    >>> _ = tf.keras.backend.get_session().run(update)
    >>> tf.keras.backend.get_value(metric.result())
    np.float32(0.5)
    """

    def __init__(self, k: int = 5, name: str | None = "sparse_top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k)
