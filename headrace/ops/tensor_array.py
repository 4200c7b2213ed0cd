"""Tensor arrays: a handle that says what the array holds, and a flow that is the array's value at one moment.

Reads and writes take the flow, and a write returns a new one.  So the order follows from the data, and arrays pass through
loops as loop variables.  Gradients are arrays too (``_Array...``); in them a missing item is zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.shared.array_ops import ArrayHandle, array_ops, check_size, shape_text
from headrace.resources.state.tensor_list import FewTensors, TensorList


@dataclass(frozen=True, slots=True)
class ArraySpec(ArrayHandle):
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

    def size(self, flow):
        return flow.size

    def empty(self, flow):
        return self.zeros(flow.written())

    def write(self, flow, index, value):
        if not 0 <= index < flow.size or flow.get(index) is not None:
            self.check_write(index, flow.size, index < flow.size)
        shape = self.element_shape
        if shape is not None and shape != value.shape and not TensorShape(list(value.shape)).is_compatible_with(shape):
            raise ValueError(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because the value shape is "
                f"{list(value.shape)} which is incompatible with the TensorArray's inferred element shape: "
                f"{list(shape)} (consider setting infer_shape=False)."
            )
        return flow.set(index, value)

    def read(self, flow, index):
        if not 0 <= index < flow.size:
            self.refuse_read(index, flow.size)
        item = flow.get(index)
        if item is None:
            item = self.zeros(flow.written() if self.alike else None)
        if item is None:
            raise ValueError(
                f"TensorArray {self.name}: Could not read from TensorArray index {index}.  Furthermore, the element shape is not "
                f"fully defined: {shape_text(self.element_shape)}.  The element was never written, so it would be read as zeros"
            )
        return item


_OPS = array_ops("", "variant", "view", opaque=True)
_numbers = itertools.count()


@_OPS.make.kernel
def _(size, dtype, shape, dynamic_size, clear_after_read, identical_element_shapes, name, *, node, device):
    check_size(size, name or node.name)
    unique = f"{name or node.name}_{next(_numbers)}"
    spec = ArraySpec(unique, dtype, shape, dynamic_size, identical_element_shapes, device)
    return spec, TensorList([None] * size)


@_OPS.write.gradient
def _(node, grad):
    value = node.inputs[2]
    return [None, None, _item(grad, node.inputs[1], value), grad]


def _item(array, index, like):
    """The gradient's item; zeros in the shape of ``like`` if it has none."""
    item = raw_ops._ArrayItem(array, index, raw_ops.Shape(like), dtype=like.dtype.base_dtype)
    item.set_shape(like.shape)
    return item


_OPS.read.gradient(lambda node, grad: [None, None, raw_ops._ArrayOf(node.inputs[1], grad)])
_OPS.gather.gradient(lambda node, grad: [None, None, raw_ops._ArrayUnstacked(node.inputs[1], grad)])
_OPS.scatter.gradient(lambda node, grad: [None, None, _stacked(grad, node.inputs[1], node.inputs[2]), grad])
_OPS.concat.gradient(lambda node, grad, lengths_grad: [None, raw_ops._ArraySplit(grad, node.outputs[1])])
_OPS.split.gradient(lambda node, grad: [None, _joined(grad, node.inputs[2], node.inputs[1]), None, grad])


def _stacked(array, indices, like):
    stacked = raw_ops._ArrayStacked(array, indices, raw_ops.Shape(like), dtype=like.dtype.base_dtype)
    stacked.set_shape(like.shape)
    return stacked


def _joined(array, lengths, like):
    joined = raw_ops._ArrayConcat(array, lengths, raw_ops.Shape(like), dtype=like.dtype.base_dtype)
    joined.set_shape(like.shape)
    return joined


# ---- gradients as arrays: what makes one and what takes it apart are each other's gradients


one = op("_ArrayOf(index: host int32, value: T) -> (array: variant[0])", T=ANY, view=True, opaque=True)
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
element_shape.shape(lambda handle, index, flow_in: [None])


@element_shape.kernel
def _(handle, index, flow_in):
    """The shape of an element; ``UNKNOWN`` if it was not written and could not be read."""
    element = flow_in.find(index)
    if element is None:
        element = handle.zeros(flow_in.written() if handle.alike else None)
    return torch.tensor(UNKNOWN if element is None else list(element.shape), dtype=torch.int32)


unstacked = op("_ArrayUnstacked(indices: host int32, value: T) -> (array: variant[0])", T=ANY, view=True, opaque=True)
unstacked.kernel(lambda indices, value: FewTensors.of(indices, value.unbind()))

unstacked.gradient(lambda node, grad: [None, _stacked(grad, *node.inputs)])

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


pieces = op("_ArraySplit(value: T, lengths: host int64) -> (array: variant[0])", T=ANY, view=True, opaque=True)
pieces.kernel(lambda value, lengths: FewTensors.of(range(len(lengths)), torch.split(value, list(lengths))))

pieces.gradient(lambda node, grad: [_joined(grad, node.inputs[1], node.inputs[0]), None])

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
