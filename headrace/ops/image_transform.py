"""Parts of images by place, and images moved by a projective map: ExtractGlimpse, ImageProjectiveTransformV2."""

from __future__ import annotations

import torch

from headrace.core import dtypes, random_words
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.refuse import expect_sizes
from headrace.ops.shared.whole import FAR, whole, whole_of

# ---- glimpses

_NOISE = ("uniform", "gaussian", "zero")
glimpse = op(
    "ExtractGlimpse(input: float32[4], size: host int32[1], offsets: float32[2]; centered: bool = True, normalized: bool = True, "
    'uniform_noise: bool = True, noise: string = "uniform") -> (glimpse: float32)',
    random=True, stateful=True,
)  # fmt: skip
glimpse.not_differentiable()


@glimpse.shape
def _(input, size, offsets, centered, normalized, uniform_noise, noise):
    if noise not in _NOISE:
        raise ValueError(f"unknown noise value {noise!r}; one of {', '.join(_NOISE)} is accepted")
    batch, _, _, depth = input.with_rank(4).tuple
    count, two = offsets.with_rank(2).tuple
    if two not in (None, 2) or (None not in (batch, count) and batch != count):
        raise ValueError(f"offsets must be [batch, 2], got {offsets} for an input {input}")
    if size is not None and len(size) != 2:
        raise ValueError(f"size must be [height, width], got {size}")
    return (count if batch is None else batch, *(size or (None, None)), depth)


@glimpse.state
def _(context):
    generator = torch.Generator(context.device)
    generator.manual_seed(random_words.source.getrandbits(63))
    return generator


def _starts(offsets, extent, size, centered, normalized):
    """Where each window begins along one axis, towards zero."""
    at = offsets * extent if normalized else offsets
    if centered:
        at = at / 2 + extent / 2
    return whole(at - size / 2, -FAR, FAR)


glimpse.refuse(lambda input, size, *rest: expect_sizes("size", size))


@glimpse.kernel
def _(input, size, offsets, centered, normalized, uniform_noise, noise, *, state):
    batch, height, width, depth = input.shape
    rows = _starts(offsets[:, 0], height, size[0], centered, normalized)[:, None] + torch.arange(
        size[0], device=input.device
    )
    columns = _starts(offsets[:, 1], width, size[1], centered, normalized)[:, None] + torch.arange(
        size[1], device=input.device
    )
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    picked = input[
        torch.arange(batch, device=input.device)[:, None, None],
        rows.clamp(0, max(height - 1, 0))[:, :, None],
        columns.clamp(0, max(width - 1, 0))[:, None, :],
    ]
    return torch.where(inside[..., None], picked, _noise(input, picked.shape, noise, state))


def _noise(input, shape, noise, generator):
    """What lies outside: numbers between the image's extremes, normal ones around its mean, or zeros."""
    if noise == "zero" or not input.numel():
        return input.new_zeros(shape)
    if noise == "gaussian":
        drawn = torch.randn(shape, generator=generator, dtype=input.dtype, device=input.device)
        return input.mean() + drawn * input.std(unbiased=False)
    low, high = input.amin((1, 2, 3), keepdim=True), input.amax((1, 2, 3), keepdim=True)
    return low + torch.rand(shape, generator=generator, dtype=input.dtype, device=input.device) * (high - low)


# ---- projective maps

_TYPES = (
    dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64,
)  # fmt: skip
project = op(
    "ImageProjectiveTransformV2(images: dtype[4], transforms: float32, output_shape: host int32[1]; interpolation: string) "
    "-> (transformed_images: dtype)",
    dtype=_TYPES,
    view=False,
    lenient=True,
)


