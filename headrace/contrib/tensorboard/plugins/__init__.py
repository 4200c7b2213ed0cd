"""tf.contrib.tensorboard.plugins: the embedding projector."""

from headrace.contrib.tensorboard.plugins import projector as projector
