"""Convolutions for 64-bit Arm: pointwise ones, and the gradients of all.

Measured (Neoverse N1, torch 2.13, one thread): the gradient of the input as a forward convolution with the filter turned round
takes a third of torch's time (8 images of 28 by 28, 64 to 96 channels, 3 by 3: 10 ms against 33), with larger steps half; the
gradient of the filter as one product of patches three quarters (26 ms against 35); depthwise gradients a fifth or less.  torch
takes up to twice as long to see that a pointwise convolution is a product of matrices.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch.nn import functional

from headrace.core.dtypes import float32, float64
from headrace.ops.convolution import (
    check_gradient,
    conv2d,
    conv2d_anywhere,
    conv2d_filter,
    conv2d_filter_anywhere,
    conv2d_input,
    conv2d_input_anywhere,
    depthwise_filter,
    depthwise_filter_anywhere,
    depthwise_input,
    depthwise_input_anywhere,
    geometry,
    paddings,
)
from headrace.ops.internal.opaque import is_traced

LARGEST = 1 << 20  # elements of patches made at a time: more gains nothing and is held beside the activations
_MUCH = 1 << 23  # multiplications: with fewer, the convolutions of each class of rows are not worth their calls
_NARROWEST = 8  # input channels: with fewer, the turned-round convolution is slower


def _is_plain(channels, sizes, data_format):
    """Channels last, one group, nothing empty."""
    return data_format == "NHWC" and channels == sizes[2] and min(sizes) > 0


def _checked_paddings(sizes, window, grad, strides, padding, explicit, data_format, dilations):
    """(before, after) of both spatial axes.  Raises if the gradient does not have the convolution's size."""
    g = geometry(sizes, window, strides, padding, explicit, data_format, dilations)
    check_gradient(sizes, window, grad.shape, g, data_format)
    return paddings(sizes, window, strides, padding, explicit, data_format, dilations)


def _padded(input, pairs):
    return functional.pad(input, (0, 0, *pairs[1], *pairs[0])) if any(map(any, pairs)) else input


# ---- forward


@conv2d.kernel(device="cpu", machine="aarch64")
def _(input, filter, strides, cudnn, padding, explicit, data_format, dilations):
    pointwise = filter.shape[0] == filter.shape[1] == max(strides) == 1 and padding != "EXPLICIT"
    if pointwise and not is_traced(input) and _is_plain(input.shape[3], filter.shape, data_format):
        channels, outputs = filter.shape[2:]
        product = torch.mm(input.reshape(-1, channels), filter.reshape(channels, outputs))
        return product.view(*input.shape[:3], outputs)
    return conv2d_anywhere(input, filter, strides, cudnn, padding, explicit, data_format, dilations)


# ---- the gradient of the input


@conv2d_input.kernel(device="cpu", machine="aarch64")
def _(sizes, filter, grad, strides, cudnn, padding, explicit, data_format, dilations):
    window, stride, dilation = filter.shape[:2], strides[1:3], dilations[1:3]
    strided = max(strides) > 1
    slow = filter.shape[2] < _NARROWEST or (
        strided and (max(dilations) > 1 or is_traced(grad) or filter.numel() * math.prod(grad.shape[:3]) < _MUCH)
    )
    if slow or not _is_plain(sizes[3], filter.shape, data_format) or 0 in grad.shape:
        return conv2d_input_anywhere(sizes, filter, grad, strides, cudnn, padding, explicit, data_format, dilations)
    pairs = _checked_paddings(sizes, window, grad, strides, padding, explicit, data_format, dilations)
    if strided:
        return strided_input_gradient(filter, grad, tuple(sizes), stride, pairs)
    return input_gradient(filter, grad, dilation, pairs)


@depthwise_input.kernel(device="cpu", machine="aarch64")
def _(sizes, filter, grad, strides, padding, explicit, data_format, dilations):
    if max(strides) > 1 or not _is_single(filter.shape, grad, data_format):
        return depthwise_input_anywhere(sizes, filter, grad, strides, padding, explicit, data_format, dilations)
    pairs = _checked_paddings(sizes, filter.shape[:2], grad, strides, padding, explicit, data_format, dilations)
    return input_gradient(filter, grad, dilations[1:3], pairs, groups=filter.shape[2])


def _is_single(filter_sizes, grad, data_format):
    """Channels last, one output for each channel, nothing empty."""
    return data_format == "NHWC" and filter_sizes[3] == 1 and min(filter_sizes) > 0 and 0 not in grad.shape


def input_gradient(filter, grad, dilation, pairs, groups=1):
    """For stride 1: the gradient convolved with the filter turned round; [N, P, Q, O] -> [N, H, W, C]."""
    reach = [(n - 1) * d for n, d in zip(filter.shape[:2], dilation, strict=True)]
    before = [r - p[0] for r, p in zip(reach, pairs, strict=True)]
    after = [r - p[1] for r, p in zip(reach, pairs, strict=True)]
    y = grad.permute(0, 3, 1, 2)
    padding = (0, 0)
    if before == after and min(before) >= 0:
        padding = tuple(before)
    else:
        y = functional.pad(y, (before[1], after[1], before[0], after[0]))
    weight = filter.flip(0, 1).permute(2, 3, 0, 1)
    x = torch.convolution(y, weight, None, (1, 1), padding, dilation, False, (0, 0), groups)
    return x.permute(0, 2, 3, 1).contiguous()


