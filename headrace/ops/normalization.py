"""Fused batch normalisation in its three versions, and local response normalisation, with their gradients."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch.nn import functional

from headrace.core import dtypes
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.shared.window import CHANNELS_LAST, channel, check_choice, from_torch, to_torch

native_batch_norm_backward = torch.ops.aten.native_batch_norm_backward.default
HALF_OR_FLOAT = (dtypes.float16, dtypes.bfloat16, dtypes.float32)

# ---- batch normalisation.  While training, reserve_space_1 and _2 hold what the gradient needs: the batch's mean and
# the inverse of its standard deviation; otherwise the given mean and variance.


def batch_norm_shape(version, x, scale, offset, mean, variance, data_format, is_training):
    layouts = ("NHWC", "NCHW", "NDHWC", "NCDHW") if version == 3 else ("NHWC", "NCHW")
    check_choice("data_format", data_format, layouts)
    x = x.with_rank(len(data_format))
    channels = channel(x.tuple, data_format)
    for vector in (scale, offset) if is_training else (scale, offset, mean, variance):
        size = vector.with_rank(1).tuple[0]
        if size is not None and channels is not None and size != channels:
            raise ValueError(f"Dimensions must be equal, but are {channels} and {size}")
        channels = size if channels is None else channels
    dims = list(x.tuple)
    dims[-1 if data_format in CHANNELS_LAST else 1] = channels
    statistic = TensorShape([channels])
    return [TensorShape(dims), *[statistic] * 4, *[TensorShape(())] * (version == 3)]


def check_channels(x, data_format, **vectors):
    """torch reads past the end of vectors that do not have one element for each channel."""
    channels = channel(x.shape, data_format)
    for name, vector in vectors.items():
        if vector.shape != (channels,):
            raise ValueError(
                f"{name} must have the same number of elements as the channels of x, got shape {list(vector.shape)} and "
                f"{channels} channels"
            )


def normalize(x, scale, offset, mean, variance, epsilon, factor, data_format, is_training):
    """(y, batch_mean, batch_variance, reserve_1, reserve_2)."""
    check_channels(x, data_format, scale=scale, offset=offset)
    if not is_training:
        check_channels(x, data_format, mean=mean, variance=variance)
    elif not x.numel():
        return _nothing_normalized(x, scale)
    channels_first = to_torch(x, data_format)
    if not is_training:
        y = functional.batch_norm(channels_first, mean, variance, scale, offset, False, 0.0, epsilon)
        return from_torch(y, data_format), mean.clone(), variance.clone(), mean.clone(), variance.clone()
    if mean.shape[0] != scale.shape[0] or factor == 1.0:  # an empty mean stands for "none so far"
        mean, variance = torch.zeros_like(scale), torch.zeros_like(scale)
    new_mean, new_variance = mean.clone(), variance.clone()
    y, batch_mean, inverse = torch.native_batch_norm(
        channels_first, scale, offset, new_mean, new_variance, True, factor, epsilon
    )
    if x.numel() == scale.shape[0]:  # one value for each channel: the unbiased variance, 0 / 0, counts as zero
        new_variance = torch.zeros_like(scale)
    return from_torch(y, data_format), new_mean, new_variance, batch_mean, inverse


def _nothing_normalized(x, scale):
    """Of an empty batch: statistics that are not numbers."""
    unknown = [torch.full_like(scale, float("nan")) for _ in range(4)]
    return torch.empty_like(x), *unknown


def denormalize(grad, x, scale, reserve_1, reserve_2, epsilon, data_format, is_training):
    """(x_backprop, scale_backprop, offset_backprop, two empty reserves)."""
    if grad.shape != x.shape:
        raise ValueError(
            f"x and y_backprop must have same shape, but have shapes {list(x.shape)} and {list(grad.shape)}"
        )
    check_channels(x, data_format, scale=scale, reserve_space_1=reserve_1, reserve_space_2=reserve_2)
    empty = scale.new_zeros(0)
    if not is_training:
        return *_denormalize_fixed(grad, x, scale, reserve_1, reserve_2, epsilon, data_format), empty, empty.clone()
    # The batch's statistics are functions of x, which the second derivative takes into account by itself.
    statistics = (None, None, reserve_1.detach(), reserve_2.detach())
    dx, dscale, doffset = native_batch_norm_backward(
        to_torch(grad, data_format), to_torch(x, data_format), scale, *statistics, True, epsilon, (True, True, True)
    )
    return from_torch(dx, data_format), dscale, doffset, empty, empty.clone()


def _denormalize_fixed(grad, x, scale, mean, variance, epsilon, data_format):
    """The gradients with fixed statistics.  torch's own backward cannot be differentiated with respect to them."""
    axis = x.ndim - 1 if data_format in CHANNELS_LAST else 1
    shape = [-1 if a == axis else 1 for a in range(x.ndim)]
    others = [a for a in range(x.ndim) if a != axis]
    inverse = torch.rsqrt(variance + epsilon)
    wide = grad.to(scale.dtype)
    dx = wide * (scale * inverse).reshape(shape)
    dscale = (wide * (x - mean.reshape(shape))).sum(others) * inverse
    return dx.to(x.dtype), dscale, wide.sum(others)


