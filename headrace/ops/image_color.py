"""Colours: RGB and HSV, contrast, hue, saturation.  Channels are the last dimension, values in [0, 1]."""

from __future__ import annotations

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


def _hsv_planes(images):
    """NumPy arrays: [..., 3] -> hue, saturation, value."""
    red, green, blue = (np.ascontiguousarray(images[..., i]) for i in range(3))
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    saturation = np.divide(span, value, out=np.zeros_like(value), where=value > 0)
    coloured = span > 0
    norm = np.divide(np.float32(1 / 6), span, out=np.zeros_like(span), where=coloured)
    hue = np.where(
        red == value, norm * (green - blue),
        np.where(green == value, norm * (blue - red) + np.float32(2 / 6), norm * (red - green) + np.float32(4 / 6)),
    )  # fmt: skip
    hue += hue < 0
    hue *= coloured
    return hue, saturation, value


def _rgb_image(hue, saturation, value):
    """The way back."""
    image = np.empty((*hue.shape, 3), np.float32)
    around = hue * 6
    pale = value * (1 - saturation)
    deep = value - pale
    for i, (middle, sign) in enumerate(((3, 1), (2, -1), (4, -1))):
        pure = np.abs(around - middle)
        pure = pure - 1 if sign > 0 else 2 - pure
        np.clip(pure, 0, 1, out=pure)
        pure *= deep
        pure += pale
        image[..., i] = pure
    return torch.from_numpy(image)


def _to_hsv(images):
    if _on_host(images) and images.ndim > 1:
        return torch.from_numpy(np.stack(_hsv_planes(images.numpy()), -1))
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
    if _on_host(images) and images.ndim > 1:
        planes = images.numpy()
        return _rgb_image(planes[..., 0], planes[..., 1], planes[..., 2])
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

to_rgb = op("HSVToRGB(images: T) -> (output: T)", T=_FLOATS)
to_rgb.not_differentiable()
to_rgb.shape(_three)
to_rgb.kernel(_to_rgb)


contrast = op("AdjustContrastv2(images: T, contrast_factor: float32) -> (output: T)", T=_HALF)


@contrast.shape
def _(images, contrast_factor):
    return images.with_rank_at_least(3)


_SMALL = 1 << 12  # elements


def _contrast_on_host(images, factor):
    """Away from the mean, which is spread over rows first: one of those is one vector."""
    mean = images.mean((-3, -2), keepdim=True)
    if images.numel() <= _SMALL:
        return torch.lerp(mean, images, factor)
    height, width, channels = images.shape[-3:]
    row = mean.expand(*images.shape[:-3], 1, width, channels).reshape(-1, 1, width * channels)
    return torch.lerp(row, images.reshape(-1, height, width * channels), factor).view(images.shape)


@contrast.kernel
def _(images, contrast_factor):
    if _on_host(images) and _on_host(contrast_factor) and images.numel():
        return _contrast_on_host(images, contrast_factor)
    mean = images.to(torch.float32).mean((-3, -2), keepdim=True)
    return ((images - mean) * contrast_factor + mean).to(images.dtype)


def _adjusted(images, change):
    hsv = _to_hsv(images.to(torch.float32))
    return _to_rgb(torch.stack(change(*hsv.unbind(-1)), -1)).to(images.dtype)


hue = op("AdjustHue(images: T, delta: float32) -> (output: T)", T=_HALF)
hue.shape(lambda images, delta: _three(images.with_rank_at_least(3)))


@hue.kernel
def _(images, delta):
    if _on_host(images):
        h, s, v = _hsv_planes(images.numpy())
        h += np.float32(delta.item())
        h -= np.floor(h)
        return _rgb_image(h, s, v)
    return _adjusted(images, lambda h, s, v: (torch.remainder(h + delta, 1.0), s, v))


saturation = op("AdjustSaturation(images: T, scale: float32) -> (output: T)", T=_HALF)
saturation.shape(lambda images, scale: _three(images.with_rank_at_least(3)))


@saturation.kernel
def _(images, scale):
    if _on_host(images):
        h, s, v = _hsv_planes(images.numpy())
        s *= np.float32(scale.item())
        return _rgb_image(h, np.clip(s, 0, 1, out=s), v)
    return _adjusted(images, lambda h, s, v: (h, (s * scale).clamp(0, 1), v))
