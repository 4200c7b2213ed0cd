"""Headrace: TensorFlow 1's dataflow system on PyTorch.  ``import headrace as tf`` runs a TensorFlow 1 program.

This file and its neighbours are the face: explicit re-exports under TF1's names, no logic.
"""

# Registers every op type.
import headrace.ops as _ops

# ---- core: dtypes, shapes, errors, config
from headrace.core import errors as errors
from headrace.core.config import ConfigProto as ConfigProto
from headrace.core.config import GPUOptions as GPUOptions
from headrace.core.config import GraphOptions as GraphOptions
from headrace.core.config import OptimizerOptions as OptimizerOptions
from headrace.core.config import RunMetadata as RunMetadata
from headrace.core.config import RunOptions as RunOptions
from headrace.core.device import DeviceSpec as DeviceSpec
from headrace.core.dtypes import DType as DType
from headrace.core.dtypes import as_dtype as as_dtype
from headrace.core.dtypes import bfloat16 as bfloat16
from headrace.core.dtypes import bool as bool
from headrace.core.dtypes import complex64 as complex64
from headrace.core.dtypes import complex128 as complex128
from headrace.core.dtypes import double as double
from headrace.core.dtypes import float16 as float16
from headrace.core.dtypes import float32 as float32
from headrace.core.dtypes import float64 as float64
from headrace.core.dtypes import half as half
from headrace.core.dtypes import int8 as int8
from headrace.core.dtypes import int16 as int16
from headrace.core.dtypes import int32 as int32
from headrace.core.dtypes import int64 as int64
from headrace.core.dtypes import qint8 as qint8
from headrace.core.dtypes import qint16 as qint16
from headrace.core.dtypes import qint32 as qint32
from headrace.core.dtypes import quint8 as quint8
from headrace.core.dtypes import quint16 as quint16
from headrace.core.dtypes import resource as resource
from headrace.core.dtypes import string as string
from headrace.core.dtypes import uint8 as uint8
from headrace.core.dtypes import uint16 as uint16
from headrace.core.dtypes import uint32 as uint32
from headrace.core.dtypes import uint64 as uint64
from headrace.core.dtypes import variant as variant
from headrace.core.shape import Dimension as Dimension
from headrace.core.shape import TensorShape as TensorShape
from headrace.core.shape import dimension_value as dimension_value

# ---- graph
from headrace.graph import raw_ops as raw_ops
from headrace.graph.collection import GraphKeys as GraphKeys
from headrace.graph.context import get_default_graph as get_default_graph
from headrace.graph.context import get_default_session as get_default_session
from headrace.graph.context import reset_default_graph as reset_default_graph
from headrace.graph.convert import constant as constant
from headrace.graph.convert import convert_to_tensor as convert_to_tensor
from headrace.graph.convert import register_tensor_conversion_function as register_tensor_conversion_function
from headrace.graph.graph import Graph as Graph
from headrace.graph.operation import Operation as Operation
from headrace.graph.operation import Tensor as Tensor
from headrace.graph.structures import IndexedSlices as IndexedSlices
from headrace.graph.structures import SparseTensor as SparseTensor
from headrace.graph.structures import SparseTensorValue as SparseTensorValue
from headrace.graph.structures import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from headrace.graph.structures import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor

# ---- section: math (elementwise, reduction, matmul)

# ---- section: array (shaping, indexing)
from headrace.library.array import bitcast as bitcast
from headrace.library.array import broadcast_dynamic_shape as broadcast_dynamic_shape
from headrace.library.array import broadcast_static_shape as broadcast_static_shape
from headrace.library.array import broadcast_to as broadcast_to
from headrace.library.array import concat as concat
from headrace.library.array import expand_dims as expand_dims
from headrace.library.array import get_static_value as get_static_value
from headrace.library.array import guarantee_const as guarantee_const
from headrace.library.array import invert_permutation as invert_permutation
from headrace.library.array import matrix_transpose as matrix_transpose
from headrace.library.array import pad as pad
from headrace.library.array import parallel_stack as parallel_stack
from headrace.library.array import rank as rank
from headrace.library.array import reshape as reshape
from headrace.library.array import reverse as reverse
from headrace.library.array import reverse_sequence as reverse_sequence
from headrace.library.array import reverse_v2 as reverse_v2
from headrace.library.array import roll as roll
from headrace.library.array import shape as shape
from headrace.library.array import shape_n as shape_n
from headrace.library.array import size as size
from headrace.library.array import split as split
from headrace.library.array import squeeze as squeeze
from headrace.library.array import stack as stack
from headrace.library.array import tile as tile
from headrace.library.array import transpose as transpose
from headrace.library.array import unstack as unstack
from headrace.library.creation import eye as eye
from headrace.library.creation import fill as fill
from headrace.library.creation import lin_space as lin_space
from headrace.library.creation import linspace as linspace
from headrace.library.creation import meshgrid as meshgrid
from headrace.library.creation import one_hot as one_hot
from headrace.library.creation import ones as ones
from headrace.library.creation import ones_like as ones_like
from headrace.library.creation import placeholder as placeholder
from headrace.library.creation import placeholder_with_default as placeholder_with_default
from headrace.library.creation import range as range
from headrace.library.creation import sequence_mask as sequence_mask
from headrace.library.creation import sparse_placeholder as sparse_placeholder
from headrace.library.creation import zeros as zeros
from headrace.library.creation import zeros_like as zeros_like
from headrace.library.slicing import slice as slice
from headrace.library.slicing import strided_slice as strided_slice

