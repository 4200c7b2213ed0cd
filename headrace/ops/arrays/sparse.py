"""Sparse tensors: their order, sums, products with dense ones, dense forms."""

from __future__ import annotations

import math

import numpy as np

from headrace.ops._sparse import LARGEST, is_rising, merged
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import MANY, check_inside
from headrace.ops.arrays._memory import filled
from headrace.ops.arrays._rows import add_rows, positions


def _fitting(indices, values, shape):
    if indices.ndim != 2 or values.ndim != 1 or len(shape) != indices.shape[1] or len(values) != len(indices):
        raise ValueError("indices, values and shape do not fit each other")


def _keys(indices, shape):
    """One integer an entry, ordered as row-major order orders the entries; they may lie outside the shape."""
    if not indices.shape[1]:
        return np.zeros(len(indices), np.int64)
    if math.prod(shape) > LARGEST:
        return np.unique(indices, axis=0, return_inverse=True)[1].reshape(-1)
    found = indices[:, 0]
    for axis in range(1, len(shape)):
        found = found * shape[axis] + indices[:, axis]
    return found


# ---- order, shape, joining


def _in_order(indices, values, shape):
    order = _keys(indices, shape).argsort(kind="stable")
    return indices.take(order, 0), values.take(order)


@on_arrays("SparseReorder", saves=15)
def _reorder(indices, values, shape):
    _fitting(indices, values, shape)
    return _in_order(indices, values, shape)


@on_arrays("SparseConcat", saves=25)
def _concat(indices, values, shapes, concat_dim):
    sizes = [s.tolist() for s in shapes]
    axis = concat_dim % len(sizes[0])
    shape, total = list(sizes[0]), 0
    together = np.concatenate(indices)
    start = 0
    for i, v, size in zip(indices, values, sizes, strict=True):
        _fitting(i, v, size)
        if size[:axis] != shape[:axis] or size[axis + 1 :] != shape[axis + 1 :]:
            raise ValueError("the shapes differ")
        if total:
            together[start : start + len(i), axis] += total
        start += len(i)
        total += size[axis]
    shape[axis] = total
    return *_in_order(together, np.concatenate(values), shape), np.array(shape, np.int64)


# ---- sums


def _summed(keys, values, count, thresh):
    """Of entries some of which lie at one place: -> which of them are kept, and the sums there."""
    first, inverse = np.unique(keys, return_index=True, return_inverse=True)[1:]
    a, b = np.zeros(len(first), values.dtype), np.zeros(len(first), values.dtype)
    np.add.at(a, inverse[:count], values[:count])
    np.add.at(b, inverse[count:], values[count:])
    total = a + b
    kept = (np.abs(total) >= thresh) | (np.bincount(inverse, minlength=len(first)) == 1)
    return first[kept], total[kept]


@on_arrays("SparseAdd", saves=30)
def _add(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    _fitting(a_indices, a_values, a_shape)
    _fitting(b_indices, b_values, b_shape)
    if a_shape != b_shape:
        raise ValueError("the shapes differ")
    count = len(a_values)
    indices, values = np.concatenate((a_indices, b_indices)), np.concatenate((a_values, b_values))
    keys = _keys(indices, a_shape)
    if not is_rising(keys[:count]) or not is_rising(keys[count:]):
        kept, values = _summed(keys, values, count, thresh)
        return indices.take(kept, 0), values, np.array(a_shape, np.int64)
    kept, values = merged(keys, values, thresh)
    return indices.take(kept, 0), values, np.array(a_shape, np.int64)


@on_arrays("SparseTensorDenseAdd", saves=25)
def _dense_add(a_indices, a_values, a_shape, b):
    if list(b.shape) != a_shape:
        raise ValueError("the shapes differ")
    place = positions(a_indices, a_shape)
    found = np.array(b, order="C")
    np.add.at(found.reshape(-1), place, a_values)
    return found


@on_arrays("SparseReduceSum", saves=30)
def _reduce_sum(indices, values, shape, axes, keep_dims):
    _fitting(indices, values, shape)
    rank = len(shape)
    listed = axes if type(axes) is list else [axes]
    if any(not -rank <= a < rank for a in listed):
        raise ValueError("there is no such axis")
    gone = {a % rank for a in listed}
    kept = [a for a in range(rank) if a not in gone]
    sizes = [shape[a] for a in kept]
    place = positions(indices[:, kept], sizes)
    found = np.zeros(math.prod(sizes), values.dtype)
    np.add.at(found, place, values)
    return found.reshape([1 if a in gone else n for a, n in enumerate(shape)] if keep_dims else sizes)


# ---- products


@on_arrays("SparseTensorDenseMatMul", most=2048, saves=15)
def _matmul(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    rows, inner = a_shape[::-1] if adjoint_a else a_shape
    row, column = a_indices.T[::-1] if adjoint_a else a_indices.T
    if adjoint_a:
        a_values = a_values.conj()
    if adjoint_b:
        b = b.T.conj()
    if len(b) != inner:
        raise ValueError("the inner dimensions differ")
    check_inside(row, rows)
    check_inside(column, inner)
    parts = b.take(column, 0)
    parts *= a_values[:, None]
    found = np.zeros((rows, b.shape[1]), b.dtype)
    add_rows(found, row, parts)
    return found


# ---- dense forms


@on_arrays("SparseToDense", most=MANY, saves=30)
def _to_dense(sparse_indices, output_shape, sparse_values, default_value, validate_indices):
    rows = sparse_indices if sparse_indices.ndim == 2 else sparse_indices.reshape(-1, 1)
    if rows.shape[1] != len(output_shape) or sparse_values.shape not in ((), (len(rows),)):
        raise ValueError("indices, values and shape do not fit each other")
    place = positions(rows, output_shape)
    if validate_indices and not is_rising(place):
        raise ValueError("the entries are out of order or repeated")
    found = filled(output_shape, default_value)
    if len(place):
        found.put(place, sparse_values)
    return found


@on_arrays("SparseFillEmptyRows", saves=40)
def _fill_empty_rows(indices, values, dense_shape, default_value):
    _fitting(indices, values, dense_shape)
    row, count, rows = indices[:, 0], len(indices), dense_shape[0]
    check_inside(row, rows)
    empty = np.ones(rows, np.bool_)
    empty[row] = False
    missing = empty.nonzero()[0]
    together = np.zeros((count + len(missing), indices.shape[1]), np.int64)
    together[:count] = indices
    together[count:, 0] = missing
    filled = np.empty(len(together), values.dtype)
    filled[:count] = values
    filled[count:] = default_value
    order = together[:, 0].argsort(kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return together.take(order, 0), filled.take(order), empty, back[:count]
