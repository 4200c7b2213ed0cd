"""tf.contrib.compiler.jit."""

from headrace.library.contrib.compiler import experimental_jit_scope as experimental_jit_scope