@project.shape
def _(images, transforms, output_shape, interpolation):
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise ValueError(f"Invalid interpolation {interpolation!r}. Supported types: NEAREST, BILINEAR")
    batch, _, _, depth = images.with_rank(4).tuple
    count, eight = transforms.with_rank(2).tuple
    if eight not in (None, 8) or (None not in (batch, count) and count not in (1, batch)):
        raise ValueError(f"transforms must be [1 or batch, 8], got {transforms} for images {images}")
    if output_shape is not None and len(output_shape) != 2:
        raise ValueError(f"output_shape must be [height, width], got {output_shape}")
    if output_shape is not None and any(n is not None and n < 1 for n in output_shape):
        raise ValueError(f"new dimensions must be positive, got {output_shape}")
    return (batch, *(output_shape or (None, None)), depth)


def _at(images, rows, columns):
    """The elements at whole places; zero outside."""
    batch, height, width, _ = images.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    number = torch.arange(batch, device=images.device)[:, None, None]
    y, x = whole(rows, 0, height - 1), whole(columns, 0, width - 1)
    pixels = images[number, y, x]
    return torch.where(inside[..., None], pixels, torch.zeros_like(pixels))


@project.kernel
def _(images, transforms, output_shape, interpolation):
    height, width = output_shape
    columns, rows = torch.arange(width, device=images.device), torch.arange(height, device=images.device)
    x, y = columns[None, None, :].to(transforms.dtype), rows[None, :, None].to(transforms.dtype)
    a = [transforms[:, i, None, None] for i in range(8)]
    below = a[6] * x + a[7] * y + 1
    usable = (below != 0).expand(images.shape[0], height, width)[..., None]
    safe = torch.where(below == 0, torch.ones_like(below), below)
    from_x = ((a[0] * x + a[1] * y + a[2]) / safe).expand(images.shape[0], height, width)
    from_y = ((a[3] * x + a[4] * y + a[5]) / safe).expand(images.shape[0], height, width)
    pixels = _nearest(images, from_y, from_x) if interpolation == "NEAREST" else _between(images, from_y, from_x)
    return torch.where(usable, pixels, torch.zeros_like(pixels))


def _away(value):
    """Rounded, halves away from zero."""
    return torch.sign(value) * torch.floor(value.abs() + 0.5)


def _nearest(images, y, x):
    return _at(images, _away(y), _away(x))


def _between(images, y, x):
    top, left = torch.floor(y), torch.floor(x)
    down, right = (y - top)[..., None], (x - left)[..., None]
    upper = (1 - right) * _at(images, top, left) + right * _at(images, top, left + 1)
    lower = (1 - right) * _at(images, top + 1, left) + right * _at(images, top + 1, left + 1)
    pixels = (1 - down) * upper + down * lower
    return pixels.to(images.dtype) if images.is_floating_point() else whole_of(pixels, images.dtype)


@project.gradient
def _(node, grad):
    """The gradient moved back by the inverse map, as TensorFlow has it: exact for shifts by whole pixels."""
    images, transforms = node.inputs[0], node.inputs[1]
    matrices = raw_ops.Reshape(
        raw_ops.ConcatV2([transforms, raw_ops.Fill(raw_ops.Pack([_rows(transforms), 1], axis=0), 1.0)], 1), [-1, 3, 3]
    )
    back = raw_ops.Reshape(raw_ops.MatrixInverse(matrices), [-1, 9])
    scaled = raw_ops.RealDiv(back, raw_ops.StridedSlice(back, [0, 8], [0, 9], [1, 1], begin_mask=1, end_mask=1))
    flat = raw_ops.StridedSlice(scaled, [0, 0], [0, 8], [1, 1], begin_mask=1, end_mask=1)
    size = raw_ops.StridedSlice(raw_ops.Shape(images), [1], [3], [1])
    moved = raw_ops.ImageProjectiveTransformV2(grad, flat, size, interpolation=node.attrs["interpolation"])
    return [moved, None, None]


def _rows(transforms):
    return raw_ops.StridedSlice(raw_ops.Shape(transforms), [0], [1], [1], shrink_axis_mask=1)