# ---- section: random, host, flow, initializers
from headrace.library.flow import group as group
from headrace.library.flow import identity as identity
from headrace.library.flow import identity_n as identity_n
from headrace.library.flow import no_op as no_op
from headrace.library.flow import stop_gradient as stop_gradient
from headrace.library.flow import tuple_ as tuple
from headrace.library.initializers import Constant as constant_initializer
from headrace.library.initializers import GlorotNormal as glorot_normal_initializer
from headrace.library.initializers import GlorotUniform as glorot_uniform_initializer
from headrace.library.initializers import Ones as ones_initializer
from headrace.library.initializers import Orthogonal as orthogonal_initializer
from headrace.library.initializers import RandomNormal as random_normal_initializer
from headrace.library.initializers import RandomUniform as random_uniform_initializer
from headrace.library.initializers import TruncatedNormal as truncated_normal_initializer
from headrace.library.initializers import UniformUnitScaling as uniform_unit_scaling_initializer
from headrace.library.initializers import VarianceScaling as variance_scaling_initializer
from headrace.library.initializers import Zeros as zeros_initializer
from headrace.library.random import get_seed as get_seed
from headrace.library.random import multinomial as multinomial
from headrace.library.random import random_crop as random_crop
from headrace.library.random import random_gamma as random_gamma
from headrace.library.random import random_normal as random_normal
from headrace.library.random import random_poisson as random_poisson
from headrace.library.random import random_shuffle as random_shuffle
from headrace.library.random import random_uniform as random_uniform
from headrace.library.random import set_random_seed as set_random_seed
from headrace.library.random import truncated_normal as truncated_normal

# ---- section: variables
from headrace.library.assign import assign as assign
from headrace.library.assign import assign_add as assign_add
from headrace.library.assign import assign_sub as assign_sub
from headrace.library.assign import batch_scatter_update as batch_scatter_update
from headrace.library.assign import count_up_to as count_up_to
from headrace.library.assign import scatter_add as scatter_add
from headrace.library.assign import scatter_div as scatter_div
from headrace.library.assign import scatter_max as scatter_max
from headrace.library.assign import scatter_min as scatter_min
from headrace.library.assign import scatter_mul as scatter_mul
from headrace.library.assign import scatter_nd_add as scatter_nd_add
from headrace.library.assign import scatter_nd_sub as scatter_nd_sub
from headrace.library.assign import scatter_nd_update as scatter_nd_update
from headrace.library.assign import scatter_sub as scatter_sub
from headrace.library.assign import scatter_update as scatter_update
from headrace.library.partitioner import fixed_size_partitioner as fixed_size_partitioner
from headrace.library.partitioner import min_max_variable_partitioner as min_max_variable_partitioner
from headrace.library.partitioner import variable_axis_size_partitioner as variable_axis_size_partitioner
from headrace.library.variable import Variable as Variable
from headrace.library.variable_creator import VariableAggregation as VariableAggregation
from headrace.library.variable_creator import VariableSynchronization as VariableSynchronization
from headrace.library.variable_creator import variable_creator_scope as variable_creator_scope
from headrace.library.variable_scope import AUTO_REUSE as AUTO_REUSE
from headrace.library.variable_scope import VariableScope as VariableScope
from headrace.library.variable_scope import get_local_variable as get_local_variable
from headrace.library.variable_scope import get_variable as get_variable
from headrace.library.variable_scope import get_variable_scope as get_variable_scope
from headrace.library.variable_scope import no_regularizer as no_regularizer
from headrace.library.variable_scope import variable_op_scope as variable_op_scope
from headrace.library.variable_scope import variable_scope as variable_scope
from headrace.library.variables import all_variables as all_variables
from headrace.library.variables import assert_variables_initialized as assert_variables_initialized
from headrace.library.variables import global_variables as global_variables
from headrace.library.variables import global_variables_initializer as global_variables_initializer
from headrace.library.variables import initialize_all_variables as initialize_all_variables
from headrace.library.variables import initialize_local_variables as initialize_local_variables
from headrace.library.variables import initialize_variables as initialize_variables
from headrace.library.variables import is_variable_initialized as is_variable_initialized
from headrace.library.variables import local_variables as local_variables
from headrace.library.variables import local_variables_initializer as local_variables_initializer
from headrace.library.variables import model_variables as model_variables
from headrace.library.variables import moving_average_variables as moving_average_variables
from headrace.library.variables import report_uninitialized_variables as report_uninitialized_variables
from headrace.library.variables import trainable_variables as trainable_variables
from headrace.library.variables import variables_initializer as variables_initializer

# ---- section: scopes, gradients, sessions
from headrace.autodiff.aggregate import AggregationMethod as AggregationMethod
from headrace.autodiff.custom import custom_gradient as custom_gradient
from headrace.autodiff.gradients import UnconnectedGradients as UnconnectedGradients
from headrace.autodiff.gradients import gradients as gradients
from headrace.autodiff.registration import NoGradient as NoGradient
from headrace.autodiff.registration import NotDifferentiable as NotDifferentiable
from headrace.autodiff.registration import RegisterGradient as RegisterGradient
from headrace.client.session import InteractiveSession as InteractiveSession
from headrace.client.session import Session as Session
from headrace.library.scope import add_to_collection as add_to_collection
from headrace.library.scope import add_to_collections as add_to_collections
from headrace.library.scope import colocate_with as colocate_with
from headrace.library.scope import container as container
from headrace.library.scope import control_dependencies as control_dependencies
from headrace.library.scope import device as device
from headrace.library.scope import get_collection as get_collection
from headrace.library.scope import get_collection_ref as get_collection_ref
from headrace.library.scope import name_scope as name_scope

# ---- section: submodules
from headrace import nn as nn
from headrace import train as train

__version__ = "0.1.0"
newaxis = None
del _ops
