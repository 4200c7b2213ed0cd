"""tf.contrib.slim.nets.inception_v1: Inception v1."""

from headrace.library.contrib.nets.inception import inception_arg_scope as inception_v1_arg_scope
from headrace.library.contrib.nets.inception import inception_v1 as inception_v1
from headrace.library.contrib.nets.inception import inception_v1_base as inception_v1_base
