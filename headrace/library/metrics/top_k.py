"""Metrics of the k best predictions: precision and recall at k, average precision at k.

Labels are class numbers: [..., number of labels] (or [...] for one each), or a SparseTensor with any number of them.
Predicted and true classes count as sets: one that is repeated counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.factory import called
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, collected, help_text, metric_variable
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.state import assign
from headrace.library.tensor import array

_ABSENT = -(2**63)  # stands for "no label here" in the dense form of sparse labels


def _dense_labels(labels: Any, predictions_idx: Tensor) -> Tensor:
    """Labels as int64 of the predictions' rank, the last dimension being the labels of one example."""
    if isinstance(labels, (SparseTensor, SparseTensorValue)):
        labels = SparseTensor.from_value(labels)
        return raw_ops.SparseToDense(
            labels.indices, labels.dense_shape, math.cast(labels.values, dtypes.int64), constant(_ABSENT, dtypes.int64)
        )
    labels = math.cast(convert_to_tensor(labels), dtypes.int64)
    rank, expected = labels.shape.ndims, predictions_idx.shape.ndims
    if rank is not None and expected is not None and rank == expected - 1:
        labels = array.expand_dims(labels, -1)
    return labels


def _is_in(items: Tensor, others: Tensor) -> Tensor:
    """Which of ``items`` [..., n] are among ``others`` [..., m]."""
    return raw_ops.Any(raw_ops.Equal(array.expand_dims(items, -1), array.expand_dims(others, -2)), -1)


def _is_first(items: Tensor) -> Tensor:
    """Which of ``items`` [..., n] have no equal before them."""
    same = raw_ops.Equal(array.expand_dims(items, -1), array.expand_dims(items, -2))
    below = raw_ops.MatrixBandPart(math.cast(same, dtypes.int32), -1, 0)
    return raw_ops.Equal(reduction.reduce_sum(below, -1), 1)  # equal to itself only, among those up to it


def _counts(what: str, labels: Tensor, predictions_idx: Tensor, class_id: int | None, weights: Any) -> Tensor:
    """For each example how many classes are true positives, false positives or false negatives, weighted."""
    if what == "false_negative":
        items, others, present = labels, predictions_idx, False
    else:
        items, others, present = predictions_idx, labels, what == "true_positive"
    inside = _is_in(items, others)
    matches = raw_ops.LogicalAnd(_is_first(items), inside if present else raw_ops.LogicalNot(inside))
    if what == "false_negative":
        matches = raw_ops.LogicalAnd(matches, raw_ops.NotEqual(items, constant(_ABSENT, dtypes.int64)))
    if class_id is not None:
        matches = raw_ops.LogicalAnd(matches, raw_ops.Equal(items, constant(class_id, dtypes.int64)))
    counts = reduction.reduce_sum(math.cast(matches, dtypes.float64), -1)
    return counts if weights is None else raw_ops.Mul(counts, _spread(weights, counts))


def _spread(weights: Any, values: Tensor) -> Tensor:
    """The weights, one for each value.  As in TensorFlow, which does not know how many values there are, wrong ones fail when it
    runs."""
    weights = math.cast(convert_to_tensor(weights), dtypes.float64)
    own, target = weights.shape.tuple, values.shape.tuple
    if own and target is not None:
        sizes = zip(own, target, strict=False)
        if len(own) != len(target) or any(None not in (a, b) and a not in (1, b) for a, b in sizes):
            weights = raw_ops.PlaceholderWithDefault(weights, shape=None)
    return broadcast_weights(weights, values)


def _at_k(name: str, k: int | None, class_id: int | None = None) -> str:
    text = f"{name}_at_k" if k is None else f"{name}_at_{k}"
    return text if class_id is None else f"{text}_class{class_id}"


def _total(
    what: str, labels: Tensor, predictions_idx: Tensor, k: int | None, class_id: int | None, weights: Any
) -> Result:
    with name_scope(None, _at_k(what, k, class_id), [predictions_idx, labels]) as scope:
        counted = reduction.reduce_sum(_counts(what, labels, predictions_idx, class_id, weights))
        total = metric_variable([], dtypes.float64, name=scope)
        return total, assign.assign_add(total, counted, name="update")


def _top(predictions: Any, k: int) -> Tensor:
    return reduction.top_k(predictions, k)[1]


def _help(title: str, summary: str, predictions: str, k: str, example: str) -> str:
    return help_text(
        summary,
        "  labels: The true classes, integers [..., labels], or [...] for one each, or a `tf.SparseTensor` with any number.\n"
        f"  {predictions}\n  k: {k}\n  class_id: The only class to count; None for all.",
        "The weight of each example, which broadcasts to the shape of the examples",
        "float64 scalars",
        f"tf.metrics.{title}({example}",
    )


