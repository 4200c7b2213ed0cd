"""A language model: embedding, two LSTM layers of 512 unrolled over 20 words, a full softmax over the vocabulary.

The weights are laid out as in TF1's BasicLSTMCell: one kernel `[inputs + hidden, 4 * hidden]` and one bias for each layer, gates
in the order input, new value, forget, output, and a forget bias of 1. The state starts at zero in every batch.
"""

import headrace as tf
from headrace.models import layer, model, seeded

FORGET_BIAS = 1.0


def build(batch, steps=20, hidden=512, layers=2, vocabulary=10_000, learning_rate=0.5, resident=False):
    """The training graph for batches of this many sequences."""
    inputs = model.source("inputs", tf.int32, [batch, steps], resident)
    labels = model.source("labels", tf.int32, [batch, steps], resident)
    words = tf.nn.embedding_lookup(layer.table("embedding", vocabulary, hidden), tf.transpose(inputs))
    sequence = tf.unstack(words, num=steps)
    for i in range(1, layers + 1):
        with tf.variable_scope(f"lstm{i}"):
            sequence = lstm(sequence, hidden)
    outputs = tf.reshape(tf.stack(sequence), [-1, hidden])
    logits = layer.dense(outputs, "logits", vocabulary)
    return model.classifier(inputs, labels, logits, learning_rate, tf.reshape(tf.transpose(labels), [-1]))


def lstm(sequence, hidden):
    """The outputs of one layer for a list of inputs `[batch, width]`."""
    batch, width = sequence[0].shape.as_list()
    kernel, bias = layer.kernel([width + hidden, 4 * hidden]), layer.bias(4 * hidden)
    state, output = tf.zeros([batch, hidden]), tf.zeros([batch, hidden])
    outputs = []
    for x in sequence:
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, output], 1), kernel), bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        state = state * tf.sigmoid(f + FORGET_BIAS) + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(state) * tf.sigmoid(o)
        outputs.append(output)
    return outputs


def example(batch, steps=20, vocabulary=10_000, seed=0):
    """Random sequences and, for every word, the next."""
    return seeded.tokens(batch, steps, vocabulary, seed)
