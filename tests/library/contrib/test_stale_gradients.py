"""contrib.opt.DropStaleGradientOptimizer, and averages saved in place of their variables."""

import pytest

import headrace as tf


def test_stale_gradients_are_dropped() -> None:
    x, step = tf.Variable(1.0), tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), staleness=2)
    others = tf.placeholder(tf.int64, [])
    pairs = optimizer.compute_gradients(tf.identity(x))
    with tf.control_dependencies([pairs[0][0]]):
        later = tf.assign_add(step, others)  # what other workers did in between
    with tf.control_dependencies([later]):
        grads = [(tf.identity(g), v) for g, v in pairs]
    train = optimizer.apply_gradients(grads, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train, {others: 2}) == 0.0 and session.run([x, step]) == [0.0, 3]
        assert session.run(train, {others: 5}) == 1.0 and session.run([x, step]) == [0.0, 8]
        assert session.run(train, {others: 0}) == 1.0 and session.run([x, step]) == [-1.0, 9]


def test_a_global_step_is_needed() -> None:
    x = tf.Variable(1.0)
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), staleness=2)
    with pytest.raises(ValueError, match="needs a global step.*test_stale_gradients.py"):
        optimizer.minimize(x * 1.0)
    step = tf.train.get_or_create_global_step()
    with pytest.raises(ValueError, match="needs apply_gradients"):
        optimizer.minimize(x * 1.0)
    assert optimizer.minimize(x * 1.0, global_step=step) is not None


def test_a_swapping_saver_saves_averages_under_the_names_of_variables(tmp_path: object) -> None:
    x = tf.Variable([1.0], name="x")
    optimizer = tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), average_decay=0.5)
    with pytest.raises(RuntimeError, match="Must call apply_gradients or minimize before"):
        optimizer.swapping_saver()
    train = optimizer.minimize(x * 2.0)
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        value, average = session.run([x, optimizer.average(x)])
        path = saver.save(session, f"{tmp_path}/swapped")
    reader = tf.train.load_checkpoint(path)
    assert value == [-1.0] and average == [0.0]
    assert reader.get_tensor("x") == average and reader.get_tensor("x/ExponentialMovingAverage") == value
    with pytest.raises(ValueError, match="lacks 'x/ExponentialMovingAverage'"):
        optimizer.swapping_saver([x])
