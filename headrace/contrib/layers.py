"""tf.contrib.layers: the first generation of layers, initializers, regularizers, and optimize_loss."""

from types import SimpleNamespace as _SimpleNamespace

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
from headrace.library.contrib.spatial_softmax import spatial_softmax as spatial_softmax
from headrace.library.contrib.learn.column import real_valued_column as real_valued_column
from headrace.library.contrib.optimize import (
    adaptive_clipping_fn as adaptive_clipping_fn,
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
from headrace.library.contrib.divisive_normalization import GDN as GDN, gdn as gdn
from headrace.library.contrib.legacy_layers import (
    legacy_fully_connected as legacy_fully_connected, legacy_linear as legacy_linear, legacy_relu as legacy_relu,
)
from headrace.library.contrib.old_column import (
    bucketized_column as bucketized_column, crossed_column as crossed_column, embedding_column as embedding_column,
    one_hot_column as one_hot_column, shared_embedding_columns as shared_embedding_columns,
    sparse_column_with_hash_bucket as sparse_column_with_hash_bucket,
    sparse_column_with_integerized_feature as sparse_column_with_integerized_feature,
    sparse_column_with_keys as sparse_column_with_keys,
    sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file,
    weighted_sparse_column as weighted_sparse_column,
)
from headrace.library.contrib.old_column_layers import (
    check_feature_columns as check_feature_columns, create_feature_spec_for_parsing as create_feature_spec_for_parsing,
    input_from_feature_columns as input_from_feature_columns,
    parse_feature_columns_from_examples as parse_feature_columns_from_examples,
    parse_feature_columns_from_sequence_examples as parse_feature_columns_from_sequence_examples,
    sequence_input_from_feature_columns as sequence_input_from_feature_columns,
    weighted_sum_from_feature_columns as weighted_sum_from_feature_columns,
)
from headrace.library.contrib.tensor_layers import (
    images_to_sequence as images_to_sequence, maxout as maxout, poincare_normalize as poincare_normalize,
    scale_gradient as scale_gradient, sequence_to_images as sequence_to_images,
)
from headrace.library.contrib.volume import (
    avg_pool3d as avg_pool3d, conv3d_transpose as conv3d_transpose, convolution3d_transpose as convolution3d_transpose,
    max_pool3d as max_pool3d, pool as pool,
)
from headrace.library.contrib.word_embedding import (
    bow_encoder as bow_encoder, dense_to_sparse as dense_to_sparse,
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
    scattered_embedding_lookup as hashed_embedding_lookup, scattered_embedding_lookup as scattered_embedding_lookup,
    scattered_embedding_lookup_sparse as hashed_embedding_lookup_sparse,
    scattered_embedding_lookup_sparse as scattered_embedding_lookup_sparse,
)
from headrace.library.feature_column.column import FeatureColumn as DeepFeatureColumn

# The module of the summaries, as programs also call it.
summaries = _SimpleNamespace(
    summarize_activation=summarize_activation, summarize_activations=summarize_activations,
    summarize_biases=summarize_biases, summarize_collection=summarize_collection, summarize_tensor=summarize_tensor,
    summarize_tensors=summarize_tensors, summarize_variables=summarize_variables, summarize_weights=summarize_weights,
)
