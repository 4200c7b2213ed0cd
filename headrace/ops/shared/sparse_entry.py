"""Coordinates of sparse entries as single integers: what the sparse families share.

A sparse tensor is ``indices`` [entries, rank], ``values`` [entries] and a dense shape, which kernels get as plain
numbers.  Values may be strings, so they are chosen through ``take``.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core.shape import TensorShape

LARGEST = 2**63 - 1


def keys(indices, shape):
    """One integer for each entry; their order is the row-major order of the entries."""
    if math.prod(shape) > LARGEST:
        return torch.unique(indices, dim=0, return_inverse=True)[1]
    return positions(indices, shape)


def positions(indices, shape):
    """The place of each entry in the flat dense tensor."""
    if not indices.shape[1]:
        return indices.new_zeros(indices.shape[0], dtype=torch.int64)
    flat = indices[:, 0].long()
    for axis in range(1, indices.shape[1]):
        flat = flat * shape[axis] + indices[:, axis]
    return flat


_largest = np.maximum.reduce
_any = np.logical_or.reduce


def host_positions(array, shape):
    """``positions`` of an array of indices; None if an entry lies outside the shape."""
    if not array.size:
        return np.zeros(array.shape[0], np.int64)
    if array.dtype != np.int64:
        array = array.astype(np.int64)
    unsigned = array.view(np.uint64)  # so negative ones are too large
    for axis, size in enumerate(shape):
        if _largest(unsigned[:, axis]) >= size:
            return None
    flat = array[:, 0]
    for axis in range(1, len(shape)):
        flat = flat * shape[axis]
        flat += array[:, axis]
    return flat


def is_rising(flat):
    """Whether each number is greater than the one before it."""
    return not _any(flat[1:] <= flat[:-1])


_FEW = 1 << 13  # numbers that numpy sorts as quickly as torch


def host_order(flat):
    """A stable order of an array's integers."""
    return (
        flat.argsort(kind="stable") if len(flat) <= _FEW else torch.argsort(torch.from_numpy(flat), stable=True).numpy()
    )


def in_order(indices, values, shape):
    """Indices and values of entries sorted in row-major order."""
    flat = None
    if indices.is_cpu and math.prod(shape) <= LARGEST:
        array = indices.numpy()
        flat = host_positions(array, shape)
    if flat is None:
        order = torch.argsort(keys(indices, shape), stable=True)
        return indices.index_select(0, order), take(values, order)
    order = host_order(flat)
    return torch.from_numpy(array.take(order, 0)), take(values, torch.from_numpy(order))


def host_vector(numbers):
    """Integers as a tensor on the host: half the time of ``torch.tensor``."""
    return torch.from_numpy(np.array(numbers, np.int64))


def runs(counts, total):
    """The indices and the shape of ``total`` entries that fill the first places of rows, ``counts`` of each; as arrays."""
    rows, longest = len(counts), int(_largest(counts, initial=0))
    if rows * longest == total:  # each as many
        indices = np.empty((rows, longest, 2), np.int64)
        indices[:, :, 0] = np.arange(rows)[:, None]
        indices[:, :, 1] = np.arange(longest)
        indices = indices.reshape(-1, 2)
    else:
        indices = np.empty((total, 2), np.int64)
        indices[:, 0] = np.arange(rows).repeat(counts)
        np.subtract(np.arange(total), (np.add.accumulate(counts) - counts).repeat(counts), out=indices[:, 1])
    return indices, np.array([rows, longest], np.int64)


def coordinates(flat, shape):
    """The inverse of ``positions``."""
    columns = []
    for size in reversed(shape):
        columns.append(flat % max(size, 1))
        flat = flat // max(size, 1)
    return torch.stack(columns[::-1], 1) if columns else flat.new_zeros((flat.shape[0], 0))


def take(values, places):
    """``values[places]``, for tensors and for strings."""
    return values.index_select(0, places) if isinstance(values, torch.Tensor) else values[places.cpu().numpy()]


def select(values, mask):
    """``values[mask]``, for tensors and for strings."""
    return values[mask] if isinstance(values, torch.Tensor) else values[mask.cpu().numpy()]


def join(parts):
    """Several runs of values one after another."""
    return torch.cat(parts) if isinstance(parts[0], torch.Tensor) else np.concatenate(parts)


def groups(key):
    """-> a stable order that brings equal keys together, each sorted entry's group, and each group's first entry."""
    order = torch.argsort(key, stable=True)
    sorted_key = key.index_select(0, order)
    first = torch.ones_like(sorted_key, dtype=torch.bool)
    first[1:] = sorted_key[1:] != sorted_key[:-1]
    return order, first.cumsum(0) - 1, order[first]


def check_inside(indices, shape, what="indices"):
    """Raises for the first entry outside the dense shape (on the host only: it would have to wait for another device)."""
    if indices.device.type != "cpu" or not indices.numel():
        return
    if type(indices) is torch.Tensor:
        array = indices.numpy()
        if array.min() >= 0 and all(m < s for m, s in zip(array.max(0).tolist(), shape, strict=True)):
            return
    limit = torch.tensor(list(shape), dtype=indices.dtype)
    outside = ((indices < 0) | (indices >= limit)).any(1)
    if bool(outside.any()):
        row = int(outside.nonzero()[0, 0])
        raise ValueError(f"{what}[{row}] = {indices[row].tolist()} is out of bounds: need 0 <= index < {list(shape)}")


def merged(places, values, thresh):
    """Merges two sorted lists of entries, one after the other: -> the entries that are kept, in order, and their values.

    Entries at the same place are added.  They are left out if the sum is below ``thresh``.
    """
    order = places.argsort(kind="stable")
    places, values = places.take(order), values.take(order)
    is_first = np.empty(len(order), np.bool_)
    is_first[:1] = True
    np.not_equal(places[1:], places[:-1], out=is_first[1:])
    second = (~is_first).nonzero()[0]  # an entry of the second list at the place of the first list's entry before it
    if len(second):
        first = second - 1
        total = values.take(first) + values.take(second)
        values[first] = total
        is_first[first] = np.abs(total) >= thresh
    return order[is_first], values[is_first]


def check_parts(indices, values, shape):
    """Raises if the three parts of a sparse tensor cannot belong together."""
    if indices.ndim != 2 or values.ndim != 1 or len(shape) != indices.shape[1] or len(values) != indices.shape[0]:
        raise ValueError(
            f"a sparse tensor needs indices of shape [entries, rank], as many values and a dense shape of length rank; got "
            f"indices {list(indices.shape)}, values {list(values.shape)}, dense shape {list(shape)}"
        )


def entries(indices: TensorShape, values: TensorShape) -> tuple[int | None, int | None]:
    """(number of entries, rank) as far as the static shapes of indices and values know them; ValueError if they clash."""
    i, v = indices.with_rank(2).tuple or (None, None), values.with_rank(1).tuple or (None,)
    if i[0] is not None and v[0] is not None and i[0] != v[0]:
        raise ValueError(f"Dimensions must be equal, but are {i[0]} and {v[0]}: one index a value is needed")
    return (i[0] if v[0] is None else v[0]), i[1]


def static_rank(rank: int | None, shape: list | None) -> int | None:
    """The rank by the indices' columns or by the length of a dense shape; ValueError if they differ."""
    if shape is None:
        return rank
    if rank is not None and rank != len(shape):
        raise ValueError(f"Dimensions must be equal, but are {rank} and {len(shape)}: the rank of the sparse tensor")
    return len(shape)
