"""Max and average pools, one axis after the other: the elements at one place of every window are a slice of the input."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.ops._window import CHANNELS_LAST, channel, explicit_pairs, output_size, padding_of, spatial
from headrace.ops.arrays._declare import constant, on_arrays

PLAIN = (float32, float64)


@lru_cache(maxsize=512)
def _axes(shape, ksize, strides, padding, explicit, data_format):
    """For each axis with windows: (axis, how many, [(windows that have this place inside the input, where it is)])."""
    first = 1 if data_format in CHANNELS_LAST else 2
    pairs = explicit_pairs(explicit, len(shape), data_format, padding)
    found = []
    sizes = zip(
        spatial(shape, data_format), spatial(ksize, data_format), spatial(strides, data_format), pairs, strict=True
    )
    for axis, (n, k, s, pair) in enumerate(sizes, first):
        before = padding_of(n, k, s, padding, *pair)[0]
        count = output_size(n, k, s, padding, *pair)
        spans = [span for place in range(k) if (span := _span(place - before, n, s, count)) is not None]
        spans.sort(key=lambda span: span[0] != slice(0, count))  # those that every window has, first
        lead = (slice(None),) * axis
        places = [((*lead, out), (*lead, inside)) for out, inside in spans]
        if k > 1 or s > 1 or places != [((*lead, slice(0, n)), (*lead, slice(0, n, 1)))]:
            found.append((axis, count, places, sum(out == slice(0, count) for out, _ in spans)))
    return found


def _span(offset, size, stride, count):
    """Windows whose element ``offset`` after the first one's beginning lies inside, and those elements; None if none do."""
    low = max(0, -(offset // stride))
    high = min(count, (size - 1 - offset) // stride + 1)
    if high <= low:
        return None
    start = low * stride + offset
    return slice(low, high), slice(start, start + (high - low - 1) * stride + 1, stride)


def _pooled(function, x, axes, neutral):
    """The function over the windows of every axis."""
    for axis, count, places, whole in axes:
        if whole > 1:
            out = function(x[places[0][1]], x[places[1][1]])
            rest = 2
        elif whole:
            out, rest = x[places[0][1]].copy(), 1
        else:
            out, rest = np.full((*x.shape[:axis], count, *x.shape[axis + 1 :]), neutral, x.dtype), 0
        for i, (windows, inside) in enumerate(places[rest:], rest):
            target = out if i < whole else out[windows]
            function(target, x[inside], out=target)
        x = out
    return x


def _lowest(dtype):
    return -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


@on_arrays("MaxPool", "MaxPool3D", most=1 << 14, saves=20)
def _max_pool(x, ksize, strides, padding, *rest):
    explicit, data_format = rest if len(rest) == 2 else ((), rest[0])
    if channel(ksize, data_format) != 1:
        return _depth_max(x, ksize, strides, data_format)
    axes = _axes(x.shape, ksize, strides, padding, explicit, data_format)
    return _pooled(np.maximum, x, axes, _lowest(x.dtype)) if axes else x.copy()


def _depth_max(x, ksize, strides, data_format):
    size, depth = channel(ksize, data_format), channel(x.shape, data_format)
    plain = data_format in CHANNELS_LAST and all(k == 1 for k in spatial(ksize, data_format))
    if not plain or depth % size or size != channel(strides, data_format):
        raise NotImplementedError
    return np.maximum.reduce(x.reshape(*x.shape[:-1], depth // size, size), -1)


@lru_cache(maxsize=512)
def _inside(shape, ksize, strides, padding, data_format, dtype):
    """How many elements of each window lie in the input; a number without axes where it is the same for all."""
    found = np.ones([1] * len(shape), np.int64)
    for axis, count, places, _ in _axes(shape, ksize, strides, padding, (), data_format):
        along = np.zeros(count, np.int64)
        for windows, _ in places:
            along[windows[axis]] += 1
        found = found * along.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    if found.size and (found == found.flat[0]).all():
        return constant(int(found.flat[0]), dtype)
    return found.astype(dtype)


@on_arrays("AvgPool", "AvgPool3D", most=1 << 14, saves=10, T=PLAIN)
def _avg_pool(x, ksize, strides, padding, data_format):
    axes = _axes(x.shape, ksize, strides, padding, (), data_format)
    if not axes:
        return x.copy()
    return np.divide(_pooled(np.add, x, axes, 0), _inside(x.shape, ksize, strides, padding, data_format, x.dtype))


@on_arrays("AvgPoolGrad", "AvgPool3DGrad", most=1 << 14, saves=10, T=PLAIN)
def _avg_pool_grad(sizes, grad, ksize, strides, padding, data_format):
    sizes = tuple(sizes)
    axes = _axes(sizes, ksize, strides, padding, (), data_format)
    counts = {axis: count for axis, count, _, _ in axes}
    if tuple(counts.get(i, n) for i, n in enumerate(sizes)) != grad.shape:
        raise ValueError
    found = np.divide(grad, _inside(sizes, ksize, strides, padding, data_format, grad.dtype))
    for axis, _, places, _ in reversed(axes):
        wider = np.zeros((*found.shape[:axis], sizes[axis], *found.shape[axis + 1 :]), grad.dtype)
        apart = ksize[axis] <= strides[axis]
        for windows, inside in places:
            if apart:
                wider[inside] = found[windows]
            else:
                target = wider[inside]
                np.add(target, found[windows], target)
        found = wider
    return found
