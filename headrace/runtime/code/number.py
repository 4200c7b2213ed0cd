"""Integer and bool scalars as Python numbers: what loops count with and conditions are decided by.

Adding one to a Python number costs a hundredth of a kernel call.  Numbers wrap around as the integers of their dtype do.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from headrace.core.dtypes import DType, int32, int64
from headrace.resources.calling.value import refuse_meta, torch_dtype

_BITS = {int32: 32, int64: 64}


def wrapped(expression: str, dtype: DType, name: str, wrap: str) -> str:
    """A statement that sets ``name`` to the expression's value, brought into the dtype's range by ``wrap`` if it left it."""
    bits = _BITS.get(dtype.base_dtype)
    if bits is None:
        return f"{name} = {expression}"
    half = 1 << (bits - 1)
    return f"{name} = {expression}; {name} = {name} if {-half} <= {name} < {half} else {wrap}({name}, {bits})"


def wrap(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


@functools.lru_cache(maxsize=4096)
def _tensor(value: int, dtype: DType, device: Any) -> torch.Tensor:
    return torch.tensor(value, dtype=torch_dtype(dtype), device=device)


def tensor_of(value: Any, dtype: DType, device: Any) -> torch.Tensor:
    """A number as a tensor.  Equal numbers share one tensor, which must not be changed."""
    return _tensor(value, dtype, device) if isinstance(value, int) else value


def number(value: Any) -> Any:
    """A scalar as a Python number.  The rank of a condition may be unknown until now, so it is checked."""
    if isinstance(value, int):
        return value
    if value.ndim:
        raise ValueError(f"The predicate must be a scalar, but it has shape {list(value.shape)}")
    try:
        return value.item()
    except RuntimeError:
        if value.is_meta:
            refuse_meta(value, "the host")
        raise
