"""Variables: handles, reads, assignments (OSDI 3.1).  Reads give the buffer itself; writes happen in place.

On CUDA the buffer of a variable that convolutions read as their filter has an order in memory of its own.  cuDNN wants the input
channels of a filter next to each other; TF1's filters [height, width, in, out] have the output channels there, and would be
reordered three times in every training step.  Shape and values are TF1's in any case.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import ANY, INDEX, NUMERIC, float32, float64, int32, int64
from headrace.core.errors import InternalError, InvalidArgumentError, NotFoundError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.declare.resource import resource_form
from headrace.resources.calling.value import from_numpy
from headrace.resources.state.variable import Variable, mark_all

_SMALL = (float32, float64, int32, int64)  # the types of variables with array kernels

variable = op(
    'VariableV2(; shape: shape, dtype: type, container: string = "", shared_name: string = "") -> (ref: ref dtype)',
    dtype=ANY, handle=True, stateful=True,
)  # fmt: skip
variable.not_differentiable()
variable.shape(lambda shape, dtype, container, shared_name: shape)


resource_variable = op(
    'VarHandleOp(; dtype: type, shape: shape, container: string = "", shared_name: string = "") -> (resource: resource dtype)',
    dtype=ANY, handle=True, stateful=True, by_ref="VariableV2",
)  # fmt: skip
resource_variable.not_differentiable()
resource_variable.shape(lambda dtype, shape, container, shared_name: shape)


@resource_variable.state
@variable.state
def _(context):
    attrs = context.attrs
    shape = attrs["shape"].tuple
    order = buffer_order(context.graph, context.name, context.device)
    variable = context.resource(
        Variable, lambda: Variable(context.name, attrs["dtype"], context.device, shape, order, context.memory),
        by_node_name=True,
    )  # fmt: skip
    _check_same(variable, attrs["dtype"], attrs["shape"], context)
    return variable


def _check_same(variable, dtype, shape, context):
    """Refuses what another graph has made under the same name, but differently."""
    where = f"container {context.attrs['container']!r}" if context.attrs["container"] else "the default container"
    begin = f"Variable {context.name} "
    if variable.dtype != dtype:
        raise InternalError(
            None, None,
            f"{begin}has dtype {dtype.name}, but {where} has a variable of this name with dtype {variable.dtype.name}; give "
            "one of them another name or container",
        )  # fmt: skip
    if not shape.is_compatible_with(TensorShape(variable.shape)):
        raise InvalidArgumentError(
            None, None,
            f"{begin}has shape {shape}, but {where} has a variable of this name with shape {TensorShape(variable.shape)}; "
            "give one of them another name or container",
        )  # fmt: skip


# ---- the order of a filter's buffer

FILTER_INPUT = {"Conv2D": 1, "Conv2DBackpropInput": 1}
PASS_ON = ("Identity", "Cast", "ReadVariableOp")
OUTPUT_CHANNELS_FIRST = (3, 0, 1, 2)


def buffer_order(graph: Any, name: str, device: Any) -> tuple[int, ...] | None:
    """The axes from the outermost to the innermost; None for the usual order."""
    operation = None if device.type != "cuda" or graph is None else graph._by_name.get(name)
    if operation is None:
        return None
    tensor = operation.outputs[0]
    return OUTPUT_CHANNELS_FIRST if _is_filter(tensor) or _goes_with_filter(tensor) else None


def _is_filter(tensor: Any) -> bool:
    for consumer in tensor.consumers():
        position = FILTER_INPUT.get(consumer.type)
        if position is not None and consumer.inputs[position] is tensor:
            return True
        if consumer.type in PASS_ON and _is_filter(consumer.outputs[0]):
            return True
    return False


def _goes_with_filter(tensor: Any) -> bool:
    """Whether this is the slot of an optimizer that updates a filter.  Both should have the same layout."""
    return tensor.shape.ndims == 4 and any(
        consumer.op_def.traits.writes and any(other is not tensor and _is_filter(other) for other in consumer.inputs)
        for consumer in tensor.consumers()
    )


# ---- reads and assignments


def _copy_of(ref):
    return ref.value.clone() if isinstance(ref.value, torch.Tensor) else ref.value.copy()


read = op("_Read(ref: ref T) -> (value: T)", T=ANY, reads=True, reads_buffer=True, stateful=True, view=True)
read.shape(lambda ref: ref)
read.gradient(lambda node, grad: [grad])
read.kernel(lambda ref: ref.value)
read.inline_kernel("{0}.value")

read_copy = op("_ReadCopy(ref: ref T) -> (value: T)", T=ANY, reads=True, stateful=True)
read_copy.shape(lambda ref: ref)
read_copy.kernel(lambda ref: _copy_of(ref))

read_variable = op(
    "ReadVariableOp(resource: resource dtype; dtype: type) -> (value: dtype)",
    dtype=ANY, reads=True, stateful=True, by_ref="_Read",
)  # fmt: skip
read_variable.shape(lambda resource, dtype: resource)
read_variable.gradient(lambda node, grad: [grad])
read_variable.kernel(lambda resource, dtype: _copy_of(resource))  # run eagerly: a step has a _Read in its place

variable_shape = op(
    "VariableShape(input: resource T; out_type: type = int32) -> (output: out_type)",
    T=ANY, out_type=INDEX, reads=True, stateful=True, by_ref="Shape",
)  # fmt: skip
variable_shape.shape(lambda input, out_type: [input.ndims])
variable_shape.kernel(lambda input, out_type: torch.tensor(input.value.shape, dtype=out_type))


@variable_shape.value
def _(node, input):
    dims = node.inputs[0]._shape.tuple
    return None if dims is None else np.array(dims, dtype=object)


initialized = op(
    "IsVariableInitialized(ref: ref dtype) -> (is_initialized: bool[0])", dtype=ANY, reads=True, stateful=True
)
initialized.kernel(lambda ref: torch.tensor(ref.initialized))
resource_form(initialized, "VarIsInitializedOp", names={"ref": "resource"})

# TensorFlow's hint that a read need not copy, which none does here.
disable_copy = op("DisableCopyOnRead(resource: resource T) -> ()", T=ANY, stateful=True, opaque=True)
disable_copy.kernel(lambda resource: None)

destroy = op(
    "DestroyResourceOp(resource: resource T; ignore_lookup_error: bool = True) -> ()",
    T=ANY, writes=True, stateful=True, opaque=True,
)  # fmt: skip


@destroy.kernel
def _(resource, ignore_lookup_error):
    """Takes the variable's value away; it is then as it was before its initializer ran."""
    if not resource.initialized and not ignore_lookup_error:
        raise NotFoundError(None, None, f"Resource {resource.name} does not exist: the variable has no value")
    resource.clear()  # a new value comes from an assignment, which marks all rows


