"""Arrays made from a few numbers, or of another type."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
import torch

from headrace.core.dtypes import COMPLEX, INTEGER, bool, float32, float64, int32, int64
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import MANY
from headrace.ops.arrays._memory import filled

# ---- from numbers


@on_arrays("Fill", most=65536)
def _fill(dims, value):
    if math.prod(dims) > MANY:  # how many is known only now
        return torch.full(dims, value.item(), dtype=torch.from_numpy(np.empty(0, value.dtype)).dtype).numpy()
    return filled(dims, value)


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


_TABLE = 127  # classes, up to which the rows are copied from a table


@lru_cache(maxsize=16)
def _table(depth, on, off, dtype):
    """Row i + 1 is that of class i; the first and the last are for indices that are no class."""
    found = np.empty((depth + 2, depth), dtype)
    found[...] = np.frombuffer(off, dtype)
    np.fill_diagonal(found[1:], np.frombuffer(on, dtype))
    return found


@on_arrays("OneHot", most=MANY, saves=10)
def _one_hot(indices, depth, on_value, off_value, axis):
    shape, at = indices.shape, indices.ndim if axis == -1 else axis
    if depth <= _TABLE and at == indices.ndim:
        table = _table(depth, on_value.tobytes(), off_value.tobytes(), on_value.dtype)
        return table.take(indices + indices.dtype.type(1), 0, mode="clip")
    found = filled((*shape[:at], depth, *shape[at:]), off_value)
    flat = indices.reshape(-1).astype(np.intp)
    places = np.arange(flat.size)
    rest = math.prod(shape[at:])
    if rest == 1:
        places *= depth
        places += flat
    else:
        outer, inner = np.divmod(places, max(rest, 1))
        places = (outer * depth + flat) * rest + inner
    hits = flat.view(np.uintp) < depth
    found.reshape(-1)[places if np.logical_and.reduce(hits) else places[hits]] = on_value
    return found


# ---- as another type

_ROUND = (int32, int64)  # to which torch and numpy convert all numbers alike


@on_arrays("Cast", most=65536, saves=3, SrcT=(*INTEGER, bool))
@on_arrays("Cast", most=65536, saves=3, SrcT=(float32, float64), DstT=(float32, float64, *COMPLEX, bool, *_ROUND))
@on_arrays("Cast", most=65536, saves=3, SrcT=COMPLEX, DstT=COMPLEX)
def _cast(x, DstT, Truncate):
    return x.astype(DstT)
