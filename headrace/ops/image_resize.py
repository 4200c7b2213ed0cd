"""Resizing images: bilinear, nearest neighbour, bicubic, area; and boxes cut out of images and resized.

Each output row is a weighted sum of input rows, each output column one of input columns; what differs is where a row looks
(its place in the input) and how many it looks at.  Arithmetic on places is float32, as TensorFlow's is.
"""

from __future__ import annotations

import torch

from headrace.core import dtypes
from headrace.core.dtypes import REAL
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.unsigned import move_as_signed
from headrace.ops.shared.whole import whole

_ATTRS = "align_corners: bool = False, half_pixel_centers: bool = False"
_FLOATS = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.float64)


def _size(size):
    """The rows and columns a host input asks for, None where not known."""
    if size is None:
        return None, None
    if not isinstance(size, list) or len(size) != 2:
        raise ValueError(f"size must be [rows, columns], got {size}")
    for n in size:
        if n is not None and n <= 0:
            raise ValueError(f"output dimensions must be positive, got {size}")
    return size


def _resized(images, size, *attrs):
    batch, _, _, channels = images.with_rank(4).tuple
    rows, columns = _size(size)
    return (batch, rows, columns, channels)


def _scale(inside, outside, align_corners):
    if align_corners and outside > 1:
        return (inside - 1) / (outside - 1)
    return inside / outside


def _places(inside, outside, align_corners, half_pixel_centers, device):
    """Where each of `outside` rows lies among the `inside` ones."""
    scale = torch.full((), _scale(inside, outside, align_corners), dtype=torch.float32, device=device)
    at = torch.arange(outside, dtype=torch.float32, device=device)
    return (at + 0.5) * scale - 0.5 if half_pixel_centers else at * scale


def _check(align_corners, half_pixel_centers):
    if align_corners and half_pixel_centers:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")


def _summed(grad, axis, inside, taps):
    """The gradient of sums of rows: each output row's gradient goes back to the rows it was made of, by weight."""
    shape = list(grad.shape)
    shape[axis] = inside
    total = grad.new_zeros(shape)
    for index, weight in taps:
        total = total.index_add(axis, index, grad * _along(weight, axis) if weight is not None else grad)
    return total


def _along(weight, axis):
    return weight[:, None, None] if axis == 1 else weight[:, None]


# ---- bilinear


def _two(inside, outside, align_corners, half_pixel_centers, device):
    """-> the row before, the row after, and how far between them."""
    at = _places(inside, outside, align_corners, half_pixel_centers, device)
    before = torch.floor(at)
    return whole(before, 0, inside - 1), whole(before + 1, 0, inside - 1), at - before


bilinear = op(f"ResizeBilinear(images: T[4], size: host int32[1]; {_ATTRS}) -> (resized_images: float32)", T=REAL)
bilinear.shape(_resized)


@bilinear.kernel
def _(images, size, align_corners, half_pixel_centers):
    _check(align_corners, half_pixel_centers)
    images = images.to(torch.float32)
    rows, columns = _size(size)
    options = align_corners, half_pixel_centers, images.device
    top, bottom, down = _two(images.shape[1], rows, *options)
    left, right, across = _two(images.shape[2], columns, *options)
    across, down = _along(across, 2), _along(down, 1)
    a, b = images.index_select(1, top), images.index_select(1, bottom)
    al, bl = a.index_select(2, left), b.index_select(2, left)
    upper = al + (a.index_select(2, right) - al) * across
    lower = bl + (b.index_select(2, right) - bl) * across
    return upper + (lower - upper) * down


def _grad_through(name):
    def gradient(node, grad):
        attrs = {key: node.attrs[key] for key in ("align_corners", "half_pixel_centers")}
        if not node.inputs[0].dtype.is_floating:
            return [None, None]
        return [getattr(raw_ops, name)(grad, node.inputs[0], **attrs), None]

    return gradient


bilinear.gradient(_grad_through("ResizeBilinearGrad"))

bilinear_grad = op(
    f"ResizeBilinearGrad(grads: float32[4], original_image: T[4]; {_ATTRS}) -> (output: T)", T=_FLOATS, lenient=True
)
bilinear_grad.shape(lambda grads, original_image, *attrs: original_image)


@bilinear_grad.kernel
def _(grads, original_image, align_corners, half_pixel_centers):
    for axis in (2, 1):
        inside, outside = original_image.shape[axis], grads.shape[axis]
        low, high, part = _two(inside, outside, align_corners, half_pixel_centers, grads.device)
        grads = _summed(grads, axis, inside, ((low, 1 - part), (high, part)))
    return grads.to(original_image.dtype)


@bilinear_grad.gradient
def _(node, grad):
    size = raw_ops.StridedSlice(raw_ops.Shape(node.inputs[0]), [1], [3], [1])
    attrs = {key: node.attrs[key] for key in ("align_corners", "half_pixel_centers")}
    return [raw_ops.ResizeBilinear(grad, size, **attrs), None]


# ---- nearest neighbour


def _nearest(inside, outside, align_corners, half_pixel_centers, device):
    scale = torch.full((), _scale(inside, outside, align_corners), dtype=torch.float32, device=device)
    at = torch.arange(outside, dtype=torch.float32, device=device)
    if half_pixel_centers:
        at = torch.floor((at + 0.5) * scale)
    else:
        at = torch.floor(at * scale + 0.5) if align_corners else torch.floor(at * scale)
    return whole(at, 0, inside - 1)


