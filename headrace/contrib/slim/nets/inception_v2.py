"""tf.contrib.slim.nets.inception_v2: Inception v2."""

from headrace.library.contrib.nets.inception import inception_arg_scope as inception_v2_arg_scope
from headrace.library.contrib.nets.inception import inception_v2 as inception_v2
from headrace.library.contrib.nets.inception import inception_v2_base as inception_v2_base