assign = op(
    "Assign(ref: ref T, value: T; validate_shape: bool = True, use_locking: bool = True) -> (output_ref: ref T)",
    T=ANY, writes=True, opaque=True, stateful=True,
)  # fmt: skip
assign.not_differentiable()


@assign.shape
def _(ref, value, validate_shape, use_locking):
    return ref.merge_with(value) if validate_shape else value


@assign.kernel
def _(ref, value, validate_shape, use_locking):
    try:
        if use_locking:
            with ref.lock:
                ref.assign(value, validate_shape)
        else:
            ref.assign(value, validate_shape)
    finally:
        if ref.touched is not None:
            mark_all((ref,))
    return ref


@assign.array_kernel(T=_SMALL)
def _(ref, value, validate_shape, use_locking):
    try:
        if use_locking:
            with ref.lock:
                _assign_array(ref, value, validate_shape)
        else:
            _assign_array(ref, value, validate_shape)
    finally:
        if ref.touched is not None:
            mark_all((ref,))
    return ref


resource_form(
    assign, "AssignVariableOp", names={"ref": "resource", "T": "dtype"}, drop=["validate_shape", "use_locking"]
)


assign_own = op(
    "_AssignOwn(ref: ref T, value: T; validate_shape: bool = True, use_locking: bool = True) -> (output_ref: ref T)",
    T=ANY, writes=True, opaque=True, stateful=True, keeps=True,
)  # fmt: skip
assign_own.not_differentiable()
assign_own.shape(lambda ref, value, validate_shape, use_locking: ref.merge_with(value) if validate_shape else value)


