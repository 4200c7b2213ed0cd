"""Convolutions over two and three spatial axes, depthwise ones, and their gradients with respect to input and filter.

A channels-last tensor is handed to torch as a permuted view, which torch knows as its channels-last memory format: no
copy is made on the way in or out.  Filters are [spatial..., in, out], as in TF1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch.nn import functional

from headrace.core.dtypes import FLOATING, INDEX
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.ops.shared.refuse import expect_elements, expect_shape, expect_sizes
from headrace.ops.shared.window import (
    arrange,
    channel,
    check_window,
    explicit_pairs,
    from_torch,
    output_size,
    padding_of,
    spatial,
    to_torch,
)

convolution_backward = torch.ops.aten.convolution_backward.default


class Geometry(NamedTuple):
    """A convolution as torch takes it; ``pad`` is made beforehand, because it differs between the ends."""

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    pad: tuple[int, ...] | None
    crop: tuple[tuple[int, int], ...]  # (start, length) of each spatial axis inside the padded input
    padded: tuple[int, ...]


def paddings(shape, window, strides, padding, explicit, data_format, dilations):
    """(before, after) of each spatial axis."""
    return [
        padding_of(n, (k - 1) * d + 1, s, padding, *pair)
        for n, k, s, d, pair in zip(
            spatial(shape, data_format), window, spatial(strides, data_format), spatial(dilations, data_format),
            explicit_pairs(explicit, len(shape), data_format, padding), strict=True,
        )
    ]  # fmt: skip


def geometry(shape, window, strides, padding, explicit, data_format, dilations):
    """The batch plays no part, and may be a symbol of the tracer."""
    return _geometry((0, *shape[1:]), window, strides, padding, explicit, data_format, dilations)


@lru_cache(maxsize=4096)
def _geometry(shape, window, strides, padding, explicit, data_format, dilations):
    sizes = spatial(shape, data_format)
    stride, dilation = spatial(strides, data_format), spatial(dilations, data_format)
    pairs = paddings(shape, window, strides, padding, explicit, data_format, dilations)
    if all(before == after for before, after in pairs):
        return Geometry(stride, dilation, tuple(p[0] for p in pairs), None, (), sizes)
    pad = tuple(n for pair in reversed(pairs) for n in pair)
    crop = tuple((before, n) for (before, _), n in zip(pairs, sizes, strict=True))
    padded = tuple(n + sum(pair) for n, pair in zip(sizes, pairs, strict=True))
    return Geometry(stride, dilation, (0,) * len(sizes), pad, crop, padded)


def uninitialized(like, batch, sizes, channels, data_format):
    """A tensor whose shape and layout matter but whose values do not, channels first."""
    return to_torch(like.new_empty(arrange(batch, sizes, channels, data_format)), data_format)


# ---- the three directions, on filters already in torch's order [out, in / groups, spatial...]


def convolve(input, weight, groups, strides, padding, explicit, data_format, dilations):
    g = geometry(input.shape, weight.shape[2:], strides, padding, explicit, data_format, dilations)
    x = to_torch(input, data_format)
    if g.pad is not None:
        x = functional.pad(x, g.pad)
    spare = g.padded[-1] + 2 * g.padding[-1] - (weight.shape[-1] - 1) * g.dilation[-1] - 1
    if x.shape[1] == 1 and 0 <= spare < g.stride[-1] != 1:
        # One column has no stride.  With one, oneDNN 3.12 on x86 reads the wrong rows of a single channel.
        x = functional.pad(x, (g.padding[-1], g.padding[-1] - spare))
        g = g._replace(stride=(*g.stride[:-1], 1), padding=(*g.padding[:-1], 0))
    y = torch.convolution(x, weight, None, g.stride, g.padding, g.dilation, False, (0,) * len(g.stride), groups)
    return from_torch(y, data_format)


def input_gradient(sizes, weight, grad, groups, strides, padding, explicit, data_format, dilations):
    sizes = tuple(sizes)
    g = geometry(sizes, weight.shape[2:], strides, padding, explicit, data_format, dilations)
    x = uninitialized(grad, sizes[0], g.padded, channel(sizes, data_format), data_format)
    check_gradient(sizes, weight.shape[2:], grad.shape, g, data_format)
    dx = convolution_backward(
        to_torch(grad, data_format), x, weight, None, g.stride, g.padding, g.dilation, False, (0,) * len(g.stride),
        groups, (True, False, False),
    )[0]  # fmt: skip
    for axis, (start, length) in enumerate(g.crop, 2):
        dx = dx.narrow(axis, start, length)
    return from_torch(dx, data_format)


def filter_gradient(input, weight, grad, groups, strides, padding, explicit, data_format, dilations):
    """The gradient in torch's order; of ``weight`` only the shape matters."""
    g = geometry(input.shape, weight.shape[2:], strides, padding, explicit, data_format, dilations)
    check_gradient(input.shape, weight.shape[2:], grad.shape, g, data_format)
    x = to_torch(input, data_format)
    if g.pad is not None:
        x = functional.pad(x, g.pad)
    return convolution_backward(
        to_torch(grad, data_format), x, weight, None, g.stride, g.padding, g.dilation, False, (0,) * len(g.stride),
        groups, (False, True, False),
    )[1]  # fmt: skip


