"""Covariance, correlation, kappa and counts over batches, against NumPy on all data at once."""

import numpy as np
import pytest

import headrace as tf

metrics = tf.contrib.metrics
RANDOM = np.random.default_rng(5)
X, Y = RANDOM.normal(3, 2, (3, 8)).astype(np.float32), RANDOM.normal(size=(3, 8)).astype(np.float32)
Y += 0.5 * X
W = RANDOM.integers(0, 3, (3, 8)).astype(np.float32)


def _run(make, *batches):
    """The value after each batch, which must be what the update gave."""
    with tf.Graph().as_default(), tf.Session() as sess:
        holders = [tf.placeholder(b.dtype, b.shape[1:]) for b in batches]
        value, update = make(*holders)
        sess.run(tf.local_variables_initializer())
        for rows in zip(*batches, strict=True):
            last = sess.run(update, dict(zip(holders, rows, strict=True)))
            np.testing.assert_array_equal(last, sess.run(value))
    return last


def test_covariance_and_correlation() -> None:
    np.testing.assert_allclose(_run(metrics.streaming_covariance, X, Y), np.cov(X.ravel(), Y.ravel())[0, 1], rtol=1e-4)
    np.testing.assert_allclose(
        _run(metrics.streaming_pearson_correlation, X, Y), np.corrcoef(X.ravel(), Y.ravel())[0, 1], rtol=1e-4
    )
    times = W.ravel().astype(int)
    expected = np.corrcoef(np.repeat(X.ravel(), times), np.repeat(Y.ravel(), times))[0, 1]
    got = _run(lambda x, y, w: metrics.streaming_pearson_correlation(x, y, weights=w), X, Y, W)
    np.testing.assert_allclose(got, expected, rtol=1e-4)
    assert np.isnan(_run(metrics.streaming_covariance, X[:1, :1], Y[:1, :1]))


def test_counts() -> None:
    assert _run(metrics.count, X) == 24.0
    assert _run(lambda x, w: metrics.count(x, w), X, W) == W.sum()


def test_kappa() -> None:
    labels, predictions = RANDOM.integers(0, 3, (2, 3, 8))
    matrix = np.zeros((3, 3))
    np.add.at(matrix, (labels.ravel(), predictions.ravel()), 1)
    chance = (matrix.sum(0) * matrix.sum(1)).sum() / matrix.sum()
    expected = (np.trace(matrix) - chance) / (matrix.sum() - chance)
    got = _run(lambda a, b: metrics.cohen_kappa(a, b, 3), labels, predictions)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    ones = np.ones([3, 8], np.float32)
    weighted = _run(lambda a, b, w: metrics.cohen_kappa(a, b, 3, weights=w), labels, predictions, ones)
    np.testing.assert_allclose(weighted, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="num_classes must be"):
        metrics.cohen_kappa([0], [0], 0)


def test_collections_and_names() -> None:
    value, update = metrics.streaming_pearson_correlation(
        [1.0], [2.0], metrics_collections="v", updates_collections="u"
    )
    assert tf.get_collection("v") == [value] and tf.get_collection("u") == [update]
    assert all(v.name.startswith("pearson_r/") for v in tf.local_variables()) and len(tf.local_variables()) == 12


def test_recall_at_k() -> None:
    scores = np.array([[[0.1, 0.6, 0.3], [0.8, 0.2, 0.0]], [[0.1, 0.2, 0.3], [0.5, 0.2, 0.1]]], np.float32)
    classes = np.array([[2, 2], [2, 0]])
    assert _run(lambda p, c: metrics.streaming_recall_at_k(p, c, 2), scores, classes) == 0.75
