"""A perceptron with one hidden layer for digits of 28 x 28 pixels: 784-128-10."""

import headrace as tf
from headrace.models import layer, model, seeded

INPUTS = 784
CLASSES = 10


def build(batch, hidden=128, learning_rate=0.1):
    """The training graph for batches of this size (None: of any)."""
    inputs = tf.placeholder(tf.float32, [batch, INPUTS], name="inputs")
    labels = tf.placeholder(tf.int32, [batch], name="labels")
    y = layer.dense(inputs, "hidden", hidden, tf.nn.relu)
    return model.classifier(inputs, labels, layer.dense(y, "logits", CLASSES), learning_rate)


def example(batch, seed=0):
    """Random inputs and labels."""
    return seeded.vectors(batch, INPUTS, CLASSES, seed)
