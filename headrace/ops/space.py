"""Moving elements between space, batch and depth; patches of images; the same bytes as another dtype."""

from __future__ import annotations

import math

import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX, NUMERIC, REAL
from headrace.core.registry import op
from headrace.core.shape import unknown_shape
from headrace.graph import raw_ops

MOVABLE = (*NUMERIC, dtypes.bool, *dtypes.QUANTIZED)

# ---- space and batch

to_batch = op(
    "SpaceToBatchND(input: T, block_shape: host Tblock_shape[1], paddings: host Tpaddings[2]) -> (output: T)",
    T=MOVABLE, Tblock_shape=INDEX, Tpaddings=INDEX,
)  # fmt: skip
to_batch.gradient(lambda node, grad: [raw_ops.BatchToSpaceND(grad, *node.inputs[1:]), None, None])

to_space = op(
    "BatchToSpaceND(input: T, block_shape: host Tblock_shape[1], crops: host Tcrops[2]) -> (output: T)",
    T=MOVABLE, Tblock_shape=INDEX, Tcrops=INDEX, view=True,
)  # fmt: skip
to_space.gradient(lambda node, grad: [raw_ops.SpaceToBatchND(grad, *node.inputs[1:]), None, None])


def _check_borders(borders, name):
    if any(n is not None and n < 0 for pair in borders for n in pair):
        raise ValueError(f"{name} cannot be negative, got {borders}")


def _blocks(input, block_shape, borders, name):
    """Checks the static shapes -> the sizes and the paddings or crops; None if too little is known."""
    dims = input.tuple
    if block_shape is not None:
        if any(b is not None and b < 1 for b in block_shape):
            raise ValueError(f"All values in block_shape must be positive, got {block_shape}")
        input.with_rank_at_least(len(block_shape) + 1)
    if block_shape is None:
        return None
    borders = [[None, None]] * len(block_shape) if borders is None else borders
    if any(not isinstance(pair, list) or len(pair) != 2 for pair in borders):
        raise ValueError(f"paddings and crops should have shape [{len(block_shape)}, 2], got {borders}")
    if len(borders) != len(block_shape):
        raise ValueError(f"block_shape {block_shape} and {borders} must have the same length")
    _check_borders(borders, name)
    return None if dims is None else (list(dims), borders)


@to_batch.shape
def _(input, block_shape, paddings):
    dims_and_paddings = _blocks(input, block_shape, paddings, "paddings")
    if dims_and_paddings is None:
        return unknown_shape(input.ndims)
    dims, paddings = dims_and_paddings
    for i, (block, (before, after)) in enumerate(zip(block_shape, paddings, strict=True), 1):
        if None in (dims[i], block, before, after):
            dims[i] = None
            continue
        padded = dims[i] + before + after
        if padded % block:
            raise ValueError(f"Dimension size must be evenly divisible by {block} but is {padded}")
        dims[i] = padded // block
    dims[0] = None if dims[0] is None or None in block_shape else dims[0] * math.prod(block_shape)
    return dims


@to_space.shape
def _(input, block_shape, crops):
    dims_and_crops = _blocks(input, block_shape, crops, "crops")
    if dims_and_crops is None:
        return unknown_shape(input.ndims)
    dims, crops = dims_and_crops
    for i, (block, (before, after)) in enumerate(zip(block_shape, crops, strict=True), 1):
        if None in (dims[i], block, before, after):
            dims[i] = None
            continue
        dims[i] = dims[i] * block - before - after
        if dims[i] < 0:
            raise ValueError(f"Negative dimension size caused by cropping {before} + {after} from {input}")
    if dims[0] is not None and None not in block_shape:
        if dims[0] % math.prod(block_shape):
            raise ValueError(f"Dimension size must be evenly divisible by {math.prod(block_shape)} but is {dims[0]}")
        dims[0] //= math.prod(block_shape)
    else:
        dims[0] = None
    return dims


