"""Loss scaling: small half-precision gradients survive, infinite ones change nothing."""

import numpy as np
import pytest

import headrace as tf

experimental = tf.train.experimental
mixed = tf.contrib.mixed_precision


def test_a_fixed_scale_changes_nothing_in_single_precision() -> None:
    results = []
    for wrap in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.Variable([1.0, -2.0])
            opt: tf.train.Optimizer = tf.train.AdamOptimizer(0.1)
            if wrap:
                opt = experimental.MixedPrecisionLossScaleOptimizer(opt, 1024)
            train = opt.minimize(tf.reduce_sum(w**4), global_step=tf.train.get_or_create_global_step())
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            results.append(session.run([w, tf.train.get_global_step()]))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5)
    assert results[0][1] == results[1][1] == 5


def test_small_half_precision_gradients_survive(session: tf.Session) -> None:
    w = tf.Variable(np.float16(1.0))
    tiny = tf.constant(2e-4, tf.float16)
    loss = tf.square(w * tiny) * tiny  # its gradient is below the smallest float16
    plain = tf.train.GradientDescentOptimizer(1.0).compute_gradients(loss)[0][0]
    opt = experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), 2.0**15)
    scaled = tf.gradients(opt._scaled(loss), w)[0]
    session.run(tf.global_variables_initializer())
    assert session.run(plain) == 0
    assert session.run(scaled) > 0


def test_dynamic_scale_grows_and_shrinks(session: tf.Session) -> None:
    w, x = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, [2])
    scale = experimental.DynamicLossScale(initial_loss_scale=64, increment_period=2, multiplier=2.0)
    opt = experimental.MixedPrecisionLossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), scale)
    step = tf.train.get_or_create_global_step()
    train = opt.minimize(tf.reduce_sum(w * w * x), global_step=step)
    seen = []
    session.run(tf.global_variables_initializer())
    for feed in ([1, 1], [1, 1], [np.inf, 1], [1, 1], [np.nan, 1], [-np.inf, 1]):
        before = session.run(w)
        session.run(train, {x: feed})
        after, value, count = session.run([w, scale(), step])
        seen.append((float(value), int(count), bool((before != after).all())))
    assert seen == [
        (64.0, 1, True), (128.0, 2, True), (64.0, 2, False), (64.0, 3, True), (32.0, 3, False), (16.0, 3, False),
    ]  # fmt: skip
    assert opt.get_slot_names() == ["momentum"]
    assert opt.get_slot(w, "momentum").name == "Variable/Momentum:0"


def test_dynamic_scale_stays_above_one(session: tf.Session) -> None:
    scale = experimental.DynamicLossScale(1.5, 10)
    update, finite = scale.update([tf.constant(np.inf)])
    session.run(tf.global_variables_initializer())
    session.run(update)
    assert session.run([scale(), finite]) == [1.0, False]
    assert experimental.DynamicLossScale.from_config(scale.get_config()).initial_loss_scale == 1.5


def test_sparse_gradients(session: tf.Session) -> None:
    table = tf.Variable(np.ones((3, 2), np.float32))
    opt = experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), "dynamic")
    grads = opt.compute_gradients(tf.reduce_sum(tf.gather(table, [2, 0, 2])))
    assert isinstance(grads[0][0], tf.IndexedSlices)
    train = opt.apply_gradients(grads)
    session.run(tf.global_variables_initializer())
    session.run(train)
    assert session.run(table).tolist() == [[0.5, 0.5], [1, 1], [0, 0]]


def test_contrib_manager_shrinks_after_two_bad_steps(session: tf.Session) -> None:
    w, x = tf.Variable(2.0), tf.placeholder(tf.float32, [])
    manager = mixed.ExponentialUpdateLossScaleManager(100, incr_every_n_steps=2, decr_every_n_nan_or_inf=2)
    train = mixed.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.1), manager).minimize(w * w * x)
    seen = []
    session.run(tf.global_variables_initializer())
    for feed in (1, 1, np.inf, np.inf, 1):
        session.run(train, {x: feed})
        seen.append(float(session.run(manager.get_loss_scale())))
    assert seen == [100.0, 200.0, 200.0, 160.0, 160.0]


def test_contrib_manager_counts_bad_steps_that_are_not_in_a_row(session: tf.Session) -> None:
    manager = mixed.ExponentialUpdateLossScaleManager(100, incr_every_n_steps=3, decr_every_n_nan_or_inf=2)
    finite = tf.placeholder(tf.bool, [])
    update, scale = manager.update_loss_scale(finite), manager.get_loss_scale()
    seen = []
    session.run(tf.global_variables_initializer())
    for value in (False, True, False, True, True, True, False, True, False):
        session.run(update, {finite: value})
        seen.append(float(session.run(scale)))
    assert seen == [100, 100, 80, 80, 80, 160, 160, 160, 128]


def test_in_eager_mode() -> None:
    with tf.eager_mode():
        w = tf.Variable(3.0)
        opt = experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), 8)
        opt.minimize(lambda: tf.square(w))
        assert float(w.numpy()) == 0.0


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        experimental.FixedLossScale(0.5)
    with pytest.raises(ValueError, match="must be an instance of Optimizer"):
        experimental.MixedPrecisionLossScaleOptimizer(3, 2)
    with pytest.raises(ValueError, match="Could not interpret loss scale 'huge'"):
        experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), "huge")
