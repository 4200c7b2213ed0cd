"""Parts of a variable that are assigned to inside bodies and functions."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf


@pytest.mark.parametrize("mode", ["auto", "lowered"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_slice_is_assigned_in_a_loop(mode, use_resource):
    v = tf.Variable([1.0, 2.0, 3.0], use_resource=use_resource)

    def body(i):
        with tf.control_dependencies([v[i : i + 1].assign([9.0])]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 2, body, [0])
    with initialized_session(config=tf.ConfigProto(control_flow=mode)) as session:
        session.run(loop)
        np.testing.assert_array_equal(session.run(v), [9.0, 9.0, 3.0])


def test_a_slice_is_assigned_in_the_branch_that_is_taken():
    v = tf.Variable([1.0, 2.0, 3.0])
    taken = tf.placeholder(tf.bool, [])
    result = tf.cond(taken, lambda: v[0:1].assign([9.0]) * 1.0, lambda: v * 1.0)
    with initialized_session() as session:
        np.testing.assert_array_equal(session.run(result, {taken: False}), [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(session.run(result, {taken: True}), [9.0, 2.0, 3.0])


def test_a_slice_is_assigned_in_a_function():
    with tf.eager_mode():
        v = tf.Variable([1.0, 2.0, 3.0])

        @tf.function
        def change():
            v[1:3].assign([7.0, 8.0])

        change()
        np.testing.assert_array_equal(v.numpy(), [1.0, 7.0, 8.0])
