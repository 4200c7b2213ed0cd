"""tf.contrib.slim.nets.alexnet: AlexNet."""

from headrace.library.contrib.nets.plain import alexnet_v2 as alexnet_v2
from headrace.library.contrib.nets.plain import alexnet_v2_arg_scope as alexnet_v2_arg_scope
