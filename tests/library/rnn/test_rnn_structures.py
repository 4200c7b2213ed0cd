"""Cells whose inputs, outputs and states are nested or have many dimensions, in every way to unroll them.

TensorFlow 2.21 passes all of this with `import tensorflow.compat.v1 as tf`, but for nested inputs of
`bidirectional_dynamic_rnn` with lengths (docs/differences.md).
"""

import numpy as np
import pytest

import headrace as tf

BATCH, STEPS, LENGTHS = 2, 8, [4, 6]
DIMS = (3, 4, 5)
flatten = tf.contrib.framework.nest.flatten


class Wide(tf.nn.rnn_cell.RNNCell):
    """A state of two parts, each of the shape of the input."""

    state_size = (tf.TensorShape(DIMS), tf.TensorShape(DIMS))
    output_size = tf.TensorShape(DIMS)

    def call(self, inputs, state, scope=None):
        return inputs + 1.0, tuple(part + 1.0 for part in state)


class Nested(tf.nn.rnn_cell.RNNCell):
    """Two inputs, two outputs, two parts of the state."""

    state_size = (6, 6)
    output_size = (5, 5)

    def call(self, inputs, state, scope=None):
        return tuple(part + 1.0 for part in inputs), tuple(part + 1.0 for part in state)


class Saver:
    """Keeps the state between steps."""

    def __init__(self, shape):
        self.state_size = shape

    def state(self, name):
        return tf.zeros([BATCH, *np.atleast_1d(self.state_size)])

    def save_state(self, name, state):
        return tf.identity(state)


def wide(batch):
    return STEPS * [tf.placeholder(tf.float32, (batch, *DIMS), name="x")]


def nested(batch):
    return STEPS * [tuple(tf.placeholder(tf.float32, (batch, 5), name="x") for _ in range(2))]


def stacked(inputs):
    if isinstance(inputs[0], tuple):
        return tuple(tf.stack([step[i] for step in inputs]) for i in range(2))
    return tf.stack(inputs)


def shapes(structure):
    return [t.shape.as_list() for t in flatten(structure)]


def run(fetches, inputs):
    """The fetches when all inputs are ones."""
    feeds = {x: np.ones([BATCH, *x.shape.as_list()[1:]]) for x in flatten(inputs[0])}
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        return session.run(fetches, feeds)


