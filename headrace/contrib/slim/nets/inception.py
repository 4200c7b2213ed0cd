"""tf.contrib.slim.nets.inception: Inception v1, v2 and v3."""

from headrace.library.contrib.nets.inception import inception_arg_scope as inception_v1_arg_scope
from headrace.library.contrib.nets.inception import inception_arg_scope as inception_v2_arg_scope
from headrace.library.contrib.nets.inception import inception_arg_scope as inception_v3_arg_scope
from headrace.library.contrib.nets.inception import inception_v1 as inception_v1
from headrace.library.contrib.nets.inception import inception_v1_base as inception_v1_base
from headrace.library.contrib.nets.inception import inception_v2 as inception_v2
from headrace.library.contrib.nets.inception import inception_v2_base as inception_v2_base
from headrace.library.contrib.nets.inception import inception_v3 as inception_v3
from headrace.library.contrib.nets.inception import inception_v3_base as inception_v3_base
