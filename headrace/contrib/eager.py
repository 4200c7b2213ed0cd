"""tf.contrib.eager: what ops that run eagerly offer beyond the main names."""

from headrace.autodiff.custom import custom_gradient as custom_gradient
from headrace.contrib import eager_metrics as metrics
from headrace.eager.context import ASYNC as ASYNC
from headrace.eager.context import DEVICE_PLACEMENT_EXPLICIT as DEVICE_PLACEMENT_EXPLICIT
from headrace.eager.context import DEVICE_PLACEMENT_SILENT as DEVICE_PLACEMENT_SILENT
from headrace.eager.context import DEVICE_PLACEMENT_SILENT_FOR_INT32 as DEVICE_PLACEMENT_SILENT_FOR_INT32
from headrace.eager.context import DEVICE_PLACEMENT_WARN as DEVICE_PLACEMENT_WARN
from headrace.eager.context import SYNC as SYNC
from headrace.eager.context import enable_eager_execution as enable_eager_execution
from headrace.eager.context import async_clear_error as async_clear_error
from headrace.eager.context import async_wait as async_wait
from headrace.eager.context import execution_mode as execution_mode
from headrace.eager.context import executing_eagerly as executing_eagerly
from headrace.eager.context import executing_eagerly as in_eager_mode
from headrace.eager.context import list_devices as list_devices
from headrace.eager.context import num_gpus as num_gpus
from headrace.eager.tape import GradientTape as GradientTape
from headrace.eager.tape import gradients_function as gradients_function
from headrace.eager.tape import implicit_gradients as implicit_gradients
from headrace.eager.tape import implicit_value_and_gradients as implicit_value_and_gradients
from headrace.eager.tape import value_and_gradients_function as value_and_gradients_function
from headrace.library.state.eager_store import EagerVariableStore as EagerVariableStore
from headrace.library.function.function import defun as defun
from headrace.library.function.py_function import py_function as py_func
from headrace.library.state.template import make_template as make_template
from headrace.library.state.variable import Variable as Variable
