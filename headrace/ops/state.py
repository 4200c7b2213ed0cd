"""Variables: handles, reads, assignments (OSDI 3.1).  Reads give the buffer itself; writes happen in place."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY, NUMERIC
from headrace.core.registry import op
from headrace.ops._filter_order import buffer_order
from headrace.resources.variable import Variable

variable = op(
    'VariableV2(; shape: shape, dtype: type, container: string = "", shared_name: string = "") -> (ref: ref dtype)',
    dtype=ANY, handle=True, stateful=True,
)  # fmt: skip
variable.not_differentiable()
variable.shape(lambda shape, dtype, container, shared_name: shape)


@variable.state
def _(context):
    attrs = context.attrs
    name = attrs["shared_name"] or context.name
    return context.resources.get_or_create(
        attrs["container"],
        name,
        Variable,
        lambda: Variable(
            context.name,
            attrs["dtype"],
            context.device,
            attrs["shape"].tuple,
            buffer_order(context.graph, context.name, context.device),
        ),
    )


read = op("_Read(ref: ref T) -> (value: T)", T=ANY, reads=True, reads_buffer=True, stateful=True, view=True)
read.shape(lambda ref: ref)
read.gradient(lambda node, grad: [grad])
read.kernel(lambda ref: ref.value)
read.inline = "{0}.value"

read_copy = op("_ReadCopy(ref: ref T) -> (value: T)", T=ANY, reads=True, stateful=True)
read_copy.shape(lambda ref: ref)
read_copy.kernel(lambda ref: ref.value.clone() if isinstance(ref.value, torch.Tensor) else ref.value.copy())

initialized = op(
    "IsVariableInitialized(ref: ref dtype) -> (is_initialized: bool)", dtype=ANY, reads=True, stateful=True
)
initialized.not_differentiable()
initialized.shape(lambda ref: ())
initialized.kernel(lambda ref: torch.tensor(ref.initialized))


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
    if use_locking:
        with ref.lock:
            ref.assign(value, validate_shape)
    else:
        ref.assign(value, validate_shape)
    return ref


def _update(name, apply):
    definition = op(
        f"{name}(ref: ref T, value: T; use_locking: bool = False) -> (output_ref: ref T)",
        T=NUMERIC, writes=True, stateful=True,
    )  # fmt: skip
    definition.not_differentiable()
    definition.shape(lambda ref, value, use_locking: ref.merge_with(value))

    @definition.kernel
    def _(ref, value, use_locking):
        buffer = ref.value
        if buffer.shape != value.shape:  # torch would broadcast
            raise ValueError(
                f"Input shapes must match: the variable has shape {list(buffer.shape)}, the value {list(value.shape)}"
            )
        if use_locking:
            with ref.lock:
                apply(buffer, value)
        else:
            apply(buffer, value)
        return ref

    _.in_place = apply  # what it comes to for a value of the variable's shape and device
    return definition


assign_add = _update("AssignAdd", torch.Tensor.add_)
assign_sub = _update("AssignSub", torch.Tensor.sub_)

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
    return ref.value.clone() if isinstance(ref.value, torch.Tensor) else ref.value.copy()
