"""Rows of a large table looked up by number, and only those rows updated: the paper's sparse access (OSDI 4.2)."""

import numpy as np

import headrace as tf
from headrace.models import layer, model

WIDTH = 64


def build(batch=10_000, rows=1_000_000, learning_rate=0.1, resident=False):
    """The training graph that pulls `batch` of the table's rows towards given vectors."""
    inputs = model.source("inputs", tf.int32, [batch], resident)
    labels = model.source("labels", tf.float32, [batch, WIDTH], resident)
    vectors = tf.nn.embedding_lookup(layer.table("embedding", rows, WIDTH), inputs)
    return model.trained(inputs, labels, vectors, tf.nn.l2_loss(vectors - labels, name="loss"), learning_rate)


def example(batch=10_000, rows=1_000_000, seed=0):
    """Random rows' numbers and the vectors they are pulled towards."""
    random = np.random.default_rng(seed)
    return random.integers(0, rows, batch, np.int32), random.standard_normal((batch, WIDTH), np.float32)
