"""The largest elements, membership among them, the n-th, and where the extremes are."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64, int32, int64
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import UNSIGNED

_FEW = 8  # of a row: found one after the other


@on_arrays("TopKV2", most=1 << 16, saves=25)
def _top(input, k, sorted):
    """Of equal elements the first come first."""
    size = input.shape[-1]
    if size < k:
        raise ValueError(f"input must have at least k columns. Had {size}, needed {k}")
    shape = (*input.shape[:-1], k)
    if not k or not input.size:
        return np.empty(shape, input.dtype), np.empty(shape, np.int32)
    flat = input.reshape(-1)
    rows = flat.reshape(-1, size)
    starts = np.arange(0, flat.size, size)
    places = None
    if k == 1 or (k <= _FEW and 4 * k <= size and input.dtype.kind == "f"):
        places = _one_by_one(rows, starts, k)
    if places is None:
        places = _in_order(rows, flat, starts, k)
    values = flat.take(places)
    return values.reshape(shape), np.subtract(places, starts[:, None]).astype(np.int32).reshape(shape)


on_arrays("TopK", most=1 << 16, saves=25)(_top)


def _one_by_one(rows, starts, k):
    """Places of the k largest of each row, each taken out before the next is looked for; None if a row has too few."""
    places = np.empty((k, len(rows)), np.intp)
    np.add(rows.argmax(1), starts, places[0])
    if k > 1:
        left = rows.copy()
        flat = left.reshape(-1)
        for i in range(1, k):
            flat[places[i - 1]] = -np.inf
            np.add(left.argmax(1), starts, places[i])
        if np.minimum.reduce(flat.take(places[-1])) == -np.inf:  # may have been taken out before
            return None
    return places.T


def _in_order(rows, flat, starts, k):
    """The same by sorting, which is quicker where equals need not keep their order: rows that have some are sorted again."""
    places = rows.argsort(1)[:, : -k - 2 : -1] + starts[:, None]
    values = flat.take(places)
    differ = np.logical_and.reduce(values[:, :-1] > values[:, 1:], 1)
    places = places[:, :k]
    if not differ.all():
        again = np.logical_not(differ).nonzero()[0]
        backwards = rows[again, ::-1].argsort(1, kind="stable")[:, : -k - 1 : -1]
        places[again] = (starts[again] + rows.shape[1] - 1)[:, None] - backwards
    return places


def _counted(truth):
    """How many of each row are true: eight at a time, where no sum of them leaves its byte."""
    rows, columns = truth.shape
    if 0 < columns <= 8 * 255 and not columns % 8:
        parts = np.add.reduce(truth.view(np.uint64), 1)
        return np.add.reduce(parts.view(np.uint8).reshape(rows, 8), 1, np.intp)
    return np.add.reduce(truth, 1, np.intp)


@on_arrays("InTopKV2", "InTopK", most=1 << 21, saves=25)
def _among(predictions, targets, k):
    """Fewer than k predictions are larger than the target's; never so for a target out of range, nor in a row that is not
    finite."""
    rows, classes = predictions.shape
    if targets.shape != (rows,):
        raise ValueError(f"First dimension of predictions {rows} must match length of targets {targets.shape}")
    inside = None
    if rows and np.maximum.reduce(targets.view(UNSIGNED[targets.itemsize])) >= classes:
        inside = (targets >= 0) & (targets < classes)
        targets = targets * inside
    places = np.add(np.arange(0, rows * classes, classes) if classes else 0, targets)
    larger = predictions > predictions.reshape(-1).take(places).reshape(rows, 1)
    found = _counted(larger) < k
    if not np.isfinite(np.add.reduce(predictions, None)):
        found &= np.logical_and.reduce(np.isfinite(predictions), 1)
    return found if inside is None else found & inside


@on_arrays("NthElement", most=1 << 16, saves=15, T=(float32, float64, int32, int64))
def _nth(input, n, reverse):
    if not 0 <= n < input.shape[-1]:
        raise ValueError(f"Input must have last dimension > n = {n} but is {input.shape[-1]}")
    place = input.shape[-1] - 1 - n if reverse else n
    parted = input.copy()
    parted.partition(place, -1)
    return parted[..., place].copy()


@on_arrays("ArgMax", most=1 << 16, saves=5)
def _argmax(input, dimension, output_type):
    found = input.argmax(dimension)
    return found if output_type == np.int64 else found.astype(output_type)


@on_arrays("ArgMin", most=1 << 16, saves=5)
def _argmin(input, dimension, output_type):
    found = input.argmin(dimension)
    return found if output_type == np.int64 else found.astype(output_type)
