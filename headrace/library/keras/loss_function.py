"""The losses of tf.keras as functions: one loss for each element of a batch, the last dimension reduced."""

from __future__ import annotations

import math as python_math
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend import cross_entropy
from headrace.library.backend.config import epsilon
from headrace.library.network import activation, normalization
from headrace.library.numeric import clip, math, reduction
from headrace.library.state.smart_cond import smart_cond


def _pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """(y_true, y_pred) as tensors of the type of the predictions."""
    y_pred = convert_to_tensor(y_pred)
    return math.cast(y_true, y_pred.dtype), y_pred


def _mean(losses: Any) -> Tensor:
    return reduction.reduce_mean(losses, axis=-1)


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``(y_pred - y_true) ** 2``.

    Args:
      y_true: The correct values.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.mean_squared_error([[0.0, 1.0]], [[0.0, 3.0]]))
    array([2.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(raw_ops.SquaredDifference(y_pred, y_true))


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``|y_pred - y_true|``.

    Args:
      y_true: The correct values.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.mean_absolute_error([[0.0, 1.0]], [[0.0, 3.0]]))
    array([1.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(raw_ops.Abs(y_pred - y_true))


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``|(y_true - y_pred) / y_true|`` in percent.

    Args:
      y_true: The correct values.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.mean_absolute_percentage_error([[2.0, 4.0]], [[1.0, 4.0]]))
    array([25.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    least = math.maximum(raw_ops.Abs(y_true), epsilon())
    return 100.0 * _mean(raw_ops.Abs((y_true - y_pred) / least))


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``(log(y_pred + 1) - log(y_true + 1)) ** 2``.

    Args:
      y_true: The correct values.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.mean_squared_logarithmic_error([[1.0, 1.0]], [[1.0, 1.0]]))
    array([0.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    first = math.log(math.maximum(y_pred, epsilon()) + 1.0)
    second = math.log(math.maximum(y_true, epsilon()) + 1.0)
    return _mean(raw_ops.SquaredDifference(first, second))


def _as_signs(y_true: Any) -> Any:
    """Labels 0 and 1 as -1 and 1, where all are one of these."""
    is_zero, is_one = raw_ops.Equal(y_true, 0), raw_ops.Equal(y_true, 1)
    are_binary = reduction.reduce_all(raw_ops.LogicalOr(is_zero, is_one))
    return smart_cond(are_binary, lambda: 2.0 * y_true - 1.0, lambda: raw_ops.Identity(y_true))


def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``max(0, 1 - y_true * y_pred) ** 2``.

    Args:
      y_true: The correct classes, -1 or 1; 0 and 1 are taken as these.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.squared_hinge([[1.0, -1.0]], [[0.0, -3.0]]))
    array([0.5], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(raw_ops.Square(activation.relu(1.0 - _as_signs(y_true) * y_pred)))


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``max(0, 1 - y_true * y_pred)``.

    Args:
      y_true: The correct classes, -1 or 1; 0 and 1 are taken as these.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.hinge([[1.0, -1.0]], [[0.0, -3.0]]))
    array([0.5], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(activation.relu(1.0 - _as_signs(y_true) * y_pred))


def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """``max(0, 1 + neg - pos)``: `pos` scores the correct class, `neg` is the best score of the others.

    Args:
      y_true: The correct classes, one-hot.
      y_pred: The scores of the classes.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.categorical_hinge([[1.0, 0.0]], [[0.5, 0.25]]))
    array([0.75], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    positive = reduction.reduce_sum(y_true * y_pred, axis=-1)
    negative = reduction.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return activation.relu(negative - positive + 1.0)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Half the square of errors up to ``delta``, growing linearly beyond; the mean over the last dimension.

    Args:
      y_true: The correct values.
      y_pred: The predicted values, of the shape of `y_true`.
      delta: The error at which the loss becomes linear.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> loss = tf.keras.losses.Huber()
    >>> tf.Session().run(loss([[1.0, 2.0]], [[2.0, 5.0]]))
    np.float32(1.5)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    error = raw_ops.Abs(y_pred - y_true)
    quadratic = math.minimum(error, delta)
    return _mean(0.5 * raw_ops.Square(quadratic) + delta * (error - quadratic))


def logcosh(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``log(cosh(y_pred - y_true))``: half the square of small errors, the size of large ones.

    Args:
      y_true: The correct values.
      y_pred: The predicted values, of the shape of `y_true`.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.logcosh([[1.0, 1.0]], [[1.0, 1.0]]))
    array([0.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    error = y_pred - y_true
    return _mean(error + activation.softplus(-2.0 * error) - python_math.log(2.0))


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0) -> Tensor:
    """The cross entropy of one-hot labels.

    Args:
      y_true: The correct classes, one-hot or as probabilities.
      y_pred: The probabilities of the classes, or logits.
      from_logits: Whether `y_pred` is what goes into the softmax rather than what comes out.
      label_smoothing: A number from 0 (no change) to 1 that moves the labels toward the uniform distribution.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> loss = tf.keras.losses.categorical_crossentropy([[1.0, 0.0]], [[0.5, 0.5]])
    >>> print(tf.Session().run(loss).round(3))
    [0.693]
    """
    y_true, y_pred = _pair(y_true, y_pred)
    if not _is_zero(label_smoothing):
        classes = math.cast(raw_ops.Shape(y_true)[-1], y_pred.dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    return cross_entropy.categorical_crossentropy(y_true, y_pred, from_logits=from_logits)


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of labels given as class numbers.

    Args:
      y_true: The number of the correct class of each element, [batch] or [batch, 1].
      y_pred: The probabilities of the classes, or logits.
      from_logits: Whether `y_pred` is what goes into the softmax rather than what comes out.
      axis: The dimension of `y_pred` that has the classes.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> loss = tf.keras.losses.sparse_categorical_crossentropy([0], [[0.5, 0.5]])
    >>> print(tf.Session().run(loss).round(3))
    [0.693]
    """
    return cross_entropy.sparse_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0) -> Tensor:
    """The mean cross entropy of labels 0 and 1 that do not exclude each other.

    Args:
      y_true: The correct labels, 0 or 1.
      y_pred: The probabilities of 1, or logits.
      from_logits: Whether `y_pred` is what goes into the sigmoid rather than what comes out.
      label_smoothing: A number from 0 (no change) to 1 that moves the labels toward a half.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> loss = tf.keras.losses.binary_crossentropy([[1.0, 0.0]], [[0.5, 0.5]])
    >>> print(tf.Session().run(loss).round(3))
    [0.693]
    """
    y_true, y_pred = _pair(y_true, y_pred)
    if not _is_zero(label_smoothing):
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return _mean(cross_entropy.binary_crossentropy(y_true, y_pred, from_logits=from_logits))


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """``sum(y_true * log(y_true / y_pred))``.

    Args:
      y_true: The correct probabilities.
      y_pred: The predicted probabilities.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.kullback_leibler_divergence([[0.5, 0.5]], [[0.5, 0.5]]))
    array([0.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    y_true, y_pred = (clip.clip_by_value(y, epsilon(), 1.0) for y in (y_true, y_pred))
    return reduction.reduce_sum(y_true * math.log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``y_pred - y_true * log(y_pred)``.

    Args:
      y_true: The correct counts.
      y_pred: The predicted rates.

    Returns:
      One loss for each element: `y_pred` without its last dimension.

    >>> tf.Session().run(tf.keras.losses.poisson([[1.0, 1.0]], [[1.0, 1.0]]))
    array([0.9999999], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(y_pred - y_true * math.log(y_pred + epsilon()))


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """The cosine of the angle between labels and predictions, negated: -1 where they point the same way.

    Args:
      y_true: The correct vectors.
      y_pred: The predicted vectors.
      axis: The dimension along which the vectors lie.

    Returns:
      One loss for each element: `y_pred` without `axis`.

    >>> tf.Session().run(tf.keras.losses.cosine_similarity([[0.0, 1.0]], [[0.0, 2.0]]))
    array([-1.], dtype=float32)
    """
    y_true, y_pred = (normalization.l2_normalize(y, axis=axis) for y in _pair(y_true, y_pred))
    return -reduction.reduce_sum(y_true * y_pred, axis=axis)


def _is_zero(label_smoothing: Any) -> bool:
    return not isinstance(label_smoothing, Tensor) and not label_smoothing


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine_proximity = cosine = cosine_similarity
