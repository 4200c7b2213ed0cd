"""tf.contrib.learn.learn_runner."""

from headrace.library.contrib.learn.experiment import run as run
