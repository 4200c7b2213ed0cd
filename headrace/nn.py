"""tf.nn: neural-network functions."""

from headrace.library.activation import bias_add as bias_add
from headrace.library.activation import crelu as crelu
from headrace.library.activation import elu as elu
from headrace.library.activation import leaky_relu as leaky_relu
from headrace.library.activation import relu as relu
from headrace.library.activation import relu6 as relu6
from headrace.library.activation import relu_layer as relu_layer
from headrace.library.activation import selu as selu
from headrace.library.activation import softplus as softplus
from headrace.library.activation import softsign as softsign
from headrace.library.activation import swish as swish
from headrace.library.activation import xw_plus_b as xw_plus_b
from headrace.library.convolution import conv1d as conv1d
from headrace.library.convolution import conv1d_transpose as conv1d_transpose
from headrace.library.convolution import conv2d as conv2d
from headrace.library.convolution import conv2d_backprop_filter as conv2d_backprop_filter
from headrace.library.convolution import conv2d_backprop_input as conv2d_backprop_input
from headrace.library.convolution import conv2d_transpose as conv2d_transpose
from headrace.library.convolution import conv3d as conv3d
from headrace.library.convolution import conv3d_backprop_filter as conv3d_backprop_filter
from headrace.library.convolution import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from headrace.library.convolution import conv3d_transpose as conv3d_transpose
from headrace.library.convolution import conv_transpose as conv_transpose
from headrace.library.dropout import dropout as dropout
from headrace.library.pooling import avg_pool as avg_pool
from headrace.library.pooling import avg_pool1d as avg_pool1d
from headrace.library.pooling import avg_pool2d as avg_pool2d
from headrace.library.pooling import avg_pool3d as avg_pool3d
from headrace.library.pooling import avg_pool_v2 as avg_pool_v2
from headrace.library.pooling import max_pool as max_pool
from headrace.library.pooling import max_pool1d as max_pool1d
from headrace.library.pooling import max_pool2d as max_pool2d
from headrace.library.pooling import max_pool3d as max_pool3d
from headrace.library.pooling import max_pool_v2 as max_pool_v2
from headrace.library.pooling import max_pool_with_argmax as max_pool_with_argmax
from headrace.library.softmax import log_softmax as log_softmax
from headrace.library.softmax import softmax as softmax
from headrace.library.softmax import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from headrace.library.softmax import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from headrace.library.softmax import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
