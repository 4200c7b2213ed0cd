"""A use of a variable that waits for a write sees what was written; other uses see what was there before."""

import numpy as np
import pytest
from passes.steps import lines, piped

import headrace as tf


def _program():
    v = tf.Variable([1.0, 2.0], name="v")
    write = tf.assign_add(v, [10.0, 10.0], name="w")
    early = tf.negative(v, name="early")
    with tf.control_dependencies([write]):
        late = tf.negative(v, name="late")
    return v, write, early, late


def test_before_and_after() -> None:
    _, write, early, late = _program()
    text = lines(piped([early, late], [], [write.op], rewrite=False))
    assert any(line.startswith("%early = Neg(%v/read)") for line in text)
    assert any(line.startswith("%late = Neg(%v/read/after_0)") for line in text)
    assert any(line.startswith("%v/read/after_0 = _Read(%v) ^%w") for line in text)


@pytest.mark.parametrize("mode", ["off", "always"])
def test_values(mode: str) -> None:
    v, _, early, late = _program()
    with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
        sess.run(v.initializer)
        before, after = sess.run([early, late])
        np.testing.assert_array_equal(before, [-1, -2])
        np.testing.assert_array_equal(after, [-11, -12])


def test_shadow_of_a_trained_variable(session: tf.Session) -> None:
    w = tf.Variable(1.0, name="w")
    shadow = tf.Variable(0.0, name="shadow")
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.square(w))
    with tf.control_dependencies([train]):
        update = tf.assign(shadow, w * 10.0)
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(update.op)
        assert session.run(shadow) == pytest.approx(10 * session.run(w))


def test_two_writes_in_a_row(session: tf.Session) -> None:
    v = tf.Variable(1.0, name="v")
    first = tf.assign_add(v, 1.0)
    with tf.control_dependencies([first]):
        second = tf.assign(v, v * 10.0)
    with tf.control_dependencies([second]):
        last = v + 0.5
    session.run(v.initializer)
    assert session.run([last, v.read_value()])[0] == 20.5


@pytest.mark.parametrize("mode", ["off", "always"])
@pytest.mark.parametrize("write", [tf.assign, tf.assign_add, lambda v, x: tf.scatter_update(v, [0, 1], x)])
def test_a_copy_taken_before_the_write_keeps_its_value(mode: str, write) -> None:  # type: ignore[no-untyped-def]
    v = tf.Variable([1.0, 2.0])
    copies = [tf.identity(v), tf.stop_gradient(v), v.read_value()]
    with tf.control_dependencies(copies):
        written = write(v, [5.0, 6.0])
    with tf.control_dependencies([written]):
        kept = [c + 0.0 for c in copies]
        new = [tf.identity(v), v.read_value(), v + 0.0]
    with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
        sess.run(v.initializer)
        old, new = sess.run([kept, new])
        for value in old:
            np.testing.assert_array_equal(value, [1.0, 2.0])
        for value in new:
            np.testing.assert_array_equal(value, sess.run(v))


def test_how_far_a_variable_moved(session: tf.Session) -> None:
    v = tf.Variable(1.0)
    before = v.read_value()
    train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(v))
    with tf.control_dependencies([train]):
        moved = v - before
    session.run(v.initializer)
    assert session.run(moved) == -0.5
    assert session.run(moved) == -0.25
