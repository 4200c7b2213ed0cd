"""tf.contrib.slim.nets.inception_v3: Inception v3."""

from headrace.library.contrib.nets.inception import inception_arg_scope as inception_v3_arg_scope
from headrace.library.contrib.nets.inception import inception_v3 as inception_v3
from headrace.library.contrib.nets.inception import inception_v3_base as inception_v3_base
