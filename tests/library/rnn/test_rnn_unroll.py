"""Unrolling in loops: second derivatives, immediate execution, unknown sizes, shapes."""

import numpy as np
from running import initialize_and_run, initialized_session

import headrace as tf

X = np.cos(np.arange(24, dtype=np.float64)).reshape(2, 4, 3)


def test_derivatives_of_first_and_second_order():
    x = tf.constant(X)
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), x, [4, 2], dtype=tf.float64)
    loss = tf.reduce_sum(outputs * outputs)
    slope = tf.reduce_sum(tf.square(tf.gradients(loss, x)[0]))
    with initialized_session():
        for y in (loss, slope):
            assert tf.test.compute_gradient_error(x, [2, 4, 3], y, []) < 1e-5


def test_cells_and_loops_at_once():
    with tf.eager_mode():
        cell = tf.nn.rnn_cell.BasicLSTMCell(3)
        x = tf.constant(X.astype(np.float32))
        static, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        dynamic, state = tf.nn.dynamic_rnn(cell, x, [4, 2], dtype=tf.float32)
        np.testing.assert_allclose(static[3].numpy()[0], dynamic.numpy()[0, 3], rtol=1e-6)
        np.testing.assert_allclose(state.h.numpy()[1], dynamic.numpy()[1, 1], rtol=1e-6)
        np.testing.assert_array_equal(dynamic.numpy()[1, 2:], 0)
        assert len(cell.trainable_weights) == 2


def test_one_graph_serves_sequences_of_any_length():
    x = tf.placeholder(tf.float32, [None, None, 3])
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), x, dtype=tf.float32)
    assert outputs.shape.as_list() == [None, None, 2]
    assert state.shape.as_list() == [None, 2]
    with initialized_session() as session:
        for batch, steps in ((1, 1), (3, 7), (2, 4)):
            value, last = session.run([outputs, state], {x: np.ones([batch, steps, 3])})
            assert value.shape == (batch, steps, 2)
            np.testing.assert_array_equal(value[:, -1], last)


def test_static_shapes_are_known_where_the_inputs_are():
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4, num_proj=2), tf.constant(X), dtype=tf.float64)
    assert outputs.shape.as_list() == [2, 4, 2]
    assert [s.shape.as_list() for s in state] == [[2, 4], [2, 2]]
    assert outputs.name == "rnn/transpose_1:0"
    assert outputs.dtype == tf.float64


def test_lengths_may_come_without_a_shape():
    lengths = tf.placeholder(tf.int32)
    x = tf.ones([2, 4, 3])
    cells = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.GRUCell(3)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)
    forward, backward = initialize_and_run(outputs, {lengths: [4, 2]})
    assert not forward[1, 2:].any()
    assert not backward[1, 2:].any()
    assert forward[0].all()
    assert backward[1, :2].all()