@to_batch.kernel
def _(input, block_shape, paddings):
    _check_borders(paddings, "paddings")
    count = len(block_shape)
    flat = [0, 0] * (input.ndim - count - 1) + [n for pair in reversed(paddings) for n in pair]
    padded = torch.constant_pad_nd(input, flat)
    batch, space, rest = padded.shape[0], padded.shape[1 : count + 1], padded.shape[count + 1 :]
    for size, block in zip(space, block_shape, strict=True):
        if size % block:
            raise ValueError(f"padded_shape {list(padded.shape)} is not divisible by block_shape {block_shape}")
    pairs = [n for size, block in zip(space, block_shape, strict=True) for n in (size // block, block)]
    split = padded.reshape(batch, *pairs, *rest)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, split.ndim)]
    smaller = [size // block for size, block in zip(space, block_shape, strict=True)]
    return split.permute(order).reshape(batch * math.prod(block_shape), *smaller, *rest)


@to_space.kernel
def _(input, block_shape, crops):
    _check_borders(crops, "crops")
    count, blocks = len(block_shape), math.prod(block_shape)
    if input.shape[0] % blocks:
        raise ValueError(
            f"Input batch dimension ({input.shape[0]}) is not divisible by product of block sizes ({blocks})"
        )
    batch, space, rest = input.shape[0] // blocks, input.shape[1 : count + 1], input.shape[count + 1 :]
    split = input.reshape(*block_shape, batch, *space, *rest)
    order = [count, *(n for i in range(count) for n in (count + 1 + i, i)), *range(2 * count + 1, split.ndim)]
    larger = [size * block for size, block in zip(space, block_shape, strict=True)]
    whole = split.permute(order).reshape(batch, *larger, *rest)
    index = [slice(None), *(slice(a, n - b) for n, (a, b) in zip(larger, crops, strict=True))]
    return whole[tuple(index)].contiguous()


# ---- space and depth


def _layout(dims, data_format):
    """-> batch, height, width, channels."""
    if data_format == "NHWC":
        return dims
    if data_format == "NCHW":
        return [dims[0], dims[2], dims[3], dims[1]]
    raise ValueError(f"data_format must be NHWC or NCHW, got {data_format!r}")


def _ordered(batch, height, width, channels, data_format):
    return (batch, height, width, channels) if data_format == "NHWC" else (batch, channels, height, width)


def _check_block(block_size):
    if block_size < 2:
        raise ValueError(f"Value for attr 'block_size' of {block_size} must be at least minimum 2")


def _divided(size, by):
    if size is not None and size % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {size}")
    return None if size is None else size // by


def _times(size, by):
    return None if size is None else size * by


_DEPTH = 'input: T[4]; block_size: int, data_format: string = "NHWC") -> (output: T)'
to_depth = op(f"SpaceToDepth({_DEPTH}", T=MOVABLE, view=True)
from_depth = op(f"DepthToSpace({_DEPTH}", T=MOVABLE, view=True)


@to_depth.shape
def _(input, block_size, data_format):
    _check_block(block_size)
    b, h, w, c = _layout(input.with_rank(4).tuple, data_format)
    return _ordered(b, _divided(h, block_size), _divided(w, block_size), _times(c, block_size**2), data_format)


@from_depth.shape
def _(input, block_size, data_format):
    _check_block(block_size)
    b, h, w, c = _layout(input.with_rank(4).tuple, data_format)
    return _ordered(b, _times(h, block_size), _times(w, block_size), _divided(c, block_size**2), data_format)


@to_depth.gradient
def _(node, grad):
    return [raw_ops.DepthToSpace(grad, block_size=node.attrs["block_size"], data_format=node.attrs["data_format"])]


@from_depth.gradient
def _(node, grad):
    return [raw_ops.SpaceToDepth(grad, block_size=node.attrs["block_size"], data_format=node.attrs["data_format"])]


@to_depth.kernel
def _(input, block_size, data_format):
    b, h, w, c = _layout(input.shape, data_format)
    h, w, n = _divided(h, block_size), _divided(w, block_size), block_size
    if data_format == "NHWC":
        return input.reshape(b, h, n, w, n, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, n * n * c)
    return input.reshape(b, c, h, n, w, n).permute(0, 3, 5, 1, 2, 4).reshape(b, n * n * c, h, w)


@from_depth.kernel
def _(input, block_size, data_format):
    b, h, w, c = _layout(input.shape, data_format)
    c, n = _divided(c, block_size**2), block_size
    if data_format == "NHWC":
        return input.reshape(b, h, w, n, n, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h * n, w * n, c)
    return input.reshape(b, n, n, c, h, w).permute(0, 3, 4, 1, 5, 2).reshape(b, c, h * n, w * n)


# ---- patches

patches = op(
    "ExtractImagePatches(images: T[4]; ksizes: list(int), strides: list(int), rates: list(int), padding: string) "
    "-> (patches: T)",
    T=REAL,
    lenient=True,
)


def _windows(size, kernel, stride, rate, padding):
    """-> the number of windows, and the padding before and after."""
    reach = (kernel - 1) * rate + 1
    if padding == "VALID":
        return (None if size is None else max(-(-(size - reach + 1) // stride), 0)), 0, 0
    if padding != "SAME":
        raise ValueError(f"padding must be SAME or VALID, got {padding!r}")
    if size is None:
        return None, 0, 0
    count = -(-size // stride)
    total = max((count - 1) * stride + reach - size, 0)
    return count, total // 2, total - total // 2


@patches.shape
def _(images, ksizes, strides, rates, padding):
    b, h, w, c = images.with_rank(4).tuple
    for lengths, name in ((ksizes, "ksizes"), (strides, "strides"), (rates, "rates")):
        if len(lengths) != 4 or lengths[0] != 1 or lengths[3] != 1:
            raise ValueError(f"{name} must be [1, rows, columns, 1], got {list(lengths)}")
    rows = _windows(h, ksizes[1], strides[1], rates[1], padding)[0]
    columns = _windows(w, ksizes[2], strides[2], rates[2], padding)[0]
    return (b, rows, columns, _times(c, ksizes[1] * ksizes[2]))


@patches.kernel
def _(images, ksizes, strides, rates, padding):
    _, kh, kw, _ = ksizes
    rows, top, bottom = _windows(images.shape[1], kh, strides[1], rates[1], padding)
    columns, left, right = _windows(images.shape[2], kw, strides[2], rates[2], padding)
    batch, channels = images.shape[0], images.shape[3]
    if not rows or not columns:
        return images.new_zeros((batch, rows, columns, kh * kw * channels))
    padded = torch.constant_pad_nd(images, [0, 0, left, right, top, bottom])
    windows = padded.unfold(1, (kh - 1) * rates[1] + 1, strides[1]).unfold(2, (kw - 1) * rates[2] + 1, strides[2])
    windows = windows[..., :: rates[1], :: rates[2]]
    return windows.permute(0, 1, 2, 4, 5, 3).reshape(batch, rows, columns, kh * kw * channels)


volume_patches = op(
    "ExtractVolumePatches(input: T[5]; ksizes: list(int), strides: list(int), padding: string) -> (patches: T)", T=REAL
)


@volume_patches.shape
def _(input, ksizes, strides, padding):
    b, *sizes, c = input.with_rank(5).tuple
    for lengths, name in ((ksizes, "ksizes"), (strides, "strides")):
        if len(lengths) != 5 or lengths[0] != 1 or lengths[4] != 1:
            raise ValueError(f"{name} must be [1, planes, rows, columns, 1], got {list(lengths)}")
    counts = [_windows(d, k, s, 1, padding)[0] for d, k, s in zip(sizes, ksizes[1:4], strides[1:4], strict=True)]
    return (b, *counts, _times(c, ksizes[1] * ksizes[2] * ksizes[3]))


@volume_patches.kernel
def _(input, ksizes, strides, padding):
    windows = [
        _windows(d, k, s, 1, padding) for d, k, s in zip(input.shape[1:4], ksizes[1:4], strides[1:4], strict=True)
    ]
    counts = [count for count, _, _ in windows]
    batch, depth = input.shape[0], ksizes[1] * ksizes[2] * ksizes[3] * input.shape[4]
    if not all(counts):
        return input.new_zeros((batch, *counts, depth))
    padded = torch.constant_pad_nd(
        input, [0, 0, *(side for _, before, after in reversed(windows) for side in (before, after))]
    )
    for axis in (1, 2, 3):
        padded = padded.unfold(axis, ksizes[axis], strides[axis])
    return padded.permute(0, 1, 2, 3, 5, 6, 7, 4).reshape(batch, *counts, depth)


# ---- the same bytes

_BITS = (*NUMERIC, *dtypes.QUANTIZED)
bitcast = op("Bitcast(input: T; type: type) -> (output: type)", T=_BITS, type=_BITS, view=True)
bitcast.not_differentiable()


@bitcast.kernel
def _(input, type):
    have, want = input.element_size(), type.itemsize
    if have == want:
        return input.view(type)
    if have > want:
        return input.unsqueeze(-1).contiguous().view(type)
    if not input.ndim or input.shape[-1] != want // have:
        raise ValueError(
            f"Cannot bitcast shape {list(input.shape)} of {have}-byte elements to {want}-byte ones: the last dimension "
            f"must be {want // have}"
        )
    if not input.numel():  # torch does not trust its strides
        return input.new_empty(input.shape[:-1], dtype=type)
    return input.contiguous().view(type).squeeze(-1)


deep_copy = op("DeepCopy(x: T) -> (y: T)", T=ANY, stateful=True)
deep_copy.shape(lambda x: x)
deep_copy.kernel(torch.clone)
deep_copy.kernel(lambda x: x.copy(), T=dtypes.string)

guarantee = op("GuaranteeConst(input: T) -> (output: T)", T=ANY, view=True, identity=True)
guarantee.shape(lambda input: input)
guarantee.gradient(lambda node, grad: [grad])
guarantee.kernel(lambda input: input)
