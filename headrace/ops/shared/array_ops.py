"""The ops of tensor arrays, once for both kinds: arrays that are values, and arrays that are written in place.

They differ in what a handle is, what a flow is, and in their gradients; each kind's family has these.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch

from headrace.core.dtypes import ANY
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.resources.state.tensor_list import TensorList


class OutsideArray(ValueError):  # noqa: N818 - never seen by the user
    """An index beyond the array: as in TF, an InvalidArgumentError in a graph and an OutOfRangeError in eager mode."""

    eager_error_class = OutOfRangeError


class ArrayHandle:
    """What a handle has, besides ``name``, ``dtype`` and ``dynamic_size``."""

    __slots__ = ()

    def size(self, flow):
        raise NotImplementedError

    def read(self, flow, index):
        raise NotImplementedError

    def write(self, flow, index, value):
        """The flow after the write."""
        raise NotImplementedError

    def empty(self, flow):
        """An element of zeros for an array without elements, if their shape is known."""
        return None

    def close(self):
        """Nothing reads it any more."""

    def check_write(self, index, size, is_written):
        if index < 0 or (index >= size and not self.dynamic_size):
            why = "but array size is:" if self.dynamic_size else "but array is not resizeable and size is:"
            raise OutsideArray(f"TensorArray {self.name}: Tried to write to index {index} {why} {size}")
        if is_written:
            raise ValueError(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because it has already been written to."
            )

    def refuse_read(self, index, size):
        raise OutsideArray(f"TensorArray {self.name}: Tried to read from index {index} but array size is: {size}")


def array_ops(prefix, flow, stores, **traits):
    """Declares the ops but for their gradients.  ``stores``: the trait of those that put values into an array."""
    stores = {stores: True, **traits}
    make = op(
        f'{prefix}TensorArrayV3(size: host int32; dtype: type, element_shape: shape = None, dynamic_size: bool = False, '
        'clear_after_read: bool = True, identical_element_shapes: bool = False, tensor_array_name: string = "") '
        f"-> (handle: resource, flow: {flow})",
        dtype=ANY, **traits,
    )  # fmt: skip
    write = op(
        f"{prefix}TensorArrayWriteV3(handle: resource, index: host int32, value: T, flow_in: {flow}) -> (flow_out: {flow})",
        T=ANY, **stores,
    )  # fmt: skip
    read = op(
        f"{prefix}TensorArrayReadV3(handle: resource, index: host int32, flow_in: {flow}; dtype: type, "
        "element_shape: shape = None) -> (value: dtype)",
        dtype=ANY, view=True, **traits,
    )  # fmt: skip
    gather = op(
        f"{prefix}TensorArrayGatherV3(handle: resource, indices: host int32, flow_in: {flow}; dtype: type, "
        "element_shape: shape = None) -> (value: dtype)",
        dtype=ANY, **traits,
    )  # fmt: skip
    scatter = op(
        f"{prefix}TensorArrayScatterV3(handle: resource, indices: host int32, value: T, flow_in: {flow}) -> (flow_out: {flow})",
        T=ANY, **stores,
    )  # fmt: skip
    concat = op(
        f"{prefix}TensorArrayConcatV3(handle: resource, flow_in: {flow}; dtype: type, element_shape_except0: shape = None) "
        "-> (value: dtype, lengths: int64)",
        dtype=ANY, **traits,
    )  # fmt: skip
    split = op(
        f"{prefix}TensorArraySplitV3(handle: resource, value: T, lengths: host int64, flow_in: {flow}) -> (flow_out: {flow})",
        T=ANY, **stores,
    )  # fmt: skip
    size = op(
        f"{prefix}TensorArraySizeV3(handle: resource, flow_in: {flow}) -> (size: int32)", host_output=True, **traits
    )
    close = op(f"{prefix}TensorArrayCloseV3(handle: resource) -> ()", **{**traits, "stateful": True})
    for definition, shape, kernel in (
        (write, lambda handle, index, value, flow_in: _of_rank(index, 0, ()), _write),
        (read, lambda handle, index, flow_in, dtype, element_shape: _of_rank(index, 0, element_shape), _read),
        (gather, _gathered_shape, _gather),
        (scatter, lambda handle, indices, value, flow_in: _of_rank(indices, 1, ()), _scatter),
        (concat, _joined_shape, _concat),
        (split, lambda handle, value, lengths, flow_in: _of_rank(lengths, 1, ()), _split),
        (
            size,
            lambda handle, flow_in: (),
            lambda handle, flow_in: torch.tensor(handle.size(flow_in), dtype=torch.int32),
        ),
    ):
        definition.shape(shape)
        definition.kernel(kernel)
    make.shape(lambda size, *attributes: _of_rank(size, 0, [(2,), ()]))
    close.kernel(lambda handle: handle.close())
    for definition in (make, size, close):
        definition.not_differentiable()
    return SimpleNamespace(
        make=make, write=write, read=read, gather=gather, scatter=scatter, concat=concat, split=split
    )


def check_size(size, name):
    """Refuses what is no size of an array."""
    if not isinstance(size, int):
        raise ValueError(f"TensorArray size must be scalar, but had shape: {list(np.shape(size))}")
    if size < 0:
        raise ValueError(f"Size should be >= 0.  TensorArray {name} got {size}")


def shape_text(shape):
    return "<unknown>" if shape is None else f"[{','.join('?' if d is None else str(d) for d in shape)}]"


def _of_rank(value, rank, shape):
    """The shape, unless a static value has another rank."""
    if value is not None and np.ndim(value) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {np.ndim(value)}")
    return shape


def _gathered_shape(handle, indices, flow_in, dtype, element_shape):
    count = None if indices is None else len(indices)
    return TensorShape([count]).concatenate(element_shape if element_shape is not None else TensorShape(None))


def _joined_shape(handle, flow_in, dtype, element_shape_except0):
    rest = element_shape_except0 if element_shape_except0 is not None else TensorShape(None)
    return [TensorShape([None]).concatenate(rest), [None]]


def _check_index(index):
    if not isinstance(index, int):
        raise ValueError(f"TensorArray index must be scalar, but had shape: {list(np.shape(index))}")


def _type_name(dtype):
    """TensorFlow's name for a type of elements."""
    if not isinstance(dtype, torch.dtype):
        return "string"
    name = str(dtype).removeprefix("torch.")
    return {"float32": "float", "float64": "double", "float16": "half"}.get(name, name)