STATISTICS = 'epsilon: float = 0.0001, exponential_avg_factor: float = 1.0, data_format: string = "NHWC"'
GRAD_ATTRS = 'epsilon: float = 0.0001, data_format: string = "NHWC", is_training: bool = True'


def declare(version):
    suffix = ("", "V2", "V3")[version - 1]
    letter = "T" if version == 1 else "U"
    types = {"T": (dtypes.float32,)} if version == 1 else {"T": HALF_OR_FLOAT, "U": (dtypes.float32,)}
    images = "" if version == 3 else "[4]"  # or volumes
    third = f", reserve_space_3: {letter}" if version == 3 else ""
    forward = op(
        f"FusedBatchNorm{suffix}(x: T{images}, scale: {letter}[1], offset: {letter}[1], mean: {letter}[1], "
        f"variance: {letter}[1]; {STATISTICS}, is_training: bool = True) -> (y: T, batch_mean: {letter}, "
        f"batch_variance: {letter}, reserve_space_1: {letter}, reserve_space_2: {letter}{third})",
        **types,
    )
    scale = "T" if version == 1 else "float32"
    last = (4, 5) if version == 3 else (3, 4)
    backward = op(
        f"FusedBatchNormGrad{suffix}(y_backprop: T{images}, x: T{images}, scale: {scale}[1], reserve_space_1: {letter}[1], "
        f"reserve_space_2: {letter}[1]{third}; {GRAD_ATTRS}) -> (x_backprop: T, scale_backprop: {letter}, "
        f"offset_backprop: {letter}, reserve_space_{last[0]}: {letter}, reserve_space_{last[1]}: {letter})",
        **types,
    )

    @forward.shape
    def _(x, scale, offset, mean, variance, epsilon, factor, data_format, is_training):
        return batch_norm_shape(version, x, scale, offset, mean, variance, data_format, is_training)

    @backward.shape
    def _(grad, x, scale, reserve_1, reserve_2, *rest):
        data_format = rest[-2]
        check_choice(
            "data_format", data_format, ("NHWC", "NCHW", "NDHWC", "NCDHW") if version == 3 else ("NHWC", "NCHW")
        )
        x = grad.merge_with(x).with_rank(len(data_format))
        statistic = TensorShape([channel(x.tuple, data_format)]).merge_with(scale)
        statistic = statistic.merge_with(reserve_1).merge_with(reserve_2)
        return [x, statistic, statistic, TensorShape([0]), TensorShape([0])]

    @forward.gradient
    def _(node, grad, *_):
        saved = list(node.outputs[3:])
        attrs = {name: node.attrs[name] for name in ("epsilon", "data_format", "is_training")}
        if not attrs["is_training"]:
            saved[:2] = node.inputs[3:5]
        name = f"FusedBatchNormGrad{suffix}"
        gradients = getattr(raw_ops, name)(grad, node.inputs[0], node.inputs[1], *saved, **attrs)
        return [*gradients[:3], None, None]

    if version == 3:
        forward.kernel(lambda *arguments: (*normalize(*arguments), arguments[1].new_zeros(())))
        backward.kernel(lambda dy, x, scale, r1, r2, r3, *attrs: denormalize(dy, x, scale, r1, r2, *attrs))
    else:
        forward.kernel(normalize)
        backward.kernel(denormalize)
    return forward, backward


