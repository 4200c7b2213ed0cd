"""Recurrent layers in one op beside the cells that are made of many, and their gradients; bounds that gradients pass."""

import numpy as np
import pytest
from samples.lstm_block import SAMPLES, _gru, _sequence, _step

import headrace as tf

raw = tf.raw_ops


def _values(*fetches):
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize("peephole", [False, True])
def test_a_step_is_that_of_the_cell(peephole):
    x, c, h, w, wci, wcf, wco, b = _step()
    cell = tf.nn.rnn_cell.LSTMCell(2, use_peepholes=peephole, cell_clip=0.25, forget_bias=0.5)
    output, state = cell(tf.constant(x), tf.nn.rnn_cell.LSTMStateTuple(tf.constant(c), tf.constant(h)))
    ours = raw.LSTMBlockCell(
        x=x,
        cs_prev=c,
        h_prev=h,
        w=w,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=b,
        forget_bias=0.5,
        cell_clip=0.25,
        use_peephole=peephole,
    )
    given = dict(zip(("kernel", "bias", "w_f_diag", "w_i_diag", "w_o_diag"), (w, b, wcf, wci, wco), strict=True))
    with tf.Session() as session:
        for variable in tf.trainable_variables():
            variable.load(given[variable.op.name.rpartition("/")[2]], session)
        got, expected = session.run([[ours.h, ours.cs], [output, state.c]])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{"cell_clip": -1.0}, {"cell_clip": 0.25, "use_peephole": True}])
def test_a_sequence_is_its_steps(options):
    length, x, c, h, *weights = (tf.constant(value) for value in _sequence(2))
    whole = raw.BlockLSTM(length, x, c, h, *weights, **options)
    steps, last = [], (c, h)
    for time in range(2):
        step = raw.LSTMBlockCell(x[time], *last, *weights, **options)
        steps.append(step.h)
        last = (step.cs, step.h)
    by_steps = tf.stack([*steps, tf.zeros([2, 2])])
    places = [x, c, h, weights[0], weights[4]]
    gradients = [tf.gradients(tf.reduce_sum(tf.square(outputs)), places) for outputs in (whole.h, by_steps)]
    (a, b), (one, other) = _values([whole.h, by_steps], gradients)
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)


def test_the_gradient_passes_the_bound():
    x, *rest = _step()
    x = tf.constant(x)
    cell = raw.LSTMBlockCell(x, *rest, cell_clip=1e-3)
    cs, gradient = _values(cell.cs, tf.gradients(cell.cs, x)[0])
    assert (np.abs(cs) <= 1e-3).all() and np.abs(gradient).max() > 1e-3


def test_a_gru_is_that_of_the_cell():
    x, h, w_ru, w_c, b_ru, b_c = _gru()
    output, _ = tf.contrib.rnn.GRUBlockCell(2)(tf.constant(x), tf.constant(h))
    ours = raw.GRUBlockCell(x, h, w_ru, w_c, b_ru, b_c)
    with tf.Session() as session:
        for variable, value in zip(tf.trainable_variables(), (w_ru, b_ru, w_c, b_c), strict=True):
            variable.load(value, session)
        got, expected = session.run([ours.h, output])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_no_steps_and_unknown_shapes():
    length, x, *rest = _sequence(0)
    none = raw.BlockLSTM(length, x[:0], *rest)
    unknown = raw.BlockLSTM(length, tf.placeholder(tf.float32), *rest)
    assert none.h.shape == (0, 2, 2) and unknown.h.shape.as_list() == [None, 2, 2]
    assert _values(none.h)[0].shape == (0, 2, 2) and set(SAMPLES) == {"LSTMBlockCell", "BlockLSTM", "GRUBlockCell"}
