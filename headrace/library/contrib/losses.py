"""contrib.losses: losses with predictions before labels and weights by example, whose means are those of TensorFlow 0.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.losses import loss as losses
from headrace.library.losses.loss import get_losses as get_losses
from headrace.library.losses.loss import get_regularization_losses as get_regularization_losses
from headrace.library.losses.loss import get_total_loss as get_total_loss
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation, indexing

add_loss = add_arg_scope(losses.add_loss)


def compute_weighted_loss(losses_: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The mean of losses, weighted by example: their weighted sum, divided by how many losses have a weight that is not 0.

    Unlike ``tf.losses``, weights stand for the leading axes of the losses: ``[batch]`` for losses ``[batch, ...]``.

    Args:
      losses_: A tensor with the loss of each element.
      weights: A scalar, or a tensor whose shape is that of `losses_` without some trailing axes; a last axis of size 1 is
        dropped.
      scope: The name scope of the ops.

    Returns:
      A scalar of the type of `losses_`, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> tf.Session().run(tf.contrib.losses.compute_weighted_loss([[1.0, 3.0], [5.0, 9.0]], [1.0, 0.0]))
    np.float32(2.0)
    """
    with name_scope(scope, "weighted_loss", [losses_, weights]):
        values = convert_to_tensor(losses_)
        floats, weights = math.cast(values, dtypes.float32), _checked_weights(values, weights)
        loss = _safe_div(_weighted_sum(floats, weights), reduction.reduce_sum(_present(floats, weights)))
        loss = math.cast(loss, values.dtype)
        add_loss(loss)
        return loss


def _checked_weights(values: Tensor, weights: Any) -> Tensor:
    weights = math.cast(weights, dtypes.float32)
    for name, one in (("losses", values), ("weights", weights)):
        if one.shape.ndims is None:
            raise ValueError(f"the rank of the {name} must be known, got {one!r} {at()}")
    if weights.shape.ndims > 1 and weights.shape.as_list()[-1] in (1, None):
        weights = array.squeeze(weights, [-1])
    if weights.shape.ndims > values.shape.ndims or not weights.shape.is_compatible_with(
        values.shape[: weights.shape.ndims]
    ):
        raise ValueError(
            f"weights of shape {weights.shape} do not fit losses of shape {values.shape}: accepted are a scalar and the "
            f"leading axes of the losses {at()}"
        )
    return weights


def _weighted_sum(values: Tensor, weights: Tensor) -> Tensor:
    inner = list(range(_rank(weights), _rank(values)))
    return reduction.reduce_sum(raw_ops.Mul(reduction.reduce_sum(values, axis=inner), weights))


def _rank(tensor: Tensor) -> int:
    rank = tensor.shape.ndims
    assert rank is not None  # `_checked_weights` has refused others
    return rank


def _present(values: Tensor, weights: Tensor) -> Tensor:
    """For each example, how many elements have a weight that is not 0."""
    shape = math.cast(array.shape(values), dtypes.float32)
    rank = _rank(weights)
    counted = math.cast(raw_ops.NotEqual(weights, 0.0), dtypes.float32)
    if rank > 1:
        counted = reduction.reduce_sum(counted, axis=list(range(1, rank)))
    each = reduction.reduce_prod(shape[max(rank, 1) :])
    if rank == 0:
        return creation.fill(array.shape(values)[:1], raw_ops.Mul(counted, each))
    return raw_ops.Mul(counted, each)


