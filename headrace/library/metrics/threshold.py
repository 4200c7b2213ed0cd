"""Counts at each of several thresholds, and what follows from them: precision, recall, sensitivity, the area under a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import constant
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_greater_equal, assert_less_equal
from headrace.library.control.dependency import group
from headrace.library.factory import called
from headrace.library.losses.weights import broadcast_weights
from headrace.library.metrics.metric import Collections, Result, collected, fitted, help_text, metric_variable
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies
from headrace.library.state import assign
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where

_NAMES = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
_EPSILON = 1e-7  # keeps divisions from failing, and the outer thresholds outside [0, 1]

Counts = dict[str, Any]


def counts_at(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, includes: Sequence[str] = tuple(_NAMES)
) -> tuple[Counts, Counts]:
    """Variables with the counts at each threshold, and the ops that update them."""
    bounds = [
        assert_greater_equal(predictions, math.cast(0.0, predictions.dtype), message="predictions must be in [0, 1]"),
        assert_less_equal(predictions, math.cast(1.0, predictions.dtype), message="predictions must be in [0, 1]"),
    ]
    with control_dependencies(bounds):
        predictions, labels, weights = fitted(
            math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.bool), weights
        )
    sum_of = sums_at(labels, predictions, thresholds, weights)
    values, updates = {}, {}
    for key in includes:
        values[key] = metric_variable([len(thresholds)], dtypes.float32, name=_NAMES[key])
        updates[key] = assign.assign_add(values[key], sum_of(key))
    return values, updates


def sums_at(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any) -> Callable[[str], Tensor]:
    """A function of "tp", "fn", "tn" or "fp": how many there are at each threshold, weighed; labels are truth values."""
    limits = constant([[t] for t in thresholds], dtypes.float32)
    above = raw_ops.Greater(array.reshape(predictions, [1, -1]), limits)
    truth = array.reshape(labels, [1, -1])
    if weights is not None:
        weights = broadcast_weights(math.cast(weights, dtypes.float32), predictions)
        weights = array.reshape(weights, [1, -1])
    signs = {"p": above, "n": raw_ops.LogicalNot(above)}
    truths = {"tp": truth, "fn": truth, "tn": raw_ops.LogicalNot(truth), "fp": raw_ops.LogicalNot(truth)}

    def sum_of(key: str) -> Tensor:
        matches = math.cast(raw_ops.LogicalAnd(truths[key], signs[key[1]]), dtypes.float32)
        if weights is not None:
            matches = math.multiply(matches, weights)
        return reduction.reduce_sum(matches, 1)

    return sum_of


def as_tensor(value: Any) -> Tensor:
    """The predictions of a metric as a tensor."""
    predictions, _, _ = fitted(value)
    return predictions


def _help(title: str, summary: str, shown: str) -> str:
    return help_text(
        summary,
        "  labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.\n"
        "  predictions: A tensor of floats from 0 to 1.\n"
        "  thresholds: A list of numbers from 0 to 1.",
        "The weight of each element, which broadcasts to `predictions`",
        "float32 vectors with an element for each threshold",
        f"tf.metrics.{title}([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1], thresholds=[0.2, 0.5]) -> {shown}",
    )


def _counted(key: str, summary: str, shown: str) -> Callable[..., Result]:
    @called(f"{_NAMES[key]}_at_thresholds", _help(f"{_NAMES[key]}_at_thresholds", summary, shown))
    def metric(
        labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
        metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        with variable_scope(name, _NAMES[key], (predictions, labels, weights)):
            values, updates = counts_at(labels, as_tensor(predictions), thresholds, weights, includes=(key,))
            value = raw_ops.Identity(values[key])
            return collected(value, updates[key], metrics_collections, updates_collections)

    return metric


true_positives_at_thresholds = _counted("tp", "How many are true and above each threshold.", "[2.0, 1.0]")
true_negatives_at_thresholds = _counted("tn", "How many are false and not above each threshold.", "[1.0, 1.0]")
false_positives_at_thresholds = _counted("fp", "How many are false but above each threshold.", "[1.0, 1.0]")
false_negatives_at_thresholds = _counted("fn", "How many are true but not above each threshold.", "[0.0, 1.0]")


def _part(title: str, mistakes: str, summary: str, shown: str) -> Callable[..., Result]:
    @called(f"{title}_at_thresholds", _help(f"{title}_at_thresholds", summary, shown))
    def metric(
        labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
        metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        with variable_scope(name, f"{title}_at_thresholds", (predictions, labels, weights)):
            values, updates = counts_at(labels, as_tensor(predictions), thresholds, weights, includes=("tp", mistakes))
            value = _ratio(values["tp"], values[mistakes], f"{title}_value")
            update = _ratio(updates["tp"], updates[mistakes], f"{title}_update_op")
            return collected(value, update, metrics_collections, updates_collections)

    return metric


precision_at_thresholds = _part(
    "precision", "fp", "The part of those above each threshold that are true.", "[0.666..., 0.5]"
)
recall_at_thresholds = _part("recall", "fn", "The part of the true ones that are above each threshold.", "[1.0, 0.5]")


def _ratio(one: Any, other: Any, name: str | None = None) -> Tensor:
    whole = raw_ops.AddV2(raw_ops.AddV2(_EPSILON, one, name="add"), other, name="add")
    return raw_ops.RealDiv(one, whole, name=name or "div")


# ---- one threshold out of many


def spread(num_thresholds: int) -> list[float]:
    """Thresholds from just below 0 to just above 1."""
    inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [0.0 - _EPSILON, *inner, 1.0 + _EPSILON]


def check_part(name: str, value: float) -> None:
    """The value is a part of a whole."""
    if value < 0 or value > 1:
        raise ValueError(f"`{name}` must be in the range [0, 1]. Currently, `{name}` got {value}. {at()}")


def sensitivity_at_specificity(
    labels: Any, predictions: Any, specificity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The recall at the threshold where the specificity (of the false ones, how many are found) comes closest.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      specificity: The specificity to come close to, from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.sensitivity_at_specificity([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], specificity=0.9)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(0.5)
    """
    check_part("specificity", specificity)
    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        values, updates = counts_at(labels, as_tensor(predictions), spread(num_thresholds), weights)

        def sensitivity(counts: Counts, name: str) -> Tensor:
            distance = raw_ops.Abs(raw_ops.Sub(_ratio(counts["tn"], counts["fp"]), specificity, name="sub"))
            place = raw_ops.ArgMin(distance, 0)
            return _ratio(raw_ops.GatherV2(counts["tp"], place, 0), raw_ops.GatherV2(counts["fn"], place, 0), name)

        value, update = sensitivity(values, "value"), sensitivity(updates, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def specificity_at_sensitivity(
    labels: Any, predictions: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The specificity at the last threshold where the recall comes closest.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      sensitivity: The recall to come close to, from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.specificity_at_sensitivity([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], sensitivity=0.9)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(0.5)
    """
    check_part("sensitivity", sensitivity)
    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        values, updates = counts_at(labels, as_tensor(predictions), spread(num_thresholds), weights)

        def specificity(counts: Counts, name: str) -> Tensor:
            distance = raw_ops.Abs(raw_ops.Sub(_ratio(counts["tp"], counts["fn"]), sensitivity, name="sub"))
            nearest = raw_ops.Equal(reduction.reduce_min(distance), distance)
            place = raw_ops.ArgMax(reduction.cumsum(math.cast(nearest, dtypes.int32)), 0)
            return _ratio(raw_ops.GatherV2(counts["tn"], place, 0), raw_ops.GatherV2(counts["fp"], place, 0), name)

        value, update = specificity(values, "value"), specificity(updates, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


# ---- the area under a curve


def auc(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, curve: str = "ROC",
    name: str | None = None, summation_method: str = "trapezoidal", thresholds: Sequence[float] | None = None,
) -> Result:  # fmt: skip
    """The area under the ROC curve, or with ``curve="PR"`` under precision over recall, by a Riemann sum.

    ``summation_method``: "trapezoidal", "minoring", "majoring", or "careful_interpolation", which is right for PR.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; 0 leaves it out, None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried, if `thresholds` is None.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      curve: "ROC" or "PR".
      name: A name for the variables' scope; None for that of the metric.
      summation_method: How the area between two thresholds is computed.
      thresholds: The thresholds to try between 0 and 1, rising; None for even ones.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.metrics.auc([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update).round(3)
    np.float32(0.75)
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
    if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    limits = spread(num_thresholds)
    if thresholds is not None:
        limits = [0.0 - _EPSILON, *thresholds, 1.0 + _EPSILON]
    with variable_scope(name, "auc", (labels, predictions, weights)):
        values, updates = counts_at(labels, as_tensor(predictions), limits, weights)
        value = _area(values, curve, summation_method, "value")
        update = _area(updates, curve, summation_method, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def curve_points(
    labels: Any = None, predictions: Any = None, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, curve: str = "ROC",
    name: str | None = None,
) -> Result:  # fmt: skip
    """The points of a curve of receiver operating characteristic, or of precision against recall.

    Args:
      labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.
      predictions: A tensor of floats from 0 to 1.
      weights: The weight of each element, which broadcasts to `predictions`; None counts all as 1.
      num_thresholds: How many thresholds from 0 to 1 are tried: the number of points.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      curve: "ROC" for (false positive rate, true positive rate), "PR" for (recall, precision).
      name: A name for the variables' scope; None for "curve_points".

    Returns:
      The points so far, float32 [num_thresholds, 2], and an operation that takes one more batch into account. Initialize
      the local variables first.

    >>> points, update = tf.contrib.metrics.streaming_curve_points([0, 1], [0.2, 0.9], num_thresholds=3)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    ...     session.run(points).round(3).tolist()
    [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown {at()}")
    with variable_scope(name, "curve_points", (labels, predictions, weights)):
        values, updates = counts_at(labels, as_tensor(predictions), spread(num_thresholds), weights)
        points = array.stack(list(_coordinates(values, curve)), 1)
        return collected(points, group(*updates.values()), metrics_collections, updates_collections)


def _coordinates(counts: Counts, curve: str) -> tuple[Tensor, Tensor]:
    smooth = 1.0e-6
    tp, fn, tn, fp = (counts[key] for key in ("tp", "fn", "tn", "fp"))
    recall = (tp + smooth) / (tp + fn + smooth)
    return (fp / (fp + tn + smooth), recall) if curve == "ROC" else (recall, (tp + smooth) / (tp + fp + smooth))


def _area(counts: Counts, curve: str, method: str, name: str) -> Tensor:
    if curve == "PR" and method == "careful_interpolation":
        return interpolated_area(counts["tp"], counts["fp"], counts["fn"])
    x, y = _coordinates(counts, curve)
    heights: dict[str, Callable[[Any, Any], Any]] = {
        "minoring": raw_ops.Minimum,
        "majoring": raw_ops.Maximum,
    }
    height = heights.get(method, lambda a, b: (a + b) / 2.0)
    return reduction.reduce_sum((x[:-1] - x[1:]) * height(y[:-1], y[1:]), name=name)


def interpolated_area(tp: Any, fp: Any, fn: Any) -> Tensor:
    """Between two thresholds the true positives grow linearly with all positives (Davis and Goadrich, 2006)."""
    gained = tp[:-1] - tp[1:]
    positives = tp + fp
    slope = raw_ops.DivNoNan(gained, raw_ops.Maximum(positives[:-1] - positives[1:], 0.0))
    start = tp[1:] - raw_ops.Mul(slope, positives[1:])
    both = raw_ops.LogicalAnd(positives[:-1] > 0, positives[1:] > 0)
    ratio = raw_ops.DivNoNan(positives[:-1], raw_ops.Maximum(positives[1:], 0.0))
    ratio = where(both, ratio, creation.ones_like(positives[1:]))
    pieces = raw_ops.DivNoNan(slope * (gained + start * raw_ops.Log(ratio)), raw_ops.Maximum(tp[1:] + fn[1:], 0.0))
    return reduction.reduce_sum(pieces, name="interpolate_pr_auc")
