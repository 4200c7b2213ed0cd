"""Elements by index: gathering, scattering, choosing, partitioning and stitching."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import INTEGER
from headrace.core.dtypes import bool as boolean
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import MANY, check_inside
from headrace.ops.arrays._rows import add_rows, positions, put_rows

_largest = np.maximum.reduce

# ---- gathering


@on_arrays("GatherV2", most=65536, saves=5)
def _gather_v2(params, indices, axis, batch_dims):
    if batch_dims:
        return _batch_gather(params, indices, axis, batch_dims)
    if indices.itemsize == 4 and params.size:
        return params.take(indices.view(np.uint32), axis)  # which refuses what was negative
    check_inside(indices, params.shape[axis])
    return params.take(indices, axis)


@on_arrays("Gather", most=65536, saves=5)
def _gather(params, indices, validate_indices):
    check_inside(indices, params.shape[0])
    return params.take(indices, 0)


def _batch_layout(shape, indices, axis, batch_dims):
    """As the kernel on tensors: -> sizes of (batch, between, axis, rest), rows to take, and the number of batch dimensions."""
    axis %= len(shape)
    batch = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    check_inside(indices, shape[axis])
    many, between = math.prod(shape[:batch]), math.prod(shape[batch:axis])
    rows = np.arange(0, many * between * shape[axis], max(shape[axis], 1)).reshape(many, between, 1)
    rows = rows + indices.reshape(many, 1, math.prod(indices.shape[batch:]))
    return axis, batch, rows, math.prod(shape[axis + 1 :])


def _batch_gather(params, indices, axis, batch_dims):
    shape = params.shape
    axis, batch, rows, rest = _batch_layout(shape, indices, axis, batch_dims)
    taken = params.reshape(math.prod(shape[: axis + 1]), rest).take(rows, 0)
    return taken.reshape(shape[:axis] + indices.shape[batch:] + shape[axis + 1 :])


@on_arrays("GatherNd", most=65536, saves=12)
def _gather_nd(params, indices):
    depth, shape = indices.shape[-1], params.shape
    if depth > len(shape):
        raise ValueError("the coordinates are too long")
    lead, rest = shape[:depth], shape[depth:]
    taken = params.reshape(math.prod(lead), *rest).take(positions(indices, lead), 0)
    return taken if indices.ndim == 2 else taken.reshape(indices.shape[:-1] + rest)


# ---- scattering into new arrays


def _scattered(found, indices, updates, mode):
    shape, depth = found.shape, indices.shape[-1]
    lead, rest = shape[:depth], shape[depth:]
    if updates.shape != indices.shape[:-1] + rest:
        raise ValueError("the updates do not fit")
    places = positions(indices, lead)
    flat, rows = found.reshape(math.prod(lead), *rest), updates.reshape(len(places), *rest)
    if mode == "update":
        put_rows(flat, places, rows)
    else:
        add_rows(flat, places, rows if mode == "add" else -rows)
    return found


@on_arrays("ScatterNd", most=65536, saves=15, T=boolean)
def _scatter_nd_bool(indices, updates, shape):
    return _scattered(np.zeros(shape, updates.dtype), indices, updates, "update")


@on_arrays("ScatterNd", most=16384, saves=8)
def _scatter_nd(indices, updates, shape):
    return _scattered(np.zeros(shape, updates.dtype), indices, updates, "add")


@on_arrays("TensorScatterUpdate", most=65536, saves=15)
def _tensor_scatter_update(tensor, indices, updates):
    return _scattered(np.array(tensor, order="C"), indices, updates, "update")


@on_arrays("TensorScatterAdd", "ScatterNdNonAliasingAdd", most=4096, saves=10)
def _tensor_scatter_add(tensor, indices, updates):
    return _scattered(np.array(tensor, order="C"), indices, updates, "add")


@on_arrays("TensorScatterSub", most=4096, saves=10)
def _tensor_scatter_sub(tensor, indices, updates):
    return _scattered(np.array(tensor, order="C"), indices, updates, "sub")


@on_arrays("_GatherGrad", most=4096, saves=15)
def _gather_grad(grad, indices, shape, axis, batch_dims):
    axis, _, rows, rest = _batch_layout(shape, indices, axis, batch_dims)
    found = np.zeros(shape, grad.dtype)
    rows = rows.reshape(-1)
    add_rows(found.reshape(math.prod(shape[: axis + 1]), rest), rows, grad.reshape(len(rows), rest))
    return found


# ---- choosing


@on_arrays("Select", most=65536, saves=4)
def _select(condition, t, e):
    shape = condition.shape
    if t.shape != e.shape or (shape and shape != t.shape and shape != t.shape[:1]):
        raise ValueError("the shapes differ")
    if shape != t.shape and shape:
        condition = condition.reshape(-1, *[1] * (t.ndim - 1))
    return np.where(condition, t, e)


on_arrays("SelectV2", most=65536, saves=4)(np.where)


@on_arrays("Where", most=65536, saves=3)
def _where(input):
    if input.ndim == 1:
        return input.nonzero()[0][:, None]
    if not input.ndim:
        return np.empty((int(input != 0), 0), np.int64)
    places = input.reshape(-1).nonzero()[0]
    found = np.empty((len(places), input.ndim), np.int64)
    for axis in range(input.ndim - 1, 0, -1):
        places, found[:, axis] = np.divmod(places, max(input.shape[axis], 1))
    found[:, 0] = places
    return found


# ---- equal elements, in order of first appearance


_FEW = 64  # elements that Python counts as quickly


def _unique(x, dtype):
    """Values and each element's index; by a table of first places if the integers are close together."""
    if x.ndim != 1:
        raise ValueError("unique expects a vector")
    count = len(x)
    if count <= _FEW:
        seen: dict[int, int] = {}
        index = [seen.setdefault(value, len(seen)) for value in x.tolist()]
        return np.array(list(seen), x.dtype), np.array(index, dtype)
    low = int(np.minimum.reduce(x))
    span = int(_largest(x)) - low + 1
    places = np.arange(count)
    if span <= 4 * count + 1024:
        shifted = (x - x.dtype.type(low) if low > 0 else x).astype(np.intp)  # as it is: it may not fit otherwise
        if low < 0:
            shifted -= low
        table = np.empty(span, np.intp)
        table[shifted[::-1]] = places[::-1]  # the last one written is the first of its kind
        first = table.take(shifted)
    else:
        _, starts, inverse = np.unique(x, return_index=True, return_inverse=True)
        first = starts.take(inverse)
    is_new = first == places
    return x[is_new], (np.add.accumulate(is_new, dtype=dtype) - 1).take(first)