def _safe_div(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The quotient, 0 where the denominator is not above 0."""
    some = raw_ops.Greater(denominator, 0.0)
    safe = indexing.where(some, denominator, creation.ones_like(denominator))
    return indexing.where(some, raw_ops.RealDiv(numerator, safe), creation.zeros_like(numerator))


def _alone(loss: Callable[..., Tensor], *arguments: Any, **options: Any) -> Tensor:
    """The losses of single elements, not collected."""
    return loss(*arguments, loss_collection=None, reduction=losses.Reduction.NONE, **options)


@add_arg_scope
def absolute_difference(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The mean absolute difference of predictions and labels.

    Args:
      predictions: The predicted values.
      labels: The correct values, of the shape of `predictions`. They must be given.
      weights: A scalar, one weight for each example, or one for each element: a weight of 0 leaves an element out.
      scope: The name scope of the ops.

    Returns:
      A float32 scalar, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> tf.Session().run(tf.contrib.losses.absolute_difference([1.0, 4.0], [1.0, 2.0]))
    np.float32(1.0)
    """
    return compute_weighted_loss(_alone(losses.absolute_difference, labels, predictions), weights, scope)


@add_arg_scope
def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """The cross entropy of logits with labels of several classes each.

    Args:
      logits: The predictions before the sigmoid.
      multi_class_labels: The correct labels, 0 or 1 for each class, of the shape of `logits`.
      weights: A scalar, one weight for each example, or one for each element: a weight of 0 leaves an element out.
      label_smoothing: A number from 0 (no change) to 1 (all labels become a half).
      scope: The name scope of the ops.

    Returns:
      A scalar of the type of `logits`, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> loss = tf.contrib.losses.sigmoid_cross_entropy([[0.0, 0.0]], [[1.0, 0.0]])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    each = _alone(losses.sigmoid_cross_entropy, multi_class_labels, logits, label_smoothing=label_smoothing)
    return compute_weighted_loss(each, weights, scope)


@add_arg_scope
def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """The cross entropy of logits with one-hot labels.

    Args:
      logits: The predictions before the softmax, [batch, classes].
      onehot_labels: The correct classes, one-hot or as probabilities, of the shape of `logits`.
      weights: A scalar, or one weight for each element of the batch.
      label_smoothing: A number from 0 (no change) to 1 (all classes become equally probable).
      scope: The name scope of the ops.

    Returns:
      A scalar of the type of `logits`, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> loss = tf.contrib.losses.softmax_cross_entropy([[0.0, 0.0]], [[1.0, 0.0]])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    each = _alone(losses.softmax_cross_entropy, onehot_labels, logits, label_smoothing=label_smoothing)
    return compute_weighted_loss(each, weights, scope)


@add_arg_scope
def sparse_softmax_cross_entropy(logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The cross entropy of logits with the numbers of classes.

    Args:
      logits: The predictions before the softmax, [batch, classes].
      labels: The number of the correct class of each element: int32 or int64 [batch], or [batch, 1].
      weights: A scalar, or one weight for each element of the batch.
      scope: The name scope of the ops.

    Returns:
      A scalar of the type of `logits`, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> loss = tf.contrib.losses.sparse_softmax_cross_entropy([[0.0, 0.0]], [0])
    >>> tf.Session().run(loss).round(3)
    np.float32(0.693)
    """
    return compute_weighted_loss(_alone(losses.sparse_softmax_cross_entropy, labels, logits), weights, scope)


@add_arg_scope
def log_loss(
    predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None
) -> Tensor:
    """The mean log loss of predicted probabilities.

    Args:
      predictions: The predicted probabilities of class 1.
      labels: The correct classes, 0 or 1, of the shape of `predictions`. They must be given.
      weights: A scalar, one weight for each example, or one for each element: a weight of 0 leaves an element out.
      epsilon: What is added to a probability before its logarithm, so that 0 has a finite loss.
      scope: The name scope of the ops.

    Returns:
      A float32 scalar, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> tf.Session().run(tf.contrib.losses.log_loss([0.5, 0.5], [1.0, 0.0])).round(3)
    np.float32(0.693)
    """
    return compute_weighted_loss(_alone(losses.log_loss, labels, predictions, epsilon=epsilon), weights, scope)


@add_arg_scope
def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """The hinge losses of single elements: unlike ``tf.losses.hinge_loss``, not reduced and not collected.

    Args:
      logits: The predictions: positive for class 1, negative for class 0.
      labels: The correct classes, 0 or 1, of the shape of `logits`. They must be given.
      scope: The name scope of the ops.

    Returns:
      A float32 tensor of the shape of `logits`.

    >>> tf.Session().run(tf.contrib.losses.hinge_loss([2.0, 0.5], [1.0, 0.0]))
    array([0. , 1.5], dtype=float32)
    """
    return _alone(losses.hinge_loss, labels, logits, scope=scope)


@add_arg_scope
def mean_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The mean squared difference of predictions and labels.

    Args:
      predictions: The predicted values.
      labels: The correct values, of the shape of `predictions`. They must be given.
      weights: A scalar, one weight for each example, or one for each element: a weight of 0 leaves an element out.
      scope: The name scope of the ops.

    Returns:
      A float32 scalar, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> tf.Session().run(tf.contrib.losses.mean_squared_error([1.0, 4.0], [1.0, 2.0]))
    np.float32(2.0)
    """
    return compute_weighted_loss(_alone(losses.mean_squared_error, labels, predictions), weights, scope)


@add_arg_scope
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The mean squared error of the differences between all pairs of elements of an example, summed over the examples.

    Divides by the number of elements of an example, where `tf.losses.mean_pairwise_squared_error` has one less.

    Args:
      predictions: The predicted values, [batch, ...].
      labels: The correct values, of the shape of `predictions`. They must be given.
      weights: A scalar, or one weight for each example.
      scope: The name scope of the ops.

    Returns:
      A float32 scalar, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> tf.Session().run(tf.contrib.losses.mean_pairwise_squared_error([[1.0, 4.0]], [[1.0, 2.0]]))
    np.float32(2.0)
    """
    if labels is None:
        raise ValueError(f"labels must not be None {at()}")
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = (math.cast(one, dtypes.float32) for one in (predictions, labels))
        predictions.shape.assert_is_compatible_with(labels.shape)
        difference = raw_ops.Sub(predictions, labels)
        weights = _checked_weights(difference, weights)
        inner = list(range(1, difference.shape.ndims))
        count = _present(difference, weights)
        squares = _safe_div(reduction.reduce_sum(raw_ops.Square(difference), axis=inner), count)
        total = reduction.reduce_sum(difference, axis=inner)
        each = 2.0 * (squares - _safe_div(raw_ops.Square(total), raw_ops.Square(count)))
        some = raw_ops.Greater(reduction.reduce_sum(count), 0.0)
        loss = _weighted_sum(each, weights)
        loss = indexing.where(some, loss, creation.zeros_like(loss))
        add_loss(loss)
        return loss


@add_arg_scope
def cosine_distance(
    predictions: Any, labels: Any = None, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
    dim: int | None = None,
) -> Tensor:  # fmt: skip
    """One minus the cosine of the angle between predictions and labels, both of length one.

    Args:
      predictions: The predicted vectors, of length one along `axis`.
      labels: The correct vectors, of the shape of `predictions`. They must be given.
      axis: The axis along which the vectors lie. It must be given.
      weights: A scalar, one weight for each example, or one for each loss.
      scope: The name scope of the ops.
      dim: An older name of `axis`.

    Returns:
      A float32 scalar, which is also added to the collection `tf.GraphKeys.LOSSES`.

    >>> loss = tf.contrib.losses.cosine_distance([[0.0, 1.0]], [[1.0, 0.0]], axis=1)
    >>> tf.Session().run(loss)
    np.float32(1.0)
    """
    return compute_weighted_loss(_alone(losses.cosine_distance, labels, predictions, axis, dim=dim), weights, scope)
