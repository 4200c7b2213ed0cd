"""Means of values and of errors, kept as a total and a count."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, as_floats, collected, fitted, metric_variable
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies
from headrace.library.state import assign
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


def mean(
    values: Any, weights: Any = None, metrics_collections: Collections = None, updates_collections: Collections = None,
    name: str | None = None,
) -> Result:  # fmt: skip
    """The (weighted) mean of all values seen.

    Args:
      values: A tensor of numbers.
      weights: The weight of each element, which broadcasts to `values`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.mean([1.0, 3.0])
    >>> [v.name for v in tf.local_variables()]
    ['mean/total:0', 'mean/count:0']
    """
    with variable_scope(name, "mean", (values, weights)):
        values = math.cast(values, dtypes.float32)
        total = metric_variable([], dtypes.float32, name="total")
        count = metric_variable([], dtypes.float32, name="count")
        number: Any
        if weights is None:
            number = math.cast(array.size(values), dtypes.float32)
        else:
            values, _, weights = fitted(values, None, weights)
            weights = broadcast_weights(math.cast(weights, dtypes.float32), values)
            values = math.multiply(values, weights)
            number = reduction.reduce_sum(weights)
        update_total = assign.assign_add(total, reduction.reduce_sum(values))
        with control_dependencies([values]):
            update_count = assign.assign_add(count, number)
        value = raw_ops.DivNoNan(total, raw_ops.Maximum(count, 0.0), name="value")
        update = raw_ops.DivNoNan(update_total, raw_ops.Maximum(update_count, 0.0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def mean_tensor(
    values: Any, weights: Any = None, metrics_collections: Collections = None, updates_collections: Collections = None,
    name: str | None = None,
) -> Result:  # fmt: skip
    """The mean of each element over all tensors seen; their shape must be known.

    Args:
      values: A tensor of numbers of known shape, the same for each batch.
      weights: The weight of each element, which broadcasts to `values`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 tensors of the shape of `values`: the value so far, and the update, which takes one more batch into
      account. Initialize the local variables first.

    >>> value, update = tf.metrics.mean_tensor(tf.constant([1.0, 3.0]))
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    array([1., 3.], dtype=float32)
    """
    with variable_scope(name, "mean", (values, weights)):
        values = math.cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        count = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        number = creation.ones_like(values)
        if weights is not None:
            values, _, weights = fitted(values, None, weights)
            weights = broadcast_weights(math.cast(weights, dtypes.float32), values)
            values, number = math.multiply(values, weights), math.multiply(number, weights)
        update_total = assign.assign_add(total, values)
        with control_dependencies([values]):
            update_count = assign.assign_add(count, number)
        value = raw_ops.DivNoNan(total, raw_ops.Maximum(count, 0.0), name="value")
        update = raw_ops.DivNoNan(update_total, raw_ops.Maximum(update_count, 0.0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def accuracy(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How often predictions equal labels.

    Args:
      labels: The true classes, a tensor of the shape of `predictions`.
      predictions: The predicted classes, a tensor; it is cast to the type of `labels`.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.accuracy(labels=[1, 0, 1], predictions=[1, 1, 1])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(0.6666667)
    """
    predictions, labels, weights = fitted(predictions, labels, weights)
    if labels.dtype.base_dtype != predictions.dtype.base_dtype:
        predictions = math.cast(predictions, labels.dtype.base_dtype)
    correct = math.cast(raw_ops.Equal(predictions, labels), dtypes.float32)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")


def percentage_below(
    values: Any, threshold: float, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How many of the values are below the threshold, from 0 to 1.

    Args:
      values: A tensor of real numbers.
      threshold: A number.
      weights: The weight of each element, which broadcasts to `values`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.percentage_below([1.0, 2.0, 3.0, 4.0], threshold=2.5)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(0.5)
    """
    below = math.cast(raw_ops.Less(convert_to_tensor(values), threshold), dtypes.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


def mean_absolute_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean of ``|predictions - labels|``.

    Args:
      labels: The true values, a tensor of the shape of `predictions`.
      predictions: The predicted values, a tensor of numbers.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.mean_absolute_error(labels=[1.0, 2.0], predictions=[1.0, 4.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(1.0)
    """
    predictions, labels, weights = as_floats(predictions, labels, weights)
    errors = raw_ops.Abs(raw_ops.Sub(predictions, labels))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean of ``(predictions - labels) ** 2``.

    Args:
      labels: The true values, a tensor of the shape of `predictions`.
      predictions: The predicted values, a tensor of numbers.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.mean_squared_error(labels=[1.0, 2.0], predictions=[1.0, 4.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(2.0)
    """
    predictions, labels, weights = as_floats(predictions, labels, weights)
    errors = raw_ops.SquaredDifference(labels, predictions)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The square root of the mean squared error.

    Args:
      labels: The true values, a tensor of the shape of `predictions`.
      predictions: The predicted values, a tensor of numbers.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.root_mean_squared_error(labels=[1.0, 2.0], predictions=[4.0, 5.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(3.0)
    """
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    root = raw_ops.Sqrt(value)
    return collected(root, raw_ops.Sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean of ``|predictions - labels| / normalizer``; elements whose normalizer is zero count as no error.

    Args:
      labels: The true values, a tensor of the shape of `predictions`.
      predictions: The predicted values, a tensor of numbers.
      normalizer: What each error is divided by, a tensor of the shape of `predictions`.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.mean_relative_error(labels=[1.0, 4.0], predictions=[1.0, 2.0], normalizer=[1.0, 4.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(0.25)
    """
    predictions, labels, weights = as_floats(predictions, labels, weights)
    normalizer = math.cast(normalizer, dtypes.float32)
    predictions, normalizer = _same_rank(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = raw_ops.RealDiv(raw_ops.Abs(raw_ops.Sub(labels, predictions)), normalizer)
    errors = where(raw_ops.Equal(normalizer, 0.0), creation.zeros_like(labels), errors)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def _same_rank(predictions: Any, normalizer: Any) -> tuple[Any, Any]:
    normalizer, _, _ = fitted(normalizer)
    predictions, normalizer, _ = fitted(predictions, normalizer)
    return predictions, normalizer


def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean of one minus the cosine along ``dim``; both must be of unit length already.

    Args:
      labels: The true vectors, a tensor of the shape of `predictions`.
      predictions: The predicted vectors, a tensor of numbers.
      dim: The axis of the vectors.
      weights: The weight of each vector, with size 1 along `dim`; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.mean_cosine_distance(labels=[[0.0, 1.0]], predictions=[[1.0, 0.0]], dim=1)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(1.0)
    """
    predictions, labels, weights = as_floats(predictions, labels, weights)
    products = raw_ops.Sum(raw_ops.Mul(predictions, labels), [dim], keep_dims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    distance = raw_ops.Sub(1.0, value)
    return collected(distance, raw_ops.Sub(1.0, update), metrics_collections, updates_collections)
