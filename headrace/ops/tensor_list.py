"""Lists of tensors as values: what TensorFlow's newer graphs use where older ones use tensor arrays.

An element that was not set is zeros, in the shape of the list's elements or, where that is not fully known, in the shape that
the reader asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.resources.state.tensor_list import TensorList

_TRAITS = {"element_dtype": ANY, "shape_type": (dtypes.int32, dtypes.int64), "opaque": True}
_READS = {"element_dtype": ANY, "view": True, "opaque": True}


@dataclass(frozen=True, slots=True)
class ShapedList:
    """A list, the shape of its elements as far as it is known, and how many it may hold (-1: any number)."""

    elements: TensorList
    element_shape: TensorShape
    most: int = -1

    def with_elements(self, elements: TensorList) -> ShapedList:
        return ShapedList(elements, self.element_shape, self.most)


def _partial(dims: Any) -> TensorShape:
    """The shape that a tensor of sizes says: -1 for a size that is not known, a scalar if nothing is."""
    if dims is None or np.ndim(dims) == 0:
        return TensorShape(None)
    return TensorShape([None if d is None or d < 0 else int(d) for d in dims])


def _merged(list_: ShapedList, dims: Any) -> TensorShape:
    expected = _partial(dims)
    if not list_.element_shape.is_compatible_with(expected):
        raise ValueError(
            f"Tried to read elements of shape {expected} from a tensor list of elements of shape {list_.element_shape}"
        )
    return list_.element_shape.merge_with(expected)


def _zeros(shape: TensorShape, dtype: Any, device: Any) -> Any:
    sizes: Any = shape.as_list()
    return np.full(sizes, b"", object) if dtype is dtypes.string else torch.zeros(sizes, dtype=dtype, device=device)


def _element(list_, index, dims, dtype, device):
    size = list_.elements.size
    if not 0 <= index < size:
        raise ValueError(f"Trying to access element {index} in a list with {size} elements.")
    element = list_.elements.get(index)
    shape = _merged(list_, dims)
    if element is not None:
        if not shape.is_compatible_with(list(element.shape)):
            raise ValueError(f"Element {index} of a tensor list has shape {list(element.shape)}, not {shape}")
        return element
    if not shape.is_fully_defined():
        other = list_.elements.written()
        shape = shape if other is None else shape.merge_with(list(other.shape))
    if not shape.is_fully_defined():
        raise ValueError(
            f"Trying to read an uninitialized tensor, element {index} of a list, but the shape of its elements is not fully "
            f"defined: {shape}"
        )
    return _zeros(shape, dtype, device)


def _checked(list_, value):
    if not list_.element_shape.is_compatible_with(list(value.shape)):
        raise ValueError(
            f"Tried to set an element of shape {list(value.shape)} in a tensor list of elements of shape {list_.element_shape}"
        )
    return value


def _rows(value):
    return list(value) if isinstance(value, torch.Tensor) else [value[i, ...] for i in range(len(value))]


def _stacked(elements):
    return torch.stack(elements) if isinstance(elements[0], torch.Tensor) else np.stack(elements)


# ---- making lists

empty = op(
    "EmptyTensorList(element_shape: host shape_type, max_num_elements: host int32; element_dtype: type) -> (handle: variant[0])",
    **_TRAITS,
)
empty.kernel(lambda element_shape, most, element_dtype: ShapedList(TensorList([]), _partial(element_shape), most))

reserve = op(
    "TensorListReserve(element_shape: host shape_type, num_elements: host int32; element_dtype: type) -> (handle: variant[0])",
    **_TRAITS,
)


@reserve.kernel
def _(element_shape, num_elements, element_dtype):
    if num_elements < 0:
        raise ValueError(f"The num_elements to reserve must be a non negative number, but got {num_elements}")
    return ShapedList(TensorList([None] * num_elements), _partial(element_shape))


from_tensor = op(
    "TensorListFromTensor(tensor: element_dtype, element_shape: host shape_type) -> (output_handle: variant[0])",
    **_TRAITS, view=True,
)  # fmt: skip


@from_tensor.kernel
def _(tensor, element_shape):
    if not tensor.ndim:
        raise ValueError("Tensor must be at least a vector, but saw shape: []")
    made = ShapedList(TensorList(_rows(tensor)), _partial(element_shape))
    if not made.element_shape.is_compatible_with(list(tensor.shape[1:])):
        raise ValueError(
            f"Specified a list with shape {made.element_shape} from a tensor with shape {list(tensor.shape[1:])}"
        )
    return made


# ---- reading


stack = op(
    "TensorListStack(input_handle: variant, element_shape: host int32; element_dtype: type, num_elements: int = -1) "
    "-> (tensor: element_dtype)",
    element_dtype=ANY, opaque=True,
)  # fmt: skip


@stack.shape
def _(input_handle, element_shape, element_dtype, num_elements):
    count = None if num_elements < 0 else num_elements
    return TensorShape([count]).concatenate(_partial(element_shape))


@stack.kernel
def _(input_handle, element_shape, element_dtype, num_elements, *, device):
    size = input_handle.elements.size
    if num_elements >= 0 and size != num_elements:
        raise ValueError(f"Operation expected a list with {num_elements} elements but got a list with {size} elements.")
    if size:
        return _stacked([_element(input_handle, i, element_shape, element_dtype, device) for i in range(size)])
    shape = _merged(input_handle, element_shape)
    if not shape.is_fully_defined():
        raise ValueError(f"Tried to stack elements of an empty list with non-fully-defined element_shape: {shape}")
    return _zeros(TensorShape([0]).concatenate(shape), element_dtype, device)


gather = op(
    "TensorListGather(input_handle: variant, indices: host int32, element_shape: host int32; element_dtype: type) "
    "-> (values: element_dtype)",
    element_dtype=ANY, opaque=True,
)  # fmt: skip


@gather.shape
def _(input_handle, indices, element_shape, element_dtype):
    count = None if indices is None else len(indices)
    return TensorShape([count]).concatenate(_partial(element_shape))


@gather.kernel
def _(input_handle, indices, element_shape, element_dtype, *, device):
    if len(indices):
        return _stacked([_element(input_handle, i, element_shape, element_dtype, device) for i in indices])
    shape = _merged(input_handle, element_shape)
    if not shape.is_fully_defined():
        raise ValueError(f"Tried to gather 0 elements of a list with non-fully-defined element_shape: {shape}")
    return _zeros(TensorShape([0]).concatenate(shape), element_dtype, device)


get_item = op(
    "TensorListGetItem(input_handle: variant, index: host int32, element_shape: host int32; element_dtype: type) "
    "-> (item: element_dtype)",
    **_READS,
)  # fmt: skip
get_item.shape(lambda input_handle, index, element_shape, element_dtype: _partial(element_shape))


@get_item.kernel
def _(input_handle, index, element_shape, element_dtype, *, device):
    return _element(input_handle, index, element_shape, element_dtype, device)


length = op("TensorListLength(input_handle: variant) -> (length: int32[0])", host_output=True, opaque=True)
length.kernel(lambda input_handle: torch.tensor(input_handle.elements.size, dtype=torch.int32))


# ---- changing: each gives a new list

set_item = op(
    "TensorListSetItem(input_handle: variant, index: host int32, item: element_dtype; "
    "resize_if_index_out_of_bounds: bool = False) -> (output_handle: variant[0])",
    **_READS,
)  # fmt: skip


@set_item.kernel
def _(input_handle, index, item, resize_if_index_out_of_bounds):
    size = input_handle.elements.size
    if index < 0 or (index >= size and not resize_if_index_out_of_bounds):
        raise ValueError(f"Trying to modify element {index} in a list with {size} elements.")
    return input_handle.with_elements(input_handle.elements.set(index, _checked(input_handle, item)))


push_back = op(
    "TensorListPushBack(input_handle: variant, tensor: element_dtype) -> (output_handle: variant[0])", **_READS
)


@push_back.kernel
def _(input_handle, tensor):
    size = input_handle.elements.size
    if size == input_handle.most:
        raise ValueError(f"Tried to push item into a full list, which may hold {size} elements")
    return input_handle.with_elements(input_handle.elements.set(size, _checked(input_handle, tensor)))


pop_back = op(
    "TensorListPopBack(input_handle: variant, element_shape: host int32; element_dtype: type) "
    "-> (output_handle: variant, tensor: element_dtype)",
    **_READS,
)  # fmt: skip
pop_back.shape(lambda input_handle, element_shape, element_dtype: [(), _partial(element_shape)])


@pop_back.kernel
def _(input_handle, element_shape, element_dtype, *, device):
    size = input_handle.elements.size
    if not size:
        raise ValueError("Trying to pop from an empty list.")
    last = _element(input_handle, size - 1, element_shape, element_dtype, device)
    return input_handle.with_elements(TensorList(input_handle.elements.items()[:-1])), last


resize = op(
    "TensorListResize(input_handle: variant, size: host int32) -> (output_handle: variant[0])", view=True, opaque=True
)


@resize.kernel
def _(input_handle, size):
    if size < 0:
        raise ValueError(f"TensorListSlice expects size to be non-negative. Got: {size}")
    elements = input_handle.elements.items()[:size]
    return input_handle.with_elements(TensorList(elements + [None] * (size - len(elements))))


# ---- gradients


def _refuse(node, *grads):
    raise LookupError(
        f"No gradient defined for operation '{node.name}' (op type: {node.type}, made at {node.source}): lists of tensors are "
        "read from TensorFlow's graphs and have no gradients here. A tf.TensorArray has."
    )


for _declared in (empty, reserve, from_tensor, stack, gather, get_item, set_item, push_back, pop_back, resize):
    _declared.gradient(_refuse)
