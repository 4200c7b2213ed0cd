"""Precision at a recall, recall at a precision, F1 and curves over batches, against NumPy on all data together."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf

metrics = tf.contrib.metrics
RANDOM = np.random.default_rng(8)
LABELS = RANDOM.random((3, 10)) < 0.4
SCORES = np.clip(0.3 * LABELS + 0.7 * RANDOM.random((3, 10)), 0, 1).astype(np.float32)
WEIGHTS = RANDOM.integers(0, 3, (3, 10)).astype(np.float32)


def _run(make: Callable[..., Any], *batches: Any) -> Any:
    """The value after all batches, which must be what the last update gave."""
    with tf.Graph().as_default(), tf.Session() as session:
        holders = [tf.placeholder(b.dtype, b.shape[1:]) for b in batches]
        value, update = make(*holders)
        session.run(tf.local_variables_initializer())
        for rows in zip(*batches, strict=True):
            last = session.run(update, dict(zip(holders, rows, strict=True)))
            np.testing.assert_array_equal(last, session.run(value))
    return last


def _counts(thresholds: Any, weights: Any) -> tuple[Any, Any, Any]:
    """True positives, false positives, false negatives."""
    above = SCORES.ravel() > np.float32(thresholds)[:, None]
    truth, w = LABELS.ravel(), weights.ravel()
    return (above & truth) @ w, (above & ~truth) @ w, (~above & truth) @ w


def _spread(count: int) -> Any:
    return np.array([-1e-7, *np.linspace(0, 1, count)[1:-1], 1 + 1e-7])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_one_threshold_of_many(weights: Any) -> None:
    tp, fp, fn = _counts(_spread(200), np.ones_like(SCORES) if weights is None else weights)
    precision, recall = tp / np.maximum(tp + fp, 1e-9), tp / (tp + fn)
    batches = [LABELS, SCORES] if weights is None else [LABELS, SCORES, weights]

    def got(metric: Any, *args: Any, **more: Any) -> Any:
        return _run(lambda x, y, w=None: metric(x, y, *args, weights=w, **more), *batches)

    for part in (0.3, 0.75):
        last = np.flatnonzero(recall >= part)[-1]
        assert got(metrics.precision_at_recall, part) == pytest.approx(precision[last], rel=1e-4)
        nearest = np.abs(precision - part).argmin()
        assert got(metrics.recall_at_precision, part) == pytest.approx(recall[nearest], rel=1e-4)
        strict = np.where(precision >= part, precision, np.inf).argmin()
        assert got(metrics.recall_at_precision, part, strict_mode=True) == pytest.approx(recall[strict], rel=1e-4)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    assert got(metrics.f1_score) == pytest.approx(f1.max(), rel=1e-4)


def test_a_precision_that_is_not_reached() -> None:
    labels, scores = np.array([[1, 0, 0]]), np.float32([[0.2, 0.5, 0.9]])
    assert _run(lambda x, y: metrics.recall_at_precision(x, y, 0.9, strict_mode=True), labels, scores) == 0
    assert _run(lambda x, y: metrics.recall_at_precision(x, y, 0.9), labels, scores) == pytest.approx(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_curves(weighted: bool) -> None:
    x, y = tf.placeholder(tf.bool, [None, 5]), tf.placeholder(tf.float32, [None, 5])
    w = tf.placeholder(tf.float32, [None, 5]) if weighted else None
    data, update = metrics.precision_recall_at_equal_thresholds(x, y, w, num_thresholds=9)
    assert isinstance(update, tf.Operation) and data.tp.dtype == tf.float32 and data.tp.shape.as_list() == [9]
    names = [v.op.name for v in tf.local_variables()]
    assert names == [f"precision_recall_at_equal_thresholds/variables/{n}_buckets" for n in ("tp", "fp")]
    shaped = [a.reshape(3, 2, 5) for a in (LABELS, SCORES, WEIGHTS)]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for rows in zip(*shaped, strict=True):
            session.run(update, {h: r for h, r in zip((x, y, w), rows, strict=True) if h is not None})
        got = session.run(data)
    weights = (WEIGHTS if weighted else np.ones_like(WEIGHTS)).ravel()
    above = np.linspace(0, 1, 9)[:, None] <= SCORES.ravel()
    truth = LABELS.ravel()
    tp, fp = (above & truth) @ weights, (above & ~truth) @ weights
    np.testing.assert_array_equal([got.tp, got.fp], [tp, fp])
    np.testing.assert_array_equal([got.tn, got.fn], [weights @ ~truth - fp, weights @ truth - tp])
    np.testing.assert_allclose(got.precision, tp / np.maximum(tp + fp, 1e-7), rtol=1e-6)
    np.testing.assert_allclose(got.recall, tp / (weights @ truth), rtol=1e-6)
    np.testing.assert_allclose(got.thresholds, np.linspace(0, 1, 9), rtol=1e-6)


def test_chosen_classes() -> None:
    labels, chosen = np.array([[[1, 2], [0, 3]]]), np.array([[[1, 4], [0, 3]]])
    assert _run(lambda x, y: metrics.sparse_recall_at_top_k(x, y), labels, chosen) == 0.75
    assert _run(lambda x, y: metrics.sparse_recall_at_top_k(x, y, class_id=2), labels, chosen) == 0
    assert _run(lambda y, x: metrics.streaming_sparse_precision_at_top_k(y, x), chosen, labels) == 0.75
    assert _run(lambda y, x: metrics.streaming_sparse_precision_at_top_k(y, x, class_id=4), chosen, labels) == 0


def test_names_and_collections() -> None:
    value, update = metrics.f1_score([1, 0], [0.5, 0.1], metrics_collections="m", updates_collections=["u"])
    assert tf.get_collection("m") == [value] and tf.get_collection("u") == [update] and value.op.name.startswith("f1/")
    value, update = metrics.recall_at_precision([1, 0], [0.5, 0.1], 0.5)
    assert (value.op.name, update.op.name) == ("recall_at_precision/value", "recall_at_precision/update_op")


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`target_recall` must be in the range \[0, 1\].*1.5"):
        metrics.precision_at_recall([1], [0.5], 1.5)
    with pytest.raises(ValueError, match=r"`precision` must be in the range \[0, 1\].*-1"):
        metrics.recall_at_precision([1], [0.5], -1)
    with pytest.raises(ValueError, match="num_thresholds must be at least 2, got 1"):
        metrics.f1_score([1], [0.5], num_thresholds=1)
    with pytest.raises(TypeError, match="must be of type tf.bool"):
        metrics.precision_recall_at_equal_thresholds([1], [0.5])
    data, update = metrics.precision_recall_at_equal_thresholds([True], tf.placeholder_with_default([1.5], [1]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update)
