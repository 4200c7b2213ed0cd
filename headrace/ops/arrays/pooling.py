"""Max and average pools, channels last: the taps of a window one after the other, along each axis by itself.

On 64-bit Arm maxima, and gradients of averages, are so quicker than torch's for many numbers too, with few threads:
maxima of 3 by 3 of 8 images of 56 by 56 with 64 channels take 1.8 ms against 2.5 in steps of two, 3.3 against 8.5 of one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from headrace.ops._arm_convolution import USED as ARM
from headrace.ops._window import output_size, padding_of
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays.convolution import through

_FEW = 1 << 14  # elements
_MOST = 1 << 40 if ARM else _FEW
_CROWD = 3  # threads: numpy uses one
_BLOCK = 1 << 17  # elements at a time: what is between stays in the cache
_PLANE: Any = ("NHWC",)


class Axis(NamedTuple):
    """One axis of a pool: for each tap but the first, the windows that see it and what they see of the input."""

    windows: int
    first: slice  # what the tap sees that all windows see
    second: slice | None  # the same of another such tap
    rest: tuple[tuple[slice, slice], ...]  # of the others
    shares: np.ndarray  # one over how much of the input each window sees


@lru_cache(maxsize=1024)
def axis_of(size, window, stride, padding):
    count = output_size(size, window, stride, padding)
    before, _ = padding_of(size, window, stride, padding)
    seen = np.zeros(count)
    second, rest = None, []
    for tap in range(window):
        low = max(0, -((tap - before) // stride))
        high = min(count, (size - 1 - tap + before) // stride + 1)
        if high <= low:
            continue
        seen[low:high] += 1
        start = low * stride + tap - before
        places = slice(start, start + (high - low - 1) * stride + 1, stride)
        if tap != before and second is None and high - low == count:
            second = places
        elif tap != before:
            rest.append((slice(low, high), places))
    return Axis(count, slice(0, (count - 1) * stride + 1, stride), second, tuple(rest), 1 / seen)


@lru_cache(maxsize=256)
def _shares(size, window, stride, padding, channels, kind):
    """Shares of rows [windows, 1], or of columns once a channel [windows * channels]; a number if all are the same."""
    found = axis_of(size, window, stride, padding).shares.astype(kind)
    if (found == found[0]).all():
        return np.array(found[0])
    return found[:, None] if not channels else found.repeat(channels)


def _plain(shape, ksize, padding):
    return ksize[0] == ksize[3] == 1 and padding in ("SAME", "VALID") and 0 not in shape


def _suits(size):
    return size <= _FEW or torch.get_num_threads() < _CROWD


def _over(function, x, down, across):
    """[batch, height, width, channels] -> [batch, rows, columns, channels]"""
    return _along(function, _along(function, x, (_ALL,), down), (_ALL, _ALL), across)


_ALL = slice(None)


def _along(function, x, lead, axis):
    found = x[(*lead, axis.first)]
    found = found.copy() if axis.second is None else function(found, x[(*lead, axis.second)])
    for windows, seen in axis.rest:
        part = found[(*lead, windows)]
        function(part, x[(*lead, seen)], out=part)
    return found


@on_arrays("MaxPool", most=_MOST, saves=20, data_format=_PLANE)
def _max_pool(input, ksize, strides, padding, explicit, data_format):
    if not _plain(input.shape, ksize, padding) or not _suits(input.size):
        return through("MaxPool", input, ksize, strides, padding, explicit, data_format)
    height, width = input.shape[1:3]
    down = axis_of(height, ksize[1], strides[1], padding)
    across = axis_of(width, ksize[2], strides[2], padding)
    return _over(np.maximum, input, down, across)


@on_arrays("AvgPool", most=_FEW, saves=20, data_format=_PLANE)
def _avg_pool(value, ksize, strides, padding, data_format):
    if not _plain(value.shape, ksize, padding):
        return through("AvgPool", value, ksize, strides, padding, data_format)
    batch, height, width, channels = value.shape
    vertical, horizontal = (height, ksize[1], strides[1], padding), (width, ksize[2], strides[2], padding)
    down, across = axis_of(*vertical), axis_of(*horizontal)
    rows, columns = _shares(*vertical, 0, value.dtype), _shares(*horizontal, channels, value.dtype)

    total = _over(np.add, value, down, across)
    long = total.reshape(batch, down.windows, -1)
    return _scaled(long, rows, columns, long).reshape(total.shape)  # not total: what lies otherwise was copied


def _scaled(x, rows, columns, out=None):
    """By what rows and columns are shared by."""
    if not rows.ndim or not columns.ndim:
        return np.multiply(x, rows * columns, out=out)
    x = np.multiply(x, rows, out=out)
    return np.multiply(x, columns, out=x)


@on_arrays("AvgPoolGrad", most=_MOST, saves=20, data_format=_PLANE)
def _avg_pool_grad(sizes, grad, ksize, strides, padding, data_format):
    if not _plain(sizes, ksize, padding) or not _suits(grad.size) or 0 in grad.shape:
        return through("AvgPoolGrad", sizes, grad, ksize, strides, padding, data_format)
    _, height, width, channels = sizes
    vertical, horizontal = (height, ksize[1], strides[1], padding), (width, ksize[2], strides[2], padding)
    down, across = axis_of(*vertical), axis_of(*horizontal)
    if grad.shape != (sizes[0], down.windows, across.windows, channels):
        raise ValueError("the gradient has another size")
    rows, columns = _shares(*vertical, 0, grad.dtype), _shares(*horizontal, channels, grad.dtype)

    total = np.empty(sizes, grad.dtype)
    if not rows.ndim and not columns.ndim and ksize == strides and total.size == grad.size * ksize[1] * ksize[2]:
        parts = total.reshape(sizes[0], down.windows, ksize[1], across.windows, ksize[2], channels)
        np.multiply(grad[:, :, None, :, None], rows * columns, out=parts)
        return total
    at_once = max(1, _BLOCK * len(grad) // total.size)
    for start in range(0, len(grad), at_once):
        part = grad[start : start + at_once]
        shared = _scaled(part.reshape(len(part), down.windows, -1), rows, columns).reshape(part.shape)
        _back(_back(shared, 2, width, across), 1, height, down, total[start : start + at_once])
    return total


def _back(g, dim, size, axis, total=None):
    """What windows along a dimension add up to where they lie."""
    lead = (_ALL,) * dim
    shape = (*g.shape[:dim], size, *g.shape[dim + 1 :])
    total = np.empty(shape, g.dtype) if total is None else total
    if axis.windows < size:
        total.fill(0)
    total[(*lead, axis.first)] = g
    rest = axis.rest if axis.second is None else ((_ALL, axis.second), *axis.rest)
    for windows, seen in rest:
        part = total[(*lead, seen)]
        np.add(part, g[(*lead, windows)], out=part)
    return total
