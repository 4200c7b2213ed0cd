"""tf.contrib.compiler: asking for compiled parts; what is compiled is decided for whole steps (docs/compile.md)."""

from headrace.contrib.compiler import jit as jit
from headrace.contrib.compiler import xla as xla
