"""contrib.metrics of the area under a curve without thresholds: from all predictions, or from histograms of them."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.contrib.metrics import streaming_concat
from headrace.library.control.assertion import assert_greater_equal, assert_less_equal, assert_rank
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group
from headrace.library.losses.weights import broadcast_weights, remove_squeezable_dimensions
from headrace.library.metrics.metric import Collections, collected, fitted
from headrace.library.numeric import math, reduction
from headrace.library.numeric.histogram import histogram_fixed_width
from headrace.library.numeric.segment import segment_sum
from headrace.library.scope import control_dependencies
from headrace.library.state import assign, initializers
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array, creation, indexing

_EPSILON = 1e-7  # keeps divisions from failing


def _gathered(labels: Any, predictions: Any, weights: Any) -> tuple[list[Tensor], Operation]:
    """Flat predictions, labels and weights of all batches so far, and the operation that adds one; labels are 0 or 1."""
    flat = {"preds": predictions, "labels": math.cast(labels, dtypes.int64), "weights": weights}
    flat = {title: array.reshape(value, [-1]) for title, value in flat.items() if value is not None}
    zero, one = (math.cast(bound, dtypes.int64) for bound in (0, 1))
    bounds = [
        assert_greater_equal(flat["labels"], zero, message="labels must be 0 or 1, at least one is <0"),
        assert_less_equal(flat["labels"], one, message="labels must be 0 or 1, at least one is >1"),
    ]
    with control_dependencies(bounds):
        flat = {title: raw_ops.Identity(value) for title, value in flat.items()}
    parts = [streaming_concat(value, name=f"concat_{title}") for title, value in flat.items()]
    return [value for value, _ in parts], group(*(update for _, update in parts))


def streaming_dynamic_auc(
    labels: Any, predictions: Any, curve: str = "ROC", metrics_collections: Collections = (),
    updates_collections: Collections = (), name: str | None = None, weights: Any = None,
) -> tuple[Tensor, Operation]:  # fmt: skip
    """The area under a curve with every prediction as a threshold; all predictions are held in memory.

    Args:
      labels: The truth, 0 or 1, a tensor of the shape of `predictions`.
      predictions: Scores, numbers of any size.
      curve: "ROC", or "PR" for precision over recall.
      metrics_collections: The collections to add the value to.
      updates_collections: The collections to add the update to.
      name: A name for the variables' scope; None for "dynamic_auc".
      weights: The weight of each element, of the shape of `predictions`; None counts all as 1.

    Returns:
      The area, a float64 scalar, 0 where all labels are the same; and an operation that adds one more batch. Initialize
      the local variables first.

    >>> value, update = tf.contrib.metrics.streaming_dynamic_auc([0, 0, 1, 1], [1.0, 6.0, 4.0, 9.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    ...     session.run(value)
    np.float64(0.75)
    """
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown {at()}")
    with variable_scope(name, "dynamic_auc"):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        labels.shape.assert_is_compatible_with(predictions.shape)
        if weights is not None:
            weights = math.cast(convert_to_tensor(weights), dtypes.float64)
            weights = broadcast_weights(fitted(predictions, None, weights)[2], predictions)
        parts, update = _gathered(labels, math.cast(predictions, dtypes.float64), weights)
        scores, truth = parts[:2]
        shares = parts[2] if weights is not None else creation.ones_like(scores)
        total = reduction.reduce_sum(shares)
        positive = reduction.reduce_sum(_where(truth, shares))
        nothing = raw_ops.LogicalOr(raw_ops.Equal(positive, 0.0), raw_ops.Equal(positive, total))
        zero = creation.zeros([], dtypes.float64)
        area: Tensor = cond(nothing, lambda: zero, lambda: _area(truth, scores, shares, total, positive, curve))
        collected(area, update, metrics_collections, updates_collections)
        return area, update


def _where(truth: Tensor, shares: Tensor) -> Tensor:
    return shares * math.cast(truth, shares.dtype)


def _area(truth: Tensor, scores: Tensor, shares: Tensor, total: Tensor, positive: Tensor, curve: str) -> Tensor:
    """The area between the points that each different score gives, by trapezoids."""
    ordered, order = reduction.top_k(scores, array.size(scores))
    shares, truth = indexing.gather(shares, order), indexing.gather(truth, order)
    counts = indexing.unique_with_counts(ordered)[2]
    ends = _from_zero(counts)

    def above(values: Tensor) -> Tensor:
        return indexing.gather(_from_zero(values), ends)

    right, chosen = above(_where(truth, shares)), above(shares)
    if curve == "ROC":
        x, y = (chosen - right) / (total - positive), right / positive
    else:
        x, y = right / positive, array.concat([[1.0], right[1:] / chosen[1:]], 0)
    return reduction.reduce_sum(raw_ops.Abs(x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0)


def _from_zero(values: Tensor) -> Tensor:
    """The sums of the first none, one, two ... values."""
    return array.pad(reduction.cumsum(values), [[1, 0]])


class AucData(NamedTuple):
    """The area under the curve, and the bounds between which it lies: float32 scalars."""

    auc: Tensor
    lower: Tensor
    upper: Tensor


def auc_with_confidence_intervals(
    labels: Any, predictions: Any, weights: Any = None, alpha: float = 0.95, logit_transformation: bool = True,
    metrics_collections: Collections = (), updates_collections: Collections = (), name: str | None = None,
) -> tuple[AucData, Operation]:  # fmt: skip
    """The area under the ROC curve and its interval of confidence (DeLong et al., 1988; Sun and Xu, 2014).

    All predictions are held in memory.

    Args:
      labels: The truth, 0 or 1, a tensor of the shape of `predictions`.
      predictions: Scores, numbers of any size.
      weights: The weight of each element, of the shape of `predictions`; None counts all as 1.
      alpha: The confidence of the interval, between 0 and 1.
      logit_transformation: True takes the interval of the area's logit, which stays within 0 and 1.
      metrics_collections: The collections to add the value to.
      updates_collections: The collections to add the update to.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      A named tuple with `auc`, `lower` and `upper`, float32 scalars, all 0 where all labels are the same; and an
      operation that adds one more batch. Initialize the local variables first.

    >>> value, update = tf.contrib.metrics.auc_with_confidence_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    ...     [round(float(v), 3) for v in session.run(value)]
    [0.75, 0.069, 0.992]
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha} {at()}")
    with variable_scope(name, "auc_with_confidence_intervals", (labels, predictions, weights)):
        scores = math.cast(convert_to_tensor(predictions), dtypes.float32)
        scores, labels, weights = fitted(scores, convert_to_tensor(labels), weights)
        shares = creation.ones_like(scores)
        if weights is not None:
            shares = broadcast_weights(math.cast(weights, dtypes.float32), scores)
        (scores, truth, shares), update = _gathered(labels, scores, shares)
        totals = [reduction.reduce_sum(_where(which, shares)) for which in (1 - truth, truth)]
        usable = raw_ops.LogicalAnd(totals[0] > 0.0, totals[1] > 0.0)
        zeros = [creation.zeros([])] * 3
        found = cond(
            usable, lambda: _interval(truth, scores, shares, totals, alpha, logit_transformation), lambda: zeros
        )
        collected(None, update, None, updates_collections)
        data = AucData(*found)
        for value in data:
            collected(value, None, metrics_collections, None)
        return data, update


def _interval(
    truth: Tensor, scores: Tensor, shares: Tensor, totals: list[Tensor], alpha: float, logit: bool
) -> list[Tensor]:
    order = array.reverse(reduction.top_k(scores, array.size(scores))[1], [0])
    scores, truth, shares = (indexing.gather(value, order) for value in (scores, truth, shares))
    same = indexing.unique(scores)[1]
    areas, variances = [], []
    for own, other, total in zip((1 - truth, truth), (truth, 1 - truth), totals, strict=True):
        # Where each example stands among those of the other label: the part of them below it, ties as a half.
        here = segment_sum(_where(other, shares), same)
        below = reduction.cumsum(here, exclusive=True) + here / 2.0
        place = indexing.gather(below / (reduction.reduce_sum(here) + _EPSILON), same)
        good = place if own is truth else 1.0 - place
        weight = _where(own, shares)
        area = reduction.reduce_sum(weight * good) / (total + _EPSILON)
        squares = reduction.reduce_sum(weight * raw_ops.SquaredDifference(good, area))
        areas.append(area)
        variances.append(squares / (total - 1.0 + _EPSILON) / (total + _EPSILON))
    auc = indexing.where(totals[0] < totals[1], areas[1], areas[0])
    error, far = raw_ops.Sqrt(variances[0] + variances[1]), NormalDist().inv_cdf((1.0 - alpha) / 2.0)
    bounds = [auc + far * error, auc - far * error]
    if logit:
        middle, error = raw_ops.Log(auc / (1.0 - auc + _EPSILON)), error / (auc * (1.0 - auc + _EPSILON))
        bounds = [1.0 / (1.0 + raw_ops.Exp(-x) + _EPSILON) for x in (middle + far * error, middle - far * error)]
    certain = raw_ops.LogicalOr(raw_ops.Equal(auc, 1.0), raw_ops.Equal(auc, 0.0))
    return [auc, *(indexing.where(certain, auc, bound) for bound in bounds)]


def auc_using_histogram(
    boolean_labels: Any, scores: Any, score_range: Any, nbins: int = 100, collections: Any = None,
    check_shape: bool = True, name: str | None = None,
) -> tuple[Tensor, Operation]:  # fmt: skip
    """The area under the ROC curve from histograms of the scores: it takes little memory, and gets better with more bins.

    Args:
      boolean_labels: The truth, bool [batch].
      scores: Numbers [batch].
      score_range: The lowest and the highest score, [2], of the type of `scores`; scores outside count as these.
      nbins: The number of bins.
      collections: The collections to add the variables to; None for the local variables.
      check_shape: True checks when it runs that labels and scores are vectors.
      name: A name for the variables' scope; None for that of the metric.

    Returns:
      The area, a float32 scalar, and an operation that takes one more batch into account. Initialize the local variables
      first.

    >>> value, update = tf.contrib.metrics.auc_using_histogram([False, False, True, True], [1, 6, 4, 9], [0, 10], 10)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    ...     session.run(value)
    np.float32(0.75)
    """
    collections = [GraphKeys.LOCAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        truth, scores = remove_squeezable_dimensions(boolean_labels, scores)
        if truth.dtype.base_dtype is not dtypes.bool:
            raise ValueError(f"boolean_labels must be of type bool, got {truth.dtype.name} {at()}")
        if check_shape:
            with control_dependencies([assert_rank(truth, 1), assert_rank(scores, 1)]):
                truth, scores = raw_ops.Identity(truth), raw_ops.Identity(scores)
        score_range = convert_to_tensor(score_range, scores.dtype, name="score_range")
        sums, updates = [], []
        for title, chosen in (("true", truth), ("false", raw_ops.LogicalNot(truth))):
            picked = indexing.boolean_mask(scores, chosen)
            counts = histogram_fixed_width(picked, score_range, nbins, dtypes.int64, name=f"hist_{title}")
            with variable_scope("hist_accumulate"):
                total = get_variable(
                    f"hist_{title}_acc", [nbins], dtypes.int64, initializer=initializers.Zeros(),
                    collections=collections, trainable=False,
                )  # fmt: skip
            updates.append(assign.assign_add(total, counts))
            sums.append(math.cast(total, dtypes.float32))
        right, wrong = (one / reduction.reduce_sum(one) for one in sums)
        below = reduction.cumsum(wrong, exclusive=True) + wrong / 2.0  # those in one bin count as a half
        return reduction.reduce_sum(right * below), group(*updates, name="update_op")
