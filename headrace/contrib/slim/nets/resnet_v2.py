"""tf.contrib.slim.nets.resnet_v2: residual networks, v2."""

from headrace.library.contrib.nets.resnet import bottleneck_v2 as bottleneck
from headrace.library.contrib.nets.resnet import resnet_arg_scope as resnet_arg_scope
from headrace.library.contrib.nets.resnet import resnet_v2 as resnet_v2
from headrace.library.contrib.nets.resnet import resnet_v2_101 as resnet_v2_101
from headrace.library.contrib.nets.resnet import resnet_v2_152 as resnet_v2_152
from headrace.library.contrib.nets.resnet import resnet_v2_200 as resnet_v2_200
from headrace.library.contrib.nets.resnet import resnet_v2_50 as resnet_v2_50
from headrace.library.contrib.nets.resnet import resnet_v2_block as resnet_v2_block
