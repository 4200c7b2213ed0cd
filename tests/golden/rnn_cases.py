"""Recurrent networks to build on Headrace and on TensorFlow: each case gives the tensors whose values are compared.

``CASES[name](tf)`` builds the case's graph with fixed inputs.  Variables are set by ``weight`` (by their position), so that
both sides compute with the same numbers; gradients of the sum of squares of the first result are compared as well.
"""

import numpy as np


def weight(position, shape):
    """The value of the variable made as number ``position``."""
    count = int(np.prod(shape))
    return (0.4 * np.sin(0.7 * np.arange(count) + position)).reshape(shape).astype(np.float32)


def sequence(batch=2, steps=4, size=3, start=0.0):
    values = np.cos(0.9 * np.arange(batch * steps * size) + start)
    return values.reshape(batch, steps, size).astype(np.float32)


def steps_of(tf, **options):
    return [tf.constant(step) for step in sequence(**options).transpose(1, 0, 2)]


def one_step(make, size=3):
    def build(tf):
        cell = make(tf.nn.rnn_cell)
        x = tf.constant(sequence(size=size)[:, 0])
        state = tf.nest.map_structure(lambda z: z + 0.3, cell.zero_state(2, tf.float32))
        return cell(x, state)

    return build


def dynamic(make, **options):
    def build(tf):
        return tf.nn.dynamic_rnn(make(tf.nn.rnn_cell), tf.constant(sequence()), dtype=tf.float32, **options)

    return build


def two_layers(c):
    return c.MultiRNNCell([c.BasicLSTMCell(3), c.GRUCell(2)])


def unknown_sizes(tf):
    x = tf.placeholder_with_default(sequence(), [None, None, 3])
    lengths = tf.placeholder_with_default(np.array([3, 2], np.int32), [None])
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), x, lengths, dtype=tf.float32)


def time_major(tf):
    x = tf.constant(sequence().transpose(1, 0, 2))
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), x, [2, 4], dtype=tf.float32, time_major=True)


def given_state(tf):
    cell = tf.nn.rnn_cell.LSTMCell(3)
    state = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([2, 3]), 0.5 * tf.ones([2, 3]))
    return tf.nn.dynamic_rnn(cell, tf.constant(sequence()), initial_state=state)


def input_gradient(tf):
    x = tf.constant(sequence())
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(3), x, [4, 2], dtype=tf.float32)
    return outputs, state, tf.gradients(tf.reduce_sum(outputs * outputs), x)[0]


def nested_input(tf):
    class Pair(tf.nn.rnn_cell.RNNCell):
        state_size = property(lambda self: (2, 3))
        output_size = property(lambda self: (3, 2))

        def call(self, inputs, state):
            a, b = inputs
            w = tf.get_variable("w", [3, 2])
            new = tf.tanh(tf.matmul(a, w) + state[0]), tf.sigmoid(b + state[1])
            return (new[1], new[0]), new

    inputs = (tf.constant(sequence()), tf.constant(sequence(start=0.5)))
    outputs, state = tf.nn.dynamic_rnn(Pair(), inputs, [2, 4], dtype=tf.float32)
    return (*outputs, state)


def two_calls(tf):
    """One cell for two sequences: its variables are shared."""
    cell = tf.nn.rnn_cell.GRUCell(2)
    first, state = tf.nn.dynamic_rnn(cell, tf.constant(sequence()), dtype=tf.float32, scope="first")
    second, state = tf.nn.dynamic_rnn(cell, tf.constant(sequence(start=0.3)), initial_state=state, scope="second")
    return first + second, state


def bidirectional(lengths):
    def build(tf):
        c = tf.nn.rnn_cell
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            c.BasicLSTMCell(2), c.BasicLSTMCell(2), tf.constant(sequence()), lengths, dtype=tf.float32
        )
        return tf.concat(outputs, 2), states

    return build


def static(make, lengths=None):
    def build(tf):
        outputs, state = tf.nn.static_rnn(make(tf.nn.rnn_cell), steps_of(tf), dtype=tf.float32, sequence_length=lengths)
        return tf.stack(outputs), state

    return build


