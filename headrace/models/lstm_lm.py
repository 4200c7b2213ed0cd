"""A language model: embedding, two LSTM layers of 512 over 20 words, a full softmax over the vocabulary.

The layers are unrolled, or dynamic: a loop over time for each (`tf.nn.dynamic_rnn`).

The weights are laid out as in TF1's BasicLSTMCell: one kernel `[inputs + hidden, 4 * hidden]` and one bias for each layer, gates
in the order input, new value, forget, output, and a forget bias of 1. The state starts at zero in every batch.
"""

import headrace as tf
from headrace.models import layer, model, seeded

FORGET_BIAS = 1.0


def build(batch, steps=20, hidden=512, layers=2, vocabulary=10_000, learning_rate=0.5, resident=False, dynamic=False):
    """The training graph for batches of this many sequences."""
    inputs = model.source("inputs", tf.int32, [batch, steps], resident)
    labels = model.source("labels", tf.int32, [batch, steps], resident)
    outputs = tf.nn.embedding_lookup(layer.table("embedding", vocabulary, hidden), tf.transpose(inputs))
    if not dynamic:
        outputs = tf.unstack(outputs, num=steps)
    for i in range(1, layers + 1):
        with tf.variable_scope(f"lstm{i}"):
            outputs = dynamic_lstm(outputs, hidden) if dynamic else lstm(outputs, hidden)
    outputs = tf.reshape(outputs if dynamic else tf.stack(outputs), [-1, hidden])
    logits = layer.dense(outputs, "logits", vocabulary)
    return model.classifier(inputs, labels, logits, learning_rate, tf.reshape(tf.transpose(labels), [-1]))


class Cell:
    """One layer of the enclosing scope, for inputs of this width: what `tf.nn.dynamic_rnn` asks of a cell, nothing more."""

    def __init__(self, width, hidden):
        self.kernel, self.bias = layer.kernel([width + hidden, 4 * hidden]), layer.bias(4 * hidden)
        self.state_size, self.output_size = (hidden, hidden), hidden

    def zero_state(self, batch_size, dtype):
        """The state before the first word, and no output."""
        return tuple(tf.zeros([batch_size, size], dtype) for size in self.state_size)

    def __call__(self, x, before, scope=None):
        """The output for the input `x`, and the state and the output for the next call."""
        state, output = before
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, output], 1), self.kernel), self.bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        state = state * tf.sigmoid(f + FORGET_BIAS) + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(state) * tf.sigmoid(o)
        return output, (state, output)


def lstm(sequence, hidden):
    """The outputs of one layer for a list of inputs `[batch, width]`."""
    batch, width = sequence[0].shape.as_list()
    cell = Cell(width, hidden)
    after = cell.zero_state(batch, tf.float32)
    outputs = []
    for x in sequence:
        output, after = cell(x, after)
        outputs.append(output)
    return outputs


def dynamic_lstm(inputs, hidden):
    """The outputs of one layer for inputs `[steps, batch, width]`, by a loop."""
    _, batch, width = inputs.shape.as_list()
    cell = Cell(width, hidden)
    return tf.nn.dynamic_rnn(cell, inputs, initial_state=cell.zero_state(batch, tf.float32), time_major=True)[0]


def example(batch, steps=20, vocabulary=10_000, seed=0):
    """Random sequences and, for every word, the next."""
    return seeded.tokens(batch, steps, vocabulary, seed)
