"""tf.keras.backend: the functions that Keras's layers and models are written with."""

from headrace.library.backend.config import (
    backend as backend, cast_to_floatx as cast_to_floatx, epsilon as epsilon, floatx as floatx,
    image_data_format as image_data_format, set_epsilon as set_epsilon, set_floatx as set_floatx,
    set_image_data_format as set_image_data_format,
)
from headrace.library.backend.convolution import (
    bias_add as bias_add, conv1d as conv1d, conv2d as conv2d, conv2d_transpose as conv2d_transpose, conv3d as conv3d,
    depthwise_conv2d as depthwise_conv2d, local_conv1d as local_conv1d, local_conv2d as local_conv2d,
    pool2d as pool2d, pool3d as pool3d, separable_conv2d as separable_conv2d,
)
from headrace.library.backend.creation import (
    constant as constant, eye as eye, ones as ones, ones_like as ones_like, random_binomial as random_binomial,
    random_normal as random_normal, random_normal_variable as random_normal_variable,
    random_uniform as random_uniform, random_uniform_variable as random_uniform_variable,
    truncated_normal as truncated_normal, zeros as zeros, zeros_like as zeros_like,
)
from headrace.library.backend.cross_entropy import (
    binary_crossentropy as binary_crossentropy, categorical_crossentropy as categorical_crossentropy,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from headrace.library.backend.ctc import (
    ctc_batch_cost as ctc_batch_cost, ctc_decode as ctc_decode, ctc_label_dense_to_sparse as ctc_label_dense_to_sparse,
)
from headrace.library.backend.elementwise import (
    clip as clip, elu as elu, hard_sigmoid as hard_sigmoid, pow as pow, relu as relu, softmax as softmax,
    softplus as softplus, softsign as softsign, sqrt as sqrt,
)
from headrace.library.backend.function import (
    eval as eval, foldl as foldl, foldr as foldr, function as function, gradients as gradients, map_fn as map_fn,
    print_tensor as print_tensor, stop_gradient as stop_gradient,
)
from headrace.library.backend.keras_tensor import (
    dtype as dtype, int_shape as int_shape, is_keras_tensor as is_keras_tensor, is_placeholder as is_placeholder,
    is_sparse as is_sparse, ndim as ndim, placeholder as placeholder,
)
from headrace.library.backend.naming import get_uid as get_uid, reset_uids as reset_uids
from headrace.library.backend.normalization import (
    batch_normalization as batch_normalization, normalize_batch_in_training as normalize_batch_in_training,
)
from headrace.library.backend.phase import (
    learning_phase as learning_phase, learning_phase_scope as learning_phase_scope,
    set_learning_phase as set_learning_phase,
)
from headrace.library.backend.product import batch_dot as batch_dot, dot as dot
from headrace.library.backend.reduction import (
    all as all, any as any, argmax as argmax, argmin as argmin, l2_normalize as l2_normalize, max as max,
    mean as mean, min as min, prod as prod, std as std, sum as sum, var as var,
)
from headrace.library.backend.rnn import rnn as rnn
from headrace.library.backend.session import (
    batch_get_value as batch_get_value, batch_set_value as batch_set_value, clear_session as clear_session,
    get_session as get_session, get_value as get_value,
    manual_variable_initialization as manual_variable_initialization, set_session as set_session,
    set_value as set_value,
)
from headrace.library.backend.shaping import (
    arange as arange, batch_flatten as batch_flatten, concatenate as concatenate, expand_dims as expand_dims,
    flatten as flatten, gather as gather, one_hot as one_hot, permute_dimensions as permute_dimensions,
    repeat as repeat, repeat_elements as repeat_elements, reshape as reshape, resize_images as resize_images,
    resize_volumes as resize_volumes, reverse as reverse, shape as shape, spatial_2d_padding as spatial_2d_padding,
    spatial_3d_padding as spatial_3d_padding, squeeze as squeeze, stack as stack, temporal_padding as temporal_padding,
    tile as tile, to_dense as to_dense, transpose as transpose,
)
from headrace.library.backend.switch import (
    dropout as dropout, in_test_phase as in_test_phase, in_train_phase as in_train_phase, switch as switch,
)
from headrace.library.backend.update import (
    count_params as count_params, moving_average_update as moving_average_update, update as update,
    update_add as update_add, update_sub as update_sub,
)
from headrace.library.backend.variable import variable as variable
from headrace.library.numeric.complex_number import abs as abs
from headrace.library.numeric.math import (
    cast as cast, cos as cos, equal as equal, exp as exp, greater as greater, greater_equal as greater_equal,
    less as less, less_equal as less_equal, log as log, maximum as maximum, minimum as minimum,
    not_equal as not_equal, round as round, sigmoid as sigmoid, sign as sign, sin as sin, square as square,
    tanh as tanh,
)
from headrace.library.numeric.reduction import (
    cumprod as cumprod, cumsum as cumsum, in_top_k as in_top_k,
)
from headrace.library.scope import name_scope as name_scope
