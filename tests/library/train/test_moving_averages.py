"""Moving averages: values against TensorFlow's, names, what is restored from what."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


def run(train_op, fetches, steps):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(steps):
            session.run(train_op)
            found.append(session.run(fetches))
        return np.array(found)


def training(**options):
    """Gradient descent on the square of one weight, 1.0 at first, and its average."""
    weight = tf.Variable(1.0, name="W")
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(weight), global_step=step)
    if options.pop("count", False):
        options["num_updates"] = step
    ema = tf.train.ExponentialMovingAverage(0.9, **options)
    with tf.control_dependencies([train_op]):
        return weight, ema, ema.apply([weight])


def test_averages_the_updated_value():
    weight, ema, train_op = training()
    found = run(train_op, [weight, ema.average(weight)], 4)
    np.testing.assert_allclose(found[:, 0], [0.8, 0.64, 0.512, 0.4096], rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], [0.98, 0.946, 0.9026, 0.8533], rtol=1e-6)


def test_num_updates_lowers_the_decay_at_first():
    weight, ema, train_op = training(count=True)
    found = run(train_op, ema.average(weight), 4)
    np.testing.assert_allclose(found, [0.83636367, 0.6890909, 0.56648946, 0.46563193], rtol=1e-6)


def test_tensors_start_at_zero_unless_debiased():
    value = tf.constant([2.0, 4.0], name="x")
    plain = tf.train.ExponentialMovingAverage(0.9, name="plain")
    debiased = tf.train.ExponentialMovingAverage(0.9, zero_debias=True, name="debiased")
    update = tf.group(plain.apply([value]), debiased.apply([value]))
    found = run(update, [plain.average(value), debiased.average(value)], 2)
    np.testing.assert_allclose(found[:, 0, 0], [0.2, 0.38], rtol=1e-5)
    np.testing.assert_allclose(found[:, 1], [[2.0, 4.0], [2.0, 4.0]], rtol=1e-5)
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["x/plain", "x/debiased", "x/debiased/biased", "x/debiased/local_step"]


def test_names_and_collections():
    weight, ema, train_op = training()
    assert train_op.name == "ExponentialMovingAverage"
    assert ema.name == "ExponentialMovingAverage"
    assert ema.average_name(weight) == ema.average(weight).op.name == "W/ExponentialMovingAverage"
    assert tf.moving_average_variables() == [weight]
    other = tf.Variable(1.0, name="other")
    assert ema.average(other) is None
    assert ema.average_name(other) == "other/ExponentialMovingAverage"


def test_variables_to_restore():
    weight, ema, _ = training()
    found = ema.variables_to_restore()
    assert sorted(found) == ["W/ExponentialMovingAverage", "global_step"]
    assert found["W/ExponentialMovingAverage"] is weight


def test_integers_have_no_average():
    counter = tf.Variable(1)
    with pytest.raises(TypeError, match="must be half, float, or double"):
        tf.train.ExponentialMovingAverage(0.9).apply([counter])
