"""Grey-scale dilation of images, and its gradients: Dilation2D, Dilation2DBackpropInput, Dilation2DBackpropFilter."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOATING, REAL
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.shared.refuse import expect_elements
from headrace.ops.shared.window import check_choice, output_size, padding_of

_ATTRS = "strides: list(int), rates: list(int), padding: string"


def _check(strides, rates, padding):
    check_choice("padding", padding, ("SAME", "VALID"))
    for name, sizes in (("strides", strides), ("rates", rates)):
        if len(sizes) != 4 or sizes[0] != 1 or sizes[3] != 1:
            raise ValueError(f"{name} must be [1, rows, columns, 1], got {list(sizes)}")


def _lowest(dtype):
    return float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min


def _best(input, filter, strides, rates, padding):
    """The largest sum of each window, which filter element gave it (the first, of equals), and the padding."""
    expect_elements("filter", filter)
    edges = []
    for axis in (1, 2):
        reach = (filter.shape[axis - 1] - 1) * rates[axis] + 1
        edges.append((*padding_of(input.shape[axis], reach, strides[axis], padding), reach))
    (top, bottom, tall), (left, right, wide) = edges
    rows = output_size(input.shape[1], tall, strides[1], padding)
    columns = output_size(input.shape[2], wide, strides[2], padding)
    padded = torch.constant_pad_nd(input, [0, 0, left, right, top, bottom], _lowest(input.dtype))
    best = where = None
    for number, (i, j) in enumerate(_elements(filter)):
        y, x = i * rates[1], j * rates[2]
        part = padded[
            :, y : y + (rows - 1) * strides[1] + 1 : strides[1], x : x + (columns - 1) * strides[2] + 1 : strides[2]
        ]
        total = part + filter[i, j] if input.dtype.is_floating_point else _clamped(part, filter[i, j])
        if best is None:
            best, where = total, torch.zeros_like(total, dtype=torch.int64)
        else:
            where = torch.where(total > best, number, where)
            best = torch.maximum(best, total)
    return best, where, (top, left, padded.shape, rows, columns)


def _clamped(part, added):
    """Sums of integers, in which the padding stays the lowest number."""
    return torch.where(part == _lowest(part.dtype), part, part + added)


def _elements(filter):
    return [(i, j) for i in range(filter.shape[0]) for j in range(filter.shape[1])]


dilation = op(f"Dilation2D(input: T[4], filter: T[3]; {_ATTRS}) -> (output: T)", T=REAL, view=False, lenient=True)


@dilation.shape
def _dilated_shape(input, filter, strides, rates, padding):
    _check(strides, rates, padding)
    batch, height, width, depth = input.with_rank(4).tuple
    tall, wide, own = filter.with_rank(3).tuple
    if None not in (depth, own) and depth != own:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {own}: channels of input and filter")
    sizes = [
        output_size(size, None if reach is None else (reach - 1) * rate + 1, stride, padding)
        for size, reach, rate, stride in (
            (height, tall, rates[1], strides[1]), (width, wide, rates[2], strides[2]),
        )
    ]  # fmt: skip
    return (batch, *sizes, own if depth is None else depth)


@dilation.kernel
def _(input, filter, strides, rates, padding):
    return _best(input, filter, strides, rates, padding)[0]


@dilation.gradient
def _(node, grad):
    attrs = {name: node.attrs[name] for name in ("strides", "rates", "padding")}
    input, filter = node.inputs
    return [
        raw_ops.Dilation2DBackpropInput(input, filter, grad, **attrs),
        raw_ops.Dilation2DBackpropFilter(input, filter, grad, **attrs),
    ]


to_input = op(
    f"Dilation2DBackpropInput(input: T[4], filter: T[3], out_backprop: T[4]; {_ATTRS}) -> (in_backprop: T)",
    T=FLOATING,
    view=False,
    lenient=True,
)


@to_input.shape
def _(input, filter, grad, *window):
    _check_gradient(input, filter, grad, *window)
    return input


def _check_gradient(input, filter, grad, strides, rates, padding):
    """The gradient has the shape of the dilated image."""
    expected = TensorShape(_dilated_shape(input, filter, strides, rates, padding))
    if not expected.is_compatible_with(grad):
        raise ValueError(f"out_backprop must have shape {expected}, got shape {grad}")


@to_input.kernel
def _(input, filter, grad, strides, rates, padding):
    _, where, (top, left, shape, rows, columns) = _best(input, filter, strides, rates, padding)
    whole = grad.new_zeros(shape)
    for number, (i, j) in enumerate(_elements(filter)):
        y, x = i * rates[1], j * rates[2]
        part = whole[
            :, y : y + (rows - 1) * strides[1] + 1 : strides[1], x : x + (columns - 1) * strides[2] + 1 : strides[2]
        ]
        part += grad * (where == number)
    return whole[:, top : top + input.shape[1], left : left + input.shape[2]].contiguous()


to_filter = op(
    f"Dilation2DBackpropFilter(input: T[4], filter: T[3], out_backprop: T[4]; {_ATTRS}) -> (filter_backprop: T)",
    T=FLOATING,
    view=False,
    lenient=True,
)


@to_filter.shape
def _(input, filter, grad, *window):
    _check_gradient(input, filter, grad, *window)
    return filter


@to_filter.kernel
def _(input, filter, grad, strides, rates, padding):
    where = _best(input, filter, strides, rates, padding)[1]
    parts = [(grad * (where == number)).sum((0, 1, 2)) for number in range(len(_elements(filter)))]
    return torch.stack(parts).reshape(filter.shape)
