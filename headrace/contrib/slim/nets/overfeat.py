"""tf.contrib.slim.nets.overfeat: OverFeat."""

from headrace.library.contrib.nets.plain import overfeat as overfeat
from headrace.library.contrib.nets.plain import overfeat_arg_scope as overfeat_arg_scope
