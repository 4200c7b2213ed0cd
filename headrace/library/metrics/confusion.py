"""True and false, positives and negatives; precision, recall; and what a matrix of them says of several classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.factory import called
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, as_bools, collected, fitted, help_text, metric_variable
from headrace.library.numeric import histogram, math, reduction
from headrace.library.state import assign
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


def _count(
    condition: Tensor, weights: Any, metrics_collections: Collections, updates_collections: Collections
) -> Result:
    """How often (with what weight) the condition has held."""
    count = metric_variable([], dtypes.float32, name="count")
    values = math.cast(condition, dtypes.float32)
    if weights is not None:
        values, _, weights = fitted(values, None, weights)
        values = math.multiply(values, broadcast_weights(math.cast(weights, dtypes.float32), values))
    value = raw_ops.Identity(count)
    update = assign.assign_add(count, reduction.reduce_sum(values))
    return collected(value, update, metrics_collections, updates_collections)


def _help(title: str, summary: str, shown: str) -> str:
    return help_text(
        summary,
        "  labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.\n"
        "  predictions: What was predicted, a tensor; what is not 0 is true.",
        "The weight of each element, which broadcasts to `predictions`", "float32 scalars",
        f"tf.metrics.{title}(labels=[1, 1, 1, 0, 0], predictions=[1, 1, 0, 1, 0]) -> {shown}",
    )  # fmt: skip


def _counted(
    title: str, condition: Callable[[Tensor, Tensor], Tensor], summary: str, shown: str
) -> Callable[..., Result]:
    """A metric that counts where ``condition(labels, predictions)`` holds."""

    @called(title, _help(title, summary, shown))
    def metric(
        labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
        updates_collections: Collections = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        with variable_scope(name, title, (predictions, labels, weights)):
            predictions, labels, weights = as_bools(predictions, labels, weights)
            return _count(condition(labels, predictions), weights, metrics_collections, updates_collections)

    return metric


true_positives = _counted("true_positives", raw_ops.LogicalAnd, "How many are true and predicted so.", "2.0")
true_negatives = _counted(
    "true_negatives",
    lambda labels, predictions: raw_ops.LogicalNot(raw_ops.LogicalOr(labels, predictions)),
    "How many are false and predicted so.",
    "1.0",
)
false_positives = _counted(
    "false_positives",
    lambda labels, predictions: raw_ops.LogicalAnd(raw_ops.LogicalNot(labels), predictions),
    "How many are false but predicted true.",
    "1.0",
)
false_negatives = _counted(
    "false_negatives",
    lambda labels, predictions: raw_ops.LogicalAnd(labels, raw_ops.LogicalNot(predictions)),
    "How many are true but predicted false.",
    "1.0",
)


def _ratio(title: str, mistakes: Callable[..., Result], summary: str) -> Callable[..., Result]:
    """The true positives as a part of them and the ``mistakes``."""

    @called(title, _help(title, summary, "0.666..."))
    def metric(
        labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
        updates_collections: Collections = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        with variable_scope(name, title, (predictions, labels, weights)):
            predictions, labels, weights = as_bools(predictions, labels, weights)
            right, update_right = true_positives(labels, predictions, weights)
            wrong, update_wrong = mistakes(labels, predictions, weights)
            value = _part(right, wrong, "value")
            update = _part(update_right, update_wrong, "update_op")
            return collected(value, update, metrics_collections, updates_collections)

    return metric


precision = _ratio("precision", false_positives, "The part of the predicted positives that are true.")
recall = _ratio("recall", false_negatives, "The part of the true ones that are predicted so.")


def _part(one: Any, other: Any, name: str) -> Tensor:
    """``one / (one + other)``, zero where both are."""
    return raw_ops.DivNoNan(one, raw_ops.AddV2(one, other, name="add"), name=name)


# ---- several classes


def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean over the classes seen of intersection / union (Jaccard); the update gives the confusion matrix.

    Args:
      labels: The true classes, a tensor of integers from 0 to ``num_classes - 1``.
      predictions: The predicted classes, a tensor of the shape of `labels`.
      num_classes: How many classes there are.
      weights: The weight of each element, a tensor of the shape of `labels`; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two tensors: the value so far, a float32 scalar, and the update, which takes one more batch into account: a
      float64 matrix. Initialize the local variables first.

    >>> labels, predictions = tf.constant([0, 0, 1]), tf.constant([0, 1, 1])
    >>> value, update = tf.metrics.mean_iou(labels, predictions, num_classes=2)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).tolist(), session.run(value).round(3)
    ([[1.0, 1.0], [0.0, 1.0]], np.float32(0.5))
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.shape.assert_is_compatible_with(labels.shape)
        matrix = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
        flat = [_flat(math.cast(t, dtypes.int64)) for t in (labels, predictions)]
        counts = histogram.confusion_matrix(
            flat[0], flat[1], num_classes, dtype=dtypes.float64, weights=None if weights is None else _flat(weights)
        )
        update = assign.assign_add(matrix, counts)
        return collected(iou_of(matrix), update, metrics_collections, updates_collections)


def _flat(tensor: Any) -> Tensor:
    return tensor if tensor.shape.ndims == 1 else array.reshape(tensor, [-1])


def iou_of(matrix: Any) -> Tensor:
    """The mean over the classes in a confusion matrix of intersection / union."""
    predicted = math.cast(reduction.reduce_sum(matrix, 0), dtypes.float32)
    true = math.cast(reduction.reduce_sum(matrix, 1), dtypes.float32)
    right = math.cast(raw_ops.DiagPart(matrix), dtypes.float32)
    union = raw_ops.Sub(raw_ops.AddV2(predicted, true, name="add"), right, name="sub")
    seen = reduction.reduce_sum(math.cast(raw_ops.NotEqual(union, 0.0), dtypes.float32))
    union = where(raw_ops.Greater(union, 0.0), union, creation.ones_like(union))
    total = reduction.reduce_sum(raw_ops.RealDiv(right, union, name="div"), name="mean_iou")
    return where(raw_ops.Greater(seen, 0.0), raw_ops.RealDiv(total, seen, name="truediv"), 0.0)


def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean over all classes of how often each was predicted rightly; the update gives each one's.

    Args:
      labels: The true classes, a tensor of integers from 0 to ``num_classes - 1``.
      predictions: The predicted classes, a tensor of the shape of `labels`.
      num_classes: How many classes there are.
      weights: The weight of each element, a tensor of the shape of `labels`; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two tensors: the value so far, a float32 scalar, and the update, which takes one more batch into account: a
      float32 vector. Initialize the local variables first.

    >>> value, update = tf.metrics.mean_per_class_accuracy([0, 0, 1], [0, 1, 1], num_classes=2)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).tolist(), session.run(value).round(3)
    ([0.5, 1.0], np.float32(0.75))
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = math.cast(labels, dtypes.int64)
        predictions, labels, weights = fitted(predictions, labels, weights)
        labels, predictions = _flat(labels), _flat(predictions)
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        ones = creation.ones([array.size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = math.cast(predictions, labels.dtype)
        correct = math.cast(raw_ops.Equal(predictions, labels), dtypes.float32)
        if weights is not None:
            weights = math.cast(_flat(weights), dtypes.float32)
            correct, ones = math.multiply(correct, weights), math.multiply(ones, weights)
        update_total = assign.scatter_add(total, labels, ones)
        update_count = assign.scatter_add(count, labels, correct)
        each = raw_ops.DivNoNan(count, raw_ops.Maximum(total, 0.0))
        value = reduction.reduce_mean(each, name="mean_accuracy")
        update = raw_ops.DivNoNan(update_count, raw_ops.Maximum(update_total, 0.0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
