"""Arrays made from a few numbers, or of another type."""

from __future__ import annotations

from functools import partial

import numpy as np

from headrace.core.dtypes import COMPLEX, INTEGER, bool, float32, float64, int32, int64
from headrace.ops.arrays._declare import on_arrays

# ---- from numbers


@on_arrays("Fill", most=65536)
def _fill(dims, value):
    found = np.empty(dims, value.dtype)
    found.fill(value)
    return found


@on_arrays("ZerosLike", most=65536)
def _zeros_like(x):
    return np.zeros(x.shape, x.dtype)


@on_arrays("OnesLike", most=65536)
def _ones_like(x):
    found = np.empty(x.shape, x.dtype)
    found.fill(1)
    return found


def _range(start, limit, delta, dtype):
    if (limit - start) * delta < 0:
        raise ValueError("the limit is on the other side")
    return np.arange(start, limit, delta, dtype)


for _dtype in INTEGER:
    on_arrays("Range", Tidx=_dtype)(partial(_range, dtype=np.dtype(_dtype.as_numpy_dtype)))


@on_arrays("LinSpace", saves=10)
def _lin_space(start, stop, num):
    if num <= 0:
        raise ValueError("there must be at least one")
    if num == 1:
        return start.reshape(1).copy()
    found = np.arange(num, dtype=start.dtype)
    found *= (stop - start) / start.dtype.type(num - 1)
    found += start
    found[-1] = stop
    return found


@on_arrays("OneHot", most=65536, saves=8)
def _one_hot(indices, depth, on_value, off_value, axis):
    shape, at = indices.shape, indices.ndim if axis == -1 else axis
    flat = indices.reshape(-1).astype(np.intp)
    rest = indices[(0,) * at].size if at and indices.size else indices.size
    found = np.empty((*shape[:at], depth, *shape[at:]), on_value.dtype)
    found.fill(off_value)
    if not flat.size:
        return found
    hits = flat.view(np.uintp) < depth
    places = np.arange(len(flat))
    if rest == 1:
        places *= depth
        places += flat
    else:
        outer, inner = np.divmod(places, rest)
        places = (outer * depth + flat) * rest + inner
    found.reshape(-1)[places if np.logical_and.reduce(hits) else places[hits]] = on_value
    return found


# ---- as another type

_ROUND = (int32, int64)  # to which torch and numpy convert all numbers alike


@on_arrays("Cast", most=65536, saves=3, SrcT=(*INTEGER, bool))
@on_arrays("Cast", most=65536, saves=3, SrcT=(float32, float64), DstT=(float32, float64, *COMPLEX, bool, *_ROUND))
@on_arrays("Cast", most=65536, saves=3, SrcT=COMPLEX, DstT=COMPLEX)
def _cast(x, DstT, Truncate):
    return x.astype(DstT)
