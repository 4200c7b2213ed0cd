"""tf.contrib.framework: argument scopes, model variables, the global step, nested structures."""

from types import SimpleNamespace as _SimpleNamespace

from headrace.library import nest as nest
from headrace.library.contrib.arg_scope import (
    add_arg_scope as add_arg_scope, arg_scope as arg_scope, arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments, current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from headrace.library.contrib.checkpoint import (
    assign_from_checkpoint as assign_from_checkpoint, assign_from_checkpoint_fn as assign_from_checkpoint_fn,
)
from headrace.library.train.saver.initialize import init_from_checkpoint as init_from_checkpoint
from headrace.library.train.saver.reader import (
    list_variables as list_variables, load_checkpoint as load_checkpoint, load_variable as load_variable,
)
from headrace.library.contrib.variables import (
    add_model_variable as add_model_variable, assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn, filter_variables as filter_variables,
    get_local_variables as get_local_variables, get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables, get_unique_variable as get_unique_variable,
    get_variable_full_name as get_variable_full_name, get_variables as get_variables,
    get_variables_by_name as get_variables_by_name, get_variables_by_suffix as get_variables_by_suffix,
    get_variables_to_restore as get_variables_to_restore, local_variable as local_variable,
    model_variable as model_variable, variable as variable,
)
from headrace.library.state.global_step import (
    assert_global_step as assert_global_step, create_global_step as create_global_step,
    get_global_step as get_global_step, get_or_create_global_step as get_or_create_global_step,
)
from headrace.library.control.assertion import (
    assert_same_float_dtype as assert_same_float_dtype, assert_scalar as assert_scalar,
)
from headrace.library.tensor.sorting import argsort as argsort, sort as sort
from headrace.library.state.smart_cond import smart_cond as smart_cond, smart_constant_value as smart_constant_value
from headrace.library.state.tensor_value import is_tensor as is_tensor
from headrace.library.system.decorators import (
    deprecated as deprecated, deprecated_arg_values as deprecated_arg_values, deprecated_args as deprecated_args,
)
from headrace.library.contrib.tensor_util import (
    assert_scalar_int as assert_scalar_int, reduce_sum_n as reduce_sum_n,
    remove_squeezable_dimensions as remove_squeezable_dimensions, with_same_shape as with_same_shape,
    with_shape as with_shape,
)
from headrace.library.control.critical_section import CriticalSection as CriticalSection
from headrace.library.system.private_name import (
    prepend_name_scope as prepend_name_scope, strip_name_scope as strip_name_scope,
)

# The module of the checks, as programs also call it.
tensor_util = _SimpleNamespace(
    assert_same_float_dtype=assert_same_float_dtype, assert_scalar=assert_scalar, assert_scalar_int=assert_scalar_int,
    is_tensor=is_tensor, reduce_sum_n=reduce_sum_n, remove_squeezable_dimensions=remove_squeezable_dimensions,
    with_same_shape=with_same_shape, with_shape=with_shape,
)
