"""Compiled bodies: what is compiled inside loops and branches, and that it computes the same."""

import numpy as np
import pytest
from runtime.compiler.failing_checks import caught

import headrace as tf
from headrace.passes.bodies import bodies_of


def session(mode="always"):
    made = tf.Session(config=tf.ConfigProto(compile=mode))
    made.run(tf.global_variables_initializer())
    return made


def both(fetches, feeds=None):
    """The values compiled, which must be those interpreted; the compiled session."""
    expected = session("off").run(fetches, feeds)
    compiled = session()
    found = compiled.run(fetches, feeds)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    return compiled


def inner(compiled, feeds, fetches):
    """The types of the nodes in the bodies of the compiled step, body by body."""
    tier = compiled._master.plan(list(feeds), list(fetches), []).variants
    (plan,) = tier.compiled.values()
    return [[n.type for n in body.nodes] for node in plan.graph.nodes for body in bodies_of(node)]


def cell(h, w):
    return tf.tanh(tf.matmul(h, w)) * 0.5 + tf.sigmoid(h) * h


def test_the_body_of_a_loop_is_one_call():
    x, w = tf.placeholder(tf.float32, [3, 4]), tf.Variable(np.eye(4, dtype=np.float32))
    _, y = tf.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, cell(h, w)), (0, x))
    feeds = {x: np.linspace(-1, 1, 12).reshape(3, 4)}
    compiled = both([y], feeds)
    cond, body = inner(compiled, feeds, [y])
    assert "_Region" in body
    assert not {"Tanh", "MatMul", "Sigmoid"} & set(body)
    assert "_Region" not in cond  # counting is plain Python


def test_gradient_of_a_loop_over_an_array():
    x, w = tf.placeholder(tf.float32, [4, 2, 3]), tf.Variable(np.full((3, 3), 0.3, np.float32))
    y = tf.scan(lambda h, row: cell(h + row, w), x)
    feeds = {x: np.random.RandomState(0).randn(4, 2, 3)}
    fetches = [y, *tf.gradients(tf.reduce_sum(y * y), [x, w])]
    compiled = both(fetches, feeds)
    assert sum("_Region" in body for body in inner(compiled, feeds, fetches)) == 2  # forwards and backwards


def test_a_batch_of_unknown_size_is_compiled_for_the_sizes_that_come():
    x, w = tf.placeholder(tf.float32, [4, None, 3]), tf.Variable(np.full((3, 3), 0.3, np.float32))
    rows = tf.TensorArray(tf.float32, 4).unstack(x)
    shapes = (tf.TensorShape([]), tf.TensorShape([None, 3]))
    _, y = tf.while_loop(
        lambda i, h: i < 4, lambda i, h: (i + 1, cell(h + rows.read(i), w)), (0, x[0]), shape_invariants=shapes
    )
    fetches = [y, *tf.gradients(tf.reduce_sum(y * y), [x, w])]
    for batch in (2, 5):
        feeds = {x: np.random.RandomState(batch).randn(4, batch, 3)}
        compiled = both(fetches, feeds)
        assert sum("_Region" in body for body in inner(compiled, feeds, fetches)) == 2


def test_a_variable_whose_shape_changes_stays_interpreted():
    x = tf.placeholder(tf.float32, [2, 3])
    shapes = (tf.TensorShape([]), tf.TensorShape([None, 3]))
    _, y = tf.while_loop(
        lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.concat([h, h[:1] * 2.0], 0)) + 0.1), (0, x),
        shape_invariants=shapes,
    )  # fmt: skip
    feeds = {x: np.arange(6.0).reshape(2, 3)}
    compiled = both([y], feeds)
    assert compiled.run(y, feeds).shape == (5, 3)


def test_branches_and_loops_inside_a_loop():
    x = tf.placeholder(tf.float32, [4])

    def body(i, a):
        b = tf.cond(
            tf.reduce_sum(a) > 0.0, lambda: tf.sin(a) * tf.cos(a) + tf.exp(-a), lambda: tf.tanh(a) + a * a - 0.2
        )
        _, c = tf.while_loop(lambda j, c: j < i, lambda j, c: (j + 1, tf.tanh(c) * 0.5 + tf.sin(c) * a), (0, b))
        return i + 1, c

    _, y = tf.while_loop(lambda i, a: i < 4, body, (0, x))
    fetches = [y, *tf.gradients(y, [x])]
    both(fetches, {x: [0.5, -0.3, 0.8, 0.1]})
    both(fetches, {x: [-0.5, -0.3, 0.2, 0.1]})


def test_effects_happen_in_every_iteration():
    v = tf.Variable([1.0, 2.0])

    def body(i, a):
        before = v.read_value()
        with tf.control_dependencies([before]):
            changed = v.assign_add(tf.tanh(a) * tf.exp(a) + tf.sin(a))
        with tf.control_dependencies([changed]):
            return i + 1, a * 0.5 + before

    _, y = tf.while_loop(lambda i, a: i < 3, body, (0, tf.constant([0.1, 0.2])))
    with tf.control_dependencies([y]):
        after = v.read_value()
    both([y, after])


def test_tensors_that_lie_otherwise_in_memory():
    x = tf.placeholder(tf.float32, [3, 4, 2])
    rows = tf.TensorArray(tf.float32, 4).unstack(tf.transpose(x, [1, 2, 0]))  # rows are views with other strides

    def body(i, a):
        return i + 1, tf.tanh(a) + tf.sin(rows.read(i)) * tf.transpose(tf.transpose(rows.read(i)) * 2.0)

    _, y = tf.while_loop(lambda i, a: i < 4, body, (0, tf.zeros([2, 3])))
    both([y], {x: np.random.RandomState(1).randn(3, 4, 2)})


@caught
def test_an_error_in_a_compiled_body_names_the_node():
    table, start = tf.constant(np.arange(6.0, dtype=np.float32).reshape(3, 2)), tf.placeholder(tf.int32, [2])

    def body(i, at, a):
        found = tf.gather(table, at, name="look_up")
        return i + 1, at + 1, tf.tanh(found) * a + tf.sin(a)

    _, _, y = tf.while_loop(lambda i, *_: i < 4, body, (0, start, tf.ones([2, 2])))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"look_up(.|\n)*test_regions.py"):
        session().run(y, {start: [0, 0]})
