"""tf.contrib.tensorboard: TensorBoard's plugins."""

from headrace.contrib.tensorboard import plugins as plugins
