"""Results whose size depends on values: Where, Unique, ListDiff, DynamicPartition, and the stitching that undoes it."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX, NUMERIC
from headrace.core.registry import op
from headrace.core.shape import TensorShape, unknown_shape
from headrace.graph import raw_ops
from headrace.ops.declare.unsigned import move_as_signed

where = op("Where(input: T) -> (index: int64)", T=(*NUMERIC, dtypes.bool), dynamic_shape=True)
where.shape(lambda input: (None, input.ndims))


def _where(x):
    """NumPy finds the true elements of a mask in half the time of torch."""
    if type(x) is not torch.Tensor or x.dtype is not torch.bool or not x.is_cpu or x.ndim not in (1, 2):
        return torch.nonzero(x)
    mask = x.numpy()
    places = np.flatnonzero(mask)
    if mask.ndim == 1:
        return torch.from_numpy(places).unsqueeze(1)
    indices = np.empty((places.size, 2), np.int64)
    np.divmod(places, max(mask.shape[1], 1), out=(indices[:, 0], indices[:, 1]))
    return torch.from_numpy(indices)


where.kernel(_where)
move_as_signed(where)

# ---- Unique: in order of first appearance


def _unique(x, axis):
    """-> values, index of each element's value, counts."""
    if isinstance(x, np.ndarray):
        return _unique_strings(x)
    if axis is None and (pair := _unique_integers(x)) is not None:
        values, inverse = pair
        counts = np.bincount(inverse, minlength=len(values))
        return torch.from_numpy(values), torch.from_numpy(inverse), torch.from_numpy(counts)
    if axis is None:
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    else:
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=axis)
    inverse = inverse.reshape(-1)
    positions = torch.arange(inverse.shape[0], device=x.device)
    first = positions.new_full(counts.shape, inverse.shape[0]).scatter_reduce(0, inverse, positions, "amin")
    order = first.argsort()
    rank = torch.empty_like(order).scatter_(0, order, torch.arange(order.shape[0], device=x.device))
    return values.index_select(axis or 0, order), rank[inverse], counts[order]


def _unique_integers(x, dtype=np.int64):
    """-> arrays of values and of each element's index, by a table of first places.

    None unless the elements are integers on the host that are close together.
    """
    if not x.is_cpu or x.dtype not in (torch.int32, torch.int64):
        return None
    x = x.numpy().reshape(-1)
    if not x.size:
        return None
    low = int(np.minimum.reduce(x))
    span = int(np.maximum.reduce(x)) - low + 1
    if span > 4 * x.size + 1024:
        return None
    shifted = x - low if low else x
    places = np.arange(x.size)
    table = np.empty(span, np.int64)
    table[shifted[::-1]] = places[::-1]  # the last write wins: the first of equal elements
    first = table.take(shifted)
    is_new = first == places
    return x[is_new], (np.add.accumulate(is_new, dtype=dtype) - 1).take(first)


def _unique_strings(x):
    seen = {}
    inverse = [seen.setdefault(v, len(seen)) for v in x.reshape(-1)]
    values = np.empty(len(seen), dtype=object)
    values[:] = list(seen)
    indices = torch.tensor(inverse, dtype=torch.int64)
    return values, indices, torch.bincount(indices, minlength=len(seen))


def _vector(x):
    if x.ndim != 1:
        raise ValueError(f"unique expects a 1D vector, got shape {list(x.shape)}")


unique = op("Unique(x: T[1]; out_idx: type = int32) -> (y: T, idx: out_idx)", T=ANY, out_idx=INDEX, dynamic_shape=True)
unique.not_differentiable()
unique.shape(lambda x, out_idx: [(None,), x.with_rank(1)])


@unique.kernel
def _(x, out_idx):
    _vector(x)
    if isinstance(x, torch.Tensor):
        pair = _unique_integers(x, np.int32 if out_idx is torch.int32 else np.int64)
        if pair is not None:
            return torch.from_numpy(pair[0]), torch.from_numpy(pair[1])
    values, inverse, _ = _unique(x, None)
    return values, inverse.to(out_idx)


move_as_signed(unique)

