"""Colours: RGB and HSV, contrast, hue, saturation.  Channels are the last dimension, values in [0, 1]."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch._C._functorch import is_functorch_wrapped_tensor

from headrace.core import dtypes
from headrace.core.registry import op

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_HALF = (dtypes.float16, dtypes.float32)


def _three(images, *attrs):
    if images.ndims == 0 or (images.ndims and images.tuple[-1] not in (None, 3)):
        raise ValueError(f"the last dimension must be 3 (red, green, blue), got {images}")
    return images


def _on_host(images):
    """Whether NumPy may compute, which takes a fraction of torch's time for so many small steps: values not traced."""
    plain = type(images) is torch.Tensor and images.is_cpu and images.dtype is torch.float32
    return plain and not is_functorch_wrapped_tensor(images) and not images.requires_grad


# ---- on NumPy arrays, in as few calls as can be, a block of pixels at a time

_BLOCK = 1 << 14  # pixels: what is between stays in the cache
_MANY = 1 << 40  # elements: kernels on arrays are used whatever the size
_NUMBERS = {  # as arrays, which take less time to compute with than Python's numbers
    np.dtype(kind): [np.array(n, kind) for n in (0, 1, 6, 1 / 6, 2 / 6, 4 / 6, np.finfo(kind).tiny)]
    for kind in (np.float32, np.float64)
}
_CENTRES = np.array([[3], [2], [4]], np.float32)  # of what is without red, of green, of blue, in sixths of the circle


def _hsv_planes(pixels):
    """[pixels, 3] -> hue, saturation, value."""
    zero, *_, sixth, third, thirds, tiny = _NUMBERS[pixels.dtype]
    red, green, blue = np.ascontiguousarray(pixels.T)
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    saturation = span / np.maximum(value, tiny)
    if not value.item(value.argmin()) > 0:
        saturation = np.where(value > zero, saturation, zero)
    np.maximum(span, tiny, out=span)  # of grey the sides are zero, and red is the greatest
    np.divide(sixth, span, out=span)
    is_red, is_green = red == value, green == value
    side = np.where(is_red, green - blue, np.where(is_green, blue - red, red - green))
    side *= span
    side += np.where(is_red, zero, np.where(is_green, third, thirds))
    side -= np.floor(side)
    return side, saturation, value


def _rgb_pixels(hue, saturation, value, pixels):
    """The way back, into [pixels, 3]."""
    zero, one, six, *_ = _NUMBERS[pixels.dtype]
    away = hue * six - _CENTRES
    np.abs(away, out=away)
    away -= one
    away.clip(zero, one, away)
    deep = saturation * value
    away *= deep
    without_red, green, blue = away
    np.subtract(value, deep, out=deep)
    np.add(deep, without_red, out=pixels[:, 0])
    np.subtract(value, green, out=pixels[:, 1])
    np.subtract(value, blue, out=pixels[:, 2])


def _by_blocks(images, change):
    """An array made block by block: ``change(pixels, into)`` takes and writes [pixels, 3]."""
    result = np.empty(images.shape, images.dtype)
    pixels, into = images.reshape(-1, 3), result.reshape(-1, 3)
    for start in range(0, len(pixels), _BLOCK):
        change(pixels[start : start + _BLOCK], into[start : start + _BLOCK])
    return result


def _hsv_block(pixels, into):
    for i, plane in enumerate(_hsv_planes(pixels)):
        into[:, i] = plane


def _rgb_block(pixels, into):
    _rgb_pixels(*np.ascontiguousarray(pixels.T), into)


def _adjusted_block(change):
    def block(pixels, into):
        hue, saturation, value = _hsv_planes(pixels)
        change(hue, saturation)
        _rgb_pixels(hue, saturation, value, into)

    return block


def _on_host_with(function):
    """A function of arrays as one of tensors in the host's memory."""

    def on_tensors(images, *factors):
        with np.errstate(all="ignore"):
            return torch.from_numpy(function(images.numpy(), *(f.numpy() for f in factors)))

    return on_tensors


def _to_hsv(images):
    if _on_host(images):
        return _hsv_on_host(images)
    red, green, blue = images.unbind(-1)
    value = images.amax(-1)
    span = value - images.amin(-1)
    zero = torch.zeros_like(value)
    saturation = torch.where(value > 0, span / torch.where(value > 0, value, 1), zero)
    norm = 1 / (6 * torch.where(span > 0, span, 1))
    hue = torch.where(
        red == value, norm * (green - blue),
        torch.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )  # fmt: skip
    hue = torch.where(span > 0, hue, zero)
    return torch.stack([torch.where(hue < 0, hue + 1, hue), saturation, value], -1)


