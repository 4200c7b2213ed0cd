"""LeNet for digits of 28 x 28 pixels: two convolutions of 5 x 5 with max pools, two dense layers."""

import headrace as tf
from headrace.models import layer, model, seeded

SIZE = 28
CLASSES = 10


def build(batch, filters=(32, 64), hidden=512, learning_rate=0.005):
    """The training graph for batches of this size (None: of any)."""
    inputs = tf.placeholder(tf.float32, [batch, SIZE, SIZE, 1], name="inputs")
    labels = tf.placeholder(tf.int32, [batch], name="labels")
    y = inputs
    for i, channels in enumerate(filters, 1):
        y = layer.max_pool(layer.convolution(y, f"conv{i}", channels, 5), 2, 2)
    y = layer.dense(layer.flatten(y), "hidden", hidden, tf.nn.relu)
    return model.classifier(inputs, labels, layer.dense(y, "logits", CLASSES), learning_rate)


def example(batch, seed=0):
    """Random pictures and labels."""
    return seeded.images(batch, SIZE, SIZE, 1, CLASSES, seed)