unique_counts = op(
    "UniqueWithCounts(x: T[1]; out_idx: type = int32) -> (y: T, idx: out_idx, count: out_idx)",
    T=ANY, out_idx=INDEX, dynamic_shape=True,
)  # fmt: skip
unique_counts.not_differentiable()
unique_counts.shape(lambda x, out_idx: [(None,), x.with_rank(1), (None,)])


@unique_counts.kernel
def _(x, out_idx):
    _vector(x)
    values, inverse, counts = _unique(x, None)
    return values, inverse.to(out_idx), counts.to(out_idx)


move_as_signed(unique_counts)

unique_v2 = op(
    "UniqueV2(x: T[1+], axis: host Taxis[1]; out_idx: type = int32) -> (y: T, idx: out_idx)",
    T=ANY, Taxis=INDEX, out_idx=INDEX, dynamic_shape=True, lenient=True,
)  # fmt: skip
unique_v2.not_differentiable()


@unique_v2.shape
def _(x, axis, out_idx):
    dims = x.tuple
    if dims is None or axis is None or (len(axis) == 1 and axis[0] is None):
        return [unknown_shape(None if dims is None else len(dims)), (None,)]
    if not axis:
        return [(None,), x.with_rank(1)]
    at = axis[0] % len(dims)
    return [(*dims[:at], None, *dims[at + 1 :]), (dims[at],)]


@unique_v2.kernel
def _(x, axis, out_idx):
    if not axis:
        _vector(x)
    values, inverse, _ = _unique(x, axis[0] % x.ndim if axis and x.ndim > 1 else None)
    return values, inverse.to(out_idx)


move_as_signed(unique_v2)

list_diff = op(
    "ListDiff(x: T[1], y: T[1]; out_idx: type = int32) -> (out: T, idx: out_idx)",
    T=ANY,
    out_idx=INDEX,
    dynamic_shape=True,
    lenient=True,
)
list_diff.not_differentiable()
list_diff.shape(lambda x, y, out_idx: [(None,), (None,)])


@list_diff.kernel
def _(x, y, out_idx):
    if x.dtype is torch.bool or x.dtype.is_complex:  # isin does not take these
        present = (x[:, None] == y).any(1)
    else:
        present = torch.isin(x, y)
    absent = torch.nonzero(~present).reshape(-1)
    return x[absent], absent.to(out_idx)


move_as_signed(list_diff)


@list_diff.kernel(T=dtypes.string)
def _(x, y, out_idx):
    excluded = set(y)
    absent = [i for i, v in enumerate(x) if v not in excluded]
    return x[np.array(absent, dtype=np.int64)], torch.tensor(absent, dtype=out_idx)


# ---- DynamicPartition

_KNOWN_TO_NUMPY = (
    torch.float32, torch.float64, torch.float16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool,
    torch.complex64, torch.complex128,
)  # fmt: skip
_FEW_PARTS = 16  # beyond, sorting is quicker than comparing with each

partition = op(
    "DynamicPartition(data: T, partitions: int32; num_partitions: int >= 1) -> (outputs: num_partitions*T)",
    T=ANY, dynamic_shape=True,
)  # fmt: skip


@partition.shape
def _(data, partitions, num_partitions):
    dims, lead = data.tuple, partitions.tuple
    if dims is None or lead is None:
        return [unknown_shape()] * num_partitions
    if len(lead) > len(dims):
        raise ValueError(f"data.shape {data} must start with partitions.shape {partitions}")
    data[: len(lead)].assert_is_compatible_with(partitions)
    return [TensorShape.from_tuple((None, *dims[len(lead) :]))] * num_partitions


def _check_partitions(partitions, count):
    bad = torch.nonzero((partitions < 0) | (partitions >= count))
    if bad.shape[0]:
        where = bad[0].tolist()
        raise ValueError(
            f"partitions{where if where else ''} = {partitions[tuple(where)].item()} is not in [0, {count})"
        )


@partition.kernel
def _(data, partitions, num_partitions):
    if data.shape[: partitions.ndim] != partitions.shape:
        raise ValueError(
            f"data.shape must start with partitions.shape, got data.shape = {list(data.shape)}, "
            f"partitions.shape = {list(partitions.shape)}"
        )
    rows = data if partitions.ndim == 1 else data.reshape(partitions.numel(), *data.shape[partitions.ndim :])
    if partitions.is_cpu:
        return [rows.index_select(0, torch.from_numpy(places)) for places in _places(partitions, num_partitions)]
    _check_partitions(partitions, num_partitions)
    flat = partitions.reshape(-1)
    return [rows[flat == i] for i in range(num_partitions)]