def _at_top_k(title: str, mistakes: str, summary: str, shown: str) -> Callable[..., Result]:
    text = _help(
        f"{title}_at_top_k", f"{summary}\n\n``{title}_at_k`` for classes chosen already.",
        "predictions_idx: The chosen classes of each example, integers [..., chosen].",
        "How many were chosen, for the names of variables; None leaves it out.",
        f"[[1, 2]], [[0, 1, 3]]) -> {shown}",
    )  # fmt: skip

    @called(f"{title}_at_top_k", text)
    def metric(
        labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None,
        metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        with name_scope(name, _at_k(title, k, class_id), [predictions_idx]) as scope:
            predictions_idx = math.cast(convert_to_tensor(predictions_idx), dtypes.int64)
            labels = _dense_labels(labels, predictions_idx)
            right, update_right = _total("true_positive", labels, predictions_idx, k, class_id, weights)
            wrong, update_wrong = _total(mistakes, labels, predictions_idx, k, class_id, weights)
            value = raw_ops.RealDiv(right, raw_ops.AddV2(right, wrong, name="add"), name=scope)
            whole = raw_ops.AddV2(update_right, update_wrong, name="add")
            update = raw_ops.RealDiv(update_right, whole, name="update")
            return collected(value, update, metrics_collections, updates_collections)

    return metric


recall_at_top_k = _at_top_k("recall", "false_negative", "The part of the true classes that are chosen.", "0.5")
precision_at_top_k = _at_top_k(
    "precision", "false_positive", "The part of the chosen classes that are true.", "0.333..."
)


def _of_best(title: str, of_chosen: Callable[..., Result], summary: str, shown: str) -> Callable[..., Result]:
    text = _help(
        f"{title}_at_k", summary, "predictions: The scores of the classes, a float tensor [..., classes].",
        "How many of the best predictions count.", f"[[1, 2]], [[0.3, 0.4, 0.1, 0.2]], k=3) -> {shown}",
    )  # fmt: skip

    @called(f"{title}_at_k", text)
    def metric(
        labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None,
        metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        with name_scope(name, _at_k(title, k, class_id), [predictions]) as scope:
            return of_chosen(
                labels, _top(predictions, k), k, class_id, weights, metrics_collections, updates_collections, scope
            )

    return metric


recall_at_k = _of_best(
    "recall", recall_at_top_k, "The part of the true classes that are among the k with the highest predictions.", "0.5"
)
precision_at_k = sparse_precision_at_k = _of_best(
    "precision", precision_at_top_k, "The part of the k classes with the highest predictions that are true.",
    "0.333...",
)  # fmt: skip


def average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean over examples of the precision at each true class among the k best predictions.

    Args:
      labels: The true classes, int64 [..., labels], or a `tf.SparseTensor` with any number of them for each example.
      predictions: The scores of the classes, a float tensor [..., classes].
      k: How many of the best predictions count.
      weights: The weight of each example, which broadcasts to the shape of `labels` without its last dimension; None
        counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float64 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.average_precision_at_k([[1]], [[0.5, 0.3, 0.2]], k=2)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float64(0.5)
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, _at_k("average_precision", k), [predictions]) as scope:
        chosen = _top(predictions, k)
        return average_precision_at_top_k(chosen, labels, weights, metrics_collections, updates_collections, scope)


sparse_average_precision_at_k = average_precision_at_k


def average_precision_at_top_k(
    top_k_predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean over examples of the precision at each true class among the classes chosen, the best one first.

    Args:
      top_k_predictions: The chosen classes of each example, integers [..., k], the best one first.
      labels: The true classes, integers [..., labels], or [...] for one each, or a `tf.SparseTensor` with any number.
      weights: The weight of each example, which broadcasts to the shape of the examples; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the ops; None for ``average_precision_at_<k>``.

    Returns:
      Two float64 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.streaming_sparse_average_precision_at_top_k([[3, 1]], [[1, 2]])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float64(0.25)
    """
    chosen = convert_to_tensor(top_k_predictions)
    k = chosen.shape.as_list()[-1] if chosen.shape.ndims else None
    if k is None:
        raise ValueError(f"The last dimension of top_k_predictions must be known, got shape {chosen.shape} {at()}")
    with name_scope(name, _at_k("average_precision", k), [chosen]) as scope:
        predictions_idx = math.cast(chosen, dtypes.int64)
        labels = _dense_labels(labels, predictions_idx)
        each = _average_precision(labels, predictions_idx, k)
        seen = math.cast(array.size(each, name="size"), dtypes.float64)
        if weights is not None:
            spread = _spread(weights, each)
            each, seen = raw_ops.Mul(each, spread), reduction.reduce_sum(spread)
        largest = metric_variable([], dtypes.float64, name="max_1")
        update_largest = assign.assign_add(largest, seen, name="update_max")
        total = metric_variable([], dtypes.float64, name="total")
        update_total = assign.assign_add(total, reduction.reduce_sum(each), name="update_total")
        value = raw_ops.DivNoNan(total, largest, name="mean")
        update = raw_ops.DivNoNan(update_total, update_largest, name=scope)
        return collected(value, update, metrics_collections, updates_collections)


def _average_precision(labels: Tensor, predictions_idx: Tensor, k: int) -> Tensor:
    """For each example the sum of the precisions at its true classes, over how many there could have been."""
    right = math.cast(_is_in(predictions_idx, labels), dtypes.float64)
    precision = raw_ops.RealDiv(reduction.cumsum(right, -1), np.arange(1, k + 1, dtype=np.float64))
    total = reduction.reduce_sum(raw_ops.Mul(precision, right), -1)
    present = math.cast(raw_ops.NotEqual(labels, constant(_ABSENT, dtypes.int64)), dtypes.float64)
    possible = raw_ops.Minimum(reduction.reduce_sum(present, -1), float(k))
    return raw_ops.DivNoNan(total, possible)
