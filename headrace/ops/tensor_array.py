"""Tensor arrays: a handle that says what the array holds, and a flow that is the array's value at one moment.

Reads and writes take the flow, and a write returns a new one.  So the order follows from the data, and arrays pass through
loops as loop variables.  Gradients are arrays too (``_Array...``); in them a missing item is zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import ANY
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.resources.state.tensor_list import FewTensors, TensorList


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What is fixed when the array is created."""

    name: str
    dtype: Any
    element_shape: tuple[int | None, ...] | None
    dynamic_size: bool
    alike: bool
    device: Any

    def zeros(self, like: Any) -> Any:
        """What an item that was not written reads as, if its shape is known."""
        if not isinstance(self.dtype, torch.dtype):
            return None  # TensorFlow does not fill in texts either
        if like is not None:
            return torch.zeros_like(like)
        dims: Any = self.element_shape
        if dims is not None and None not in dims:
            return torch.zeros(dims, dtype=self.dtype, device=self.device)
        return None


class OutsideArray(ValueError):  # noqa: N818 - never seen by the user
    """An index beyond the array: as in TF, an InvalidArgumentError in a graph and an OutOfRangeError in eager mode."""

    eager_error_class = OutOfRangeError


create = op(
    'TensorArrayV3(size: host int32; dtype: type, element_shape: shape = None, dynamic_size: bool = False, '
    'clear_after_read: bool = True, identical_element_shapes: bool = False, tensor_array_name: string = "") '
    "-> (handle: resource, flow: variant)",
    dtype=ANY, opaque=True,
)  # fmt: skip
create.not_differentiable()
_numbers = itertools.count()


@create.shape
def _(size, *attributes):
    _check_rank(size, 0)
    return [(2,), ()]


def _check_rank(value, rank):
    """Refuses a static value of another rank."""
    if value is not None and np.ndim(value) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {np.ndim(value)}")


@create.kernel
def _(size, dtype, shape, dynamic_size, clear_after_read, identical_element_shapes, name, *, node, device):
    if not isinstance(size, int):
        raise ValueError(f"TensorArray size must be scalar, but had shape: {list(np.shape(size))}")
    if size < 0:
        raise ValueError(f"Size should be >= 0.  TensorArray {name or node.name} got {size}")
    unique = f"{name or node.name}_{next(_numbers)}"
    spec = ArraySpec(unique, dtype, shape, dynamic_size, identical_element_shapes, device)
    return spec, TensorList([None] * size)


def _check_index(index):
    if not isinstance(index, int):
        raise ValueError(f"TensorArray index must be scalar, but had shape: {list(np.shape(index))}")


def _check_dtype(spec, value):
    """Refuses to write a value of another type than the array's."""
    expected = spec.dtype if isinstance(spec.dtype, torch.dtype) else value.dtype if value.dtype == object else object
    if value.dtype != expected:
        raise ValueError(
            f"TensorArray dtype is {_type_name(spec.dtype)} but Op is trying to write dtype {_type_name(value.dtype)}."
        )


def _type_name(dtype):
    """TensorFlow's name for a type of elements."""
    if not isinstance(dtype, torch.dtype):
        return "string"
    name = str(dtype).removeprefix("torch.")
    return {"float32": "float", "float64": "double", "float16": "half"}.get(name, name)


def _write(spec, flow, index, value):
    if index < 0 or (index >= flow.size and not spec.dynamic_size):
        why = "but array size is:" if spec.dynamic_size else "but array is not resizeable and size is:"
        raise OutsideArray(f"TensorArray {spec.name}: Tried to write to index {index} {why} {flow.size}")
    if index < flow.size and flow.get(index) is not None:
        raise ValueError(
            f"TensorArray {spec.name}: Could not write to TensorArray index {index} because it has already been written to."
        )
    shape = spec.element_shape
    if shape is not None and shape != value.shape and not TensorShape(list(value.shape)).is_compatible_with(shape):
        raise ValueError(
            f"TensorArray {spec.name}: Could not write to TensorArray index {index} because the value shape is "
            f"{list(value.shape)} which is incompatible with the TensorArray's inferred element shape: "
            f"{list(spec.element_shape)} (consider setting infer_shape=False)."
        )
    return flow.set(index, value)


def _read(spec, flow, index):
    if index < 0 or index >= flow.size:
        raise OutsideArray(f"TensorArray {spec.name}: Tried to read from index {index} but array size is: {flow.size}")
    item = flow.get(index)
    if item is None:
        item = spec.zeros(flow.written() if spec.alike else None)
    if item is None:
        raise ValueError(
            f"TensorArray {spec.name}: Could not read from TensorArray index {index}.  Furthermore, the element shape is not "
            f"fully defined: {_shape_text(spec.element_shape)}.  The element was never written, so it would be read as zeros"
        )
    return item


