"""How values are held at run time: torch tensors, and arrays of bytes for strings; to and from numpy at the edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import at
from headrace.resources.calling.copies import to_device

TORCH_DTYPES: dict[DType, torch.dtype] = {
    dtypes.float16: torch.float16,
    dtypes.bfloat16: torch.bfloat16,
    dtypes.float32: torch.float32,
    dtypes.float64: torch.float64,
    dtypes.int8: torch.int8,
    dtypes.int16: torch.int16,
    dtypes.int32: torch.int32,
    dtypes.int64: torch.int64,
    dtypes.uint8: torch.uint8,
    dtypes.uint16: torch.uint16,
    dtypes.uint32: torch.uint32,
    dtypes.uint64: torch.uint64,
    dtypes.bool: torch.bool,
    dtypes.complex64: torch.complex64,
    dtypes.complex128: torch.complex128,
    dtypes.qint8: torch.int8,
    dtypes.quint8: torch.uint8,
    dtypes.qint16: torch.int16,
    dtypes.quint16: torch.uint16,
    dtypes.qint32: torch.int32,
}
FROM_TORCH: dict[torch.dtype, DType] = {}
for _dtype, _torch in TORCH_DTYPES.items():
    FROM_TORCH.setdefault(_torch, _dtype)

Value = Any  # torch.Tensor, or numpy object array for strings


def torch_dtype(dtype: DType) -> torch.dtype:
    """The torch dtype; TypeError for string, resource and variant, which torch cannot hold."""
    torch_type = TORCH_DTYPES.get(dtype.base_dtype)
    if torch_type is None:
        raise TypeError(f"{dtype.name} values are not held in torch tensors")
    return torch_type


share = torch.from_numpy  # for an array known to be plain: C order, writable, of a dtype torch has


NATIVE = frozenset(TORCH_DTYPES) - {
    dtypes.bfloat16, dtypes.float16, dtypes.qint8, dtypes.quint8, dtypes.qint16, dtypes.quint16, dtypes.qint32
}  # fmt: skip
"""Dtypes that numpy computes with as torch does: small values of them may be held as arrays (passes/arrays.py)."""


def as_tensor(array: Any) -> torch.Tensor:
    """A small value held as an array, or as a scalar of numpy's, as a tensor of the same memory where that can be."""
    if type(array) is not np.ndarray or not array.flags.writeable:
        array = np.array(array)
    try:
        return torch.from_numpy(array)
    except ValueError:  # negative strides
        return torch.from_numpy(array.copy())


def tensor_held(value: Any) -> Value:
    """A result of a step that may be an array of numbers, as a tensor."""
    return as_tensor(value) if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject else value


def array_held(value: Any) -> Any:
    """A number or numbers in the host's memory, held as a tensor or as an array, as an array."""
    return value.numpy() if isinstance(value, torch.Tensor) else value


def from_numpy(array: Any, dtype: DType | None = None, device: Any = None) -> Value:
    """An array as a run-time value.  Shares memory with the array where it can (CPU, same dtype, writable)."""
    if array.dtype.hasobject or array.dtype.kind in "SU":
        return array
    if array.dtype.names:  # numpy's form of quantized numbers: a record of one field
        array = array.view(array.dtype[0])
    flags = array.flags
    if not flags.c_contiguous or not flags.writeable or not array.dtype.isnative:
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    tensor = torch.from_numpy(array)
    if dtype is not None:
        target = torch_dtype(dtype)
        if tensor.dtype != target:
            tensor = tensor.to(target)
    if device is not None and device.type != "cpu":
        tensor = to_device(tensor, device)
    return tensor


def is_null(torch_device: Any) -> bool:
    """Whether this is the torch device of the null device type, whose values become zeros where they leave it."""
    return torch_device.type == "meta" and torch_device.index is None


def zeros_for(value: torch.Tensor, device: Any) -> torch.Tensor:
    """What a value of the null device is elsewhere."""
    return torch.zeros(value.shape, dtype=value.dtype, device=device)


def refuse_meta(value: torch.Tensor, device: Any = None, name: str = "") -> NoReturn:
    """Says that a tensor of an accelerator of type "meta" cannot leave it."""
    action = "fetched" if device is None else f"copied to {device}"
    raise InvalidArgumentError(
        None, None,
        f"{name or 'this tensor'} has no values that could be {action}: its device is of torch type meta, where tensors have a "
        f"shape, here {list(value.shape)}, and nothing more. Ask for its shape (tf.shape), or for operations only"
        f"{' ' + at() if device is None else ''}",
    )  # fmt: skip


def to_numpy(value: Value, copy: bool = False) -> Any:
    """A run-time value as an array (0-d: a numpy scalar, as TF1 returns).  bfloat16 comes back as float32."""
    if type(value) is not torch.Tensor and not isinstance(value, torch.Tensor):
        return _object_result(value, copy)
    if value.dtype is torch.bfloat16:
        value = value.float()
        copy = False
    if value.requires_grad:
        value = value.detach()
    if not value.is_cpu:
        if value.is_meta:
            refuse_meta(value)
        value = value.cpu()
        copy = False
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    array = value.numpy()
    if not array.ndim:
        return array[()]
    return array.copy() if copy else array


def meta_returner(name: str, null: bool) -> Callable[[Value], Any]:
    """``to_numpy`` for what may be a meta tensor: zeros if it is of the null device, else an error that has this name."""

    def give(value: Value) -> Any:
        if isinstance(value, torch.Tensor) and value.is_meta:
            value = zeros_for(value, "cpu") if null else refuse_meta(value, None, name)
        return to_numpy(value, True)

    return give


def returner(dtype: DType, borrowed: bool) -> Callable[[Value], Any]:
    """``to_numpy`` with everything decided beforehand that the dtype and the plan allow."""
    base = dtype.base_dtype
    if base not in TORCH_DTYPES or base.is_complex or base.is_quantized or base == dtypes.bfloat16:
        return lambda value: to_numpy(value, borrowed)

    scalar = np.dtype(base.as_numpy_dtype).type

    def give(value: Value) -> Any:
        if not value.ndim:
            return scalar(value.item())
        if type(value) is np.ndarray:
            return value.copy() if borrowed else value
        if not value.is_cpu:
            return value.cpu().numpy()
        return value.numpy().copy() if borrowed else value.numpy()

    return give


def _object_result(value: Any, copy: bool) -> Any:
    if isinstance(value, np.ndarray):
        return (value.copy() if copy else value) if value.ndim else value[()]
    return value
