"""Temporal classification, edit distances, quantization: golden values, errors, training."""

import functools

import numpy as np
import pytest
from golden import program
from golden.ctc_programs import LOGITS, PROGRAMS

import headrace as tf

golden = functools.cache(lambda: program.load("ctc"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


def test_static_shapes() -> None:
    logits = tf.placeholder(tf.float32, [None, 3, 5])
    labels = tf.sparse_placeholder(tf.int32)
    assert tf.nn.ctc_loss(labels, logits, [1, 1, 1]).shape.as_list() == [3]
    decoded, total = tf.nn.ctc_beam_search_decoder(logits, [1, 1, 1], top_paths=2)
    assert len(decoded) == 2
    assert total.shape.as_list() == [3, 2]


def test_too_little_time(session: tf.Session) -> None:
    labels = tf.SparseTensor([[0, 0], [0, 1]], tf.constant([1, 2]), [1, 2])
    loss = tf.nn.ctc_loss(labels, LOGITS[:, :1], [1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time"):
        session.run(loss)
    skipped = tf.nn.ctc_loss(labels, LOGITS[:, :1], [1], ignore_longer_outputs_than_inputs=True)
    assert session.run(skipped).tolist() == [0]


def test_labels_must_be_sparse() -> None:
    with pytest.raises(TypeError, match="SparseTensor"):
        tf.nn.ctc_loss(tf.constant([[1]]), LOGITS, [1, 1, 1])
    with pytest.raises(TypeError):
        tf.edit_distance(tf.constant([1]), tf.constant([1]))


def test_training_finds_the_labels(session: tf.Session) -> None:
    logits = tf.Variable(tf.zeros([6, 1, 4]))
    labels = tf.SparseTensor([[0, 0], [0, 1], [0, 2]], tf.constant([2, 0, 0]), [1, 3])
    loss = tf.reduce_sum(tf.nn.ctc_loss(labels, logits, [6]))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    decoded = tf.nn.ctc_greedy_decoder(logits, [6])[0][0]
    session.run(tf.global_variables_initializer())
    for _ in range(60):
        session.run(step)
    assert session.run(loss) < 0.1
    assert session.run(decoded).values.tolist() == [2, 0, 0]


def test_straight_through_gradient(session: tf.Session) -> None:
    x = tf.constant([0.1, 0.2])
    y = tf.quantization.quantize_and_dequantize(x, 0.0, 1.0)
    np.testing.assert_array_equal(session.run(tf.gradients(y, x)[0]), [1, 1])
