"""True and false, positives and negatives; precision, recall; and what a matrix of them says of several classes."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, as_bools, collected, fitted, metric_variable
from headrace.library.numeric import math, reduction
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


def true_positives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How many are true and predicted so."""
    with variable_scope(name, "true_positives", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        condition = raw_ops.LogicalAnd(labels, predictions)
        return _count(condition, weights, metrics_collections, updates_collections)


def true_negatives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How many are false and predicted so."""
    with variable_scope(name, "true_negatives", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        condition = raw_ops.LogicalNot(raw_ops.LogicalOr(labels, predictions))
        return _count(condition, weights, metrics_collections, updates_collections)


def false_positives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How many are false but predicted true."""
    with variable_scope(name, "false_positives", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        condition = raw_ops.LogicalAnd(raw_ops.LogicalNot(labels), predictions)
        return _count(condition, weights, metrics_collections, updates_collections)


def false_negatives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How many are true but predicted false."""
    with variable_scope(name, "false_negatives", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        condition = raw_ops.LogicalAnd(labels, raw_ops.LogicalNot(predictions))
        return _count(condition, weights, metrics_collections, updates_collections)


def precision(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The part of the predicted positives that are true."""
    with variable_scope(name, "precision", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        right, update_right = true_positives(labels, predictions, weights)
        wrong, update_wrong = false_positives(labels, predictions, weights)
        value = _part(right, wrong, "value")
        update = _part(update_right, update_wrong, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def recall(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The part of the true ones that are predicted so."""
    with variable_scope(name, "recall", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        hits, update_hits = true_positives(labels, predictions, weights)
        missed, update_missed = false_negatives(labels, predictions, weights)
        value = _part(hits, missed, "value")
        update = _part(update_hits, update_missed, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _part(one: Any, other: Any, name: str) -> Tensor:
    """``one / (one + other)``, zero where both are."""
    return raw_ops.DivNoNan(one, raw_ops.AddV2(one, other, name="add"), name=name)


# ---- several classes


def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean over the classes seen of intersection / union (Jaccard); the update gives the confusion matrix."""
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.shape.assert_is_compatible_with(labels.shape)
        matrix = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
        flat = [_flat(math.cast(t, dtypes.int64)) for t in (labels, predictions)]
        counts = reduction.confusion_matrix(
            flat[0], flat[1], num_classes, dtype=dtypes.float64, weights=None if weights is None else _flat(weights)
        )
        update = assign.assign_add(matrix, counts)
        return collected(_mean_iou(matrix), update, metrics_collections, updates_collections)


def _flat(tensor: Any) -> Tensor:
    return tensor if tensor.shape.ndims == 1 else array.reshape(tensor, [-1])


def _mean_iou(matrix: Any) -> Tensor:
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
    """The mean over all classes of how often each was predicted rightly; the update gives each one's."""
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