def _places(partitions, count):
    """Where the elements of each part are."""
    flat = partitions.numpy().reshape(-1)
    if flat.size and int(flat.view(np.uint32).max()) >= count:
        _check_partitions(partitions, count)
    if count <= _FEW_PARTS:
        return [np.flatnonzero(flat == i) for i in range(count)]
    ends = np.cumsum(np.bincount(flat, minlength=count))
    return np.split(np.argsort(flat, kind="stable"), ends[:-1])


@partition.kernel(T=dtypes.string)
def _(data, partitions, num_partitions):
    _check_partitions(partitions, num_partitions)
    rows = data.reshape(partitions.numel(), *data.shape[partitions.ndim :])
    flat = partitions.reshape(-1).numpy()
    return [rows[flat == i] for i in range(num_partitions)]


@partition.gradient
def _(node, *grads):
    """The parts of the gradient, put back where their elements came from."""
    data, partitions = node.inputs
    count = node.attrs["num_partitions"]
    places = raw_ops.Reshape(raw_ops.Range(0, raw_ops.Size(partitions), 1), raw_ops.Shape(partitions))
    parts = raw_ops.DynamicPartition(places, partitions, num_partitions=count)
    joined = raw_ops.ParallelDynamicStitch(parts, list(grads))
    return [raw_ops.Reshape(joined, raw_ops.Shape(data)), None]


# ---- DynamicStitch


def _stitched(indices, data):
    rest = unknown_shape()
    for i, d in zip(indices, data, strict=True):
        if i.ndims is None or d.ndims is None:
            continue
        d[: i.ndims].assert_is_compatible_with(i)
        rest = rest.merge_with(d[i.ndims :])
    return TensorShape([None]).concatenate(rest)


def _stitch_gradient(node, grad):
    count = len(node.inputs) // 2
    return [None] * count + [raw_ops.GatherV2(grad, i, 0) for i in node.inputs[:count]]


def _stitch_on_host(merged, indices, data, rest):
    """Stitches in NumPy.  It copies few rows in a fraction of torch's time, and many rows as quickly."""
    places = merged.numpy()
    for i, d in zip(indices, data, strict=True):
        if d.shape != i.shape + rest:
            raise ValueError(f"data of shape {list(d.shape)} does not fit indices of shape {list(i.shape)}")
        index = i.numpy()
        if index.size and int(index.min()) < 0:
            raise ValueError(f"indices must not be negative, got {int(index.min())}")
        places[index] = d.numpy()
    return merged


def _stitch(indices, data):
    largest = [int((i.numpy() if i.is_cpu else i).max()) for i in indices if i.numel()]
    size = max(largest) + 1 if largest else 0
    rest = data[0].shape[indices[0].ndim :]
    if isinstance(data[0], np.ndarray):
        merged = np.full((size, *rest), b"", dtype=object)
        for i, d in zip(indices, data, strict=True):
            merged[i.reshape(-1).numpy()] = d.reshape(-1, *rest)
        return merged
    merged = data[0].new_zeros((size, *rest))
    if merged.is_cpu and merged.dtype in _KNOWN_TO_NUMPY:
        return _stitch_on_host(merged, indices, data, rest)
    for i, d in zip(indices, data, strict=True):
        if d.shape != i.shape + rest:
            raise ValueError(f"data of shape {list(d.shape)} does not fit indices of shape {list(i.shape)}")
        merged.index_copy_(0, i.reshape(-1).long(), d.reshape(i.numel(), *rest))
    return merged


for _name in ("DynamicStitch", "ParallelDynamicStitch"):
    _op = op(f"{_name}(indices: N*int32, data: N*T) -> (merged: T)", T=ANY, dynamic_shape=True)
    _op.shape(_stitched)
    _op.gradient(_stitch_gradient)
    _op.kernel(_stitch)
    move_as_signed(_op)
