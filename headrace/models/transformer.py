"""A small language model of the kind that came after the paper: six transformer layers of 512 with eight heads.

Normalisation comes before each part; positions are learned; a word sees itself and those before it.
"""

import math

import numpy as np

import headrace as tf
from headrace.models import layer, model, seeded


def build(batch, steps=64, width=512, layers=6, heads=8, vocabulary=10_000, learning_rate=0.1, resident=False):
    """The training graph for batches of this many sequences."""
    inputs = model.source("inputs", tf.int32, [batch, steps], resident)
    labels = model.source("labels", tf.int32, [batch, steps], resident)
    words = tf.nn.embedding_lookup(layer.table("embedding", vocabulary, width), inputs)
    x = tf.reshape(words + layer.table("position", steps, width), [-1, width])
    for i in range(1, layers + 1):
        with tf.variable_scope(f"layer{i}"):
            x += attention(layer.layer_normalization(x, "normalization1"), batch, steps, heads)
            hidden = layer.dense(layer.layer_normalization(x, "normalization2"), "hidden", 4 * width, rectify=True)
            x += layer.dense(hidden, "output", width)
    logits = layer.dense(layer.layer_normalization(x, "normalization"), "logits", vocabulary)
    return model.classifier(inputs, labels, logits, learning_rate, tf.reshape(labels, [-1]))


def attention(x, batch, steps, heads):
    """Every word's mixture of the words up to it; `x` is `[batch * steps, width]`."""
    width = x.shape.as_list()[-1]
    queries, keys, values = (
        tf.transpose(tf.reshape(part, [batch, steps, heads, width // heads]), [0, 2, 1, 3])
        for part in tf.split(layer.dense(x, "queries_keys_values", 3 * width), 3, axis=1)
    )
    later = tf.constant(np.triu(np.full([steps, steps], -1e9, np.float32), 1))
    scores = tf.matmul(queries, keys, transpose_b=True) * (1.0 / math.sqrt(width // heads)) + later
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), values), [0, 2, 1, 3])
    return layer.dense(tf.reshape(mixed, [-1, width]), "mixture", width)


def example(batch, steps=64, vocabulary=10_000, seed=0):
    """Random sequences and, for every word, the next."""
    return seeded.tokens(batch, steps, vocabulary, seed)
