"""contrib.metrics of how two series go together: covariance, correlation, Cohen's kappa; and a plain count."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, collected, fitted, metric_variable
from headrace.library.numeric import math, reduction
from headrace.library.numeric.histogram import confusion_matrix
from headrace.library.scope import control_dependencies
from headrace.library.state import assign
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation, indexing


def streaming_covariance(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The (weighted) sample covariance of predictions and labels, divided by the number of elements less one.

    Args:
      predictions: The predicted values.
      labels: The correct values, of the shape of `predictions`.
      weights: How often each element counts, which broadcasts to `predictions`; None counts all once.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, NaN of fewer than two elements, and the update, which takes one more batch
      into account. Initialize the local variables first.

    >>> value, update = tf.contrib.metrics.streaming_covariance([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(2.0)
    """
    with variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights)
        x, y = math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.float32)
        w = creation.ones_like(x)
        if weights is not None:
            w = broadcast_weights(math.cast(weights, dtypes.float32), x)
        names = ("count", "mean_prediction", "mean_label", "comoment")
        variables = [metric_variable([], dtypes.float32, name=one) for one in names]
        old = [raw_ops.Identity(v) for v in variables]  # read together, before any of them changes
        new = _merged(old, x, y, w)
        with control_dependencies([*old, *new]):
            updates = [assign.assign(v, one) for v, one in zip(variables, new, strict=True)]
        value = _covariance(variables[0], variables[3], "covariance")
        update = _covariance(updates[0], updates[3], "update_op")
        with control_dependencies(updates):
            update = raw_ops.Identity(update)
        return collected(value, update, metrics_collections, updates_collections)


def _merged(old: list[Tensor], x: Tensor, y: Tensor, w: Tensor) -> list[Tensor]:
    """Count, means and co-moment of what was seen and one more batch (Chan et al., 1983)."""
    count, mean_x, mean_y, comoment = old
    batch = reduction.reduce_sum(w)
    batch_x, batch_y = (raw_ops.DivNoNan(reduction.reduce_sum(one * w), batch) for one in (x, y))
    inside = reduction.reduce_sum((x - batch_x) * (y - batch_y) * w)
    total = count + batch
    part = raw_ops.DivNoNan(batch, total)
    between = (batch_x - mean_x) * (batch_y - mean_y) * count * part
    return [total, mean_x + (batch_x - mean_x) * part, mean_y + (batch_y - mean_y) * part, comoment + inside + between]


def _covariance(count: Any, comoment: Any, name: str) -> Tensor:
    few = raw_ops.LessEqual(count, 1.0)
    return indexing.where(few, float("nan"), raw_ops.RealDiv(comoment, count - 1.0), name=name)


def streaming_pearson_correlation(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """Pearson's coefficient of correlation of predictions and labels.

    Args:
      predictions: The predicted values.
      labels: The correct values, of the shape of `predictions`.
      weights: How often each element counts, which broadcasts to `predictions`; None counts all once.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.streaming_pearson_correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(1.0)
    """
    with variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights)
        both = streaming_covariance(predictions, labels, weights, name="covariance")
        first = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        second = streaming_covariance(labels, labels, weights, name="variance_labels")
        value, update = (
            raw_ops.RealDiv(both[i], raw_ops.Sqrt(first[i]) * raw_ops.Sqrt(second[i]), name=title)
            for i, title in enumerate(("pearson_r", "update_op"))
        )
        return collected(value, update, metrics_collections, updates_collections)


def count(
    values: Any, weights: Any = None, metrics_collections: Collections = None, updates_collections: Collections = None,
    name: str | None = None,
) -> Result:  # fmt: skip
    """How many values were seen, or the sum of their weights.

    Args:
      values: A tensor of any type.
      weights: How much each element counts, which broadcasts to `values`; None counts all once.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.count([5.0, 6.0, 7.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run([update, update])
    [np.float32(3.0), np.float32(3.0)]
    """
    with variable_scope(name, "count", (values, weights)):
        counter = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = math.cast(array.size(values), dtypes.float32)
        else:
            values, _, weights = fitted(values, None, weights)
            like = creation.zeros_like(values, dtypes.float32)
            number = reduction.reduce_sum(broadcast_weights(math.cast(weights, dtypes.float32), like))
        value = raw_ops.Identity(counter)
        with control_dependencies([values] if isinstance(values, Tensor) else []):
            update = assign.assign_add(counter, number)
        return collected(value, update, metrics_collections, updates_collections)


def cohen_kappa(
    labels: Any, predictions_idx: Any, num_classes: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """Cohen's kappa: how much more often labels and predictions agree than by chance.

    Args:
      labels: The correct classes, integers [batch] or [batch, 1].
      predictions_idx: The predicted classes, of the shape of `labels`.
      num_classes: The number of classes.
      weights: How much each element counts, of the shape of `labels`; None counts all once.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float64 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.cohen_kappa([0, 1, 1, 0], [0, 1, 0, 0], 2)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     float(session.run(update))
    0.5
    """
    if not isinstance(num_classes, int) or num_classes < 1:
        raise ValueError(f"num_classes must be an integer of at least 1, got {num_classes!r} {at()}")
    with variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        predictions, labels, weights = fitted(predictions_idx, labels, weights)
        truth, guess = array.reshape(labels, [-1]), array.reshape(predictions, [-1])
        dtype = dtypes.int64 if weights is None else dtypes.float32
        if weights is not None:
            like = creation.zeros_like(predictions, dtypes.float32)
            weights = array.reshape(broadcast_weights(math.cast(weights, dtypes.float32), like), [-1])
        matrix = confusion_matrix(truth, guess, num_classes=num_classes, weights=weights, dtype=dtype)
        parts = {"po": raw_ops.MatrixDiagPart(matrix), "pe_row": reduction.reduce_sum(matrix, axis=0)}
        parts["pe_col"] = reduction.reduce_sum(matrix, axis=1)
        variables = [metric_variable([num_classes], dtype, name=one) for one in parts]
        updates = [assign.assign_add(v, one) for v, one in zip(variables, parts.values(), strict=True)]
        value, update = _kappa(variables, "value"), _kappa(updates, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _kappa(counts: list[Any], name: str) -> Tensor:
    agreed, rows, columns = (math.cast(one, dtypes.float64) for one in counts)
    total = reduction.reduce_sum(rows)
    chance = reduction.reduce_sum(raw_ops.DivNoNan(rows * columns, total))
    return raw_ops.DivNoNan(reduction.reduce_sum(agreed) - chance, total - chance, name=name)
