"""tf.nn: neural-network functions."""

from headrace.library.network.activation import bias_add as bias_add
from headrace.library.network.activation import crelu as crelu
from headrace.library.network.activation import elu as elu
from headrace.library.network.activation import leaky_relu as leaky_relu
from headrace.library.network.activation import relu as relu
from headrace.library.network.activation import relu6 as relu6
from headrace.library.network.activation import relu_layer as relu_layer
from headrace.library.network.activation import selu as selu
from headrace.library.network.activation import softplus as softplus
from headrace.library.network.activation import softsign as softsign
from headrace.library.network.activation import swish as swish
from headrace.library.network.activation import xw_plus_b as xw_plus_b
from headrace.library.network.candidate import all_candidate_sampler as all_candidate_sampler
from headrace.library.network.candidate import compute_accidental_hits as compute_accidental_hits
from headrace.library.network.candidate import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from headrace.library.network.candidate import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from headrace.library.network.candidate import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from headrace.library.network.candidate import nce_loss as nce_loss
from headrace.library.network.candidate import sampled_softmax_loss as sampled_softmax_loss
from headrace.library.network.candidate import uniform_candidate_sampler as uniform_candidate_sampler
from headrace.library.network.convolution import conv1d as conv1d
from headrace.library.network.convolution import conv1d_transpose as conv1d_transpose
from headrace.library.network.convolution import conv2d as conv2d
from headrace.library.network.convolution import conv2d_backprop_filter as conv2d_backprop_filter
from headrace.library.network.convolution import conv2d_backprop_input as conv2d_backprop_input
from headrace.library.network.convolution import conv2d_transpose as conv2d_transpose
from headrace.library.network.convolution import conv3d as conv3d
from headrace.library.network.convolution import conv3d_backprop_filter as conv3d_backprop_filter
from headrace.library.network.convolution import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from headrace.library.network.convolution import conv3d_transpose as conv3d_transpose
from headrace.library.network.convolution import conv_transpose as conv_transpose
from headrace.library.network.ctc import ctc_beam_search_decoder as ctc_beam_search_decoder
from headrace.library.network.ctc import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from headrace.library.network.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from headrace.library.network.ctc import ctc_loss as ctc_loss
from headrace.library.network.ctc import ctc_loss_v2 as ctc_loss_v2
from headrace.library.network.dropout import dropout as dropout
from headrace.library.network.embedding import embedding_lookup as embedding_lookup
from headrace.library.network.embedding_sparse import embedding_lookup_sparse as embedding_lookup_sparse
from headrace.library.network.embedding_sparse import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from headrace.library.network.loss_function import l2_loss as l2_loss
from headrace.library.network.loss_function import log_poisson_loss as log_poisson_loss
from headrace.library.network.loss_function import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from headrace.library.network.loss_function import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from headrace.library.network.normalization import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
)
from headrace.library.network.normalization import batch_normalization as batch_normalization
from headrace.library.network.normalization import fused_batch_norm as fused_batch_norm
from headrace.library.network.normalization import l2_normalize as l2_normalize
from headrace.library.network.normalization import local_response_normalization as local_response_normalization
from headrace.library.network.normalization import lrn as lrn
from headrace.library.network.normalization import moments as moments
from headrace.library.network.normalization import normalize_moments as normalize_moments
from headrace.library.network.normalization import sufficient_statistics as sufficient_statistics
from headrace.library.network.normalization import weighted_moments as weighted_moments
from headrace.library.network.normalization import zero_fraction as zero_fraction
from headrace.library.network.pooling import avg_pool as avg_pool
from headrace.library.network.pooling import avg_pool1d as avg_pool1d
from headrace.library.network.pooling import avg_pool2d as avg_pool2d
from headrace.library.network.pooling import avg_pool3d as avg_pool3d
from headrace.library.network.pooling import avg_pool_v2 as avg_pool_v2
from headrace.library.network.pooling import max_pool as max_pool
from headrace.library.network.pooling import max_pool1d as max_pool1d
from headrace.library.network.pooling import max_pool2d as max_pool2d
from headrace.library.network.pooling import max_pool3d as max_pool3d
from headrace.library.network.pooling import max_pool_v2 as max_pool_v2
from headrace.library.network.pooling import max_pool_with_argmax as max_pool_with_argmax
from headrace.library.network.softmax import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from headrace.library.network.softmax import log_softmax as log_softmax
from headrace.library.network.softmax import softmax as softmax
from headrace.library.network.softmax import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from headrace.library.network.softmax import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
from headrace.library.network.spatial import atrous_conv2d as atrous_conv2d
from headrace.library.network.spatial import atrous_conv2d_transpose as atrous_conv2d_transpose
from headrace.library.network.spatial import convolution as convolution
from headrace.library.network.spatial import depthwise_conv2d as depthwise_conv2d
from headrace.library.network.spatial import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from headrace.library.network.spatial import depthwise_conv2d_backprop_filter as depthwise_conv2d_native_backprop_filter
from headrace.library.network.spatial import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from headrace.library.network.spatial import depthwise_conv2d_backprop_input as depthwise_conv2d_native_backprop_input
from headrace.library.network.spatial import depthwise_conv2d_native as depthwise_conv2d_native
from headrace.library.network.spatial import pool as pool
from headrace.library.network.spatial import separable_conv2d as separable_conv2d
from headrace.library.numeric.math import sigmoid as sigmoid
from headrace.library.numeric.math import tanh as tanh
from headrace.library.numeric.reduction import in_top_k as in_top_k
from headrace.library.numeric.reduction import top_k as top_k
from headrace.library.tensor.space import depth_to_space as depth_to_space
from headrace.library.tensor.space import space_to_batch as space_to_batch
from headrace.library.tensor.space import space_to_depth as space_to_depth

# ---- section: recurrent networks
from headrace import rnn_cell as rnn_cell
from headrace.library.rnn.dynamic import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from headrace.library.rnn.dynamic import dynamic_rnn as dynamic_rnn
from headrace.library.rnn.raw import raw_rnn as raw_rnn
from headrace.library.rnn.static import static_bidirectional_rnn as static_bidirectional_rnn
from headrace.library.rnn.static import static_rnn as static_rnn
from headrace.library.rnn.static import static_state_saving_rnn as static_state_saving_rnn
from headrace.library.network.morphology import dilation2d as dilation2d
from headrace.library.network.morphology import erosion2d as erosion2d
from headrace.library.network.pooling import fractional_avg_pool as fractional_avg_pool
from headrace.library.network.pooling import fractional_max_pool as fractional_max_pool
from headrace.library.network.ctc_label import collapse_repeated as collapse_repeated
from headrace.library.network.ctc_label import ctc_unique_labels as ctc_unique_labels
