"""Reductions over groups of rows: runs of one id, ids in any order, chosen rows; counts of values."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import check_inside
from headrace.ops.arrays._rows import add_rows

_MANY = 8192  # elements: where runs are many, torch is quicker


def _runs(ids):
    """Where each run of equal ids begins, its id, and one more than the last id; refuses ids that are not sorted."""
    begins = np.empty(len(ids), np.bool)
    begins[0] = True
    np.not_equal(ids[1:], ids[:-1], begins[1:])
    starts = begins.nonzero()[0]
    found = ids.take(starts)
    numbers = found.tolist()  # few, so that a list is quicker
    if numbers[0] < 0 or numbers != sorted(numbers):
        raise ValueError(f"segment ids are not increasing from 0 on: received {np.array2string(ids, threshold=20)}")
    return starts, found, numbers[-1] + 1


def _reduced(ufunc, data, starts, ids, rows, empty):
    """The runs of rows, each at its id; ``empty`` at ids that no row has."""
    found = ufunc.reduceat(data, starts, 0, data.dtype)
    if len(ids) == rows:
        return found
    out = np.empty((rows, *data.shape[1:]), data.dtype)
    out.fill(empty)
    out[ids] = found
    return out


def _counts(ids, rows, like):
    """How many rows each id has, at least one, shaped to divide them."""
    counts = np.maximum(np.bincount(ids, minlength=rows), 1).astype(like.dtype)
    return counts.reshape(-1, *[1] * (like.ndim - 1))


def _check(data, ids):
    if ids.ndim != 1 or len(ids) != len(data):
        raise ValueError(f"{len(data)} rows have {ids.shape} segment ids")


# ---- sorted ids: as many segments as the last id says


def _sorted(name, ufunc, empty, saves):
    @on_arrays(name, most=_MANY, saves=saves)
    def _(data, segment_ids):
        _check(data, segment_ids)
        if not len(segment_ids):
            return np.empty((0, *data.shape[1:]), data.dtype)
        starts, ids, rows = _runs(segment_ids)
        return _reduced(ufunc, data, starts, ids, rows, empty)


_sorted("SegmentSum", np.add, 0, 20)
_sorted("SegmentProd", np.multiply, 1, 20)
_sorted("SegmentMax", np.maximum, 0, 20)
_sorted("SegmentMin", np.minimum, 0, 20)


@on_arrays("SegmentMean", most=_MANY, saves=25, T=FLOAT_OR_COMPLEX)
def _mean(data, segment_ids):
    _check(data, segment_ids)
    if not len(segment_ids):
        return np.empty((0, *data.shape[1:]), data.dtype)
    starts, ids, rows = _runs(segment_ids)
    total = _reduced(np.add, data, starts, ids, rows, 0)
    return np.divide(total, _counts(segment_ids, rows, data), total)


# ---- ids in any order: the number of segments is given, rows with negative ids are dropped


def _unsorted(name, ufunc, empty):
    @on_arrays(name, most=_MANY, saves=30)
    def _(data, segment_ids, num_segments):
        count = segment_ids.size
        if data.shape[: segment_ids.ndim] != segment_ids.shape:
            raise ValueError(f"data has shape {data.shape}, segment_ids {segment_ids.shape}")
        ids, data = segment_ids.reshape(-1), data.reshape(count, *data.shape[segment_ids.ndim :])
        order = ids.argsort(kind="stable")
        ids = ids.take(order)
        if count and ids[-1] >= num_segments:
            raise IndexError(f"segment id {ids[-1]} is not below num_segments = {num_segments}")
        if count and ids[0] < 0:
            dropped = int(ids.searchsorted(0))
            order, ids = order[dropped:], ids[dropped:]
        if not len(ids):
            out = np.empty((num_segments, *data.shape[1:]), data.dtype)
            out.fill(empty(data.dtype))
            return out
        starts, ids, _ = _runs(ids)
        return _reduced(ufunc, data.take(order, 0), starts, ids, num_segments, empty(data.dtype))


def _lowest(dtype):
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype):
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


@on_arrays("UnsortedSegmentSum", most=2 * _MANY, saves=30)
def _unsorted_sum(data, segment_ids, num_segments):
    """Adds row after row, which takes less than sorting them."""
    ndim = segment_ids.ndim
    if data.shape[:ndim] != segment_ids.shape:
        raise ValueError(f"data has shape {data.shape}, segment_ids {segment_ids.shape}")
    ids, rows = segment_ids.reshape(-1), data.reshape(segment_ids.size, *data.shape[ndim:])
    if ids.size and np.minimum.reduce(ids) < 0:
        kept = ids >= 0
        ids, rows = ids[kept], rows[kept]
    check_inside(ids, num_segments)
    out = np.zeros((num_segments, *rows.shape[1:]), data.dtype)
    add_rows(out, ids, rows)
    return out


_unsorted("UnsortedSegmentProd", np.multiply, lambda dtype: 1)
_unsorted("UnsortedSegmentMax", np.maximum, _lowest)
_unsorted("UnsortedSegmentMin", np.minimum, _highest)

# ---- chosen rows, sorted ids


def _chosen(name, power, types):
    """Sums over the number of rows to ``power``."""

    def reduce(data, indices, segment_ids, num_segments=None):
        if indices.ndim != 1 or indices.shape != segment_ids.shape:
            raise ValueError(f"indices have shape {indices.shape}, segment_ids {segment_ids.shape}")
        if not len(indices):
            return np.zeros((num_segments or 0, *data.shape[1:]), data.dtype)
        check_inside(indices, len(data))
        starts, ids, rows = _runs(segment_ids)
        if num_segments is not None:
            if rows > num_segments:
                raise IndexError(f"segment id {rows - 1} is not below num_segments = {num_segments}")
            rows = num_segments
        total = _reduced(np.add, data.take(indices, 0), starts, ids, rows, 0)
        if power:
            counts = _counts(segment_ids, rows, data)
            np.divide(total, counts if power == 1 else np.sqrt(counts), total)
        return total

    on_arrays(name, f"{name}WithNumSegments", most=_MANY, saves=30, **types)(reduce)


_chosen("SparseSegmentSum", 0, {})
_chosen("SparseSegmentMean", 1, {"T": FLOATING})
_chosen("SparseSegmentSqrtN", 0.5, {"T": FLOATING})

# ---- counts of values


@on_arrays("Bincount", most=1 << 16, saves=15)
def _bincount(arr, size, weights):
    ids = np.minimum(arr.reshape(-1), size)  # what does not fit is counted there, and left out
    if not weights.size:
        return np.bincount(ids, minlength=size)[:size].astype(weights.dtype)
    if weights.dtype.kind == "f":
        return np.bincount(ids, weights.reshape(-1), size)[:size].astype(weights.dtype)
    if len(ids) and np.minimum.reduce(ids) < 0:
        raise ValueError(f"Input arr must be non-negative, got {ids.min()}")
    bins = np.zeros(size + 1, weights.dtype)
    np.add.at(bins, ids, weights.reshape(-1))
    return bins[:size]
