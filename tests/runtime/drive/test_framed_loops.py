"""When loops run as primitives: on request, when a body blocks, when it spans devices; iterations overlap then."""

import threading

import numpy as np
import pytest

import headrace as tf

TWO = {"device_count": {"CPU": 2}}


def is_framed(session, fetches, feeds=()):
    return session._master.plan(list(feeds), list(fetches), []).framed is not None


def test_on_request():
    y = tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0])
    with tf.Session() as plain, tf.Session(config=tf.ConfigProto(control_flow="lowered")) as lowered:
        assert plain.run(y) == lowered.run(y) == 6
        assert not is_framed(plain, [y])
        assert is_framed(lowered, [y])


def test_a_value_that_is_not_accepted():
    with pytest.raises(ValueError, match="control_flow received 'v1'; accepted are 'auto', 'lowered'"):
        tf.Session(config=tf.ConfigProto(control_flow="v1"))


def overlapping(parties, parallel):
    """A loop whose iterations each wait in Python until ``parties`` of them are there."""
    together = threading.Barrier(parties)

    def slow(i):
        together.wait(timeout=20)
        return np.float32(i)

    def body(i, out):
        value = tf.py_func(slow, [i], tf.float32)
        value.set_shape([])
        return i + 1, out.write(i, value)

    out = tf.TensorArray(tf.float32, 6)
    return tf.while_loop(lambda i, _: i < 6, body, (0, out), parallel_iterations=parallel)[1].stack()


def test_iterations_that_wait_overlap(session):
    y = overlapping(3, 3)
    assert is_framed(session, [y])
    assert session.run(y).tolist() == [0, 1, 2, 3, 4, 5]


def test_one_iteration_at_a_time_runs_inside_the_strand(session):
    y = overlapping(1, 1)
    assert not is_framed(session, [y])
    assert session.run(y).tolist() == [0, 1, 2, 3, 4, 5]


def split_over_devices(x):
    """A loop with a part on each of two devices."""

    def body(i, a):
        with tf.device("/cpu:0"):
            b = tf.sin(a)
        with tf.device("/cpu:1"):
            c = tf.cos(a) * 2.0
        return i + 1, b + c

    return tf.while_loop(lambda i, a: i < 5, body, (0, x))[1]


@pytest.mark.parametrize("mode", ["auto", "lowered"])
def test_a_body_on_two_devices_is_cut_between_them(mode):
    x = tf.placeholder(tf.float32, [3])
    y = split_over_devices(x)
    gradient = tf.gradients(y, [x])[0]
    feeds = {x: [0.1, -0.5, 2.0]}
    with (
        tf.Session(config=tf.ConfigProto(compile="off")) as one,
        tf.Session(config=tf.ConfigProto(control_flow=mode, **TWO)) as two,
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="CPU:1|cpu:1"):
            one.run(y, feeds)
        with tf.Session(config=tf.ConfigProto(compile="off", allow_soft_placement=True)) as soft:
            expected = soft.run([y, gradient], feeds)
        found = two.run([y, gradient], feeds)
        plan = two._master.plan([x], [y, gradient], [])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    (second,) = [m for m in plan.partitions.members if m.name.endswith("CPU:1")]
    frames = second.worker.plan(second.handle).framed
    assert (frames is not None) == (mode == "lowered")


def test_an_error_on_the_second_device_ends_the_step():
    x = tf.placeholder(tf.int32, [])

    def body(i, a):
        with tf.device("/cpu:1"):
            found = tf.gather([1.0, 2.0], x + i, name="look_up")
        return i + 1, a + found

    y = tf.while_loop(lambda i, a: i < 3, body, (0, 0.0))[1]
    with tf.Session(config=tf.ConfigProto(**TWO)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="look_up"):
            session.run(y, {x: 0})
        assert not [t for t in threading.enumerate() if t.name.startswith("headrace-framed")]
