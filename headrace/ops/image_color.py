"""Colours: RGB and HSV, contrast, hue, saturation.  Channels are the last dimension, values in [0, 1]."""

from __future__ import annotations

import torch

from headrace.core import dtypes, errors
from headrace.core.registry import op

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_HALF = (dtypes.float16, dtypes.float32)


def _three(images, *attrs):
    if images.ndims == 0 or (images.ndims and images.tuple[-1] not in (None, 3)):
        raise ValueError(f"the last dimension must be 3 (red, green, blue), got {images}")
    return images if images.ndims is None else (*images.tuple[:-1], 3)


def _to_hsv(images):
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
    hue, saturation, value = images.unbind(-1)
    around = hue * 6
    red = ((around - 3).abs() - 1).clamp(0, 1)
    green = (2 - (around - 2).abs()).clamp(0, 1)
    blue = (2 - (around - 4).abs()).clamp(0, 1)
    pure = torch.stack([red, green, blue], -1)
    return ((pure - 1) * saturation[..., None] + 1) * value[..., None]


def _of_three(convert):
    def kernel(images):
        if images.ndim and images.shape[-1] != 3:
            raise errors.FailedPreconditionError(
                None, None, f"input must have 3 channels but input only has {images.shape[-1]} channels"
            )
        return convert(images)

    return kernel


to_hsv = op("RGBToHSV(images: T[1+]) -> (output: T)", T=_FLOATS)
to_hsv.shape(_three)
to_hsv.kernel(_of_three(_to_hsv))

to_rgb = op("HSVToRGB(images: T[1+]) -> (output: T)", T=_FLOATS)
to_rgb.not_differentiable()
to_rgb.shape(_three)
to_rgb.kernel(_of_three(_to_rgb))
contrast = op("AdjustContrastv2(images: T[3+], contrast_factor: float32[0]) -> (output: T)", T=_HALF, lenient=True)
contrast.shape(lambda images, contrast_factor: images.with_rank_at_least(3))


@contrast.kernel
def _(images, contrast_factor):
    mean = images.to(torch.float32).mean((-3, -2), keepdim=True)
    return ((images - mean) * contrast_factor + mean).to(images.dtype)


def _adjusted(images, change):
    hsv = _to_hsv(images.to(torch.float32))
    return _to_rgb(torch.stack(change(*hsv.unbind(-1)), -1)).to(images.dtype)


hue = op("AdjustHue(images: T[3+], delta: float32) -> (output: T)", T=_HALF, lenient=True)
hue.shape(lambda images, delta: _three(images.with_rank_at_least(3)))
hue.kernel(lambda images, delta: _adjusted(images, lambda h, s, v: (torch.remainder(h + delta, 1.0), s, v)))

saturation = op("AdjustSaturation(images: T[3+], scale: float32) -> (output: T)", T=_HALF, lenient=True)
saturation.shape(lambda images, scale: _three(images.with_rank_at_least(3)))
saturation.kernel(lambda images, scale: _adjusted(images, lambda h, s, v: (h, (s * scale).clamp(0, 1), v)))
