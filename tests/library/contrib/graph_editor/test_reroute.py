"""Edges that lead elsewhere, of data and of control."""

import pytest

import headrace as tf

ge = tf.contrib.graph_editor


def test_only_what_may_change_is_rerouted() -> None:
    a, b = tf.constant(1.0), tf.constant(2.0)
    y, z, w = b + b, tf.negative(b), tf.exp(b)
    assert ge.reroute_ts([a], {b: 0}.keys(), can_modify=[y.op, z.op], cannot_modify=z.op) == 2
    assert list(y.op.inputs) == [a, a] and z.op.inputs[0] is b and w.op.inputs[0] is b
    assert b.consumers() == [z.op, w.op] and y.op in a.consumers()
    with tf.Session() as sess:
        assert sess.run([y, z]) == [2.0, -2.0]
        assert ge.swap_ts(a, b) == 4
        assert sess.run([y, z]) == [4.0, -1.0]


def test_what_does_not_fit() -> None:
    a = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="cannot take the place"):
        ge.reroute_ts(a, tf.constant([1, 2]))
    with pytest.raises(ValueError, match="cannot take the place"):
        ge.reroute_ts(a, tf.constant([1.0]))
    with pytest.raises(ValueError, match="must have one length"):
        ge.reroute_ts([a], [])


def test_control_edges() -> None:
    v = tf.Variable(1.0, use_resource=True)
    write, read = v.assign(5.0).op, v.read_value().op.inputs[0].op
    ge.add_control_inputs(read, [write])
    with pytest.raises(ValueError, match="already a control_input"):
        ge.add_control_inputs(read, write)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(read.outputs[0]) == 5.0
        ge.remove_control_inputs(read, write)
        sess.run(v.initializer)
        assert sess.run(read.outputs[0]) == 1.0
    with pytest.raises(ValueError, match="is not a control_input"):
        ge.remove_control_inputs(read, write)
