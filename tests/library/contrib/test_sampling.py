"""Examples chosen at random: shares of classes, probabilities, weights."""

import numpy as np
import pytest
from library.input.pipeline import drained

import headrace as tf

training = tf.contrib.training


@pytest.fixture(autouse=True)
def seed() -> None:
    tf.set_random_seed(7)


def test_examples_are_kept_by_their_probability() -> None:
    x = tf.random_uniform([4], seed=3)
    (batch,) = training.rejection_sample([x], lambda e: tf.cast(e[0] > 0.5, tf.float32), 8, enqueue_many=True)
    (rows,) = drained(batch, limit=1)
    assert rows.shape == (8,) and rows.min() > 0.5


def test_what_is_no_probability_is_refused() -> None:
    (batch,) = training.rejection_sample([tf.constant(1.0)], lambda e: 2 * e[0], 2, runtime_checks=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not a probability"):
        drained(batch, limit=1)


@pytest.mark.parametrize("enqueue_many", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_classes_have_their_shares(enqueue_many: bool, known: bool) -> None:
    rare = tf.random_uniform([10] if enqueue_many else [], seed=5) < 0.25
    label = tf.cast(rare, tf.int32)
    (values,), labels = training.stratified_sample(
        [label * 10], label, [0.2, 0.8], 100, [0.75, 0.25] if known else None, enqueue_many
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with tf.contrib.slim.queues.QueueRunners(sess):
            rows, classes = zip(*[sess.run([values, labels]) for _ in range(3)], strict=True)
    assert np.concatenate(rows).tolist() == (10 * np.concatenate(classes)).tolist()
    assert 0.65 < np.concatenate(classes)[100:].mean() < 0.95  # five deviations


def test_classes_that_do_not_come() -> None:
    for target, fine in (([1.0, 0.0], True), ([0.5, 0.5], False)):
        _, labels = training.stratified_sample([tf.constant(1)], tf.constant(0), target, 4, [1.0, 0.0])
        if fine:
            assert [row.tolist() for row in drained(labels, limit=1)] == [[0] * 4]
            continue
        with pytest.raises(tf.errors.InvalidArgumentError, match="must also have zero target probability"):
            drained(labels, limit=1)


def test_rates_and_weights() -> None:
    rows = tf.range(1000)
    (out,) = training.resample_at_rate([rows], tf.where(rows < 500, tf.zeros([1000]), tf.fill([1000], 3.0)), seed=1)
    rates, (weighted,) = training.weighted_resample([rows], tf.cast(rows < 500, tf.float32), 0.5, seed=2)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        chosen = sess.run(out)
        assert chosen.min() >= 500 and 1300 < len(chosen) < 1700 and len(set(chosen)) < len(chosen)
        rate, chosen = sess.run([rates, weighted])
    assert chosen.max() < 500 and 400 < len(chosen) < 600 and np.allclose(rate, 1.0, rtol=1e-4)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="labels must be a scalar"):
        training.stratified_sample([tf.zeros([2])], tf.zeros([2], tf.int32), [0.5, 0.5], 2)
    with pytest.raises(ValueError, match="target_probs must be a vector"):
        training.stratified_sample([tf.zeros([])], tf.constant(0), 0.5, 2)
