"""A perceptron with one hidden layer for digits of 28 x 28 pixels: 784-128-10."""

import headrace as tf
from headrace.models import layer, model, seeded

INPUTS = 784
CLASSES = 10


def build(batch, hidden=128, learning_rate=0.1, resident=False):
    """The training graph for batches of this size (None: of any)."""
    inputs = model.source("inputs", tf.float32, [batch, INPUTS], resident)
    labels = model.source("labels", tf.int32, [batch], resident)
    return model.classifier(inputs, labels, network(layer, inputs, hidden), learning_rate)


def network(f, x, hidden=128):
    """The logits, by the layers `f`."""
    return f.dense(f.dense(x, "hidden", hidden, rectify=True), "logits", CLASSES)


def example(batch, seed=0):
    """Random inputs and labels."""
    return seeded.vectors(batch, INPUTS, CLASSES, seed)
