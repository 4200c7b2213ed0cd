"""Headrace: TensorFlow 1's dataflow system on PyTorch.  ``import headrace as tf`` runs a TensorFlow 1 program.

This file and its neighbours are the face: explicit re-exports under TF1's names, no logic.
"""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

# Before anything loads torch.
from headrace.core import process as _process

# Loads torch and registers every op type.
with _process.importing():
    import headrace.ops as _ops

# ---- core: dtypes, shapes, errors, config
from headrace.core import errors as errors
from headrace.core import face as _face
from headrace.core import proto as _proto
from headrace.core.config import (
    ConfigProto as ConfigProto, GPUOptions as GPUOptions, GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions, RunMetadata as RunMetadata, RunOptions as RunOptions,
)
from headrace.core.device import DeviceSpec as DeviceSpec
from headrace.core.dtypes import (
    DType as DType, as_dtype as as_dtype, bfloat16 as bfloat16, bool as bool, complex64 as complex64,
    complex128 as complex128, double as double, float16 as float16, float32 as float32, float64 as float64,
    half as half, int8 as int8, int16 as int16, int32 as int32, int64 as int64, qint8 as qint8, qint16 as qint16,
    qint32 as qint32, quint8 as quint8, quint16 as quint16, resource as resource, string as string, uint8 as uint8,
    uint16 as uint16, uint32 as uint32, uint64 as uint64, variant as variant,
)
from headrace.library.compat import dimension_at_index as dimension_at_index
from headrace.core.shape import Dimension as Dimension, TensorShape as TensorShape, dimension_value as dimension_value

