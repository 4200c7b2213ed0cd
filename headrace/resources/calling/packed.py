"""Run-time values as encoded TensorProtos, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import string
from headrace.core.tensor_proto import decode, encode
from headrace.resources.calling.value import FROM_TORCH


def pack(value: Any, raw_strings: bool = True) -> bytes:
    """A run-time value as an encoded TensorProto."""
    if isinstance(value, np.ndarray):
        return encode(value, string, raw_strings)
    if value.dtype is torch.bfloat16:
        return encode(value.view(torch.int16).numpy(), dtypes.bfloat16)
    return encode(value.numpy(), FROM_TORCH[value.dtype])


def unpack(data: bytes, expected: Any = None) -> Any:
    """The inverse of ``pack``; the dtype must be the one that was asked for, if one was."""
    try:
        dtype, array = decode(data)
    except (ValueError, TypeError) as e:
        raise ValueError(f"Could not parse `serialized` as TensorProto, contents: {data[:60]!r} ({e})") from None
    expected = dtype if expected is None else FROM_TORCH.get(expected, expected)
    if dtype is not expected:
        raise ValueError(f"Type mismatch between parsed tensor ({dtype.name}) and dtype ({expected.name})")
    if dtype is string:
        return array
    if dtype is dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
