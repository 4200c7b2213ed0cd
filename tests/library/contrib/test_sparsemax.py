"""contrib.sparsemax against a search for the nearest probabilities, and the gradient of its loss."""

import numpy as np
import pytest

import headrace as tf


def _nearest(z: np.ndarray) -> np.ndarray:
    """The projection onto probabilities, by bisection of the threshold."""
    low, high = z.min() - 1.0, z.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(z - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(z - low, 0)


def test_the_nearest_probabilities_and_the_gradient() -> None:
    logits = np.random.RandomState(0).randn(5, 6).astype(np.float32) * 2
    labels = np.eye(6, dtype=np.float32)[[0, 1, 2, 3, 4]]
    z = tf.constant(logits)
    p = tf.contrib.sparsemax.sparsemax(z)
    loss = tf.contrib.sparsemax.sparsemax_loss(z, p, labels)
    with tf.Session() as session:
        value, grad, losses = session.run([p, tf.gradients(loss, z)[0], loss])
    np.testing.assert_allclose(value, [_nearest(row.astype(np.float64)) for row in logits], atol=1e-5)
    assert (value == 0).any() and (losses >= -1e-6).all()
    np.testing.assert_allclose(grad, value - labels, atol=1e-5)
    with pytest.raises(ValueError, match=r"must have shape \[batch, classes\], got \(3,\)"):
        tf.contrib.sparsemax.sparsemax([1.0, 2.0, 3.0])


def test_names_that_contrib_shares_with_others() -> None:
    contrib = tf.contrib
    assert contrib.signal.stft is tf.signal.stft and contrib.hooks.ProfilerHook is tf.train.ProfilerHook
    assert contrib.stateless.stateless_random_uniform is tf.random.stateless_uniform