write = op(
    "TensorArrayWriteV3(handle: resource, index: host int32, value: T, flow_in: variant) -> (flow_out: variant)",
    T=ANY, view=True, opaque=True,
)  # fmt: skip


@write.shape
def _(handle, index, value, flow_in):
    _check_rank(index, 0)
    return ()


@write.kernel
def _(handle, index, value, flow_in):
    _check_index(index)
    _check_dtype(handle, value)
    return _write(handle, flow_in, index, value)


@write.gradient
def _(node, grad):
    value = node.inputs[2]
    return [None, None, _item(grad, node.inputs[1], value), grad]


def _item(array, index, like):
    """The gradient's item; zeros in the shape of ``like`` if it has none."""
    item = raw_ops._ArrayItem(array, index, raw_ops.Shape(like), dtype=like.dtype.base_dtype)
    item.set_shape(like.shape)
    return item


read = op(
    "TensorArrayReadV3(handle: resource, index: host int32, flow_in: variant; dtype: type, element_shape: shape = None) "
    "-> (value: dtype)",
    dtype=ANY, view=True, opaque=True,
)  # fmt: skip


@read.shape
def _(handle, index, flow_in, dtype, element_shape):
    _check_rank(index, 0)
    return element_shape


@read.kernel
def _(handle, index, flow_in, dtype, element_shape):
    _check_index(index)
    if dtype != handle.dtype:
        raise ValueError(f"TensorArray dtype is {_type_name(handle.dtype)} but Op requested dtype {_type_name(dtype)}.")
    return _read(handle, flow_in, index)


read.gradient(lambda node, grad: [None, None, raw_ops._ArrayOf(node.inputs[1], grad)])


gather = op(
    "TensorArrayGatherV3(handle: resource, indices: host int32, flow_in: variant; dtype: type, element_shape: shape = None) "
    "-> (value: dtype)",
    dtype=ANY, opaque=True,
)  # fmt: skip


@gather.shape
def _(handle, indices, flow_in, dtype, element_shape):
    count = None if indices is None else len(indices)
    return TensorShape([count]).concatenate(element_shape if element_shape is not None else TensorShape(None))


@gather.kernel
def _(handle, indices, flow_in, dtype, element_shape):
    items = [_read(handle, flow_in, i) for i in indices]
    for i, other in zip(indices, items, strict=True):
        if other.shape != items[0].shape:
            raise ValueError(
                f"TensorArray has inconsistent shapes.  Index {indices[0]} has shape: {list(items[0].shape)} but index {i} has "
                f"shape: {list(other.shape)} ({handle.name})"
            )
    if items:
        return torch.stack(items) if isinstance(items[0], torch.Tensor) else np.stack(items)
    empty = handle.zeros(flow_in.written())
    if empty is None and element_shape is not None and None not in element_shape:
        empty = torch.zeros(element_shape, dtype=dtype)
    if empty is None:
        raise NotImplementedError(
            f"TensorArray has size zero, but element shape {_shape_text(element_shape)} is not fully defined. Currently only "
            f"static shapes are supported when packing zero-size TensorArrays ({handle.name})."
        )
    return empty.new_zeros((0, *empty.shape))


def _shape_text(shape):
    return "<unknown>" if shape is None else f"[{','.join('?' if d is None else str(d) for d in shape)}]"


@gather.gradient
def _(node, grad):
    return [None, None, raw_ops._ArrayUnstacked(node.inputs[1], grad)]


scatter = op(
    "TensorArrayScatterV3(handle: resource, indices: host int32, value: T, flow_in: variant) -> (flow_out: variant)",
    T=ANY, view=True, opaque=True,
)  # fmt: skip


@scatter.shape
def _(handle, indices, value, flow_in):
    _check_rank(indices, 1)
    return ()


@scatter.kernel
def _(handle, indices, value, flow_in):
    if not isinstance(indices, list):
        raise ValueError(f"TensorArray {handle.name}: Expected indices to be a vector, received shape: []")
    if not value.ndim:
        raise ValueError(f"TensorArray {handle.name}: Expected value to be at least a vector, but received shape: []")
    if len(indices) != value.shape[0]:
        raise ValueError(
            f"TensorArray {handle.name}: Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {value.shape[0]}"
        )
    if not handle.dynamic_size and max(indices, default=-1) >= flow_in.size:
        raise OutsideArray(
            f"Max scatter index must be < array size ({max(indices)} vs. {flow_in.size}): TensorArray {handle.name} is not "
            f"resizeable and size is: {flow_in.size}"
        )
    if flow_in.size == len(indices) and flow_in.written() is None and list(indices) == list(range(len(indices))):
        return TensorList(_rows(value))  # the usual case: unstack into a fresh array
    for index, item in zip(indices, _rows(value), strict=True):
        flow_in = _write(handle, flow_in, index, item)
    return flow_in


