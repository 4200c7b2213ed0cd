"""tf.contrib.layers: the first generation of layers, initializers, regularizers, and optimize_loss."""

from headrace.library.contrib.layers import (
    avg_pool2d as avg_pool2d, bias_add as bias_add, conv1d as conv1d, conv2d as conv2d,
    conv2d_transpose as conv2d_transpose, conv3d as conv3d, convolution as convolution, convolution1d as convolution1d,
    convolution2d as convolution2d, convolution2d_transpose as convolution2d_transpose, convolution3d as convolution3d,
    dropout as dropout, flatten as flatten, fully_connected as fully_connected, max_pool2d as max_pool2d,
    separable_conv2d as separable_conv2d, separable_convolution2d as separable_convolution2d,
)
from headrace.library.contrib.normalization import (
    batch_norm as batch_norm, group_norm as group_norm, instance_norm as instance_norm, layer_norm as layer_norm,
    unit_norm as unit_norm,
)
from headrace.library.contrib.composition import (
    elu as elu, embed_sequence as embed_sequence, embedding_lookup_unique as embedding_lookup_unique, linear as linear,
    one_hot_encoding as one_hot_encoding, relu as relu, relu6 as relu6, repeat as repeat, softmax as softmax,
    stack as stack,
)
from headrace.library.contrib.layer_summary import (
    summarize_activation as summarize_activation, summarize_activations as summarize_activations,
    summarize_biases as summarize_biases, summarize_collection as summarize_collection,
    summarize_tensor as summarize_tensor, summarize_tensors as summarize_tensors,
    summarize_variables as summarize_variables, summarize_weights as summarize_weights,
)
from headrace.library.contrib import layer_summary as summaries
from headrace.library.contrib.spatial_softmax import spatial_softmax as spatial_softmax
from headrace.library.contrib.learn.column import real_valued_column as real_valued_column
from headrace.library.contrib.optimize import (
    OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES, OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES,
    optimize_loss as optimize_loss,
)
from headrace.library.state.initializers import (
    contrib_variance_scaling_initializer as variance_scaling_initializer, xavier_initializer as xavier_initializer,
    xavier_initializer as xavier_initializer_conv2d,
)
from headrace.library.function.recompute import contrib_recompute_grad as recompute_grad
from headrace.library.state.regularizers import (
    apply_regularization as apply_regularization, l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer, l2_regularizer as l2_regularizer, sum_regularizer as sum_regularizer,
)
