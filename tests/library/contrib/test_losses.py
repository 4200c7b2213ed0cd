"""contrib.losses: weights by example, sums divided by how many elements count."""

import numpy as np
import pytest

import headrace as tf

old = tf.contrib.losses
X = np.array([[4.0, 8.0, 12.0], [8.0, 1.0, 3.0]], np.float32)
Y = np.array([[1.0, 9.0, 2.0], [-5.0, -2.0, 6.0]], np.float32)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (1.0, 5.5), (2.0, 11.0), (0.0, 0.0),
        ([1.2, 0.0], 5.6), ([[1.2], [0.0]], 5.6), ([1.0, 0.5], 23.5 / 6),
        ([[3.0, 6.0, 5.0], [0.0, 4.0, 2.0]], 16.6), (np.zeros([2, 3], np.float32), 0.0),
    ],
)  # fmt: skip
def test_weights(weights: object, expected: float) -> None:
    """The means of 33 differences, of which a scalar, an example, an element may be left out."""
    loss = old.absolute_difference(X, Y, weights)
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(loss), expected, rtol=1e-6)
    assert tf.get_collection(tf.GraphKeys.LOSSES) == [loss]


def test_all_losses_weigh_by_example() -> None:
    logits = tf.constant([[1.0, 2.0], [0.5, -1.0]])
    onehot = tf.constant([[1.0, 0.0], [0.0, 1.0]])
    unit = tf.nn.l2_normalize(logits, 1)
    cases = {
        "sigmoid_cross_entropy": (tf.nn.sigmoid_cross_entropy_with_logits(labels=onehot, logits=logits), (logits, onehot)),
        "softmax_cross_entropy": (tf.nn.softmax_cross_entropy_with_logits_v2(labels=onehot, logits=logits), (logits, onehot)),
        "sparse_softmax_cross_entropy": (
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=onehot, logits=logits), (logits, [0, 1]),
        ),
        "log_loss": (-tf.log(tf.abs([[0.3, 0.4], [0.8, 0.6]]) + 1e-7), ([[0.3, 0.4], [0.2, 0.6]], [[1.0, 1.0], [0.0, 1.0]])),
        "mean_squared_error": (tf.square(logits - onehot), (logits, onehot)),
        "cosine_distance": (1.0 - tf.reduce_sum(unit * onehot, 1), (unit, onehot, 1)),
    }  # fmt: skip
    with tf.Session() as sess:
        for name, (each, arguments) in cases.items():
            loss = getattr(old, name)(*arguments, weights=[3.0, 0.0])
            got, parts = sess.run([loss, each])
            np.testing.assert_allclose(got, 3.0 * np.mean(parts[0]), rtol=1e-5, err_msg=name)


def test_pairs() -> None:
    """2 (sum(d^2) / n - (sum(d) / n)^2) of each example: twice the variance of its differences."""
    with tf.Session() as sess:
        variance = 2 * (X - Y).var(1)
        np.testing.assert_allclose(sess.run(old.mean_pairwise_squared_error(X, Y)), variance.sum(), rtol=1e-5)
        weighted = old.mean_pairwise_squared_error(X, Y, weights=[0.5, 0.0])
        np.testing.assert_allclose(sess.run(weighted), 0.5 * variance[0], rtol=1e-5)
        assert sess.run(old.mean_pairwise_squared_error(X, Y, weights=0.0)) == 0.0


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit losses of shape"):
        old.compute_weighted_loss(X, np.ones([3], np.float32))
    with pytest.raises(ValueError, match="rank of the weights must be known"):
        old.compute_weighted_loss(X, tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match="labels must not be None"):
        old.mean_pairwise_squared_error(X)