def static_bidirectional(lengths):
    def build(tf):
        c = tf.nn.rnn_cell
        outputs, fw, bw = tf.nn.static_bidirectional_rnn(
            c.GRUCell(2), c.GRUCell(2), steps_of(tf), dtype=tf.float32, sequence_length=lengths
        )
        return tf.stack(outputs), fw, bw

    return build


def raw(tf):
    cell = tf.nn.rnn_cell.LSTMCell(3)
    lengths = tf.constant([2, 4])
    inputs = tf.TensorArray(tf.float32, size=4).unstack(tf.constant(sequence().transpose(1, 0, 2)))

    def loop(time, output, state, loop_state):
        next_state = cell.zero_state(2, tf.float32) if output is None else state
        finished = time >= lengths
        read = lambda: inputs.read(time)  # noqa: E731
        next_input = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([2, 3]), read)
        count = tf.constant(0) if output is None else loop_state + 1
        return finished, next_input, next_state, output, count

    array, state, count = tf.nn.raw_rnn(cell, loop)
    return array.stack(), state, count


CASES = {
    "basic": one_step(lambda c: c.BasicRNNCell(4)),
    "basic_relu": one_step(lambda c: c.BasicRNNCell(4, activation="relu", name="mine")),
    "gru": one_step(lambda c: c.GRUCell(4)),
    "basic_lstm": one_step(lambda c: c.BasicLSTMCell(4, forget_bias=0.5)),
    "basic_lstm_flat": one_step(lambda c: c.BasicLSTMCell(4, state_is_tuple=False)),
    "lstm": one_step(lambda c: c.LSTMCell(4)),
    "lstm_all": one_step(
        lambda c: c.LSTMCell(4, use_peepholes=True, cell_clip=0.4, num_proj=2, proj_clip=0.1, forget_bias=0.2)
    ),
    "lstm_flat": one_step(lambda c: c.LSTMCell(4, num_proj=2, state_is_tuple=False)),
    "lstm_shards": one_step(lambda c: c.LSTMCell(4, num_unit_shards=2, num_proj=2, num_proj_shards=2)),
    "multi": one_step(two_layers),
    "multi_flat": one_step(
        lambda c: c.MultiRNNCell([c.GRUCell(3), c.BasicLSTMCell(2, state_is_tuple=False)], state_is_tuple=False)
    ),
    "residual": one_step(lambda c: c.ResidualWrapper(c.GRUCell(3))),
    "residual_fn": one_step(lambda c: c.ResidualWrapper(c.GRUCell(3), lambda i, o: i * 2 - o)),
    "kept": one_step(lambda c: c.DropoutWrapper(c.BasicLSTMCell(4), 1.0, 1.0, 1.0)),
    "dynamic": dynamic(lambda c: c.BasicLSTMCell(4)),
    "dynamic_lengths": dynamic(lambda c: c.BasicLSTMCell(4), sequence_length=[4, 2]),
    "dynamic_short": dynamic(lambda c: c.GRUCell(4), sequence_length=[0, 2]),
    "dynamic_multi": dynamic(two_layers, sequence_length=[3, 1]),
    "dynamic_projected": dynamic(lambda c: c.LSTMCell(4, use_peepholes=True, num_proj=2), scope="net"),
    "unknown_sizes": unknown_sizes,
    "time_major": time_major,
    "given_state": given_state,
    "input_gradient": input_gradient,
    "nested_input": nested_input,
    "two_calls": two_calls,
    "bidirectional": bidirectional(None),
    "bidirectional_lengths": bidirectional([2, 4]),
    "static": static(two_layers),
    "static_lengths": static(lambda c: c.BasicLSTMCell(3), [3, 1]),
    "static_bidirectional": static_bidirectional(None),
    "static_bidirectional_lengths": static_bidirectional([1, 3]),
    "raw": raw,
}


def run(tf, build, initial_values):
    """(names of the variables, values of the results, gradients of the variables)."""
    results = tf.nest.flatten(build(tf))
    variables = tf.trainable_variables()
    gradients = tf.gradients(tf.reduce_sum(tf.square(results[0])), variables)
    with tf.Session() as session:
        for i, variable in enumerate(variables):
            variable.load(initial_values(i, variable.shape.as_list()), session)
        known = [g for g in gradients if g is not None]
        values, gradients = session.run([results, [tf.convert_to_tensor(g) for g in known]])
    return [v.name for v in variables], values, gradients