def _to_rgb(images):
    if _on_host(images):
        return _rgb_on_host(images)
    hue, saturation, value = images.unbind(-1)
    around = hue * 6
    red = ((around - 3).abs() - 1).clamp(0, 1)
    green = (2 - (around - 2).abs()).clamp(0, 1)
    blue = (2 - (around - 4).abs()).clamp(0, 1)
    pure = torch.stack([red, green, blue], -1)
    return ((pure - 1) * saturation[..., None] + 1) * value[..., None]


to_hsv = op("RGBToHSV(images: T) -> (output: T)", T=_FLOATS)
to_hsv.shape(_three)
to_hsv.kernel(_to_hsv)
_WIDE = (dtypes.float32, dtypes.float64)
_hsv_on_host = _on_host_with(lambda images: _by_blocks(images, _hsv_block))

to_rgb = op("HSVToRGB(images: T) -> (output: T)", T=_FLOATS)
to_rgb.not_differentiable()
to_rgb.shape(_three)
to_rgb.kernel(_to_rgb)
_rgb_on_host = _on_host_with(lambda images: _by_blocks(images, _rgb_block))


contrast = op("AdjustContrastv2(images: T, contrast_factor: float32) -> (output: T)", T=_HALF)


@contrast.shape
def _(images, contrast_factor):
    return images.with_rank_at_least(3)


_NARROW = 256  # numbers in a row


@lru_cache(maxsize=64)
def _means(height, width, channels):
    """Matrices that make the means of the channels of sums of columns, and those means once for every column of a row."""
    down = np.tile(np.eye(channels, dtype=np.float32), (width, 1)) / np.float32(height * width)
    return down, np.tile(down, (1, width)) if width * channels <= _NARROW else None


def _contrast_on_arrays(images, factor):
    """Sums of columns, of whole rows as they lie, then of those."""
    if not images.size:
        return images.copy()
    height, width, channels = images.shape[-3:]
    rows = images.reshape(-1, height, width * channels)
    down, across = _means(height, width, channels)
    sums = np.add.reduce(rows, 1)
    mean = np.tile(sums @ down, width) if across is None else sums @ across
    mean *= 1 - factor
    result = rows * factor
    result += mean[:, None]
    return result.reshape(images.shape)


_contrast_on_host = _on_host_with(_contrast_on_arrays)


@contrast.kernel
def _(images, contrast_factor):
    if _on_host(images) and _on_host(contrast_factor):
        return _contrast_on_host(images, contrast_factor)
    mean = images.to(torch.float32).mean((-3, -2), keepdim=True)
    return ((images - mean) * contrast_factor + mean).to(images.dtype)


def _adjusted(images, change):
    hsv = _to_hsv(images.to(torch.float32))
    return _to_rgb(torch.stack(change(*hsv.unbind(-1)), -1)).to(images.dtype)


hue = op("AdjustHue(images: T, delta: float32) -> (output: T)", T=_HALF)
hue.shape(lambda images, delta: _three(images.with_rank_at_least(3)))


def _turned(images, delta):
    delta = np.float32(delta)

    def turn(hue, saturation):
        hue += delta
        hue -= np.floor(hue)

    return _by_blocks(images, _adjusted_block(turn))


_hue_on_host = _on_host_with(_turned)


@hue.kernel
def _(images, delta):
    if _on_host(images) and _on_host(delta):
        return _hue_on_host(images, delta)
    return _adjusted(images, lambda h, s, v: (torch.remainder(h + delta, 1.0), s, v))


saturation = op("AdjustSaturation(images: T, scale: float32) -> (output: T)", T=_HALF)
saturation.shape(lambda images, scale: _three(images.with_rank_at_least(3)))


def _saturated(images, scale):
    scale = np.float32(scale)

    def scaled(hue, saturation):
        saturation *= scale
        saturation.clip(0, 1, saturation)

    return _by_blocks(images, _adjusted_block(scaled))


_saturation_on_host = _on_host_with(_saturated)


@saturation.kernel
def _(images, scale):
    if _on_host(images) and _on_host(scale):
        return _saturation_on_host(images, scale)
    return _adjusted(images, lambda h, s, v: (h, (s * scale).clamp(0, 1), v))
