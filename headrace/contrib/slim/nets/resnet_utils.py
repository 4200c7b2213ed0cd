"""tf.contrib.slim.nets.resnet_utils: what residual networks are made of."""

from headrace.library.contrib.nets.resnet import Block as Block
from headrace.library.contrib.nets.resnet import conv2d_same as conv2d_same
from headrace.library.contrib.nets.resnet import resnet_arg_scope as resnet_arg_scope
from headrace.library.contrib.nets.resnet import stack_blocks_dense as stack_blocks_dense
from headrace.library.contrib.nets.resnet import subsample as subsample
