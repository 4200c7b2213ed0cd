"""tf.contrib.compiler.xla."""

from headrace.library.contrib.compiler import compile as compile  # noqa: A004 - TensorFlow's name
