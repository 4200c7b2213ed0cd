"""tf.contrib.slim.nets.vgg: VGG."""

from headrace.library.contrib.nets.plain import vgg_16 as vgg_16
from headrace.library.contrib.nets.plain import vgg_19 as vgg_19
from headrace.library.contrib.nets.plain import vgg_a as vgg_a
from headrace.library.contrib.nets.plain import vgg_arg_scope as vgg_arg_scope
from headrace.library.contrib.nets.plain import vgg_d as vgg_d
from headrace.library.contrib.nets.plain import vgg_e as vgg_e
