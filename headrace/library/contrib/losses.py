"""contrib.losses: ``tf.losses`` with the older order of arguments, predictions before labels."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.losses import loss as losses
from headrace.library.losses.loss import get_losses as get_losses
from headrace.library.losses.loss import get_regularization_losses as get_regularization_losses
from headrace.library.losses.loss import get_total_loss as get_total_loss

add_loss = add_arg_scope(losses.add_loss)


def compute_weighted_loss(losses_: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """``tf.losses.compute_weighted_loss`` of losses that are computed already."""
    return losses.compute_weighted_loss(losses_, weights, scope)


@add_arg_scope
def absolute_difference(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The mean absolute difference of predictions and labels."""
    return losses.absolute_difference(labels, predictions, weights, scope)


@add_arg_scope
def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """The cross entropy of logits with labels of several classes each."""
    return losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


@add_arg_scope
def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """The cross entropy of logits with one-hot labels."""
    return losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


@add_arg_scope
def sparse_softmax_cross_entropy(logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The cross entropy of logits with the numbers of classes."""
    return losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)


@add_arg_scope
def log_loss(
    predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None
) -> Tensor:
    """The mean log loss of predicted probabilities."""
    return losses.log_loss(labels, predictions, weights, epsilon, scope)


@add_arg_scope
def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """The hinge losses of single elements: unlike ``tf.losses.hinge_loss``, not reduced and not collected."""
    return losses.hinge_loss(labels, logits, scope=scope, loss_collection=None, reduction=losses.Reduction.NONE)


@add_arg_scope
def mean_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The mean squared difference of predictions and labels."""
    return losses.mean_squared_error(labels, predictions, weights, scope)


@add_arg_scope
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The mean squared error of the differences between all pairs of elements of an example."""
    return losses.mean_pairwise_squared_error(labels, predictions, weights, scope)


@add_arg_scope
def cosine_distance(
    predictions: Any, labels: Any = None, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
    dim: int | None = None,
) -> Tensor:  # fmt: skip
    """One minus the cosine of the angle between predictions and labels, both of length one."""
    return losses.cosine_distance(labels, predictions, axis, weights, scope, dim=dim)