def _rows(value):
    if isinstance(value, torch.Tensor):
        return list(value)
    return [value[i, ...] for i in range(len(value))]  # for strings: arrays, not bytes


@scatter.gradient
def _(node, grad):
    value = node.inputs[2]
    stacked = raw_ops._ArrayStacked(grad, node.inputs[1], raw_ops.Shape(value), dtype=value.dtype.base_dtype)
    stacked.set_shape(value.shape)
    return [None, None, stacked, grad]


concat = op(
    "TensorArrayConcatV3(handle: resource, flow_in: variant; dtype: type, element_shape_except0: shape = None) "
    "-> (value: dtype, lengths: int64)",
    dtype=ANY, opaque=True,
)  # fmt: skip


@concat.shape
def _(handle, flow_in, dtype, element_shape_except0):
    rest = element_shape_except0 if element_shape_except0 is not None else TensorShape(None)
    return [TensorShape([None]).concatenate(rest), [None]]


@concat.kernel
def _(handle, flow_in, dtype, element_shape_except0):
    items = [_read(handle, flow_in, i) for i in range(flow_in.size)]
    for index, item in enumerate(items):
        if not item.ndim:
            raise ValueError(
                f"Concat saw a scalar shape at index {index} but requires at least vectors.  Did you mean to call pack? "
                f"(TensorArray {handle.name})"
            )
        if item.shape[1:] != items[0].shape[1:]:
            raise ValueError(
                f"TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {list(items[0].shape[1:])} "
                f"but index {index} has (excepting dimension 0) shape: {list(item.shape[1:])} ({handle.name})"
            )
    if not items:
        if element_shape_except0 is None or None in element_shape_except0:
            raise NotImplementedError(
                f"TensorArray has size zero, but element_shape_except0 {_shape_text(element_shape_except0)} is not fully "
                f"defined. Currently only static shapes are supported when concatenating zero-size TensorArrays ({handle.name})."
            )
        joined = torch.zeros((0, *element_shape_except0), dtype=dtype)
    else:
        joined = torch.cat(items) if isinstance(items[0], torch.Tensor) else np.concatenate(items)
    return joined, torch.tensor([v.shape[0] for v in items], dtype=torch.int64)


@concat.gradient
def _(node, grad, lengths_grad):
    return [None, raw_ops._ArraySplit(grad, node.outputs[1])]


split = op(
    "TensorArraySplitV3(handle: resource, value: T, lengths: host int64, flow_in: variant) -> (flow_out: variant)",
    T=ANY, view=True, opaque=True,
)  # fmt: skip


@split.shape
def _(handle, value, lengths, flow_in):
    _check_rank(lengths, 1)
    return ()


@split.kernel
def _(handle, value, lengths, flow_in):
    shape = np.shape(lengths)
    if len(shape) != 1:
        raise ValueError(f"TensorArray {handle.name}: Expected lengths to be a vector, received shape: {list(shape)}")
    if not value.ndim:
        raise ValueError(f"TensorArray {handle.name}: Expected value to be at least a vector, but received shape: []")
    if sum(lengths) != value.shape[0]:
        raise ValueError(
            f"TensorArray {handle.name}: Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(lengths)} and value's shape is: {list(value.shape)}"
        )
    if not handle.dynamic_size and len(lengths) != flow_in.size:
        raise ValueError(
            f"TensorArray {handle.name}: TensorArray's size is not equal to the size of lengths ({flow_in.size} vs. "
            f"{len(lengths)}), and the TensorArray is not marked as dynamically resizeable"
        )
    for index, item in enumerate(_pieces(value, lengths)):
        flow_in = _write(handle, flow_in, index, item)
    return flow_in


def _pieces(value, lengths):
    if isinstance(value, torch.Tensor):
        return torch.split(value, list(lengths))
    return np.split(value, np.cumsum(lengths)[:-1])


@split.gradient
def _(node, grad):
    value, lengths = node.inputs[1], node.inputs[2]
    joined = raw_ops._ArrayConcat(grad, lengths, raw_ops.Shape(value), dtype=value.dtype.base_dtype)
    joined.set_shape(value.shape)
    return [None, joined, None, grad]


size = op("TensorArraySizeV3(handle: resource, flow_in: variant) -> (size: int32)", host_output=True, opaque=True)
size.not_differentiable()
size.shape(lambda handle, flow_in: ())
size.kernel(lambda handle, flow_in: torch.tensor(flow_in.size, dtype=torch.int32))