def strided_input_gradient(filter, grad, sizes, stride, pairs):
    """For larger steps, without dilation: [N, P, Q, O] -> [N, H, W, C].

    The rows and columns of the input fall into classes by the taps that reach them; each class is the gradient convolved with
    those taps turned round, so that nothing is multiplied by zero and nothing is added up afterwards.
    """
    result = grad.new_zeros(sizes) if min(filter.shape[:2]) < max(stride) else grad.new_empty(sizes)
    rows, columns = (
        _classes(sizes[axis], filter.shape[axis - 1], stride[axis - 1], pairs[axis - 1][0], grad.shape[axis])
        for axis in (1, 2)
    )
    for top, down, above, below in rows:
        for left, across, before, after in columns:
            weight = filter[down, across].flip(0, 1).permute(2, 3, 0, 1)
            y = functional.pad(grad, (0, 0, before, after, above, below)).permute(0, 3, 1, 2)
            x = torch.convolution(y, weight, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
            result[:, top, left] = x.permute(0, 2, 3, 1)
    return result


@lru_cache(maxsize=1024)
def _classes(size, window, step, padding, count):
    """Of one axis: the places of each class, its taps, and how much the gradient is padded before and after."""
    classes = []
    for rest in range(min(step, window)):
        taps = (window - rest + step - 1) // step
        first, last = -((rest - padding) // step), (size - 1 + padding - rest) // step
        if first <= last:
            places = slice(first * step + rest - padding, last * step + rest - padding + 1, step)
            classes.append((places, slice(rest, window, step), taps - 1 - first, last - count + 1))
    return classes


# ---- the gradient of the filter


@conv2d_filter.kernel(device="cpu", machine="aarch64")
def _(input, sizes, grad, strides, cudnn, padding, explicit, data_format, dilations):
    if not _is_plain(input.shape[3], sizes, data_format) or 0 in grad.shape or 0 in input.shape:
        return conv2d_filter_anywhere(input, sizes, grad, strides, cudnn, padding, explicit, data_format, dilations)
    pairs = _checked_paddings(input.shape, tuple(sizes[:2]), grad, strides, padding, explicit, data_format, dilations)
    return filter_gradient(input, sizes, grad, strides[1:3], dilations[1:3], pairs)


@depthwise_filter.kernel(device="cpu", machine="aarch64", T=(float32, float64))
def _(input, sizes, grad, strides, padding, explicit, data_format, dilations):
    if is_traced(input) or 0 in input.shape or not _is_single(sizes, grad, data_format):
        return depthwise_filter_anywhere(input, sizes, grad, strides, padding, explicit, data_format, dilations)
    pairs = _checked_paddings(input.shape, tuple(sizes[:2]), grad, strides, padding, explicit, data_format, dilations)
    return depthwise_filter_gradient(input, sizes, grad, strides[1:3], dilations[1:3], pairs)


def filter_gradient(input, sizes, grad, stride, dilation, pairs):
    """[N, H, W, C] and [N, P, Q, O] -> [height, width, C, O]; ``pairs`` are the paddings of the two spatial axes."""
    height, width, channels, outputs = sizes
    x = _padded(input, pairs).contiguous()
    batch, rows, columns = grad.shape[:3]
    s = x.stride()
    size = (rows, columns, height, width, channels)
    steps = (s[1] * stride[0], s[2] * stride[1], s[1] * dilation[0], s[2] * dilation[1], s[3])
    chunk = max(1, min(batch, LARGEST // max(1, math.prod(size))))
    total = None
    for start in range(0, batch, chunk):
        part = x[start : start + chunk]
        if chunk < batch and is_traced(x):
            part = part.clone()  # a compiler counts the offset of strided views from other places than torch does
        count = part.shape[0]
        patches = part.as_strided((count, *size), (s[0], *steps), part.storage_offset())
        patches = patches.reshape(count * rows * columns, height * width * channels)
        gradient = grad[start : start + chunk].reshape(count * rows * columns, outputs)
        total = patches.mT @ gradient if total is None else total.addmm_(patches.mT, gradient)
    return total.reshape(height, width, channels, outputs)


def depthwise_filter_gradient(input, sizes, grad, stride, dilation, pairs):
    """Takes each tap of the filter in turn and sums its products with the gradient over the pixels."""
    height, width, channels, _ = sizes
    x, products = _padded(input, pairs), torch.empty_like(grad)
    rows, columns = (stride[0] * (grad.shape[1] - 1) + 1, stride[1] * (grad.shape[2] - 1) + 1)
    ones = grad.new_ones(grad.numel() // channels)
    sums = grad.new_empty((height, width, channels))
    for i in range(height):
        for j in range(width):
            top, left = i * dilation[0], j * dilation[1]
            pixels = x[:, top : top + rows : stride[0], left : left + columns : stride[1]]
            torch.mul(pixels, grad, out=products)
            torch.mv(products.view(-1, channels).t(), ones, out=sums[i, j])
    return sums.view(tuple(sizes))
