"""Logistic regression on 784 inputs, one example at a time: a step that is nearly all overhead."""

import headrace as tf
from headrace.models import layer, model, seeded

INPUTS = 784


def build(batch=1, learning_rate=0.01, resident=False):
    """The training graph for batches of this size (None: of any)."""
    inputs = model.source("inputs", tf.float32, [batch, INPUTS], resident)
    labels = model.source("labels", tf.int32, [batch], resident)
    logits = tf.squeeze(layer.dense(inputs, "logits", 1), [1])
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32), logits=logits)
    return model.trained(inputs, labels, logits, tf.reduce_mean(losses, name="loss"), learning_rate)


def example(batch=1, seed=0):
    """Random inputs and their classes, 0 or 1."""
    return seeded.vectors(batch, INPUTS, 2, seed)