def _write(handle, index, value, flow_in):
    _check_index(index)
    if isinstance(value, (bool, int)):  # a loop's counter
        value = torch.tensor(value, dtype=handle.dtype)
    if value.dtype != handle.dtype and (value.dtype != object or isinstance(handle.dtype, torch.dtype)):
        raise ValueError(
            f"TensorArray dtype is {_type_name(handle.dtype)} but Op is trying to write dtype {_type_name(value.dtype)}."
        )
    return handle.write(flow_in, index, value)


def _read(handle, index, flow_in, dtype, element_shape):
    _check_index(index)
    if dtype != handle.dtype:
        raise ValueError(f"TensorArray dtype is {_type_name(handle.dtype)} but Op requested dtype {_type_name(dtype)}.")
    return handle.read(flow_in, index)


def _gather(handle, indices, flow_in, dtype, element_shape, *, device):
    items = [handle.read(flow_in, i) for i in indices]
    for i, other in zip(indices, items, strict=True):
        if other.shape != items[0].shape:
            raise ValueError(
                f"TensorArray has inconsistent shapes.  Index {indices[0]} has shape: {list(items[0].shape)} but index {i} has "
                f"shape: {list(other.shape)} ({handle.name})"
            )
    if items:
        return torch.stack(items) if isinstance(items[0], torch.Tensor) else np.stack(items)
    empty = handle.empty(flow_in)
    if empty is None and element_shape is not None and None not in element_shape:
        empty = torch.zeros(element_shape, dtype=dtype, device=device)
    if empty is None:
        raise NotImplementedError(
            f"TensorArray has size zero, but element shape {shape_text(element_shape)} is not fully defined. Currently only "
            f"static shapes are supported when packing zero-size TensorArrays ({handle.name})."
        )
    return empty.new_zeros((0, *empty.shape))


def _scatter(handle, indices, value, flow_in):
    if not isinstance(indices, list):
        raise ValueError(f"TensorArray {handle.name}: Expected indices to be a vector, received shape: []")
    if not value.ndim:
        raise ValueError(f"TensorArray {handle.name}: Expected value to be at least a vector, but received shape: []")
    if len(indices) != value.shape[0]:
        raise ValueError(
            f"TensorArray {handle.name}: Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {value.shape[0]}"
        )
    size = handle.size(flow_in)
    if not handle.dynamic_size and max(indices, default=-1) >= size:
        raise OutsideArray(
            f"Max scatter index must be < array size ({max(indices)} vs. {size}): TensorArray {handle.name} is not "
            f"resizeable and size is: {size}"
        )
    # Strings are taken apart into arrays, not bytes.
    rows = list(value) if isinstance(value, torch.Tensor) else [value[i, ...] for i in range(len(value))]
    is_whole = size == len(indices) and list(indices) == list(range(size))
    if is_whole and isinstance(flow_in, TensorList) and flow_in.written() is None:
        return TensorList(rows)  # the usual case: unstack into a fresh array
    for index, item in zip(indices, rows, strict=True):
        flow_in = handle.write(flow_in, index, item)
    return flow_in


def _concat(handle, flow_in, dtype, element_shape_except0, *, device):
    items = [handle.read(flow_in, i) for i in range(handle.size(flow_in))]
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
                f"TensorArray has size zero, but element_shape_except0 {shape_text(element_shape_except0)} is not fully "
                f"defined. Currently only static shapes are supported when concatenating zero-size TensorArrays ({handle.name})."
            )
        joined = torch.zeros((0, *element_shape_except0), dtype=dtype, device=device)
    else:
        joined = torch.cat(items) if isinstance(items[0], torch.Tensor) else np.concatenate(items)
    return joined, torch.tensor([v.shape[0] for v in items], dtype=torch.int64)


def _split(handle, value, lengths, flow_in):
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
    size = handle.size(flow_in)
    if not handle.dynamic_size and len(lengths) != size:
        raise ValueError(
            f"TensorArray {handle.name}: TensorArray's size is not equal to the size of lengths ({size} vs. "
            f"{len(lengths)}), and the TensorArray is not marked as dynamically resizeable"
        )
    is_tensor = isinstance(value, torch.Tensor)
    pieces = torch.split(value, list(lengths)) if is_tensor else np.split(value, np.cumsum(lengths)[:-1])
    for index, item in enumerate(pieces):
        flow_in = handle.write(flow_in, index, item)
    return flow_in