batch_norm, batch_norm_grad = declare(1)
batch_norm_v2, batch_norm_grad_v2 = declare(2)
batch_norm_v3, batch_norm_grad_v3 = declare(3)

# ---- local response normalisation: each value over a power of the sum of squares around it along the channels

LRN = "depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5"

lrn = op(f"LRN(input: T[4]; {LRN}) -> (output: T)", T=HALF_OR_FLOAT, lenient=True)
lrn_grad = op(
    f"LRNGrad(input_grads: T[4], input_image: T[4], output_image: T[4]; {LRN}) -> (output: T)",
    T=HALF_OR_FLOAT,
    lenient=True,
)
lrn.shape(lambda input, depth_radius, bias, alpha, beta: input.with_rank(4))


@lrn_grad.shape
def _(grads, image, output, depth_radius, bias, alpha, beta):
    return grads.with_rank(4).merge_with(image).merge_with(output)


@lrn.gradient
def _(node, grad):
    attrs = {name: node.attrs[name] for name in node.op_def.attr_names}
    return [raw_ops.LRNGrad(grad, node.inputs[0], node.outputs[0], **attrs)]


_SMALL, _NARROW = 1 << 14, 64  # elements, channels: where one product is quickest


@lru_cache(maxsize=64)
def _band(channels, radius):
    place = torch.arange(channels)
    return (place[:, None] - place).abs_().le(radius).float()


def around(values, radius):
    """The sum over the channels within ``radius`` of each one."""
    size = 2 * radius + 1
    if type(values) is torch.Tensor and values.is_cpu and values.dtype is torch.float32:
        if values.numel() <= _SMALL and values.shape[-1] <= _NARROW:
            sums = torch.matmul(values, _band(values.shape[-1], radius))
            if math.isfinite(torch.sum(sums).item()):  # else what is not finite would spread to other channels
                return sums
        return _windows(torch.constant_pad_nd(values, (radius, radius)), values.shape[-1], size)
    rows = values.reshape(-1, 1, values.shape[-1])
    return (functional.avg_pool1d(rows, size, 1, radius) * size).reshape(values.shape)


def _windows(values, count, size):
    """``count`` sums of ``size`` neighbours, built from sums of 2, 4, 8 ...  This takes a quarter of a pool's time."""
    total, taken, width = None, 0, 1
    while width <= size:
        if width > 1:
            half = width // 2
            length = values.shape[-1] - half
            values = values.narrow(-1, 0, length) + values.narrow(-1, half, length)
        if size & width:
            part = values.narrow(-1, taken, count)
            total = part if total is None else total + part
            taken += width
        width *= 2
    return total


@lrn.kernel
def _(input, depth_radius, bias, alpha, beta):
    return input * _power(_norm(input, depth_radius, bias, alpha), -beta)


def _norm(input, radius, bias, alpha):
    near = around(input * input, radius)
    return torch.add(bias, near, alpha=alpha) if alpha != 1 or bias else near


def _power(norm, exponent):
    """A power.  Halves and quarters are roots, which take a tenth of the time."""
    if exponent == -0.5:
        return norm.rsqrt()
    if exponent == -0.75:
        root = norm.rsqrt()
        return root * root.sqrt()
    return norm.pow(exponent)


@lrn_grad.kernel
def _(grads, image, output, depth_radius, bias, alpha, beta):
    norm = _norm(image, depth_radius, bias, alpha)
    spread = around(grads * output / norm, depth_radius)
    return torch.sub(grads * _power(norm, -beta), image * spread, alpha=2 * alpha * beta)
