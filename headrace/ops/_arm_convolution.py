"""Faster backward convolutions for CPUs where torch's own are slow.

Measured on 64-bit Arm (Neoverse N1, torch 2.13, one thread, GFLOP/s): forward 34; gradient of the filter 23, as one product of
patches 34; gradient of the input 24, as a forward convolution with the filter turned round 34.  On x86 torch's own are
better, so these are used on Arm only.
"""

from __future__ import annotations

import platform
from functools import lru_cache

import numpy as np
import torch
from torch.nn import functional

from headrace.ops._opaque import is_traced

USED = platform.machine().lower() in ("aarch64", "arm64")
FEW = 1 << 14  # elements of patches
LARGEST = 1 << 20  # elements of patches made at a time: more gains nothing and is held beside the activations
MUCH = 1 << 23  # multiplications: with fewer, the convolutions of four classes are not worth their calls
_WIDE = 32  # channels: with fewer, products of patches are quicker than torch's convolution
_NO_PADDING = ((0, 0), (0, 0))
CROWD = 3  # threads: NumPy uses one
NARROWEST = 8  # input channels: with fewer, the turned-round convolution is slower


def is_pointwise(window, strides):
    """Whether a convolution is a product with a matrix, pixel by pixel: torch takes twice as long to find out."""
    return window[0] == window[1] == 1 and max(strides) == 1


def pointwise(input, filter):
    """[N, H, W, C] and [1, 1, C, O] -> [N, H, W, O]."""
    channels, outputs = filter.shape[2:]
    return torch.mm(input.reshape(-1, channels), filter.reshape(channels, outputs)).view(*input.shape[:3], outputs)


def few_patches(window, channels, out_shape):
    """Whether patches are so few that one product of them is quicker: a third of torch's time for large steps."""
    return window[0] * window[1] * channels * out_shape[0] * out_shape[1] * out_shape[2] <= FEW


def by_patches(input, filter, out_shape, stride, dilation, pairs):
    """[N, H, W, C] and [height, width, C, O] -> [N, P, Q, O]."""
    height, width, channels, outputs = filter.shape
    x = functional.pad(input, (0, 0, *pairs[1], *pairs[0])) if any(map(any, pairs)) else input.contiguous()
    s = x.stride()
    steps = (s[0], s[1] * stride[0], s[2] * stride[1], s[1] * dilation[0], s[2] * dilation[1], s[3])
    patches = x.as_strided((*out_shape, height, width, channels), steps).reshape(-1, height * width * channels)
    return torch.mm(patches, filter.reshape(-1, outputs)).view(*out_shape, outputs)


