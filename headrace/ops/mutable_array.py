"""Tensor arrays that are written in place: what `TensorArrayV3` and its like mean in a TensorFlow 1 graph that holds gradients.

There a gradient is an array too, found by the handle of the first and a name (`TensorArrayGradV3`); flows are numbers that only
order.  The importer makes these ops of the ones it reads if the graph has `TensorArrayGradV3`; others use ops/tensor_array.py,
where arrays are values and have gradients of their own.  They are written to a GraphDef under TensorFlow's names.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.resources.state.mutable_array import MutableArray

_TRAITS = {"stateful": True, "opaque": True}
_FLOW = torch.tensor(0.0)

make = op(
    '_TensorArrayV3(size: host int32; dtype: type, element_shape: shape = None, dynamic_size: bool = False, '
    'clear_after_read: bool = True, identical_element_shapes: bool = False, tensor_array_name: string = "") '
    "-> (handle: resource, flow: float32)",
    dtype=ANY, **_TRAITS,
)  # fmt: skip
make.shape(lambda *arguments: [(2,), ()])


@make.kernel
def _(size, dtype, shape, dynamic_size, clear_after_read, identical_element_shapes, name, *, node):
    if size < 0:
        raise ValueError(f"Size should be >= 0.  TensorArray {name or node.name} got {size}")
    return MutableArray(name or node.name, size, dynamic_size, clear_after_read), _FLOW


gradient = op(
    "_TensorArrayGradV3(handle: resource, flow_in: float32; source: string) -> (grad_handle: resource, flow_out: float32)",
    **_TRAITS,
)
gradient.shape(lambda handle, flow_in, source: [(2,), ()])
gradient.kernel(lambda handle, flow_in, source: (handle.gradient(source), _FLOW))

write = op(
    "_TensorArrayWriteV3(handle: resource, index: host int32, value: T, flow_in: float32) -> (flow_out: float32)",
    T=ANY, keeps=True, **_TRAITS,
)  # fmt: skip
write.shape(lambda handle, index, value, flow_in: ())


@write.kernel
def _(handle, index, value, flow_in):
    handle.write(index, _tensor(value))
    return _FLOW


def _tensor(value):
    """A counter of a loop may be a number."""
    return torch.tensor(value) if isinstance(value, (bool, int)) else value


read = op(
    "_TensorArrayReadV3(handle: resource, index: host int32, flow_in: float32; dtype: type) -> (value: dtype)",
    dtype=ANY, view=True, **_TRAITS,
)  # fmt: skip
read.shape(lambda handle, index, flow_in, dtype: None)


@read.kernel
def _(handle, index, flow_in, dtype, *, device):
    return _read(handle, index, dtype, device)


def _read(handle, index, dtype, device):
    value = handle.read(index)
    if value is not None:
        return value
    shape = handle.shape_of(index)
    if shape is None:
        raise ValueError(
            f"TensorArray {handle.name}: Could not read from TensorArray index {index}.  It was never written, and the shape of "
            "its elements is not known"
        )
    return torch.zeros(shape, dtype=dtype, device=device)


gather = op(
    "_TensorArrayGatherV3(handle: resource, indices: host int32, flow_in: float32; dtype: type, element_shape: shape = None) "
    "-> (value: dtype)",
    dtype=ANY, **_TRAITS,
)  # fmt: skip


@gather.shape
def _(handle, indices, flow_in, dtype, element_shape):
    count = None if indices is None else len(indices)
    return TensorShape([count]).concatenate(element_shape if element_shape is not None else TensorShape(None))


@gather.kernel
def _(handle, indices, flow_in, dtype, element_shape, *, device):
    items = [_read(handle, i, dtype, device) for i in indices]
    if not items:
        if element_shape is None or None in element_shape:
            raise NotImplementedError(
                f"TensorArray has size zero, but element shape {element_shape} is not fully defined ({handle.name})."
            )
        return torch.zeros((0, *element_shape), dtype=dtype, device=device)
    return torch.stack(items) if isinstance(items[0], torch.Tensor) else np.stack(items)


scatter = op(
    "_TensorArrayScatterV3(handle: resource, indices: host int32, value: T, flow_in: float32) -> (flow_out: float32)",
    T=ANY, keeps=True, **_TRAITS,
)  # fmt: skip
scatter.shape(lambda handle, indices, value, flow_in: ())


@scatter.kernel
def _(handle, indices, value, flow_in):
    if len(indices) != value.shape[0]:
        raise ValueError(
            f"TensorArray {handle.name}: Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {value.shape[0]}"
        )
    for i, index in enumerate(indices):
        handle.write(index, value[i, ...])
    return _FLOW


concat = op(
    "_TensorArrayConcatV3(handle: resource, flow_in: float32; dtype: type, element_shape_except0: shape = None) "
    "-> (value: dtype, lengths: int64)",
    dtype=ANY, **_TRAITS,
)  # fmt: skip


@concat.shape
def _(handle, flow_in, dtype, element_shape_except0):
    rest = element_shape_except0 if element_shape_except0 is not None else TensorShape(None)
    return [TensorShape([None]).concatenate(rest), [None]]


@concat.kernel
def _(handle, flow_in, dtype, element_shape_except0, *, device):
    items = [_read(handle, i, dtype, device) for i in range(handle.size)]
    if not items:
        raise NotImplementedError(f"TensorArray has size zero, so there is nothing to join ({handle.name})")
    joined = torch.cat(items) if isinstance(items[0], torch.Tensor) else np.concatenate(items)
    return joined, torch.tensor([v.shape[0] for v in items], dtype=torch.int64)


split = op(
    "_TensorArraySplitV3(handle: resource, value: T, lengths: host int64, flow_in: float32) -> (flow_out: float32)",
    T=ANY, keeps=True, **_TRAITS,
)  # fmt: skip
split.shape(lambda handle, value, lengths, flow_in: ())


@split.kernel
def _(handle, value, lengths, flow_in):
    if sum(lengths) != value.shape[0]:
        raise ValueError(
            f"TensorArray {handle.name}: Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(lengths)} and value's shape is: {list(value.shape)}"
        )
    start = 0
    for index, length in enumerate(lengths):
        handle.write(index, value[start : start + length])
        start += length
    return _FLOW


size = op("_TensorArraySizeV3(handle: resource, flow_in: float32) -> (size: int32)", host_output=True, **_TRAITS)
size.shape(lambda handle, flow_in: ())
size.kernel(lambda handle, flow_in: torch.tensor(handle.size, dtype=torch.int32))
size.not_differentiable()

close = op("_TensorArrayCloseV3(handle: resource) -> ()", **_TRAITS)
close.kernel(lambda handle: handle.close())
close.not_differentiable()


# ---- gradients: TensorFlow's.  What is written to the array of gradients adds up; flows say when all of it was written


def _gradients(handle, flow, grad):
    """The array of an array's gradients in the call of ``tf.gradients`` that made ``grad``, and its flow."""
    parts = grad.name.split("/")
    found = next((i for i, part in enumerate(parts) if part.startswith("gradients")), len(parts) - 2)
    return raw_ops._TensorArrayGradV3(handle, flow, source="/".join(parts[: found + 1]))


