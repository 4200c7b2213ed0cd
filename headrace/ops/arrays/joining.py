"""Joining and cutting whole arrays along one axis."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from headrace.core.registry import ANY_SIZE
from headrace.ops.arrays._declare import on_arrays

_ALL = slice(None)

on_arrays("ConcatV2", saves=1.5)(np.concatenate)


@on_arrays("Concat", saves=1.5)
def _concat(concat_dim, values):
    return np.concatenate(values, concat_dim)


@on_arrays("ParallelConcat", saves=1.5)
def _parallel_concat(values, shape):
    return np.concatenate(values, 0)


@on_arrays("Pack", most=1 << 22, saves=2.5)
def _pack(values, axis):
    first = values[0]
    if not axis or axis == -1 - first.ndim:
        return np.array(values)
    shape = list(first.shape)
    lead = (_ALL,) * (axis if axis > 0 else axis + first.ndim + 1)
    shape.insert(len(lead), len(values))
    found = np.empty(shape, first.dtype)
    for i, value in enumerate(values):
        if value.shape != first.shape:
            raise ValueError("the shapes differ")
        found[(*lead, i)] = value
    return found


@lru_cache(maxsize=1024)
def _cuts(axis, sizes):
    """The indices of pieces of these sizes, one after another."""
    lead, start, found = (_ALL,) * axis, 0, []
    for size in sizes:
        found.append((*lead, slice(start, start + size)))
        start += size
    return found


@on_arrays("Split", most=ANY_SIZE, saves=4)
def _split(split_dim, value, num_split):
    size, extra = divmod(value.shape[split_dim], num_split)
    if extra:
        raise ValueError("the pieces would differ")
    if split_dim < 0:
        split_dim += value.ndim
    return [value[index] for index in _cuts(split_dim, (size,) * num_split)]


@on_arrays("SplitV", most=ANY_SIZE, saves=6)
def _split_v(value, size_splits, split_dim, num_split):
    total = value.shape[split_dim]
    sizes = tuple(size_splits)
    if -1 in sizes:
        left = total - sum(sizes) - 1
        sizes = tuple(left if s == -1 else s for s in sizes)
    if sum(sizes) != total or min(sizes) < 0:
        raise ValueError("the sizes do not fit")
    if split_dim < 0:
        split_dim += value.ndim
    return [value[index] for index in _cuts(split_dim, sizes)]


@on_arrays("Unpack", most=ANY_SIZE, saves=5)
def _unpack(value, num, axis):
    if value.shape[axis] != num:
        raise ValueError("there are more or fewer than that")
    if not axis:
        return list(value)
    lead = (_ALL,) * (axis if axis > 0 else axis + value.ndim)
    return [value[(*lead, i)] for i in range(num)]