def filter_gradient(input, sizes, grad, stride, dilation, pairs):
    """[N, H, W, C] and [N, P, Q, O] -> [height, width, C, O]; ``pairs`` are the paddings of the two spatial axes."""
    height, width, channels, outputs = sizes
    x = functional.pad(input, (0, 0, *pairs[1], *pairs[0])) if any(map(any, pairs)) else input
    x = x.contiguous()
    batch, rows, columns = grad.shape[:3]
    s = x.stride()
    size = (rows, columns, height, width, channels)
    steps = (s[1] * stride[0], s[2] * stride[1], s[1] * dilation[0], s[2] * dilation[1], s[3])
    per_image = rows * columns * height * width * channels
    at_once = max(1, min(batch, LARGEST // max(1, per_image)))
    total = None
    for start in range(0, batch, at_once):
        part = x[start : start + at_once]
        if at_once < batch and is_traced(x):
            part = part.clone()  # a compiler counts the offset of strided views from other places than torch does
        count = part.shape[0]
        patches = part.as_strided((count, *size), (s[0], *steps), part.storage_offset())
        patches = patches.reshape(count * rows * columns, height * width * channels)
        gradient = grad[start : start + at_once].reshape(count * rows * columns, outputs)
        total = patches.mT @ gradient if total is None else total.addmm_(patches.mT, gradient)
    return total.reshape(height, width, channels, outputs)


def input_gradient(filter, grad, dilation, pairs, depthwise=False):
    """For stride 1: the gradient convolved with the filter turned round; [N, P, Q, O] -> [N, H, W, C]."""
    height, width = filter.shape[:2]
    reach = ((height - 1) * dilation[0], (width - 1) * dilation[1])
    before = [r - p[0] for r, p in zip(reach, pairs, strict=True)]
    after = [r - p[1] for r, p in zip(reach, pairs, strict=True)]
    y = grad.permute(0, 3, 1, 2)
    padding = (0, 0)
    if before == after and min(before) >= 0:
        padding = tuple(before)
    else:
        y = functional.pad(y, (before[1], after[1], before[0], after[0]))
    groups = 1 if not depthwise else filter.shape[2]
    weight = filter.flip(0, 1).permute(2, 3, 0, 1)
    x = torch.convolution(y, weight, None, (1, 1), padding, dilation, False, (0, 0), groups)
    return x.permute(0, 2, 3, 1).contiguous()


def depthwise_filter_gradient(input, sizes, grad, stride, dilation, pairs):
    """Each tap of the filter by itself: 6 times as quick as torch's (8 images of 56 by 56, 32 channels: 4.5 ms of 26.5)."""
    height, width = sizes[:2]
    x = (functional.pad(input, (0, 0, *pairs[1], *pairs[0])) if any(map(any, pairs)) else input).numpy()
    out = grad.numpy()
    rows, columns = (stride[0] * (out.shape[1] - 1) + 1, stride[1] * (out.shape[2] - 1) + 1)
    found = np.empty(sizes, out.dtype)
    for i in range(height):
        for j in range(width):
            top, left = i * dilation[0], j * dilation[1]
            seen = x[:, top : top + rows : stride[0], left : left + columns : stride[1]]
            np.einsum("nhwc,nhwc->c", seen, out, out=found[i, j, :, 0])
    return torch.from_numpy(found)


def strided_input_gradient(filter, grad, sizes, stride, pairs):
    """For larger steps, without dilation: [N, P, Q, O] -> [N, H, W, C].

    The rows and columns of the input fall into classes by the taps that reach them; each class is the gradient convolved with
    those taps turned round, so that nothing is multiplied by zero and nothing is added up afterwards.
    """
    found = grad.new_zeros(sizes) if min(filter.shape[:2]) < max(stride) else grad.new_empty(sizes)
    rows, columns = (
        _classes(sizes[axis], filter.shape[axis - 1], stride[axis - 1], pairs[axis - 1][0], grad.shape[axis])
        for axis in (1, 2)
    )
    for top, down, above, below in rows:
        for left, across, before, after in columns:
            part = filter[down, across].flip(0, 1)
            height, width = part.shape[:2]
            y = functional.pad(grad, (0, 0, before, after, above, below))
            if grad.shape[3] < _WIDE:
                out = (sizes[0], y.shape[1] - height + 1, y.shape[2] - width + 1)
                x = by_patches(y, part.mT.contiguous(), out, (1, 1), (1, 1), _NO_PADDING)
            else:
                weight = part.permute(2, 3, 0, 1)
                x = torch.convolution(y.permute(0, 3, 1, 2), weight, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
                x = x.permute(0, 2, 3, 1)
            found[:, top, left] = x
    return found


@lru_cache(maxsize=1024)
def _classes(size, window, step, padding, count):
    """Of one axis: the places of each class, its taps, and how much the gradient is padded before and after."""
    found = []
    for rest in range(min(step, window)):
        taps = (window - rest + step - 1) // step
        first, last = -((rest - padding) // step), (size - 1 + padding - rest) // step
        if first <= last:
            places = slice(first * step + rest - padding, last * step + rest - padding + 1, step)
            found.append((places, slice(rest, window, step), taps - 1 - first, last - count + 1))
    return found


def volume(input, filter, sizes, strides, dilations, pairs):
    """[N, D, H, W, C] and [depth, height, width, C, O] -> [N, *sizes, O]: products of patches, some depths at a time."""
    window, outputs = filter.shape[:4], filter.shape[4]
    x = functional.pad(input, (0, 0, *pairs[2], *pairs[1], *pairs[0])) if any(map(any, pairs)) else input.contiguous()
    s, batch = x.stride(), x.shape[0]
    matrix = filter.reshape(-1, outputs)
    found = x.new_empty((batch, *sizes, outputs))
    at_once = max(1, min(sizes[0], LARGEST // (sizes[1] * sizes[2] * matrix.shape[0])))
    steps = (
        *(a * b for a, b in zip(s[1:4], strides, strict=True)),
        *(a * b for a, b in zip(s[1:4], dilations, strict=True)),
    )
    for n in range(batch):
        for start in range(0, sizes[0], at_once):
            count = min(at_once, sizes[0] - start)
            shape = (count, *sizes[1:], *window)
            patches = x.as_strided(shape, (*steps, s[4]), x.storage_offset() + n * s[0] + start * steps[0])
            into = found[n, start : start + count].view(-1, outputs)
            torch.mm(patches.reshape(-1, matrix.shape[0]), matrix, out=into)
    return found
