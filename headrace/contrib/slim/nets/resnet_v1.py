"""tf.contrib.slim.nets.resnet_v1: residual networks, v1."""

from headrace.library.contrib.nets.resnet import bottleneck_v1 as bottleneck
from headrace.library.contrib.nets.resnet import resnet_arg_scope as resnet_arg_scope
from headrace.library.contrib.nets.resnet import resnet_v1 as resnet_v1
from headrace.library.contrib.nets.resnet import resnet_v1_101 as resnet_v1_101
from headrace.library.contrib.nets.resnet import resnet_v1_152 as resnet_v1_152
from headrace.library.contrib.nets.resnet import resnet_v1_200 as resnet_v1_200
from headrace.library.contrib.nets.resnet import resnet_v1_50 as resnet_v1_50
from headrace.library.contrib.nets.resnet import resnet_v1_block as resnet_v1_block
