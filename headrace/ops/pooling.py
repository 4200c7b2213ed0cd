"""Max and average pools over two and three spatial axes, and their gradients.

SAME windows never leave the input altogether, and averages count only what lies inside it.  torch pads both ends alike,
so an uneven SAME padding is made in one of two ways: with strides above one ``ceil_mode`` gives the last, shorter
window; with stride one (an even window) both ends are padded by the larger amount and the first window is dropped.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import torch
from torch.nn import functional

from headrace.core import dtypes
from headrace.core.dtypes import FLOATING, INDEX, REAL
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.internal import opaque
from headrace.ops.shared.refuse import expect_elements, expect_inside, expect_shape, expect_sizes
from headrace.ops.shared.window import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
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
from headrace.resources.calling.dispatch import autograd

avg_pool2d_backward = torch.ops.aten.avg_pool2d_backward.default
avg_pool3d_backward = torch.ops.aten.avg_pool3d_backward.default
max_pool3d_with_indices = torch.ops.aten.max_pool3d_with_indices.default
max_pool3d_with_indices_backward = torch.ops.aten.max_pool3d_with_indices_backward.default


class Geometry(NamedTuple):
    """A pool as torch takes it."""

    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    ceil: bool
    drop: tuple[int, ...] | None  # windows to leave out at the start of each axis
    pad: tuple[int, ...] | None  # explicit padding, made beforehand


def geometry(shape, ksize, strides, padding, explicit, data_format):
    """The batch plays no part, and may be a symbol of the tracer."""
    return _geometry((0, *shape[1:]), ksize, strides, padding, explicit, data_format)


@lru_cache(maxsize=4096)
def _geometry(shape, ksize, strides, padding, explicit, data_format):
    window, stride = spatial(ksize, data_format), spatial(strides, data_format)
    zeros = (0,) * len(window)
    if padding == "VALID":
        return Geometry(window, stride, zeros, False, None, None)
    if padding == "EXPLICIT":
        pairs = explicit_pairs(explicit, len(shape), data_format, padding)
        for pair, k in zip(pairs, window, strict=True):
            if max(pair) >= k:
                raise ValueError(f"explicit_paddings {list(explicit)} must be smaller than the window {list(window)}")
        return Geometry(window, stride, zeros, False, None, tuple(n for pair in reversed(pairs) for n in pair))
    ends = [padding_of(n, k, s, padding) for n, k, s in zip(spatial(shape, data_format), window, stride, strict=True)]
    drop = tuple(int(s == 1 and before != after) for (before, after), s in zip(ends, stride, strict=True))
    padded = tuple(before + extra for (before, _), extra in zip(ends, drop, strict=True))
    return Geometry(window, stride, padded, True, drop if any(drop) else None, None)


def drop_first(tensor, drop):
    """Leaves out the windows that only the symmetric padding brought."""
    for axis, count in enumerate(drop or (), 2):
        if count:
            tensor = tensor.narrow(axis, count, tensor.shape[axis] - count)
    return tensor


def restore_first(grad, drop):
    """Adds a zero gradient for the windows left out."""
    return grad if drop is None else functional.pad(grad, [n for count in reversed(drop) for n in (count, 0)])


# ---- shapes


def pool_shape(name, rank, input, ksize, strides, padding, explicit, data_format):
    check_window(name, rank, data_format, padding, rank == 4, ksize=ksize, strides=strides)
    pairs = explicit_pairs(explicit, rank, data_format, padding)
    if ksize[0] != 1 or strides[0] != 1:
        raise ValueError(f"Pooling is not yet supported on the batch dimension: ksize {ksize}, strides {strides}")
    dims = input.with_rank(rank).tuple
    sizes = [
        output_size(n, k, s, padding, *pair)
        for n, k, s, pair in zip(
            spatial(dims, data_format), spatial(ksize, data_format), spatial(strides, data_format), pairs, strict=True
        )
    ]
    depth = channel(dims, data_format)
    if channel(ksize, data_format) != 1:
        depth = None if depth is None else depth // channel(ksize, data_format)
    return TensorShape(arrange(dims[0], sizes, depth, data_format))


def shape_of_sizes(sizes, rank):
    if sizes is None:
        return TensorShape([None] * rank)
    if not isinstance(sizes, list) or len(sizes) != rank:
        raise ValueError(f"orig_input_shape must be 1-dimensional and {rank} elements, got {sizes}")
    return TensorShape(sizes)


# ---- max pools: kernels shared by two and three axes


def kernels(definition, kernel):
    """Registers the kernel for floating point on every device and, as in TensorFlow, for integers on the CPU only."""
    definition.kernel(kernel, T=FLOATING)
    return definition.kernel(kernel, device="cpu")


def lowest(tensor):
    return float("-inf") if tensor.is_floating_point() else torch.iinfo(tensor.dtype).min


def prepare(input, g, data_format):
    """The input channels first and, where the padding is explicit, padded with what is never a maximum."""
    x = to_torch(input, data_format)
    return x if g.pad is None else functional.pad(x, g.pad, value=lowest(x))


def max_with_indices(x, g):
    """Maxima and where they are, as flat spatial positions of the prepared input."""
    if x.dim() == 4:
        return opaque.max_pool2d(x, g.window, g.stride, g.padding, g.ceil)
    return max_pool3d_with_indices(x, g.window, g.stride, g.padding, (1, 1, 1), g.ceil)


def max_pool(input, ksize, strides, padding, explicit, data_format):
    if channel(ksize, data_format) != 1:
        return depth_max(input, ksize, strides, data_format)
    g = geometry(input.shape, ksize, strides, padding, explicit, data_format)
    x = prepare(input, g, data_format)
    if x.dim() == 5:
        y = torch.max_pool3d(x, g.window, g.stride, g.padding, 1, g.ceil)
    elif opaque.is_traced(x):
        y = max_with_indices(x, g)[0]
    else:
        y = torch.max_pool2d(x, g.window, g.stride, g.padding, 1, g.ceil)
    return from_torch(drop_first(y, g.drop), data_format)


def depth_max(input, ksize, strides, data_format):
    """Maxima over groups of channels, TF1's only pool across the depth."""
    size, depth = channel(ksize, data_format), channel(input.shape, data_format)
    if any(k != 1 for k in spatial(ksize, data_format)) or data_format not in CHANNELS_LAST:
        raise NotImplementedError(
            "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
        )
    for wrong, rule in (
        (depth % size, "evenly divide the input depth"),
        (size != channel(strides, data_format), "equal the depth stride"),
    ):
        if wrong:
            raise NotImplementedError(
                f"Depthwise max pooling requires the depth window to {rule}: "
                f"window {size}, stride {channel(strides, data_format)}, depth {depth}"
            )
    return input.unflatten(-1, (depth // size, size)).amax(-1)


def max_pool_grad(input, grad, ksize, strides, padding, explicit, data_format, indices=None):
    """``indices``: where the maxima are, if that is known."""
    if channel(ksize, data_format) != 1:
        raise NotImplementedError("MaxPoolGrad is not yet supported on the depth dimension.")
    g = geometry(input.shape, ksize, strides, padding, explicit, data_format)
    x = prepare(input, g, data_format)
    if indices is None:
        _, indices = max_with_indices(x, g)
    dy = restore_first(to_torch(grad, data_format), g.drop)
    check_same(dy, indices)
    if x.dim() == 4:
        dx = opaque.max_pool2d_backward(dy, x, g.window, g.stride, g.padding, g.ceil, indices)
    else:
        dx = max_pool3d_with_indices_backward(dy, x, g.window, g.stride, g.padding, (1, 1, 1), g.ceil, indices)
    return from_torch(unpad(dx, g.pad), data_format)


def unpad(tensor, pad):
    return tensor if pad is None else functional.pad(tensor, [-n for n in pad])


def max_pool_grad_grad(input, grad, ksize, strides, padding, explicit, data_format):
    """``grad``, of the input's shape, at the places of the maxima."""
    g = geometry(input.shape, ksize, strides, padding, explicit, data_format)
    _, indices = max_with_indices(prepare(input, g, data_format), g)
    indices = drop_first(indices, g.drop)
    values = to_torch(grad, data_format)
    if g.pad is not None:
        values = functional.pad(values, g.pad)
    picked = values.flatten(2).gather(2, indices.flatten(2))
    return from_torch(picked.reshape(indices.shape), data_format)


def check_same(grad, indices):
    if grad.shape != indices.shape:
        raise ValueError(
            f"Expected grad shape to be {list(indices.shape)}, but got {list(grad.shape)} (channels first)"
        )


# ---- average pools


def avg_pool(value, ksize, strides, padding, data_format):
    g = geometry(value.shape, ksize, strides, padding, (), data_format)
    x = to_torch(value, data_format)
    if x.dim() == 5 and _too_wide(x.shape[2:], g.window):
        return from_torch(_wide_average(x, g), data_format)
    pool = functional.avg_pool2d if x.dim() == 4 else functional.avg_pool3d
    return from_torch(drop_first(pool(x, g.window, g.stride, g.padding, g.ceil, False), g.drop), data_format)


def _too_wide(sizes, window):
    """Whether a window is wider than the volume, which torch refuses to average."""
    return any(k > n for n, k in zip(sizes, window, strict=True))


def _wide_average(x, g):
    """Sums over the padded volume, divided by how much of each window lies within."""
    ends = [padding_of(n, k, s, "SAME") for n, k, s in zip(x.shape[2:], g.window, g.stride, strict=True)]
    pad = [n for pair in reversed(ends) for n in pair]
    total = functional.avg_pool3d(functional.pad(x, pad), g.window, g.stride)
    inside = functional.pad(x.new_ones((1, 1, *x.shape[2:])), pad)
    return total / functional.avg_pool3d(inside, g.window, g.stride)


def avg_pool_grad(sizes, grad, ksize, strides, padding, data_format):
    sizes = tuple(sizes)
    g = geometry(sizes, ksize, strides, padding, (), data_format)
    x = to_torch(grad.new_empty(sizes), data_format)
    if x.is_cuda:
        x = x.new_empty(x.shape)  # torch's CUDA kernel for channels last misplaces the windows of padded pools
    if x.dim() == 5 and _too_wide(x.shape[2:], g.window):
        with autograd():
            _, back = torch.func.vjp(lambda x: _wide_average(x, g), torch.zeros_like(x))
            return from_torch(back(to_torch(grad, data_format))[0], data_format)
    dy = restore_first(to_torch(grad, data_format), g.drop)
    if x.dim() == 5:  # torch does not look whether the volume's gradient fits, and reads past its end
        expect_shape("grad", grad, pooled("AvgPool3D", 5, sizes, ksize, strides, padding, (), data_format))
    backward = avg_pool2d_backward if x.dim() == 4 else avg_pool3d_backward
    return from_torch(backward(dy, x, g.window, g.stride, g.padding, g.ceil, False, None), data_format)


# ---- declarations

MAX_TYPES = (*FLOATING, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.int16, dtypes.int8, dtypes.uint16)


def window(rank, explicit=False):
    """The attributes of every window, in a signature."""
    paddings = "SAME, VALID, EXPLICIT" if explicit else "SAME, VALID"
    return f"ksize: list(int) >= {rank}, strides: list(int) >= {rank}, padding: string in {{{paddings}}}"


def layouts(rank):
    """The attribute `data_format`, in a signature."""
    last, first = CHANNELS_LAST[rank - 4], CHANNELS_FIRST[rank - 4]
    return f'data_format: string in {{{last}, {first}}} = "{last}"'


def attributes(node, *names):
    return {name: node.attrs[name] for name in names or node.op_def.attr_names}


def pooled(name, rank, shape, *window):
    """The shape of the pool's output, as a list."""
    return TensorShape(pool_shape(name, rank, TensorShape(list(shape)), *window)).as_list()


def declare_max(suffix, rank, types, explicit):
    """MaxPool, its gradient and the gradient of that, which is not differentiated further than TF1 does."""
    extra = "explicit_paddings: list(int) = [], " if explicit else ""
    attrs = f"{window(rank, explicit)}, {extra}{layouts(rank)}"
    split = (lambda k, s, p, e, d: (k, s, p, e, d)) if explicit else (lambda k, s, p, d: (k, s, p, (), d))
    name, grad_name, grad_grad_name = f"MaxPool{suffix}", f"MaxPool{suffix}Grad", f"MaxPool{suffix}GradGrad"
    pool = op(f"{name}(input: T[{rank}]; {attrs}) -> (output: T)", T=types)
    inputs = f"orig_input: T[{rank}], orig_output: T[{rank}], grad: T[{rank}]"
    back = op(f"{grad_name}({inputs}; {attrs}) -> (output: T)", T=REAL, lenient=True)
    again = op(f"{grad_grad_name}({inputs}; {attrs}) -> (output: T)", T=REAL, lenient=True)

    pool.shape(lambda input, *values: pool_shape(name, rank, input, *split(*values)))

    @back.shape
    def _(orig_input, orig_output, grad, *values):
        pool_shape(name, rank, orig_input, *split(*values)).merge_with(orig_output).merge_with(grad)
        return orig_input.with_rank(rank)

    @again.shape
    def _(orig_input, orig_output, grad, *values):
        orig_input.with_rank(rank).merge_with(grad)
        return pool_shape(name, rank, orig_input, *split(*values)).merge_with(orig_output)

    @pool.refuse
    def _(input, *values):
        expect_elements("input", input)

    @back.refuse
    def _(orig_input, orig_output, grad, *values):
        expect_elements("orig_input", orig_input)
        expect_shape("grad", grad, pooled(name, rank, orig_input.shape, *split(*values)))

    @again.refuse
    def _(orig_input, orig_output, grad, *values):
        expect_elements("orig_input", orig_input)
        pooled(name, rank, orig_input.shape, *split(*values))
        expect_shape("grad", grad, orig_input.shape)

    @pool.gradient
    def _(node, grad):
        return [getattr(raw_ops, grad_name)(node.inputs[0], node.outputs[0], grad, **attributes(node))]

    @back.gradient
    def _(node, grad):
        x, y, _ = node.inputs
        return [
            raw_ops.ZerosLike(x),
            raw_ops.ZerosLike(y),
            getattr(raw_ops, grad_grad_name)(x, y, grad, **attributes(node)),
        ]

    @again.gradient
    def _(node, grad):
        x, y, _ = node.inputs
        return [
            raw_ops.ZerosLike(x),
            raw_ops.ZerosLike(y),
            getattr(raw_ops, grad_name)(x, y, grad, **attributes(node)),
        ]

    kernels(pool, lambda input, *values: max_pool(input, *split(*values)))
    kernels(back, lambda input, output, grad, *values: max_pool_grad(input, grad, *split(*values)))
    kernels(again, lambda input, output, grad, *values: max_pool_grad_grad(input, grad, *split(*values)))
    return pool, back, again


max_pool_2d, max_pool_2d_grad, max_pool_2d_grad_grad = declare_max("", 4, MAX_TYPES, True)
max_pool_3d, max_pool_3d_grad, max_pool_3d_grad_grad = declare_max("3D", 5, FLOATING, False)


# ---- a pool and its gradient that look for the maxima once (passes/share_maxima.py)

WINDOW = f"{window(4, True)}, explicit_paddings: list(int) = [], {layouts(4)}"
max_pool_located = op(f"_MaxPoolLocated(input: T[4]; {WINDOW}) -> (output: T, indices: int64)", T=FLOATING)
max_pool_located.shape(lambda input, *values: (pool_shape("MaxPool", 4, input, *values), TensorShape(None)))
max_pool_located.not_differentiable()
max_pool_located_grad = op(
    f"_MaxPoolLocatedGrad(orig_input: T[4], indices: int64, grad: T[4]; {WINDOW}) -> (output: T)", T=FLOATING
)
max_pool_located_grad.shape(lambda orig_input, indices, grad, *values: orig_input.with_rank(4))
max_pool_located_grad.not_differentiable()


@max_pool_located.refuse
def _(input, *values):
    expect_elements("input", input)


@max_pool_located_grad.refuse
def _(orig_input, indices, grad, *values):
    expect_shape("grad", grad, pooled("MaxPool", 4, orig_input.shape, *values))


@max_pool_located.kernel
def _(input, ksize, strides, padding, explicit, data_format):
    g = geometry(input.shape, ksize, strides, padding, explicit, data_format)
    y, indices = max_with_indices(prepare(input, g, data_format), g)
    return from_torch(drop_first(y, g.drop), data_format), indices


@max_pool_located_grad.kernel
def _(input, indices, grad, *values):
    return max_pool_grad(input, grad, *values, indices=indices)


def declare_avg(suffix, rank):
    attrs = f"{window(rank)}, {layouts(rank)}"
    argument = "value" if rank == 4 else "input"
    name, grad_name = f"AvgPool{suffix}", f"AvgPool{suffix}Grad"
    pool = op(f"{name}({argument}: T[{rank}]; {attrs}) -> (output: T)", T=FLOATING)
    back = op(f"{grad_name}(orig_input_shape: host int32[1], grad: T[{rank}]; {attrs}) -> (output: T)", T=FLOATING)
    pool.shape(lambda value, k, s, p, d: pool_shape(name, rank, value, k, s, p, (), d))
    back.shape(lambda sizes, grad, *values: shape_of_sizes(sizes, rank))

    @pool.refuse
    def _(value, *window):
        expect_elements(argument, value)

    @back.refuse
    def _(sizes, grad, k, s, p, d):
        expect_sizes("orig_input_shape", sizes, 1)
        expect_shape("grad", grad, pooled(name, rank, sizes, k, s, p, (), d))

    @pool.gradient
    def _(node, grad):
        return [getattr(raw_ops, grad_name)(raw_ops.Shape(node.inputs[0]), grad, **attributes(node))]

    back.gradient(lambda node, grad: [None, getattr(raw_ops, name)(grad, **attributes(node))])

    pool.kernel(avg_pool)
    back.kernel(avg_pool_grad)
    return pool, back


avg_pool_2d, avg_pool_2d_grad = declare_avg("", 4)
avg_pool_3d, avg_pool_3d_grad = declare_avg("3D", 5)


# ---- MaxPoolWithArgmax: positions are flat over [height, width, channels], with the batch in front if asked

ARGMAX = "ksize: list(int) >= 4, strides: list(int) >= 4"
TAIL = "padding: string in {SAME, VALID}, include_batch_in_index: bool = False"

with_argmax = op(
    f"MaxPoolWithArgmax(input: T[4]; {ARGMAX}, Targmax: type = int64, {TAIL}) -> (output: T, argmax: Targmax)",
    T=REAL, Targmax=INDEX,
)  # fmt: skip


@with_argmax.shape
def _(input, ksize, strides, targmax, padding, include_batch_in_index):
    shape = pool_shape("MaxPoolWithArgmax", 4, input, ksize, strides, padding, (), "NHWC")
    return [shape, shape]


with_argmax.refuse(lambda input, *values: expect_elements("input", input))


@with_argmax.gradient
def _(node, grad, _):
    names = ("ksize", "strides", "padding", "include_batch_in_index")
    return [raw_ops.MaxPoolGradWithArgmax(node.inputs[0], grad, node.outputs[1], **attributes(node, *names))]


def batch_offsets(shape, device):
    """Where each image starts in the flat input, ready to be added to [batch, ...] positions."""
    return (torch.arange(shape[0], device=device) * (shape[1] * shape[2] * shape[3])).view(-1, 1, 1, 1)


@partial(kernels, with_argmax)
def _(input, ksize, strides, targmax, padding, include_batch_in_index):
    g = geometry(input.shape, ksize, strides, padding, (), "NHWC")
    values, indices = max_with_indices(to_torch(input, "NHWC"), g)
    values, indices = drop_first(values, g.drop), drop_first(indices, g.drop)
    depth = input.shape[3]
    positions = from_torch(indices, "NHWC") * depth + torch.arange(depth, device=input.device)
    if include_batch_in_index:
        positions = positions + batch_offsets(input.shape, input.device)
    return from_torch(values, "NHWC"), positions.to(targmax)


grad_with_argmax = op(
    f"MaxPoolGradWithArgmax(input: T[4], grad: T[4], argmax: Targmax[4]; {ARGMAX}, {TAIL}) -> (output: T)",
    T=REAL, Targmax=INDEX, lenient=True,
)  # fmt: skip


@grad_with_argmax.shape
def _(input, grad, argmax, ksize, strides, padding, include_batch_in_index):
    pool_shape("MaxPoolWithArgmax", 4, input, ksize, strides, padding, (), "NHWC").merge_with(grad).merge_with(argmax)
    return input.with_rank(4)


@grad_with_argmax.refuse
def _(input, grad, argmax, ksize, strides, padding, include_batch_in_index):
    expect_shape("grad", grad, pooled("MaxPool", 4, input.shape, ksize, strides, padding, (), "NHWC"))
    expect_shape("argmax", argmax, grad.shape)
    size = input.numel() if include_batch_in_index else input[0].numel()
    expect_inside("argmax", argmax, size, "Invalid input_backprop index: {value} at [{place}], not in [0, {size})")


@grad_with_argmax.kernel
def _(input, grad, argmax, ksize, strides, padding, include_batch_in_index):
    positions = argmax.long()
    if not include_batch_in_index:
        positions = positions + batch_offsets(input.shape, input.device)
    flat = torch.zeros_like(input).reshape(-1)
    return flat.scatter_add(0, positions.reshape(-1), grad.reshape(-1)).reshape(input.shape)