nearest = op(
    f"ResizeNearestNeighbor(images: T[4], size: host int32[1]; {_ATTRS}) -> (resized_images: T)", T=REAL, lenient=True
)
nearest.shape(_resized)


@nearest.kernel
def _(images, size, align_corners, half_pixel_centers):
    _check(align_corners, half_pixel_centers)
    rows, columns = _size(size)
    options = align_corners, half_pixel_centers, images.device
    picked = images.index_select(1, _nearest(images.shape[1], rows, *options))
    return picked.index_select(2, _nearest(images.shape[2], columns, *options))


move_as_signed(nearest)


@nearest.gradient
def _(node, grad):
    image = node.inputs[0]
    static = image.shape.as_list()[1:3] if image.shape.ndims is not None else [None]
    size = static if None not in static else raw_ops.StridedSlice(raw_ops.Shape(image), [1], [3], [1])
    attrs = {key: node.attrs[key] for key in ("align_corners", "half_pixel_centers")}
    return [raw_ops.ResizeNearestNeighborGrad(grad, size, **attrs), None]


nearest_grad = op(
    f"ResizeNearestNeighborGrad(grads: T[4], size: host int32[1]; {_ATTRS}) -> (output: T)",
    T=(dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16),
    lenient=True,
)
nearest_grad.shape(_resized)


@nearest_grad.kernel
def _(grads, size, align_corners, half_pixel_centers):
    rows, columns = _size(size)
    for axis, inside in ((2, columns), (1, rows)):
        index = _nearest(inside, grads.shape[axis], align_corners, half_pixel_centers, grads.device)
        grads = _summed(grads, axis, inside, ((index, None),))
    return grads


@nearest_grad.gradient
def _(node, grad):
    size = raw_ops.StridedSlice(raw_ops.Shape(node.inputs[0]), [1], [3], [1])
    attrs = {key: node.attrs[key] for key in ("align_corners", "half_pixel_centers")}
    return [raw_ops.ResizeNearestNeighbor(grad, size, **attrs), None]


# ---- bicubic

_STEPS = 1024  # TensorFlow looks the weights up in a table of that many steps between two rows


def _four(inside, outside, align_corners, half_pixel_centers, device):
    """-> four (row, weight): those around each place."""
    a = -0.5 if half_pixel_centers else -0.75
    at = _places(inside, outside, align_corners, half_pixel_centers, device)
    base = torch.floor(at)
    part = torch.round((at - base) * _STEPS) / _STEPS

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        x = x + 1
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = [far(part), near(part), near(1 - part), far(1 - part)]
    rows = [base + step for step in (-1, 0, 1, 2)]
    bounded = [row.clamp(0, inside - 1) for row in rows]
    if half_pixel_centers:
        weights = [torch.where(row == nearest, w, 0) for row, nearest, w in zip(rows, bounded, weights, strict=True)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [w / total for w in weights]
    return [(whole(row, 0, inside - 1), weight) for row, weight in zip(bounded, weights, strict=True)]


bicubic = op(f"ResizeBicubic(images: T[4], size: host int32[1]; {_ATTRS}) -> (resized_images: float32)", T=REAL)
bicubic.shape(_resized)


@bicubic.kernel
def _(images, size, align_corners, half_pixel_centers):
    _check(align_corners, half_pixel_centers)
    images = images.to(torch.float32)
    for axis, outside in zip((1, 2), _size(size), strict=True):
        taps = _four(images.shape[axis], outside, align_corners, half_pixel_centers, images.device)
        (i, w), *rest = taps
        total = images.index_select(axis, i) * _along(w, axis)
        for i, w in rest:
            total = total + images.index_select(axis, i) * _along(w, axis)
        images = total
    return images


bicubic.gradient(_grad_through("ResizeBicubicGrad"))

bicubic_grad = op(
    f"ResizeBicubicGrad(grads: float32[4], original_image: T[4]; {_ATTRS}) -> (output: T)",
    T=(dtypes.float32, dtypes.float64), lenient=True,
)  # fmt: skip
bicubic_grad.shape(lambda grads, original_image, *attrs: original_image)


@bicubic_grad.kernel
def _(grads, original_image, align_corners, half_pixel_centers):
    for axis in (2, 1):
        inside = original_image.shape[axis]
        taps = _four(inside, grads.shape[axis], align_corners, half_pixel_centers, grads.device)
        grads = _summed(grads, axis, inside, taps)
    return grads.to(original_image.dtype)


# ---- area

area = op(
    "ResizeArea(images: T[4], size: host int32[1]; align_corners: bool = False) -> (resized_images: float32)", T=REAL
)
area.shape(_resized)


def _shares(inside, outside, align_corners, device):
    """[outside, inside]: the share of each input row in each output row; the last input row has no end."""
    step = _scale(inside, outside, align_corners)
    if step == 0.0:  # one row, corners aligned: every output row is that row
        return torch.ones(outside, 1, device=device)
    scale = torch.full((), step, dtype=torch.float32, device=device)
    start = torch.arange(outside, dtype=torch.float32, device=device)[:, None]
    row = torch.arange(inside, dtype=torch.float32, device=device)
    end = torch.where(row == inside - 1, float("inf"), row + 1)
    share = (torch.minimum(end, (start + 1) * scale) - torch.maximum(row, start * scale)).clamp(min=0)
    return share / scale


@area.kernel
def _(images, size, align_corners):
    rows, columns = _size(size)
    down = _shares(images.shape[1], rows, align_corners, images.device)
    across = _shares(images.shape[2], columns, align_corners, images.device)
    return torch.einsum("rh,bhwc,sw->brsc", down, images.to(torch.float32), across)
