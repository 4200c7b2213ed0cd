"""Areas from all predictions and from histograms, against NumPy on all data together."""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import headrace as tf

metrics = tf.contrib.metrics
RANDOM = np.random.default_rng(9)
LABELS = (RANDOM.random((3, 10)) < 0.4).astype(np.int64)
SCORES = np.round(0.3 * LABELS + RANDOM.random((3, 10)), 1)  # with ties
WEIGHTS = RANDOM.integers(0, 3, (3, 10)).astype(np.float32)


def _run(make: Callable[..., Any], *batches: Any) -> Any:
    """The value after all batches."""
    with tf.Graph().as_default(), tf.Session() as session:
        holders = [tf.placeholder(b.dtype, b.shape[1:]) for b in batches]
        value, update = make(*holders)
        assert isinstance(update, tf.Operation)
        session.run(tf.local_variables_initializer())
        for rows in zip(*batches, strict=True):
            session.run(update, dict(zip(holders, rows, strict=True)))
        return session.run(value)


def _wins(labels: Any, scores: Any, weights: Any) -> float:
    """How often a true one is above a false one, ties counted as a half."""
    y, s, w = (a.ravel() for a in (labels, scores, weights))
    pairs = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
    both = w[y == 1][:, None] * w[y == 0]
    return float((pairs * both).sum() / both.sum())


def test_with_every_prediction_as_a_threshold() -> None:
    ones = np.ones_like(WEIGHTS)
    got = _run(metrics.streaming_dynamic_auc, LABELS, SCORES)
    assert got.dtype == np.float64 and got == pytest.approx(_wins(LABELS, SCORES, ones), rel=1e-12)
    got = _run(lambda x, y, w: metrics.streaming_dynamic_auc(x, y, weights=w), LABELS, SCORES, WEIGHTS)
    assert got == pytest.approx(_wins(LABELS, SCORES, WEIGHTS), rel=1e-12)


@pytest.mark.parametrize(
    ("scores", "labels", "area"),
    [
        ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.7916667),
        ([0.1, 0.4, 0.35, 0.8, 0.1, 0.135, 0.81], [0, 0, 1, 0, 1, 0, 1], 0.610317),
        ([0.0, 0.1, 0.2, 0.33, 0.3, 0.4, 0.5], [0, 0, 0, 0, 1, 1, 1], 0.9027778),
    ],
)
def test_precision_over_recall(scores: list[float], labels: list[int], area: float) -> None:
    got = _run(lambda x, y: metrics.streaming_dynamic_auc(x, y, curve="PR"), np.array([labels]), np.array([scores]))
    assert got == pytest.approx(area, abs=1e-6)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_the_same(label: int) -> None:
    labels = np.full_like(LABELS, label)
    assert _run(metrics.streaming_dynamic_auc, labels, SCORES) == 0
    assert tuple(_run(metrics.auc_with_confidence_intervals, labels, SCORES)) == (0, 0, 0)


def _interval(alpha: float, logit: bool, weights: Any) -> list[float]:
    y, s, w = LABELS.ravel(), SCORES.ravel(), weights.ravel()
    auc, variance = _wins(LABELS, SCORES, weights), 0.0
    for label in (0, 1):
        own, other = y == label, y != label
        pairs = (s[own][:, None] > s[other]) + 0.5 * (s[own][:, None] == s[other])
        place = pairs @ w[other] / w[other].sum()
        place = place if label else 1 - place
        total = w[own].sum()
        variance += (w[own] * (place - auc) ** 2).sum() / (total - 1) / total
    far, error = NormalDist().inv_cdf((1 + alpha) / 2), np.sqrt(variance)
    if not logit:
        return [auc, auc - far * error, auc + far * error]
    middle, error = np.log(auc / (1 - auc)), error / (auc * (1 - auc))
    return [auc, *(1 / (1 + np.exp(-x)) for x in (middle - far * error, middle + far * error))]


@pytest.mark.parametrize(("alpha", "logit"), [(0.95, True), (0.5, False)])
def test_intervals(alpha: float, logit: bool) -> None:
    def make(x: Any, y: Any, w: Any = None) -> Any:
        return metrics.auc_with_confidence_intervals(x, y, w, alpha=alpha, logit_transformation=logit)

    got = _run(make, LABELS, SCORES)
    assert got._fields == ("auc", "lower", "upper")
    np.testing.assert_allclose(got, _interval(alpha, logit, np.ones_like(WEIGHTS)), rtol=1e-4)
    np.testing.assert_allclose(_run(make, LABELS, SCORES, WEIGHTS), _interval(alpha, logit, WEIGHTS), rtol=1e-4)
    assert tuple(_run(make, np.array([[0, 0, 1, 1]]), np.array([[1.0, 1.0, 2.0, 3.0]]))) == (1, 1, 1)


def test_histograms() -> None:
    shift = np.float32(0.05)  # each score in the middle of a bin

    def make(x: Any, y: Any) -> Any:
        return metrics.auc_using_histogram(
            x, y, [0.0, 1.5], nbins=15, collections=["kept", tf.GraphKeys.LOCAL_VARIABLES]
        )

    got = _run(make, LABELS.astype(bool), SCORES.astype(np.float32) + shift)
    assert got == pytest.approx(_wins(LABELS, SCORES, np.ones_like(WEIGHTS)), rel=1e-5)
    metrics.auc_using_histogram([True], [0.5], [0.0, 1.0])
    names = [v.op.name for v in tf.local_variables()]
    assert names == [f"auc_using_histogram/hist_accumulate/hist_{which}_acc" for which in ("true", "false")]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="curve must be either ROC or PR, AREA unknown"):
        metrics.streaming_dynamic_auc([1], [0.5], curve="AREA")
    with pytest.raises(ValueError, match="alpha must be between 0 and 1; currently 1.5"):
        metrics.auc_with_confidence_intervals([1], [0.5], alpha=1.5)
    with pytest.raises(ValueError, match="ncompatible"):
        metrics.streaming_dynamic_auc([1, 0], [0.5])
    with pytest.raises(ValueError, match="boolean_labels must be of type bool, got int32"):
        metrics.auc_using_histogram([1], [0.5], [0.0, 1.0])
    for bad, message in ((2, "at least one is >1"), (-1, "at least one is <0")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"labels must be 0 or 1, {message}"):
            _run(metrics.streaming_dynamic_auc, np.array([[bad, 0]]), np.array([[0.5, 0.1]]))
