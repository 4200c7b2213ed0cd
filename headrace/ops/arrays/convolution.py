"""Convolutions over few numbers: products of patches, channels last.  What is not plain goes to the kernel on tensors."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import float32
from headrace.core.registry import REGISTRY
from headrace.ops._window import explicit_pairs, padding_of
from headrace.ops.arrays._declare import on_arrays
from headrace.resources.value import as_tensor

_FEW = 1 << 14  # elements
_PLANE: Any = ("NHWC",)
_VOLUME: Any = ("NDHWC",)


class Plan(NamedTuple):
    """A convolution of known sizes."""

    out: tuple[int, ...]  # the spatial sizes of the output
    full: tuple[int, ...]  # the shape of the padded input
    is_padded: bool
    is_pointwise: bool  # a product with a matrix, pixel by pixel
    middle: tuple[slice, ...]  # where the input lies in it
    patches: tuple[int, ...]  # the shape of all patches [batch, *out, *window, channels]
    steps: tuple[int, ...]  # and their strides, in elements
    taps: tuple[tuple[slice, ...], ...]  # for each place of the window, the padded input that it sees
    back: tuple[int, ...] | None  # the explicit paddings of the gradient, where the way back is a convolution too


@lru_cache(maxsize=1024)
def plan(shape, window, strides, padding, explicit, dilations, layout):
    given = explicit_pairs(explicit, len(shape), layout, padding)
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    axes = list(zip(shape[1:-1], reach, strides, given, strict=True))
    pairs = [padding_of(n, r, s, padding, *pair) for n, r, s, pair in axes]
    wide = [n + a + b for n, (a, b) in zip(shape[1:-1], pairs, strict=True)]
    out = tuple((n - r) // s + 1 for n, r, s in zip(wide, reach, strides, strict=True))
    if min(out) < 1:
        raise ValueError("the window is larger than the input")
    full = (shape[0], *wide, shape[-1])
    step = [math.prod(full[i + 1 :]) for i in range(len(full))]
    inner = step[1:-1]
    steps = (
        step[0], *(a * s for a, s in zip(inner, strides, strict=True)), *(a * d for a, d in zip(inner, dilations, strict=True)),
        1,
    )  # fmt: skip
    ends = [(r - 1 - a, r - 1 - b) for r, (a, b) in zip(reach, pairs, strict=True)]
    back = (0, 0, *(n for pair in ends for n in pair), 0, 0) if max(strides) == 1 and min(map(min, ends)) >= 0 else None
    taps = tuple(
        (slice(None), *map(_seen_from, place, dilations, out, strides)) for place in product(*map(range, window))
    )
    middle = (slice(None), *(slice(a, a + n) for n, (a, _) in zip(shape[1:-1], pairs, strict=True)))
    is_padded = any(map(any, pairs))
    is_pointwise = not is_padded and max(*window, *strides) == 1
    return Plan(out, full, is_padded, is_pointwise, middle, (shape[0], *out, *window, shape[-1]), steps, taps, back)


def _seen_from(place, gap, count, step):
    return slice(place * gap, place * gap + (count - 1) * step + 1, step)


def padded(x, p):
    if not p.is_padded:
        return np.ascontiguousarray(x)
    wide = np.zeros(p.full, x.dtype)
    wide[p.middle] = x
    return wide


def patches(x, p):
    """[patches, window * channels]"""
    if p.is_pointwise:
        return x.reshape(-1, x.shape[-1])
    x = padded(x, p)
    size = x.itemsize
    seen = np.ndarray(p.patches, x.dtype, x, 0, [s * size for s in p.steps])
    return seen.reshape(-1, math.prod(p.patches[len(p.out) + 1 :]))


def unite(parts, p, steps=None):
    """What patches [batch, *out, taps, channels] add up to where they lie: the input's gradient.

    ``steps`` are those of a plane without dilation: as many taps as there are pixels in a step lie side by side.
    """
    if steps is not None:
        return _unite_plane(parts, p, *steps)
    total = np.zeros(p.full, parts.dtype)
    for i, place in enumerate(p.taps):
        seen = total[place]
        np.add(seen, parts[..., i, :], out=seen)
    return total[p.middle].copy() if p.is_padded else total


def _unite_plane(parts, p, down, across):
    batch, rows, columns, height, width, channels = p.patches
    parts = parts.reshape(p.patches).transpose(0, 1, 3, 2, 4, 5)
    more = -(-height // down), -(-width // across)
    tall, wide = max(-(-p.full[1] // down), rows + more[0] - 1), max(-(-p.full[2] // across), columns + more[1] - 1)
    total = np.zeros((batch, tall, down, wide, across, channels), parts.dtype)
    for i in range(more[0]):
        for j in range(more[1]):
            part = parts[:, :, i * down : (i + 1) * down, :, j * across : (j + 1) * across]
            seen = total[:, i : i + rows, : part.shape[2], j : j + columns, : part.shape[4]]
            np.add(seen, part, out=seen)
    total = total.reshape(batch, tall * down, wide * across, channels)
    return total[p.middle].copy()


def through(name, *arguments):
    """What the kernel on tensors gives."""
    kernel = REGISTRY.get(name).find_kernel("cpu", {"T": float32})
    return kernel.function(*[as_tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]).numpy()


def _is_plain(x, filter, grad=None):
    return (
        x.shape[-1] == filter[-2] and x.size > 0 and 0 not in filter and (grad is None or grad.shape[-1] == filter[-1])
    )


def _declare(forward, to_input, to_filter, formats, normal):
    """The three directions; ``normal`` gives strides, padding, explicit paddings and dilations of the attributes."""
    (layout,) = formats

    @on_arrays(forward, most=_FEW, saves=40, data_format=formats)
    def _(input, filter, *attrs):
        window = filter.shape
        if not _is_plain(input, window):
            return through(forward, input, filter, *attrs)
        p = plan(input.shape, window[:-2], *normal(*attrs), layout)
        found = patches(input, p) @ filter.reshape(-1, window[-1])
        return found.reshape(input.shape[0], *p.out, window[-1])

    @on_arrays(to_input, most=_FEW, saves=60, data_format=formats)
    def _(sizes, filter, grad, *attrs):
        shape, window = tuple(sizes), filter.shape
        if shape[-1] != window[-2] or 0 in shape or 0 in window:
            return through(to_input, sizes, filter, grad, *attrs)
        strides, padding, explicit, dilations = normal(*attrs)
        p = plan(shape, window[:-2], strides, padding, explicit, dilations, layout)
        if grad.shape != (shape[0], *p.out, window[-1]):
            raise ValueError("the gradient has another size")
        if p.back is not None:
            turned = filter[(slice(None, None, -1),) * len(p.out)].swapaxes(-1, -2).reshape(-1, shape[-1])
            p = plan(grad.shape, window[:-2], strides, "EXPLICIT", p.back, dilations, layout)
            return (patches(grad, p) @ turned).reshape(shape)
        parts = grad.reshape(-1, window[-1]) @ filter.reshape(-1, window[-1]).T
        plane = strides if len(strides) == 2 and max(dilations) == 1 else None
        return unite(parts.reshape(*grad.shape[:-1], -1, shape[-1]), p, plane)

    @on_arrays(to_filter, most=_FEW, saves=60, data_format=formats)
    def _(input, sizes, grad, *attrs):
        window = tuple(sizes)
        if not _is_plain(input, window, grad):
            return through(to_filter, input, sizes, grad, *attrs)
        p = plan(input.shape, window[:-2], *normal(*attrs), layout)
        if grad.shape != (input.shape[0], *p.out, window[-1]):
            raise ValueError("the gradient has another size")
        return (patches(input, p).T @ grad.reshape(-1, window[-1])).reshape(window)


def _plane(strides, cudnn, padding, explicit, data_format, dilations):
    return strides[1:3], padding, explicit, dilations[1:3]


def _volume(strides, padding, data_format, dilations):
    return strides[1:4], padding, (), dilations[1:4]


def _depthwise(strides, padding, explicit, data_format, dilations):
    return strides[1:3], padding, explicit, dilations[1:3]


_declare("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", _PLANE, _plane)
_declare("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", _VOLUME, _volume)

# ---- depthwise: all taps of the filter at once, in long rows


def _is_single(x, filter):
    return x.shape[-1] == filter[2] and filter[3] == 1 and x.size > 0 and 0 not in filter


def _seen(x, p):
    """[*window, batch, *out, channels]: what each tap sees."""
    x = padded(x, p)
    size = x.itemsize
    batch, p1, p2, height, width, channels = p.patches
    a, b, c, d, e, f = (s * size for s in p.steps)
    return np.ndarray((height, width, batch, p1, p2, channels), x.dtype, x, 0, (d, e, a, b, c, f))


def _depthwise_sum(x, filter, p):
    height, width, channels = filter.shape[:3]
    rows = np.empty((height, width, 1, 1, p.out[1], channels), filter.dtype)  # the filter once for every column
    rows[:] = filter.reshape(height, width, 1, 1, 1, channels)
    parts = _seen(x, p) * rows
    return np.add.reduce(parts.reshape(height * width, -1), 0).reshape(x.shape[0], *p.out, channels)


@on_arrays("DepthwiseConv2dNative", most=_FEW, saves=80, data_format=_PLANE)
def _(input, filter, *attrs):
    if not _is_single(input, filter.shape):
        return through("DepthwiseConv2dNative", input, filter, *attrs)
    return _depthwise_sum(input, filter, plan(input.shape, filter.shape[:2], *_depthwise(*attrs), "NHWC"))


@on_arrays("DepthwiseConv2dNativeBackpropInput", most=_FEW, saves=80, data_format=_PLANE)
def _(sizes, filter, grad, *attrs):
    if not _is_single(grad, filter.shape) or 0 in sizes:
        return through("DepthwiseConv2dNativeBackpropInput", sizes, filter, grad, *attrs)
    shape, window = tuple(sizes), filter.shape[:2]
    strides, padding, explicit, dilations = _depthwise(*attrs)
    p = plan(shape, window, strides, padding, explicit, dilations, "NHWC")
    if grad.shape != (shape[0], *p.out, shape[-1]):
        raise ValueError("the gradient has another size")
    if p.back is not None:
        p = plan(grad.shape, window, strides, "EXPLICIT", p.back, dilations, "NHWC")
        return _depthwise_sum(grad, filter[::-1, ::-1], p)
    parts = grad[:, :, :, None] * filter.reshape(-1, shape[-1])
    return unite(parts, p, strides if max(dilations) == 1 else None)


@on_arrays("DepthwiseConv2dNativeBackpropFilter", most=_FEW, saves=80, data_format=_PLANE)
def _(input, sizes, grad, *attrs):
    if not _is_single(input, sizes) or not grad.size:
        return through("DepthwiseConv2dNativeBackpropFilter", input, sizes, grad, *attrs)
    height, width, channels = sizes[:3]
    p = plan(input.shape, (height, width), *_depthwise(*attrs), "NHWC")
    if grad.shape != (input.shape[0], *p.out, channels):
        raise ValueError("the gradient has another size")
    parts = _seen(input, p) * grad
    columns = np.add.reduce(parts.reshape(height * width, -1, p.out[1] * channels), 1)
    return np.add.reduce(columns.reshape(height * width, -1, channels), 1).reshape(sizes)