@read.gradient
def _(node, grad):
    handle, index, flow = node.inputs
    array = _gradients(handle, flow, grad)
    return [None, None, raw_ops._TensorArrayWriteV3(array.grad_handle, index, grad, array.flow_out)]


@write.gradient
def _(node, grad):
    handle, index, value, _ = node.inputs
    array = _gradients(handle, grad, grad)
    item = raw_ops._TensorArrayReadV3(array.grad_handle, index, array.flow_out, dtype=value.dtype.base_dtype)
    item.set_shape(value.shape)
    return [None, None, item, grad]


@gather.gradient
def _(node, grad):
    handle, indices, flow = node.inputs
    array = _gradients(handle, flow, grad)
    return [None, None, raw_ops._TensorArrayScatterV3(array.grad_handle, indices, grad, array.flow_out)]


@scatter.gradient
def _(node, grad):
    handle, indices, value, _ = node.inputs
    array = _gradients(handle, grad, grad)
    rows = raw_ops._TensorArrayGatherV3(array.grad_handle, indices, array.flow_out, dtype=value.dtype.base_dtype)
    rows.set_shape(value.shape)
    return [None, None, rows, grad]


@concat.gradient
def _(node, grad, lengths_grad):
    handle, flow = node.inputs
    array = _gradients(handle, flow, grad)
    return [None, raw_ops._TensorArraySplitV3(array.grad_handle, grad, node.outputs[1], array.flow_out)]


@split.gradient
def _(node, grad):
    handle, value, _, _ = node.inputs
    array = _gradients(handle, grad, grad)
    joined = raw_ops._TensorArrayConcatV3(array.grad_handle, array.flow_out, dtype=value.dtype.base_dtype).value
    joined.set_shape(value.shape)
    return [None, joined, None, grad]


make.not_differentiable()
gradient.not_differentiable()