@pytest.mark.parametrize(("cell", "make"), [(Wide, wide), (Nested, nested)])
class TestCells:
    def test_static(self, cell, make):
        inputs = make(None)
        outputs, state = tf.nn.static_rnn(cell(), inputs, dtype=tf.float32, sequence_length=LENGTHS)
        assert shapes(outputs) == shapes(inputs)
        found, last = run([outputs, state], inputs)
        assert [(o[0] == 2).all() for o in flatten(found)] == [t < 4 for t in range(STEPS) for _ in flatten(found[0])]
        assert all((s[0] == 4).all() and (s[1] == 6).all() for s in flatten(last))

    def test_dynamic(self, cell, make):
        inputs = make(None)
        whole = stacked(inputs)
        outputs, state = tf.nn.dynamic_rnn(cell(), whole, dtype=tf.float32, time_major=True, sequence_length=LENGTHS)
        assert shapes(outputs) == shapes(whole)
        assert all(s[0] is None and None not in s[1:] for s in shapes(state))
        found, last = run([outputs, state], inputs)
        assert all((o[3:5, 1] == 2).all() and not o[4:, 0].any() for o in flatten(found))
        assert all((s[0] == 4).all() and (s[1] == 6).all() for s in flatten(last))

    def test_both_directions(self, cell, make):
        inputs = make(BATCH)
        outputs, _, state = tf.nn.static_bidirectional_rnn(
            cell(), cell(), inputs, dtype=tf.float32, sequence_length=LENGTHS
        )
        assert shapes(outputs) == [[b, 2 * n, *rest] for b, n, *rest in shapes(inputs)]
        assert all((s[0] == 4).all() for s in flatten(run(state, inputs)))

    def test_both_directions_dynamic(self, cell, make):
        inputs = make(None)
        (forward, backward), state = tf.nn.bidirectional_dynamic_rnn(
            cell(), cell(), stacked(inputs), dtype=tf.float32, time_major=True, sequence_length=LENGTHS
        )
        assert shapes(forward) == shapes(stacked(inputs))
        assert all((s[1] == 6).all() for s in flatten(run([state, backward], inputs)[0]))

    def test_saved_state(self, cell, make):
        inputs = make(BATCH)
        saver = Saver(DIMS if cell is Wide else 6)
        outputs, state = tf.nn.static_state_saving_rnn(
            cell(), inputs, sequence_length=LENGTHS, state_saver=saver, state_name=("h", "c")
        )
        assert shapes(outputs) == shapes(inputs)
        assert all((s[0] == 4).all() for s in flatten(run([outputs, state], inputs)[1]))

    @pytest.mark.parametrize("wrapper", [
        lambda cell: tf.nn.rnn_cell.DropoutWrapper(cell, 0.5, 0.5, 0.5),
        lambda cell: tf.nn.rnn_cell.MultiRNNCell([cell, type(cell)()]),
        lambda cell: tf.nn.rnn_cell.ResidualWrapper(cell),
        lambda cell: tf.nn.rnn_cell.DeviceWrapper(cell, "/cpu:0"),
    ])  # fmt: skip
    def test_wrapped(self, cell, make, wrapper):
        inputs = make(None)
        whole = stacked(inputs)
        outputs, _ = tf.nn.dynamic_rnn(
            wrapper(cell()), whole, dtype=tf.float32, time_major=True, sequence_length=LENGTHS
        )
        assert shapes(outputs) == shapes(whole)
        assert not any(o[6:].any() for o in flatten(run(outputs, inputs)))


@pytest.mark.parametrize("variational", [False, True])
def test_probabilities_that_are_variables(interpreted, variational):
    """Keeping next to nothing of the outputs gives zeros."""
    keep_all = tf.get_variable("all", initializer=1.0)
    keep_none = tf.get_variable("none", initializer=1e-6)
    x = tf.placeholder(tf.float32, [None, None, 3])
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.LSTMCell(3), keep_all, keep_none, keep_all, variational_recurrent=variational, input_size=3,
        dtype=tf.float32,
    )  # fmt: skip
    outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
    assert outputs.shape.as_list() == [None, None, 3]
    interpreted.run(tf.global_variables_initializer())
    found, last = interpreted.run([outputs, state], {x: np.ones([5, 2, 3])})
    assert not found.any()
    assert last.c.all()


class Through(tf.nn.rnn_cell.RNNCell):
    """A cell that hands on its inputs and its state."""

    state_size = output_size = 3

    def __call__(self, inputs, state, scope=None):
        return inputs, state


def test_inputs_of_unknown_shape():
    cell = tf.nn.rnn_cell.DropoutWrapper(Through(), 0.5, 0.5, 0.5)
    output, state = cell(tf.placeholder(tf.float32), tf.placeholder(tf.float32))
    assert output.shape.ndims is state.shape.ndims is None
    x, lengths = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int32)
    wrapped = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(4), 0.5) for _ in range(2)]
    outputs, states = tf.nn.bidirectional_dynamic_rnn(*wrapped, x, lengths, dtype=tf.float32)
    assert shapes([outputs, states]) == [[None, None, 4]] * 2 + [[None, 4]] * 2
    with pytest.raises(ValueError, match="must be accessible via shape inference"):
        tf.nn.dynamic_rnn(wrapped[0], tf.placeholder(tf.float32, [None, None, None]), dtype=tf.float32)


def test_time_and_batch_are_exchanged_where_there_are_both():
    vector = tf.constant([1.0, 2.0])
    assert tf.contrib.rnn.transpose_batch_time(vector) is vector
    assert tf.contrib.rnn.transpose_batch_time(tf.zeros([2, 5, 3])).shape.as_list() == [5, 2, 3]
    with pytest.raises(ValueError, match="rank at least 2"):
        tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), vector, dtype=tf.float32)