def check_gradient(sizes, window, shape, g, data_format):
    """torch reads past the end when the gradient does not have the convolution's output size."""
    actual = spatial(shape, data_format)
    for axis, (n, k, s, d, p, have) in enumerate(
        zip(g.padded, window, g.stride, g.dilation, g.padding, actual, strict=True)
    ):
        want = (n + 2 * p - (k - 1) * d - 1) // s + 1
        if have != want or shape[0] != sizes[0]:
            raise ValueError(
                f"Conv backprop: size of out_backprop doesn't match computed: actual = {have}, computed = {want}, "
                f"spatial_dim: {axis} input: {list(sizes)} filter: {list(window)} output: {list(shape)} "
                f"stride: {s} dilation: {d}"
            )


def filter_order(rank):
    """[spatial..., in, out] -> [out, in, spatial...]."""
    return (rank - 1, rank - 2, *range(rank - 2))


def filter_back(rank):
    return (*range(2, rank), 1, 0)


def groups_of(channels, weight):
    inner = weight.shape[1]
    if not inner or channels % inner:
        raise ValueError(f"input depth must be evenly divisible by filter depth: {channels} vs {inner}")
    return channels // inner


# ---- shapes


def convolution_shape(name, rank, input, filter, strides, padding, explicit, data_format, dilations, depthwise=False):
    check_window(name, rank, data_format, padding, rank == 4, strides=strides, dilations=dilations)
    pairs = explicit_pairs(explicit, rank, data_format, padding)
    if channel(strides, data_format) != 1 or strides[0] != 1:
        raise ValueError(
            f"Current implementation does not yet support strides in the batch and depth dimensions: {strides}"
        )
    if channel(dilations, data_format) != 1 or dilations[0] != 1:
        raise ValueError(
            f"Current implementation does not yet support dilations in the batch and depth dimensions: {dilations}"
        )
    x, w = input.with_rank(rank).tuple, filter.with_rank(rank).tuple
    depth, inner, outer = channel(x, data_format), w[-2], w[-1]
    if depthwise:
        if depth is not None and inner is not None and depth != inner:
            raise ValueError(f"Dimensions must be equal, but are {depth} and {inner}")
        inner = depth if inner is None else inner
        outer = None if inner is None or outer is None else inner * outer
    elif depth is not None and inner is not None and (inner == 0 or depth % inner):
        raise ValueError(f"Depth of input ({depth}) is not a multiple of input depth of filter ({inner})")
    elif depth is not None and inner is not None and outer is not None and outer % max(1, depth // inner):
        raise ValueError(f"Depth of output ({outer}) is not a multiple of the number of groups ({depth // inner})")
    sizes = [
        output_size(n, None if k is None else (k - 1) * d + 1, s, padding, *pair)
        for n, k, s, d, pair in zip(
            spatial(x, data_format), w[:-2], spatial(strides, data_format), spatial(dilations, data_format), pairs,
            strict=True,
        )
    ]  # fmt: skip
    return TensorShape(arrange(x[0], sizes, outer, data_format))


def sizes_shape(sizes, rank):
    """The shape a host vector of sizes stands for."""
    if sizes is None:
        return TensorShape([None] * rank)
    if not isinstance(sizes, list):
        raise ValueError("Shape must be rank 1 but is rank 0")
    if len(sizes) != rank:
        raise ValueError(f"Conv backprop requires sizes of {rank} elements, but got: {sizes}")
    if any(n is not None and n < -1 for n in sizes):
        raise ValueError(f"Invalid value in tensor used for shape: {min(n for n in sizes if n is not None)}")
    return TensorShape([None if n is None or n < 0 else n for n in sizes])


def input_gradient_shape(rank, sizes, grad, data_format):
    """The sizes asked for; an unknown batch is the gradient's."""
    dims = list(sizes_shape(sizes, rank).tuple)
    batch = grad.with_rank(rank).tuple[0]
    if None not in (dims[0], batch) and dims[0] != batch:
        raise ValueError(f"Dimensions must be equal, but are {dims[0]} and {batch}: the batches")
    return TensorShape([batch if dims[0] is None else dims[0], *dims[1:]])


def _refuse_sizes(rank, input, filter, strides, padding, explicit, data_format, dilations, depthwise):
    """Refuses sizes in the words of TensorFlow's kernels, where those of the shape rule are others."""
    for label, shape in (("input", input), ("filter", filter)):
        if len(shape) != rank:
            raise ValueError(f"{label} must be {rank}-dimensional: {in_brackets(shape)}")
    depth, inner = channel(input, data_format), filter[-2]
    if not depthwise and inner and depth % inner:
        raise ValueError(f"input depth must be evenly divisible by filter depth: {depth} vs {inner}")
    if padding == "VALID":
        windows = zip(*(spatial(each, data_format) for each in (input, strides, dilations)), filter[:-2], strict=True)
        for size, stride, dilation, window in windows:
            reach = (window - 1) * dilation + 1
            if size < reach:
                raise ValueError(
                    f"Computed output size would be negative: {(size - reach) // stride + 1} [input_size: {size}, "
                    f"effective_filter_size: {reach}, stride: {stride}]"
                )


# ---- declarations

PLANE = (
    'strides: list(int), use_cudnn_on_gpu: bool = True, padding: string, explicit_paddings: list(int) = [], '
    'data_format: string = "NHWC", dilations: list(int) = [1, 1, 1, 1]'
)  # fmt: skip
DEPTHWISE = PLANE.replace("use_cudnn_on_gpu: bool = True, ", "")
VOLUME = 'strides: list(int), padding: string, data_format: string = "NDHWC", dilations: list(int) = [1, 1, 1, 1, 1]'


def attributes(node):
    """The attributes the three directions share."""
    return {name: node.attrs[name] for name in node.op_def.attr_names}


def declare(forward, to_input, to_filter, attrs, rank, index="int32", depthwise=False, **types):
    """The three ops of one kind of convolution; each is in the gradients of the others."""
    conv = op(f"{forward}(input: T[{rank}], filter: T[{rank}]; {attrs}) -> (output: T)", T=FLOATING, lenient=rank == 5)
    back_input = op(
        f"{to_input}(input_sizes: host {index}[1], filter: T[{rank}], out_backprop: T[{rank}]; {attrs}) -> (output: T)",
        T=FLOATING, **types,
    )  # fmt: skip
    back_filter = op(
        f"{to_filter}(input: T[{rank}], filter_sizes: host int32[1], out_backprop: T[{rank}]; {attrs}) -> (output: T)",
        T=FLOATING, lenient=rank == 5,
    )  # fmt: skip
    normal = _NORMALIZE[len(conv.attr_names)]

    @conv.shape
    def _(input, filter, *values):
        return convolution_shape(forward, rank, input, filter, *normal(*values), depthwise=depthwise)

    @back_input.shape
    def _(sizes, filter, grad, *values):
        strides, padding, explicit, data_format, dilations = normal(*values)
        check_window(to_input, rank, data_format, padding, rank == 4, strides=strides, dilations=dilations)
        made, received = filter.with_rank(rank).tuple[-1], channel(grad.with_rank(rank).tuple, data_format)
        if not depthwise and None not in (made, received) and made != received:
            raise ValueError(
                f"Dimensions must be equal, but are {received} and {made}: the channels of out_backprop and filter"
            )
        return input_gradient_shape(rank, sizes, grad, data_format)

    @back_filter.shape
    def _(input, sizes, grad, *values):
        strides, padding, explicit, data_format, dilations = normal(*values)
        check_window(to_filter, rank, data_format, padding, rank == 4, strides=strides, dilations=dilations)
        input.with_rank(rank), grad.with_rank(rank)
        return sizes_shape(sizes, rank)

    def check(input, filter, grad, *values):
        """Inputs of these shapes and their gradient belong together."""
        shape = convolution_shape(
            forward, rank, TensorShape(input), TensorShape(filter), *normal(*values), depthwise=depthwise
        )
        if grad is not None:
            expect_shape("out_backprop", grad, shape.as_list() if isinstance(shape, TensorShape) else shape)

    @conv.refuse
    def _(input, filter, *values):
        _refuse_sizes(rank, input.shape, filter.shape, *normal(*values), depthwise)
        expect_elements("filter", filter)
        expect_elements("input", input)
        check(input.shape, filter.shape, None, *values)

    @back_input.refuse
    def _(sizes, filter, grad, *values):
        expect_sizes("input_sizes", sizes)
        expect_elements("filter", filter)
        check(sizes, filter.shape, grad, *values)
        expect_sizes("input_sizes", sizes, 1)

    @back_filter.refuse
    def _(input, sizes, grad, *values):
        expect_sizes("filter_sizes", sizes, 1)
        check(input.shape, sizes, grad, *values)
        expect_elements("input", input)

    def add(name, *inputs, like):
        return getattr(raw_ops, name)(*inputs, **attributes(like))

    @conv.gradient
    def _(node, grad):
        x, w = node.inputs
        return [
            add(to_input, raw_ops.Shape(x), w, grad, like=node),
            add(to_filter, x, raw_ops.Shape(w), grad, like=node),
        ]

    @back_input.gradient
    def _(node, grad):
        _, w, out = node.inputs
        return [None, add(to_filter, grad, raw_ops.Shape(w), out, like=node), add(forward, grad, w, like=node)]

    @back_filter.gradient
    def _(node, grad):
        x, _, out = node.inputs
        return [add(to_input, raw_ops.Shape(x), grad, out, like=node), None, add(forward, x, grad, like=node)]

    return conv, back_input, back_filter


# Attributes in signature order -> (strides, padding, explicit paddings, data format, dilations).
_NORMALIZE = {
    6: lambda strides, cudnn, padding, explicit, data_format, dilations: (
        strides, padding, explicit, data_format, dilations),
    5: lambda strides, padding, explicit, data_format, dilations: (strides, padding, explicit, data_format, dilations),
    4: lambda strides, padding, data_format, dilations: (strides, padding, (), data_format, dilations),
}  # fmt: skip

conv2d, conv2d_input, conv2d_filter = declare("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", PLANE, 4)
conv3d, conv3d_input, conv3d_filter = declare(
    "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", VOLUME, 5, index="Tshape", Tshape=INDEX
)
depthwise, depthwise_input, depthwise_filter = declare(
    "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter", DEPTHWISE, 4,
    depthwise=True,
)  # fmt: skip


# ---- kernels: full convolutions


@conv2d.kernel
def conv2d_anywhere(input, filter, strides, cudnn, padding, explicit, data_format, dilations):
    weight = filter.permute(3, 2, 0, 1)
    groups = groups_of(channel(input.shape, data_format), weight)
    return convolve(input, weight, groups, strides, padding, explicit, data_format, dilations)


@conv2d_input.kernel
def conv2d_input_anywhere(sizes, filter, grad, strides, cudnn, padding, explicit, data_format, dilations):
    weight = filter.permute(3, 2, 0, 1)
    groups = groups_of(channel(sizes, data_format), weight)
    return input_gradient(sizes, weight, grad, groups, strides, padding, explicit, data_format, dilations)


@conv2d_filter.kernel
def conv2d_filter_anywhere(input, sizes, grad, strides, cudnn, padding, explicit, data_format, dilations):
    # Of the weight only the shape matters, and on CUDA the layout, which dw follows.
    height, width, inner, outer = sizes
    weight = input.new_empty((outer, height, width, inner)).permute(0, 3, 1, 2)
    groups = groups_of(channel(input.shape, data_format), weight)
    dw = filter_gradient(input, weight, grad, groups, strides, padding, explicit, data_format, dilations)
    return dw.permute(2, 3, 1, 0).contiguous()


@conv3d.kernel
def _(input, filter, strides, padding, data_format, dilations):
    weight = filter.permute(filter_order(5))
    groups = groups_of(channel(input.shape, data_format), weight)
    return convolve(input, weight, groups, strides, padding, (), data_format, dilations)


@conv3d_input.kernel
def _(sizes, filter, grad, strides, padding, data_format, dilations):
    weight = filter.permute(filter_order(5))
    groups = groups_of(channel(sizes, data_format), weight)
    return input_gradient(sizes, weight, grad, groups, strides, padding, (), data_format, dilations)


@conv3d_filter.kernel
def _(input, sizes, grad, strides, padding, data_format, dilations):
    weight = input.new_empty(sizes).permute(filter_order(5))
    groups = groups_of(channel(input.shape, data_format), weight)
    dw = filter_gradient(input, weight, grad, groups, strides, padding, (), data_format, dilations)
    return dw.permute(filter_back(5)).contiguous()


# ---- kernels: depthwise.  Channel c of the input gives outputs c * multiplier ... (c + 1) * multiplier - 1.


def depthwise_weight(filter):
    height, width, channels, multiplier = filter.shape
    return filter.permute(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)


@depthwise.kernel
def _(input, filter, strides, padding, explicit, data_format, dilations):
    weight = depthwise_weight(filter)
    return convolve(input, weight, filter.shape[2], strides, padding, explicit, data_format, dilations)


@depthwise_input.kernel
def depthwise_input_anywhere(sizes, filter, grad, strides, padding, explicit, data_format, dilations):
    weight = depthwise_weight(filter)
    return input_gradient(sizes, weight, grad, filter.shape[2], strides, padding, explicit, data_format, dilations)


@depthwise_filter.kernel
def depthwise_filter_anywhere(input, sizes, grad, strides, padding, explicit, data_format, dilations):
    height, width, channels, multiplier = sizes
    weight = input.new_empty(channels * multiplier, 1, height, width)
    dw = filter_gradient(input, weight, grad, channels, strides, padding, explicit, data_format, dilations)
    return dw.reshape(channels, multiplier, height, width).permute(2, 3, 0, 1).contiguous()
