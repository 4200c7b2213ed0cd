"""LSTMBlockWrapper: a whole LSTM written on it agrees with dynamic_rnn, with lengths and without."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

rnn = tf.contrib.rnn
ROWS = np.random.RandomState(2).randn(3, 4, 5).astype(np.float32)  # [time, batch, size]


class Whole(rnn.LSTMBlockWrapper):
    """Steps of a BasicLSTMCell, all of them whatever the lengths."""

    num_units = 2

    def build(self, _: Any) -> None:
        self.cell = rnn.BasicLSTMCell(2)
        self.built = True

    def _call_cell(self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, lengths: Any) -> Any:
        state, states, outputs = rnn.LSTMStateTuple(initial_cell_state, initial_output), [], []
        for row in tf.unstack(inputs):
            _, state = self.cell(row, state)
            states.append(state.c)
            outputs.append(state.h)
        return tf.stack(states), tf.stack(outputs)


@pytest.mark.parametrize("lengths", [None, [3, 0, 1, 2]])
@pytest.mark.parametrize("as_list", [False, True])
def test_it_is_the_lstm_of_dynamic_rnn(lengths: Any, as_list: bool) -> None:
    layer = Whole(name="whole")
    start = tf.constant(np.random.RandomState(3).randn(2, 4, 2).astype(np.float32))
    state = rnn.LSTMStateTuple(start[0], start[1])
    outputs, last = layer(list(ROWS) if as_list else ROWS, initial_state=state, sequence_length=lengths)
    assert isinstance(outputs, list) == as_list
    assert [v.op.name for v in tf.trainable_variables()] == [f"whole/basic_lstm_cell/{n}" for n in ("kernel", "bias")]
    plain = tf.nn.dynamic_rnn(
        layer.cell, tf.constant(ROWS), initial_state=state, sequence_length=lengths, time_major=True
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, expected = session.run([[tf.stack(outputs) if as_list else outputs, last], plain])
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Either initial_state or dtype needs to be specified"):
        Whole()(ROWS)
    with pytest.raises(ValueError, match="tuple with length 2 or None, got 3"):
        Whole()(ROWS, initial_state=(ROWS[0],) * 3)
    with pytest.raises(ValueError, match=r"Expecting inputs_shape\[2\] to be set"):
        Whole()(tf.placeholder(tf.float32, [3, 4, None]), dtype=tf.float32)
    with pytest.raises(NotImplementedError):
        rnn.LSTMBlockWrapper()(ROWS, dtype=tf.float32)
