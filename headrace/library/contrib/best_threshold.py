"""contrib.metrics over many thresholds: precision at a recall, recall at a precision, the best F1, and whole curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.assertion import assert_greater_equal, assert_less_equal, assert_type
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, collected, fitted, metric_variable
from headrace.library.metrics.threshold import Counts, as_tensor, check_part, counts_at, spread
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state import assign
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation

_EPSILON = 1e-7  # keeps divisions from failing


def _over_thresholds(
    compute: Callable[[Counts, str], Tensor], default: str, labels: Any, predictions: Any, weights: Any,
    num_thresholds: int, includes: tuple[str, ...], metrics_collections: Collections,
    updates_collections: Collections, name: str | None,
) -> Result:  # fmt: skip
    """What `compute` makes of the counts so far and of those with one more batch."""
    if num_thresholds < 2:
        raise ValueError(f"num_thresholds must be at least 2, got {num_thresholds} {at()}")
    with variable_scope(name, default, (labels, predictions, weights)):
        values, updates = counts_at(labels, as_tensor(predictions), spread(num_thresholds), weights, includes)
        return collected(
            compute(values, "value"), compute(updates, "update_op"), metrics_collections, updates_collections
        )


def precision_at_recall(
    labels: Any, predictions: Any, target_recall: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The precision at the highest threshold whose recall is at least the one asked for.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      target_recall: The recall to reach, from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.precision_at_recall([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.8)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(0.667)
    """
    check_part("target_recall", target_recall)

    def compute(counts: Counts, name: str) -> Tensor:
        tp, fp, fn = (convert_to_tensor(counts[key]) for key in ("tp", "fp", "fn"))
        enough = raw_ops.GreaterEqual(tp / (tp + fn + _EPSILON), target_recall)  # recall falls as thresholds rise
        place = reduction.reduce_sum(math.cast(enough, dtypes.int64)) - 1
        right = tp[place] + _EPSILON
        return raw_ops.RealDiv(right, right + fp[place], name=name)

    return _over_thresholds(
        compute, "precision_at_recall", labels, predictions, weights, num_thresholds, ("tp", "fn", "tn", "fp"),
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def recall_at_precision(
    labels: Any, predictions: Any, precision: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
    strict_mode: bool = False,
) -> Result:  # fmt: skip
    """The recall at the threshold where the precision comes closest to the one asked for.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      precision: The precision to come close to, from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.
      strict_mode: True looks only where the precision is at least the one asked for; 0 if there is no such threshold.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.recall_at_precision([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.95)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(0.5)
    """
    check_part("precision", precision)

    def compute(counts: Counts, name: str) -> Tensor:
        tp, fp, fn = (convert_to_tensor(counts[key]) for key in ("tp", "fp", "fn"))
        reached = tp / (tp + fp + _EPSILON)
        if not strict_mode:
            place = raw_ops.ArgMin(raw_ops.Abs(reached - precision), 0)
            return raw_ops.RealDiv(tp[place], tp[place] + fn[place] + _EPSILON, name=name)
        # The reciprocal is largest at the smallest difference that is not negative.
        place = raw_ops.ArgMax(1.0 / (reached - precision + _EPSILON), 0)
        recall = tp[place] / (tp[place] + fn[place] + _EPSILON)
        is_reached = raw_ops.GreaterEqual(reached[place], precision)
        found: Tensor = cond(is_reached, lambda: recall, lambda: creation.zeros([]), name=name)
        return found

    return _over_thresholds(
        compute, "recall_at_precision", labels, predictions, weights, num_thresholds, ("tp", "fn", "tn", "fp"),
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def f1_score(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The best F1 over the thresholds: the harmonic mean of precision and recall.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for "f1".

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.f1_score([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(0.8)
    """

    def compute(counts: Counts, name: str) -> Tensor:
        tp, fp, fn = (convert_to_tensor(counts[key]) for key in ("tp", "fp", "fn"))
        precision = raw_ops.RealDiv(tp, _EPSILON + tp + fp, name=f"precision_{name}")
        recall = raw_ops.RealDiv(tp, _EPSILON + tp + fn, name=f"recall_{name}")
        return reduction.reduce_max(2.0 * precision * recall / (precision + recall + _EPSILON))

    return _over_thresholds(
        compute, "f1", labels, predictions, weights, num_thresholds, ("tp", "fp", "fn"), metrics_collections,
        updates_collections, name,
    )  # fmt: skip


class PrecisionRecallData(NamedTuple):
    """What is counted at each threshold: tensors [num_thresholds] of the type of the predictions."""

    tp: Tensor
    fp: Tensor
    tn: Tensor
    fn: Tensor
    precision: Tensor
    recall: Tensor
    thresholds: Tensor


def precision_recall_at_equal_thresholds(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int | None = None,
    use_locking: bool | None = None, name: str | None = None,
) -> tuple[PrecisionRecallData, Operation]:  # fmt: skip
    """The curve of precision over recall at even thresholds, in time and memory that do not grow with their number.

    An element counts as found if its prediction is at least the threshold.

    Args:
      labels: The truth, a bool tensor of the shape of `predictions`.
      predictions: A tensor of floats from 0 to 1, of any shape.
      weights: The weight of each element, which broadcasts to `predictions`; None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1, at least 2; None for 201.
      use_locking: False lets updates of several steps mix; None is True.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      A named tuple of tensors [num_thresholds] with what was counted so far: `tp`, `fp`, `tn`, `fn`, `precision`,
      `recall` and `thresholds`; and an operation that takes one more batch into account. Initialize the local variables
      first.

    >>> data, update = tf.contrib.metrics.precision_recall_at_equal_thresholds(
    ...     tf.constant([False, True]), tf.constant([0.2, 0.9]), num_thresholds=3)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    ...     session.run(data.precision).tolist()
    [0.5, 1.0, 0.0]
    """
    count = 201 if num_thresholds is None else num_thresholds
    if count < 2:
        raise ValueError(f"num_thresholds must be at least 2, got {num_thresholds} {at()}")
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    assert_type(labels, dtypes.bool)
    with variable_scope(name, "precision_recall_at_equal_thresholds", (labels, predictions, weights)):
        zero, one = (math.cast(bound, predictions.dtype) for bound in (0.0, 1.0))
        bounds = [
            assert_greater_equal(predictions, zero, message="predictions must be in [0, 1]"),
            assert_less_equal(predictions, one, message="predictions must be in [0, 1]"),
        ]
        with control_dependencies(bounds):
            predictions, labels, weights = fitted(raw_ops.Identity(predictions), labels, weights)
        # Summed in float64: float32 stops counting at 2 ** 24.
        truth = math.cast(labels, dtypes.float64)
        shares = creation.ones_like(truth)
        if weights is not None:
            shares = broadcast_weights(math.cast(weights, dtypes.float64), truth)
        places = math.cast(raw_ops.Floor(array.reshape(predictions, [-1]) * (count - 1)), dtypes.int32)
        sums, updates = [], []
        with name_scope("variables"):
            variables = [metric_variable([count], dtypes.float64, name=f"{key}_buckets") for key in ("tp", "fp")]
        with name_scope("update_op"):
            for variable, each in zip(variables, (truth * shares, (1.0 - truth) * shares), strict=True):
                flat = array.reshape(each, [-1])
                updates.append(assign.scatter_add(variable, places, flat, use_locking=use_locking is not False))
        sums = [reduction.cumsum(v, reverse=True, name=key) for v, key in zip(variables, ("tp", "fp"), strict=True)]
        return _curve(sums[0], sums[1], count, predictions.dtype), group(*updates)


def _curve(tp: Tensor, fp: Tensor, count: int, dtype: Any) -> PrecisionRecallData:
    fn, tn = tp[0] - tp, fp[0] - fp
    precision, recall = (tp / raw_ops.Maximum(whole, _EPSILON) for whole in (tp + fp, tp + fn))
    parts = (tp, fp, tn, fn, precision, recall, creation.lin_space(0.0, 1.0, count))
    return PrecisionRecallData(*(math.cast(part, dtype) for part in parts))