close = op("TensorArrayCloseV3(handle: resource) -> ()", stateful=True)
close.not_differentiable()
close.kernel(lambda handle: None)


# ---- gradients as arrays: what makes one and what takes it apart are each other's gradients


one = op("_ArrayOf(index: host int32, value: T) -> (array: variant)", T=ANY, view=True, opaque=True)
one.shape(lambda index, value: ())
one.kernel(lambda index, value: FewTensors({index: value}))
one.gradient(lambda node, grad: [None, _item(grad, node.inputs[0], node.inputs[1])])

item = op(
    "_ArrayItem(array: variant, index: host int32, shape: host int32; dtype: type) -> (value: dtype)",
    dtype=ANY, view=True, opaque=True,
)  # fmt: skip
item.shape(lambda array, index, shape, dtype: shape)
item.gradient(lambda node, grad: [raw_ops._ArrayOf(node.inputs[1], grad), None, None])


@item.kernel
def _(array, index, shape, dtype, *, device):
    element = array.find(index)
    if element is None and shape == UNKNOWN:
        raise ValueError(
            f"Could not read from TensorArray index {index}.  Furthermore, the element shape is not fully defined: no gradient "
            "was written there, so it would be read as zeros"
        )
    return torch.zeros(shape, dtype=dtype, device=device) if element is None else element


UNKNOWN = [-1]

element_shape = op(
    "_ElementShape(handle: resource, index: host int32, flow_in: variant) -> (shape: int32)",
    host_output=True,
    opaque=True,
)
element_shape.not_differentiable()
element_shape.shape(lambda handle, index, flow_in: [None])


@element_shape.kernel
def _(handle, index, flow_in):
    """The shape of an element; ``UNKNOWN`` if it was not written and could not be read."""
    element = flow_in.find(index)
    if element is None:
        element = handle.zeros(flow_in.written() if handle.alike else None)
    return torch.tensor(UNKNOWN if element is None else list(element.shape), dtype=torch.int32)


unstacked = op("_ArrayUnstacked(indices: host int32, value: T) -> (array: variant)", T=ANY, view=True, opaque=True)
unstacked.shape(lambda indices, value: ())
unstacked.kernel(lambda indices, value: FewTensors.of(indices, value.unbind()))


@unstacked.gradient
def _(node, grad):
    value = node.inputs[1]
    stacked = raw_ops._ArrayStacked(grad, node.inputs[0], raw_ops.Shape(value), dtype=value.dtype.base_dtype)
    stacked.set_shape(value.shape)
    return [None, stacked]


stacked = op(
    "_ArrayStacked(array: variant, indices: host int32, shape: host int32; dtype: type) -> (value: dtype)",
    dtype=ANY, opaque=True,
)  # fmt: skip
stacked.shape(lambda array, indices, shape, dtype: shape)
stacked.gradient(lambda node, grad: [raw_ops._ArrayUnstacked(node.inputs[1], grad), None, None])


@stacked.kernel
def _(array, indices, shape, dtype, *, device):
    elements = [array.find(i) for i in indices]
    missing = sum(v is None for v in elements)  # not ``None in elements``, which would compare tensors
    if missing == len(elements):
        return torch.zeros(shape, dtype=dtype, device=device)
    if not missing:
        return torch.stack(elements)
    nothing = torch.zeros(shape[1:], dtype=dtype, device=device)
    return torch.stack([nothing if v is None else v for v in elements])


pieces = op("_ArraySplit(value: T, lengths: host int64) -> (array: variant)", T=ANY, view=True, opaque=True)
pieces.shape(lambda value, lengths: ())
pieces.kernel(lambda value, lengths: FewTensors.of(range(len(lengths)), torch.split(value, list(lengths))))


@pieces.gradient
def _(node, grad):
    value = node.inputs[0]
    joined = raw_ops._ArrayConcat(grad, node.inputs[1], raw_ops.Shape(value), dtype=value.dtype.base_dtype)
    joined.set_shape(value.shape)
    return [joined, None]


joined = op(
    "_ArrayConcat(array: variant, lengths: host int64, shape: host int32; dtype: type) -> (value: dtype)",
    dtype=ANY, opaque=True,
)  # fmt: skip
joined.shape(lambda array, lengths, shape, dtype: shape)
joined.gradient(lambda node, grad: [raw_ops._ArraySplit(grad, node.inputs[1]), None, None])


@joined.kernel
def _(array, lengths, shape, dtype, *, device):
    parts = []
    for i, length in enumerate(lengths):
        element = array.find(i)
        parts.append(torch.zeros((length, *shape[1:]), dtype=dtype, device=device) if element is None else element)
    return torch.cat(parts) if parts else torch.zeros(shape, dtype=dtype, device=device)
