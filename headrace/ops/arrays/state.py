"""Assignments to small variables."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64, int32, int64
from headrace.ops.arrays._declare import on_arrays
from headrace.resources.value import from_numpy

_TYPES = (float32, float64, int32, int64)


@on_arrays("Assign", most=1 << 14, T=_TYPES)
def _assign(ref, value, validate_shape, use_locking):
    if use_locking:
        with ref.lock:
            return _assign(ref, value, validate_shape, False)
    if ref.initialized and (buffer := ref.array).shape == value.shape:
        np.copyto(buffer, value)
    else:
        ref.assign(from_numpy(np.array(value)), validate_shape)
    return ref


def _update(name, ufunc):
    @on_arrays(name, most=1 << 14, T=_TYPES)
    def kernel(ref, value, use_locking):
        buffer = ref.array
        if buffer.shape != value.shape:
            raise ValueError(
                f"Input shapes must match: the variable has shape {list(buffer.shape)}, the value {list(value.shape)}"
            )
        if use_locking:
            with ref.lock:
                ufunc(buffer, value, buffer)
        else:
            ufunc(buffer, value, buffer)
        return ref


_update("AssignAdd", np.add)
_update("AssignSub", np.subtract)
