"""BERT-base with a classifier on its first word, as fine-tuning programs of 2019 have it; dropout while training, Adam.

A sequence of words, of which the first ``lengths`` count: attention to the others is masked by a number that is added.
"""

import math

import headrace as tf
from headrace.models import layer, model, seeded

VOCABULARY = 30_522
CLASSES = 2
HIDDEN = -10_000.0


def build(
    batch, steps=128, width=768, layers=12, heads=12, vocabulary=VOCABULARY, dropout=0.1, learning_rate=2e-5, resident=False
):  # fmt: skip
    """The training graph for batches of this many sequences; a word 0 is padding."""
    inputs = model.source("inputs", tf.int32, [batch, steps], resident)
    labels = model.source("labels", tf.int32, [batch], resident)
    words, places = layer.table("words", vocabulary, width), layer.table("places", steps, width)
    mask = tf.reshape((1.0 - tf.cast(tf.not_equal(inputs, 0), tf.float32)) * HIDDEN, [batch, 1, 1, steps])
    x = tf.gather(words, tf.reshape(inputs, [-1])) + tf.tile(places, [batch, 1])
    x = tf.nn.dropout(_norm(x, "norm"), rate=dropout)
    for i in range(layers):
        with tf.variable_scope(f"layer{i}"):
            mixed = _attention(x, mask, batch, steps, heads, dropout)
            x = _norm(x + tf.nn.dropout(_dense(mixed, "mixture", width), rate=dropout), "norm1")
            hidden = _gelu(_dense(x, "hidden", 4 * width))
            x = _norm(x + tf.nn.dropout(_dense(hidden, "output", width), rate=dropout), "norm2")
    first = tf.squeeze(tf.reshape(x, [batch, steps, width])[:, 0:1, :], axis=1)
    pooled = tf.nn.dropout(tf.tanh(_dense(first, "pooler", width)), rate=dropout)
    logits = _dense(pooled, "logits", CLASSES)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    train_op = tf.train.AdamOptimizer(learning_rate).minimize(loss)
    return model.Model(inputs, labels, logits, loss, train_op, tf.trainable_variables())


def _dense(x, name, units):
    with tf.variable_scope(name):
        return tf.matmul(x, layer.kernel([x.shape.as_list()[-1], units])) + layer.bias(units)


def _norm(x, name):
    return layer.layer_normalization(x, name, 1e-12)


def _gelu(x):
    return 0.5 * x * (1.0 + tf.erf(x / math.sqrt(2.0)))


def _attention(x, mask, batch, steps, heads, dropout):
    width = x.shape.as_list()[-1]
    queries, keys, values = (
        tf.transpose(tf.reshape(_dense(x, name, width), [batch, steps, heads, width // heads]), [0, 2, 1, 3])
        for name in ("query", "key", "value")
    )
    scores = tf.matmul(queries, keys, transpose_b=True) * (1.0 / math.sqrt(width // heads)) + mask
    weights = tf.nn.dropout(tf.nn.softmax(scores), rate=dropout) if dropout else tf.nn.softmax(scores)
    return tf.reshape(tf.transpose(tf.matmul(weights, values), [0, 2, 1, 3]), [batch * steps, width])


def example(batch, steps=128, vocabulary=VOCABULARY, seed=0):
    """Random sequences of several lengths, padded with zeros, and a class for each."""
    words, _ = seeded.tokens(batch, steps, vocabulary - 1, seed)
    words += 1
    for row, length in enumerate(seeded.vectors(batch, 1, steps // 2, seed)[1]):
        words[row, steps // 2 + length :] = 0
    return words, seeded.vectors(batch, 1, CLASSES, seed)[1]
