"""Dimensions of shapes, and arguments that are one number or several."""

import pytest

import headrace as tf

utils = tf.contrib.slim.utils


def test_values() -> None:
    shape = tf.TensorShape([2, 3, None, 5])
    assert utils.last_dimension(shape) == 5 and utils.channel_dimension(shape, "NCHW") == 3
    assert utils.channel_dimension(shape, "NHWC", min_rank=4) == 5
    assert utils.two_element_tuple(tf.TensorShape([1, 2])) == (1, 2)
    assert utils.n_positive_integers(2, tf.TensorShape([1, 2])) == (1, 2) == utils.n_positive_integers(2, [1, 2])


def test_mistakes() -> None:
    for call, match in (
        (lambda: utils.last_dimension(tf.TensorShape(None)), "must be known but is None"),
        (lambda: utils.last_dimension(tf.TensorShape([1]), 2), "at least 2 not: 1"),
        (lambda: utils.last_dimension(tf.TensorShape([1, None])), "last dimension of shape must be known"),
        (lambda: utils.two_element_tuple([1]), "list with 2 elements"),
        (lambda: utils.two_element_tuple("a"), "got 'a'"),
        (lambda: utils.n_positive_integers(2, [1, 2, 3]), "or 2 of them"),
        (lambda: utils.n_positive_integers(0, 1), "n must be a positive integer, got 0"),
        (lambda: utils.n_positive_integers(1, -1), "got -1"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


def test_recall_at_k() -> None:
    value, update = tf.contrib.slim.metrics.streaming_recall_at_k([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]], [2, 2], 2)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == 0.5 and sess.run(value) == 0.5
