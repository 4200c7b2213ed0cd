"""Vectors that only the host reads, such as the bounds of a slice, are Python lists in generated code."""

import numpy as np
import pytest

import headrace as tf


def sources(session, fetches, feeds):
    plan = session._master.plan(feeds, fetches, [])
    programs = [*plan.programs, *(body for program in plan.programs for body in program.bodies)]
    return "\n".join(program.source for program in programs)


def test_a_slice_by_a_computed_index(interpreted):
    x, i = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32, [])
    column = x[:, i]
    value = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    assert interpreted.run(column, {x: value, i: 1}).tolist() == [1.0, 4.0]
    assert interpreted.run(column, {x: value, i: -1}).tolist() == [2.0, 5.0]
    assert ".tolist()" not in sources(interpreted, [column], [x, i])
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 3 of dimension 1 out of bounds"):
        interpreted.run(column, {x: value, i: 3})


def test_a_vector_that_others_read_too(interpreted):
    x, i = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32, [])
    bounds = tf.stack([0, i])
    part = tf.slice(x, bounds, [2, 1])
    value = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for fetches in ([part, bounds], [part, bounds * 2], [part, tf.identity(bounds)]):
        taken, vector = interpreted.run(fetches, {x: value, i: 1})
        assert taken.tolist() == [[1.0], [4.0]] and vector.tolist() in ([0, 1], [0, 2])


def test_a_loop_keeps_the_index_for_its_gradient(interpreted):
    x = tf.placeholder(tf.float32, [2, 4])
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + x[:, i] * x[:, i + 1]), (0, tf.zeros([2])))[1]
    (slope,) = tf.gradients(total, [x])
    value = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    wanted = np.stack([value[:, 1], value[:, 0] + value[:, 2], value[:, 1] + value[:, 3], value[:, 2]], 1)
    np.testing.assert_allclose(interpreted.run(slope, {x: value}), wanted)
    assert sources(interpreted, [slope], [x]).count(".tolist()") == 0