@on_arrays("Unique", most=65536, saves=10, T=INTEGER)
def _unique_of(x, out_idx):
    return _unique(x, out_idx)


@on_arrays("UniqueWithCounts", most=65536, saves=10, T=INTEGER)
def _unique_with_counts(x, out_idx):
    values, index = _unique(x, out_idx)
    return values, index, np.bincount(index, minlength=len(values)).astype(out_idx)


# ---- partitioning and stitching


@on_arrays("DynamicPartition", most=MANY, saves=15)
def _dynamic_partition(data, partitions, num_partitions):
    ndim = partitions.ndim
    if data.shape[:ndim] != partitions.shape:
        raise ValueError("data must begin with the shape of partitions")
    check_inside(partitions, num_partitions)
    flat = partitions.reshape(-1)
    rows = data if ndim == 1 else data.reshape(flat.size, *data.shape[ndim:])
    if num_partitions <= 8:
        return [rows.take((flat == i).nonzero()[0], 0) for i in range(num_partitions)]
    sorted_rows = rows.take(flat.argsort(kind="stable"), 0)
    ends = np.add.accumulate(np.bincount(flat, minlength=num_partitions)).tolist()
    return [sorted_rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@on_arrays("DynamicStitch", "ParallelDynamicStitch", most=MANY, saves=15)
def _dynamic_stitch(indices, data):
    rest = data[0].shape[indices[0].ndim :]
    largest = -1
    for i, d in zip(indices, data, strict=True):
        if d.shape != i.shape + rest:
            raise ValueError("data does not fit its indices")
        if i.size:
            largest = max(largest, int(_largest(i.view(np.uint32), None)))
    if largest >= 1 << 31:
        raise ValueError("indices must not be negative")
    found = np.zeros((largest + 1, *rest), data[0].dtype)
    for i, d in zip(indices, data, strict=True):
        put_rows(found, i, d)
    return found
