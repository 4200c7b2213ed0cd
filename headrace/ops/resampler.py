"""Resampler: pictures read between their pixels at places of the user's choosing, with gradients for both."""

from __future__ import annotations

import math

import torch

from headrace.core import dtypes
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.whole import whole

_TYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
resampler = op("Resampler(data: T, warp: T) -> (output: T)", T=_TYPES, lenient=True)


@resampler.shape
def _(data, warp):
    return _sampled_shape(data, warp)


def _sampled_shape(data, warp):
    if data.ndims not in (None, 4):
        raise ValueError(f"data must be [batch, height, width, channels], got shape {data}")
    if warp.ndims is not None and warp.ndims < 2:
        raise ValueError(f"warp must be [batch, ..., 2], got shape {warp}")
    if warp.ndims is None:
        return None
    *places, two = warp.tuple
    if two not in (None, 2):
        raise ValueError(f"the last dimension of warp must be 2, for x and y; got shape {warp}")
    batch, _, _, channels = data.with_rank(4).tuple
    if None not in (batch, places[0]) and batch != places[0]:
        raise ValueError(f"data and warp must have the same batch size, got shapes {data} and {warp}")
    return (places[0] if batch is None else batch, *places[1:], channels)


def _corners(data, warp):
    """For each of the four pixels around each place: its row in the flat data, whether it is there; and the distances."""
    batch, height, width, _ = data.shape
    points = warp.reshape(batch, math.prod(warp.shape[1:-1]), 2)
    x, y = points[..., 0], points[..., 1]
    near = (x > -1) & (y > -1) & (x < width) & (y < height)  # of what is NaN nothing is true
    left, top = torch.floor(x), torch.floor(y)
    picture = torch.arange(batch, device=data.device)[:, None] * (height * width)
    corners = []
    for down in (0, 1):
        for right in (0, 1):
            column, row = left + right, top + down
            there = near & (column >= 0) & (column < width) & (row >= 0) & (row < height)
            place = picture + whole(row, 0, height - 1) * width + whole(column, 0, width - 1)
            corners.append((place, there[..., None]))
    zero = torch.zeros_like(x)
    across, down = torch.where(near, x - left, zero), torch.where(near, y - top, zero)
    return corners, across[..., None], down[..., None]


def _pixels(data, corners):
    """The values of the four pixels; zero outside the picture."""
    flat = data.reshape(math.prod(data.shape[:3]), data.shape[3])
    return [torch.where(there, flat[place], torch.zeros_like(flat[place])) for place, there in corners]


@resampler.kernel
def _(data, warp):
    shape = (*warp.shape[:-1], data.shape[3])
    if 0 in data.shape:
        return data.new_zeros(shape)
    corners, across, down = _corners(data, warp)
    top_left, top_right, low_left, low_right = _pixels(data, corners)
    upper = (1 - across) * top_left + across * top_right
    lower = (1 - across) * low_left + across * low_right
    return ((1 - down) * upper + down * lower).reshape(shape)


@resampler.gradient
def _(node, grad):
    return list(raw_ops.ResamplerGrad(node.inputs[0], node.inputs[1], grad))


to_both = op(
    "ResamplerGrad(data: T, warp: T, grad_output: T) -> (grad_data: T, grad_warp: T)",
    T=_TYPES,
    lenient=True,
)


@to_both.shape
def _(data, warp, grad_output):
    sampled = _sampled_shape(data, warp)
    if sampled is not None and not grad_output.is_compatible_with(sampled):
        raise ValueError(f"grad_output must have the shape of the output, {list(sampled)}, got shape {grad_output}")
    return [data, warp]


@to_both.kernel
def _(data, warp, grad_output):
    if 0 in data.shape:
        return data.new_zeros(data.shape), warp.new_zeros(warp.shape)
    batch, height, width, channels = data.shape
    corners, across, down = _corners(data, warp)
    grad = grad_output.reshape(batch, across.shape[1], channels)
    shares = [(1 - across) * (1 - down), across * (1 - down), (1 - across) * down, across * down]
    total = data.new_zeros(batch * height * width, channels)
    for (place, there), share in zip(corners, shares, strict=True):
        part = torch.where(there, share * grad, torch.zeros_like(grad))
        total = total.index_add(0, place.reshape(-1), part.reshape(-1, channels))
    top_left, top_right, low_left, low_right = _pixels(data, corners)
    by_x = ((1 - down) * (top_right - top_left) + down * (low_right - low_left)) * grad
    by_y = ((1 - across) * (low_left - top_left) + across * (low_right - top_right)) * grad
    return total.reshape(data.shape), torch.stack([by_x.sum(-1), by_y.sum(-1)], -1).reshape(warp.shape)
