"""contrib.metrics: ``tf.metrics`` under its older names, predictions before labels; and maps of several metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.metrics import confusion, mean, threshold, top_k
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope

Metric = Callable[..., tuple[Any, Any]]


def _swapped(metric: Metric) -> Metric:
    """The metric taking predictions first."""

    @functools.wraps(metric)
    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = f"streaming_{metric.__name__}"
    streaming.__doc__ = f"``tf.metrics.{metric.__name__}`` with predictions before labels."
    return streaming


streaming_accuracy = _swapped(mean.accuracy)
streaming_auc = _swapped(threshold.auc)
streaming_false_negatives = _swapped(confusion.false_negatives)
streaming_false_positives = _swapped(confusion.false_positives)
streaming_mean = mean.mean
streaming_mean_absolute_error = _swapped(mean.mean_absolute_error)
streaming_mean_cosine_distance = _swapped(mean.mean_cosine_distance)
streaming_mean_iou = _swapped(confusion.mean_iou)
streaming_mean_relative_error = _swapped(mean.mean_relative_error)
streaming_mean_squared_error = _swapped(mean.mean_squared_error)
streaming_mean_tensor = mean.mean_tensor
streaming_percentage_less = mean.percentage_below
streaming_precision = _swapped(confusion.precision)
streaming_precision_at_thresholds = _swapped(threshold.precision_at_thresholds)
streaming_recall = _swapped(confusion.recall)
streaming_recall_at_thresholds = _swapped(threshold.recall_at_thresholds)
streaming_root_mean_squared_error = _swapped(mean.root_mean_squared_error)
streaming_sensitivity_at_specificity = _swapped(threshold.sensitivity_at_specificity)
streaming_sparse_average_precision_at_k = _swapped(top_k.average_precision_at_k)
streaming_sparse_precision_at_k = _swapped(top_k.precision_at_k)
streaming_sparse_recall_at_k = _swapped(top_k.recall_at_k)
streaming_specificity_at_sensitivity = _swapped(threshold.specificity_at_sensitivity)
streaming_true_negatives = _swapped(confusion.true_negatives)
streaming_true_positives = _swapped(confusion.true_positives)


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """How often predictions equal labels, in this batch."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if predictions.dtype != labels.dtype:
        raise ValueError(
            f"Types of predictions and labels should match. Got {predictions.dtype.name} and {labels.dtype.name}"
        )
    predictions.shape.assert_is_compatible_with(labels.shape)
    with name_scope(name, "accuracy", [predictions, labels]):
        correct = math.cast(raw_ops.Equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduction.reduce_mean(correct)
        weights = math.cast(weights, dtypes.float32)
        weighted = reduction.reduce_sum(raw_ops.Mul(correct, weights))
        return raw_ops.RealDiv(weighted, reduction.reduce_sum(raw_ops.Mul(raw_ops.OnesLike(correct), weights)))


def aggregate_metrics(*value_update_tuples: tuple[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Pairs of (value, update) as a list of values and a list of updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Mapping[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Named pairs of (value, update) as a dictionary of values and one of updates."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