@assign_own.kernel
def _(ref, value, validate_shape, use_locking):
    """Assigns a value that nothing else uses, which may become the buffer."""
    try:
        with ref.lock if use_locking else nullcontext():
            ref.assign(value, validate_shape, own=True)
    finally:
        mark_all((ref,))
    return ref


def _assign_array(ref, value, validate_shape):
    if ref.initialized and ref.array.shape == value.shape:
        np.copyto(ref.array, value)
    else:
        ref.assign(from_numpy(np.array(value)), validate_shape)


def _update(name, apply, apply_array):
    """Declares ``Name(ref, value)``: ``apply(buffer, value)`` for tensors, ``apply_array(buffer, value, out)`` for arrays."""
    definition = op(
        f"{name}(ref: ref T, value: T; use_locking: bool = False) -> (output_ref: ref T)",
        T=NUMERIC, writes=True, stateful=True,
    )  # fmt: skip
    definition.not_differentiable()
    definition.shape(lambda ref, value, use_locking: ref.merge_with(value))

    def update(ref, value):
        buffer = ref.value
        if buffer.shape != value.shape:  # torch would broadcast
            raise _different_shapes(buffer, value)
        apply(buffer, value)

    def update_array(ref, value):
        buffer = ref.array
        if buffer.shape != value.shape:
            raise _different_shapes(buffer, value)
        apply_array(buffer, value, buffer)

    def kernel(update):
        def run(ref, value, use_locking):
            try:
                if use_locking:
                    with ref.lock:  # before the buffer is looked up: an assignment may replace it
                        update(ref, value)
                else:
                    update(ref, value)
            finally:
                if ref.touched is not None:
                    mark_all((ref,))
            return ref

        return run

    definition.kernel(kernel(update))
    definition.array_kernel(T=_SMALL)(kernel(update_array))
    resource_form(definition, f"{name}VariableOp", names={"ref": "resource", "T": "dtype"}, drop=["use_locking"])
    return definition


def _different_shapes(buffer, value):
    return ValueError(
        "Parameters and update must be the same size: the variable has shape "
        f"{list(buffer.shape)}, the value {list(value.shape)}"
    )


assign_add = _update("AssignAdd", torch.Tensor.add_, np.add)
assign_sub = _update("AssignSub", torch.Tensor.sub_, np.subtract)
_update("_Overwrite", torch.Tensor.copy_, lambda buffer, value, out: np.copyto(out, value))

initialized_value = op(
    "_InitializedValue(ref: ref T, initial: T) -> (value: T)", T=ANY, stateful=True, view=True, opaque=True
)
initialized_value.shape(lambda ref, initial: ref.merge_with(initial) if ref.is_compatible_with(initial) else initial)
initialized_value.gradient(lambda node, grad: [grad, None])


@initialized_value.kernel
def _(ref, initial):
    """The variable's value, or ``initial`` while it has none."""
    if not ref.initialized:
        return initial
    return _copy_of(ref)


resource_form(initialized_value, "_InitializedResource", names={"ref": "resource"})


# ---- which rows were written

take_touched = op(
    "_TakeTouched(ref: ref T, since: string[0], now: string[0]; asker: string, small: int = 0)"
    " -> (rows: int64[1], whole: bool[0])",
    T=ANY, stateful=True, opaque=True, dynamic_shape=True,
)  # fmt: skip
take_touched.not_differentiable()
take_touched.shape(lambda ref, since, now, asker, small: [[None], []])


@take_touched.kernel
def _(ref, since, now, asker, small):
    """The rows written since ``asker`` called a moment ``since``.  Or ``whole``: more than half were, or it has few bytes.

    What reads the values must wait for this node.  A moment without a name is not remembered.
    """
    buffer, moment = ref.value, now.item().decode()
    if moment and isinstance(buffer, torch.Tensor) and buffer.nbytes >= small:
        rows = ref.take_touched(asker, since.item().decode(), moment)
        if rows is not None and 2 * len(rows) <= len(buffer):
            return rows, torch.tensor(False)
    return torch.zeros(0, dtype=torch.int64), torch.tensor(True)


resource_form(take_touched, "_TakeTouchedResource", names={"ref": "resource"})