# ---- graph
from headrace.graph import raw_ops as raw_ops
from headrace.graph.collection import GraphKeys as GraphKeys
from headrace.graph.context import (
    get_default_graph as get_default_graph, get_default_session as get_default_session,
    reset_default_graph as reset_default_graph,
)
from headrace.graph.convert import (
    constant as constant, convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from headrace.graph.graph import Graph as Graph
from headrace.graph.operation import Operation as Operation, Tensor as Tensor
from headrace.graph.structures import (
    IndexedSlices as IndexedSlices, SparseTensor as SparseTensor, SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)

# ---- section: math (elementwise, reduction, matmul)
# Installs the operators on Tensor.
import headrace.library.operators as _operators
from headrace.library.numeric.clip import (
    clip_by_average_norm as clip_by_average_norm, clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm, clip_by_value as clip_by_value, global_norm as global_norm,
)
from headrace.library.linalg.decomposition import (
    cholesky as cholesky, cholesky_solve as cholesky_solve, matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse, matrix_solve as matrix_solve, matrix_solve_ls as matrix_solve_ls,
    matrix_square_root as matrix_square_root, matrix_triangular_solve as matrix_triangular_solve, qr as qr,
    self_adjoint_eig as self_adjoint_eig, self_adjoint_eigvals as self_adjoint_eigvals, svd as svd,
)
from headrace.library.linalg.matrix import (
    cross as cross, einsum as einsum, matmul as matmul, norm as norm, sparse_matmul as sparse_matmul, trace as trace,
)
from headrace.library.linalg.tensordot import tensordot as tensordot
from headrace.library.numeric.complex_number import (
    abs as abs, angle as angle, complex as complex, conj as conj, imag as imag, real as real,
)
from headrace.library.numeric.math import (
    accumulate_n as accumulate_n, acos as acos, acosh as acosh, add as add, add_n as add_n, asin as asin,
    asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, cast as cast, ceil as ceil, cos as cos,
    cosh as cosh, equal as equal, exp as exp, expm1 as expm1, floor as floor, floor_div as floor_div,
    floormod as floormod, greater as greater, greater_equal as greater_equal, is_finite as is_finite,
    is_inf as is_inf, is_nan as is_nan, less as less, less_equal as less_equal, log as log, log1p as log1p,
    log_sigmoid as log_sigmoid, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, maximum as maximum, minimum as minimum, mod as mod, multiply as multiply,
    negative as negative, not_equal as not_equal, pow as pow, realdiv as realdiv, reciprocal as reciprocal,
    rint as rint, round as round, rsqrt as rsqrt, saturate_cast as saturate_cast, scalar_mul as scalar_mul,
    sigmoid as sigmoid, sign as sign, sin as sin, sinh as sinh, sqrt as sqrt, square as square,
    squared_difference as squared_difference, subtract as subtract, tan as tan, tanh as tanh,
    to_bfloat16 as to_bfloat16, to_complex128 as to_complex128, to_complex64 as to_complex64, to_double as to_double,
    to_float as to_float, to_int32 as to_int32, to_int64 as to_int64, truncatediv as truncatediv,
    truncatemod as truncatemod,
)
from headrace.library.numeric.special import (
    betainc as betainc, digamma as digamma, erf as erf, erfc as erfc, igamma as igamma, igammac as igammac,
    lbeta as lbeta, lgamma as lgamma, polygamma as polygamma, zeta as zeta,
)
from headrace.library.numeric.division import (
    div as div, div_no_nan as div_no_nan, divide as divide, floordiv as floordiv, truediv as truediv,
)
from headrace.library.numeric.reduction import (
    arg_max as arg_max, arg_min as arg_min, argmax as argmax, argmin as argmin, count_nonzero as count_nonzero,
    cumprod as cumprod, cumsum as cumsum, reduce_all as reduce_all, reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp, reduce_max as reduce_max, reduce_mean as reduce_mean,
    reduce_min as reduce_min, reduce_prod as reduce_prod, reduce_sum as reduce_sum,
)
from headrace.library.numeric.histogram import (
    bincount as bincount, confusion_matrix as confusion_matrix, histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from headrace.library.numeric.segment import (
    segment_max as segment_max, segment_mean as segment_mean, segment_min as segment_min, segment_prod as segment_prod,
    segment_sum as segment_sum, sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n, sparse_segment_sum as sparse_segment_sum,
    unsorted_segment_max as unsorted_segment_max, unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min, unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n, unsorted_segment_sum as unsorted_segment_sum,
)
from headrace.library.signal.fourier import (
    fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d,
)
from headrace.library.tensor.sorting import argsort as argsort, sort as sort

# ---- section: array (shaping, indexing)
from headrace.library.tensor.array import (
    bitcast as bitcast, concat as concat, expand_dims as expand_dims, get_static_value as get_static_value,
    invert_permutation as invert_permutation, matrix_transpose as matrix_transpose, pad as pad,
    parallel_stack as parallel_stack, rank as rank, reshape as reshape, reverse as reverse,
    reverse_sequence as reverse_sequence, reverse_v2 as reverse_v2, roll as roll, shape as shape, shape_n as shape_n,
    size as size, split as split, squeeze as squeeze, stack as stack, tile as tile, transpose as transpose,
    unstack as unstack,
)
from headrace.library.control.dependency import guarantee_const as guarantee_const
from headrace.library.tensor.broadcast import (
    broadcast_dynamic_shape as broadcast_dynamic_shape, broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
)
from headrace.library.tensor.creation import (
    eye as eye, fill as fill, lin_space as lin_space, linspace as linspace, meshgrid as meshgrid, one_hot as one_hot,
    ones as ones, ones_like as ones_like, placeholder as placeholder,
    placeholder_with_default as placeholder_with_default, range as range, sequence_mask as sequence_mask,
    sparse_placeholder as sparse_placeholder, zeros as zeros, zeros_like as zeros_like,
)
from headrace.library.tensor.indexing import (
    batch_gather as batch_gather, boolean_mask as boolean_mask, diag as diag, diag_part as diag_part,
    dynamic_partition as dynamic_partition, dynamic_stitch as dynamic_stitch, gather as gather, gather_nd as gather_nd,
    matrix_band_part as matrix_band_part, matrix_diag as matrix_diag, matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag, scatter_nd as scatter_nd, setdiff1d as setdiff1d,
    tensor_scatter_add as tensor_scatter_add, tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub, tensor_scatter_nd_update as tensor_scatter_nd_update,
    tensor_scatter_sub as tensor_scatter_sub, tensor_scatter_update as tensor_scatter_update, unique as unique,
    unique_with_counts as unique_with_counts, where as where, where_v2 as where_v2,
)
from headrace.library.tensor.slicing import slice as slice, strided_slice as strided_slice
from headrace.library.tensor.space import (
    batch_to_space as batch_to_space, batch_to_space_nd as batch_to_space_nd, depth_to_space as depth_to_space,
    extract_image_patches as extract_image_patches,
    required_space_to_batch_paddings as required_space_to_batch_paddings, space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd, space_to_depth as space_to_depth,
)

# ---- section: random, host, flow, initializers
from headrace.library.control.assertion import (
    Assert as Assert, add_check_numerics_ops as add_check_numerics_ops, assert_equal as assert_equal,
    assert_greater as assert_greater, assert_greater_equal as assert_greater_equal, assert_integer as assert_integer,
    assert_less as assert_less, assert_less_equal as assert_less_equal, assert_near as assert_near,
    assert_negative as assert_negative, assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive, assert_none_equal as assert_none_equal,
    assert_positive as assert_positive, assert_proper_iterable as assert_proper_iterable, assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least, assert_rank_in as assert_rank_in,
    assert_same_float_dtype as assert_same_float_dtype, assert_scalar as assert_scalar, assert_type as assert_type,
    check_numerics as check_numerics, ensure_shape as ensure_shape, is_non_decreasing as is_non_decreasing,
    is_numeric_tensor as is_numeric_tensor, is_strictly_increasing as is_strictly_increasing,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from headrace.library.control.dependency import (
    group as group, identity as identity, identity_n as identity_n, no_op as no_op, op_scope as op_scope,
    stop_gradient as stop_gradient, tuple_ as tuple,
)
from headrace.library.control.host import (
    Print as Print, as_string as as_string, decode_base64 as decode_base64, encode_base64 as encode_base64,
    numpy_function as numpy_function, print_ as print, py_func as py_func, timestamp as timestamp,
)
from headrace.library.function.py_function import py_function as py_function
from headrace.library.state.initializers import (
    Constant as constant_initializer, GlorotNormal as glorot_normal_initializer,
    GlorotUniform as glorot_uniform_initializer, Ones as ones_initializer, Orthogonal as orthogonal_initializer,
    RandomNormal as random_normal_initializer, RandomUniform as random_uniform_initializer,
    TruncatedNormal as truncated_normal_initializer, UniformUnitScaling as uniform_unit_scaling_initializer,
    VarianceScaling as variance_scaling_initializer, Zeros as zeros_initializer,
)
from headrace.library.numeric.random import (
    get_seed as get_seed, multinomial as multinomial, random_crop as random_crop, random_gamma as random_gamma,
    random_normal as random_normal, random_poisson as random_poisson, random_shuffle as random_shuffle,
    random_uniform as random_uniform, set_random_seed as set_random_seed, truncated_normal as truncated_normal,
)

# ---- section: variables
from headrace.library.state.assign import (
    assign as assign, assign_add as assign_add, assign_sub as assign_sub, batch_scatter_update as batch_scatter_update,
    count_up_to as count_up_to, scatter_add as scatter_add, scatter_div as scatter_div, scatter_max as scatter_max,
    scatter_min as scatter_min, scatter_mul as scatter_mul, scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub, scatter_nd_update as scatter_nd_update, scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from headrace.library.state.partitioner import (
    fixed_size_partitioner as fixed_size_partitioner, min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from headrace.library.scope import init_scope as init_scope
# Installs what use_resource=True makes.
import headrace.library.state.resource_variable as _resource_variable
from headrace.library.state.template import make_template as make_template
from headrace.library.state.variable import Variable as Variable
from headrace.library.state.variable_creator import (
    VariableAggregation as VariableAggregation, VariableSynchronization as VariableSynchronization,
    disable_resource_variables as disable_resource_variables, enable_resource_variables as enable_resource_variables,
    resource_variables_enabled as resource_variables_enabled, variable_creator_scope as variable_creator_scope,
)
from headrace.library.state.variable_pieces import create_partitioned_variables as create_partitioned_variables
from headrace.library.state.variable_scope import (
    AUTO_REUSE as AUTO_REUSE, VariableScope as VariableScope,
    get_local_variable as get_local_variable,
    get_variable as get_variable, get_variable_scope as get_variable_scope, variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from headrace.library.state.regularizers import no_regularizer as no_regularizer
from headrace.library.state.variables import (
    all_variables as all_variables, assert_variables_initialized as assert_variables_initialized,
    global_variables as global_variables, global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables, initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables, is_variable_initialized as is_variable_initialized,
    local_variables as local_variables, local_variables_initializer as local_variables_initializer,
    model_variables as model_variables, moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables, trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)

# ---- section: values that stay in a session
from headrace.library.state.session_tensor import (
    delete_session_tensor as delete_session_tensor, get_session_handle as get_session_handle,
    get_session_tensor as get_session_tensor,
)

# ---- section: queues and readers
from headrace.library.input.reader import (
    FixedLengthRecordReader as FixedLengthRecordReader, IdentityReader as IdentityReader, LMDBReader as LMDBReader,
    ReaderBase as ReaderBase, TextLineReader as TextLineReader, TFRecordReader as TFRecordReader,
    WholeFileReader as WholeFileReader,
)
from headrace.library.queue.accumulator import (
    ConditionalAccumulator as ConditionalAccumulator, ConditionalAccumulatorBase as ConditionalAccumulatorBase,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from headrace.library.queue.base import QueueBase as QueueBase
from headrace.library.queue.kinds import (
    FIFOQueue as FIFOQueue, PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue,
    RandomShuffleQueue as RandomShuffleQueue,
)

# ---- section: control flow
from headrace.library.control.control_flow import case as case, cond as cond, switch_case as switch_case
from headrace.core.tensor_spec import TensorSpec as TensorSpec
from headrace.library.data.structure import OptionalSpec as OptionalSpec, SparseTensorSpec as SparseTensorSpec
from headrace.graph.importer import import_graph_def as import_graph_def
from headrace.library.function.defun import Defun as Defun
from headrace.library.function.function import function as function
from headrace.library.system.graph_util import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto
from headrace.library.control.higher_order import foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
from headrace.library.control.tensor_array import TensorArray as TensorArray
from headrace.library.control.while_loop import while_loop as while_loop

# ---- section: sparse, strings, parsing, lookup
from headrace.library.control.critical_section import CriticalSection as CriticalSection
from headrace.library.network.ctc import edit_distance as edit_distance
from headrace.library.text.lookup import (
    initialize_all_tables as initialize_all_tables, tables_initializer as tables_initializer,
)
from headrace.library.text.parsing import (
    FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature, VarLenFeature as VarLenFeature, parse_example as parse_example,
    parse_single_example as parse_single_example, parse_single_sequence_example as parse_single_sequence_example,
)
from headrace.library.network.quantization import (
    dequantize as dequantize, fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
    quantize as quantize,
)
from headrace.library.text.serialize import (
    deserialize_many_sparse as deserialize_many_sparse, parse_tensor as parse_tensor,
    serialize_many_sparse as serialize_many_sparse, serialize_sparse as serialize_sparse,
    serialize_tensor as serialize_tensor,
)
from headrace.library.sparse.tensor import (
    sparse_concat as sparse_concat, sparse_fill_empty_rows as sparse_fill_empty_rows, sparse_merge as sparse_merge,
    sparse_reorder as sparse_reorder, sparse_reset_shape as sparse_reset_shape, sparse_reshape as sparse_reshape,
    sparse_retain as sparse_retain, sparse_slice as sparse_slice, sparse_split as sparse_split,
    sparse_tensor_to_dense as sparse_tensor_to_dense, sparse_to_dense as sparse_to_dense,
    sparse_to_indicator as sparse_to_indicator, sparse_transpose as sparse_transpose,
)
from headrace.library.sparse.math import (
    sparse_add as sparse_add, sparse_mask as sparse_mask, sparse_maximum as sparse_maximum,
    sparse_minimum as sparse_minimum, sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_max_sparse as sparse_reduce_max_sparse, sparse_reduce_sum as sparse_reduce_sum,
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse, sparse_softmax as sparse_softmax,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
)
from headrace.library.text.string import (
    decode_compressed as decode_compressed, decode_csv as decode_csv, decode_raw as decode_raw,
    matching_files as matching_files, read_file as read_file, reduce_join as reduce_join,
    regex_replace as regex_replace, string_join as string_join, string_split as string_split,
    string_strip as string_strip, string_to_hash_bucket as string_to_hash_bucket,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong, string_to_number as string_to_number,
    substr as substr, write_file as write_file,
)

# ---- section: scopes, gradients, sessions
from headrace.autodiff.aggregate import AggregationMethod as AggregationMethod
from headrace.autodiff.custom import custom_gradient as custom_gradient
from headrace.autodiff.gradients import UnconnectedGradients as UnconnectedGradients, gradients as gradients
from headrace.library.control.hessian import hessians as hessians
from headrace.library.function.recompute import recompute_grad as recompute_grad
from headrace.autodiff.registration import (
    NoGradient as NoGradient, NotDifferentiable as NotDifferentiable, RegisterGradient as RegisterGradient,
)
from headrace.client.session import InteractiveSession as InteractiveSession, Session as Session
from headrace.library.scope import (
    add_to_collection as add_to_collection, add_to_collections as add_to_collections, colocate_with as colocate_with,
    container as container, control_dependencies as control_dependencies, device as device,
    get_collection as get_collection, get_collection_ref as get_collection_ref, name_scope as name_scope,
)

# ---- section: search, sets, text, sound
from headrace.core.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from headrace.core.errors import OpError as OpError
from headrace.library.log import get_logger as get_logger
from headrace.library.text.parsing import decode_json_example as decode_json_example
from headrace.library.numeric.search import (
    repeat as repeat, searchsorted as searchsorted, unravel_index as unravel_index,
)
from headrace.library.tensor.space import extract_volume_patches as extract_volume_patches
from headrace.library.text.string import fingerprint as fingerprint

# ---- section: names from before 1.0, gradient functions, modules
from headrace.library.function.gradient_function import grad_pass_through as grad_pass_through
from headrace.library.system.legacy_name import (
    batch_cholesky as batch_cholesky, batch_matmul as batch_matmul,
    batch_matrix_determinant as batch_matrix_determinant, batch_matrix_diag as batch_matrix_diag,
    batch_matrix_diag_part as batch_matrix_diag_part, batch_matrix_inverse as batch_matrix_inverse,
    batch_matrix_solve as batch_matrix_solve, batch_matrix_transpose as batch_matrix_transpose,
    batch_matrix_triangular_solve as batch_matrix_triangular_solve, complex_abs as complex_abs, inv as inv,
    listdiff as listdiff, mul as mul, neg as neg, pack as pack, select as select, sub as sub, unpack as unpack,
)
from headrace.library.state.module import Module as Module
from headrace.library.state.tensor_value import is_tensor as is_tensor
from headrace.autodiff.registration import NoGradient as no_gradient

# ---- section: eager
from headrace.eager.context import (
    disable_eager_execution as disable_eager_execution, eager_mode as eager_mode,
    enable_eager_execution as enable_eager_execution, executing_eagerly as executing_eagerly,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
)
from headrace.eager.tape import GradientTape as GradientTape, implicit_gradients as implicit_gradients

# ---- section: system
from headrace.library.system.behavior import (
    control_flow_v2_enabled as control_flow_v2_enabled, disable_control_flow_v2 as disable_control_flow_v2,
    disable_v2_behavior as disable_v2_behavior, disable_v2_tensorshape as disable_v2_tensorshape,
)
from headrace.library.system.op_library import load_op_library as load_op_library
from headrace.library.system.version import (
    COMPILER_VERSION as COMPILER_VERSION, COMPILER_VERSION as __compiler_version__, CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    CXX11_ABI_FLAG as __cxx11_abi_flag__, GIT_VERSION as GIT_VERSION, GIT_VERSION as __git_version__,
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER, MONOLITHIC_BUILD as MONOLITHIC_BUILD,
    MONOLITHIC_BUILD as __monolithic_build__, VERSION as VERSION, VERSION as __version__,
)

# ---- section: submodules, each imported when it is first asked for
if _TYPE_CHECKING:
    from headrace.library.summary.legacy_name import (
        audio_summary as audio_summary, histogram_summary as histogram_summary, image_summary as image_summary,
        merge_all_summaries as merge_all_summaries, merge_summary as merge_summary, scalar_summary as scalar_summary,
    )
    from headrace import (
        app as app, audio as audio, bitwise as bitwise, compat as compat, config as config, contrib as contrib,
        data as data,
        debugging as debugging, distribute as distribute,
        distributions as distributions, dtypes as dtypes, estimator as estimator, examples as examples,
        feature_column as feature_column,
        flags as flags, gfile as gfile, graph_util as graph_util, image as image, initializers as initializers,
        io as io, keras as keras, layers as layers, linalg as linalg, logging as logging, lookup as lookup, losses as losses,
        manip as manip, math as math, metrics as metrics, nest as nest, nn as nn, profiler as profiler,
        python_io as python_io, quantization as quantization, queue as queue, random as random,
        resource_loader as resource_loader, saved_model as saved_model,
        sets as sets, signal as signal, sparse as sparse, spectral as spectral, strings as strings, summary as summary,
        sysconfig as sysconfig, test as test, tpu as tpu, train as train, version as version,
    )

newaxis = None
del _ops, _operators, _process

_ON_DEMAND = frozenset(
    "app audio bitwise compat config contrib data debugging distribute distributions dtypes estimator examples feature_column "
    "flags gfile graph_util image initializers io keras layers linalg logging lookup losses manip math metrics nest nn "
    "profiler python_io quantization queue random resource_loader saved_model sets signal sparse spectral strings summary "
    "sysconfig test tpu train version".split()
)
_MESSAGES = frozenset(  # TensorBoard's: imported when one is first asked for
    "AttrValue Event GraphDef HistogramProto LogMessage MetaGraphDef NameAttrList NodeDef SessionLog Summary "
    "SummaryMetadata".split()
)
# Names of summaries from before 1.0, which few programs ask for.
_OLD_SUMMARIES = frozenset(
    "audio_summary histogram_summary image_summary merge_all_summaries merge_summary scalar_summary".split()
)
# Names from before 1.0 for what has its place in a module, given when asked for.
_OLDER = {
    "InvalidArgumentError": "core.errors.InvalidArgumentError", "LegacySyncReplicasOptimizer": "train.SyncReplicasOptimizer",
    "RMSPropOptimizer": "train.RMSPropOptimizer", "RegisterShape": "library.system.private_name.RegisterShape",
    "ReplicaDeviceSetter": "train.replica_device_setter", "Supervisor": "train.Supervisor", "batch_svd": "linalg.svd",
    "concat_v2": "concat", "latest_checkpoint": "train.latest_checkpoint",
}  # fmt: skip
# Parts of the system, importable by name but none of TensorFlow's: ``dir(headrace)`` leaves them out.
_PARTS = frozenset(
    "autodiff client cluster core eager extend graph library models ops passes resources runtime simulate tensorflow "
    "tools".split()
)


def __getattr__(name: str) -> _Any:
    if name in _ON_DEMAND or name == "cluster":  # for headrace.cluster.ray
        return _import_module(f"headrace.{name}")
    if name in _MESSAGES:
        return getattr(_proto, name)
    if name in _OLD_SUMMARIES:
        return getattr(_import_module("headrace.library.summary.legacy_name"), name)
    if name in _OLDER:
        place, _, last = f"headrace.{_OLDER[name]}".rpartition(".")
        return getattr(_import_module(place), last)
    if name == "__all__":  # ``from headrace import *``: all but the messages, which need TensorBoard
        return [public for public in __dir__() if not public.startswith("_") and public not in _MESSAGES]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    names = (k for k, v in globals().items() if not (k in _PARTS and isinstance(v, _ModuleType)))
    return sorted({*_MESSAGES, *_OLD_SUMMARIES, *_ON_DEMAND, *names})


_face.open_face(__name__)
