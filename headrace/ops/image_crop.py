"""Boxes cut out of images and resized.  A box is [y1, x1, y2, x2], as fractions of the image's height and width."""

from __future__ import annotations

import torch

from headrace.core import dtypes
from headrace.core.dtypes import REAL
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.internal.opaque import is_traced
from headrace.ops.shared.whole import whole

crop = op(
    "CropAndResize(image: T[4], boxes: float32[2], box_ind: int32[1], crop_size: host int32[1]; "
    'method: string = "bilinear", extrapolation_value: float = 0.0) -> (crops: float32)',
    T=REAL,
    lenient=True,
)


def _crop_size(crop_size):
    if crop_size is None:
        return None, None
    if len(crop_size) != 2 or any(n is not None and n <= 0 for n in crop_size):
        raise ValueError(f"crop_size must be [rows, columns], both positive, got {crop_size}")
    return crop_size


@crop.shape
def _(image, boxes, box_ind, crop_size, method, extrapolation_value):
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"method must be 'bilinear' or 'nearest', got {method!r}")
    count, four = boxes.with_rank(2).tuple
    if four not in (None, 4):
        raise ValueError(f"boxes must be [number, 4], got {boxes}")
    number = box_ind.with_rank(1).tuple[0]
    if None not in (count, number) and count != number:
        raise ValueError(f"Dimensions must be equal, but are {count} and {number}: boxes and box_ind")
    return (number if count is None else count, *_crop_size(crop_size), image.with_rank(4).tuple[3])


def _lines(low, high, inside, outside):
    """[boxes, outside]: where the rows (or columns) of each crop lie in the image."""
    if outside == 1:
        return (0.5 * (low + high) * (inside - 1))[:, None]
    step = torch.arange(outside, dtype=torch.float32, device=low.device)
    return (low * (inside - 1))[:, None] + step * ((high - low) * (inside - 1) / (outside - 1))[:, None]


def _grid(boxes, height, width, rows, columns):
    y1, x1, y2, x2 = boxes.unbind(1)
    return _lines(y1, y2, height, rows), _lines(x1, x2, width, columns)


def _within(places, inside):
    return (places >= 0) & (places <= inside - 1)


def _index(places, inside):
    return whole(places, 0, inside - 1)


def _rounded(places):
    return torch.where(places < 0, torch.ceil(places - 0.5), torch.floor(places + 0.5))  # halves away from zero


def _check_pictures(box_ind, batch):
    """Checks the indices on the host only, because another device would have to be waited for."""
    if not is_traced(box_ind) and box_ind.is_cpu and not all(0 <= i < batch for i in box_ind.tolist()):
        raise OutOfRangeError(
            None, None, f"box_ind has values outside [0, batch_size): {box_ind.tolist()}, batch size {batch}"
        )


@crop.kernel
def _(image, boxes, box_ind, crop_size, method, extrapolation_value):
    height, width = image.shape[1:3]
    rows, columns = _crop_size(crop_size)
    _check_pictures(box_ind, len(image))
    ys, xs = _grid(boxes, height, width, rows, columns)
    picture = box_ind.long()[:, None, None]
    in_image = (_within(ys, height)[:, :, None] & _within(xs, width)[:, None, :])[..., None]

    def at(y, x):
        return image[picture, _index(y, height)[:, :, None], _index(x, width)[:, None, :]].to(torch.float32)

    if method == "nearest":
        pixels = at(_rounded(ys), _rounded(xs))
    else:
        top, bottom, left, right = torch.floor(ys), torch.ceil(ys), torch.floor(xs), torch.ceil(xs)
        down, across = (ys - top)[:, :, None, None], (xs - left)[:, None, :, None]
        upper = at(top, left) + (at(top, right) - at(top, left)) * across
        lower = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * across
        pixels = upper + (lower - upper) * down
    return torch.where(in_image, pixels, extrapolation_value)


@crop.gradient
def _(node, grad):
    image, boxes, box_ind = node.inputs[:3]
    to_image = None
    if image.dtype.is_floating:
        to_image = raw_ops.CropAndResizeGradImage(
            grad, boxes, box_ind, raw_ops.Shape(image), T=image.dtype.base_dtype, method=node.attrs["method"]
        )
    # As in TensorFlow, boxes get the gradient of bilinear crops whatever the method.
    return [to_image, raw_ops.CropAndResizeGradBoxes(grad, image, boxes, box_ind), None, None]


to_image = op(
    "CropAndResizeGradImage(grads: float32[4], boxes: float32[2], box_ind: int32[1], image_size: host int32[1]; T: type, "
    'method: string in {bilinear, nearest} = "bilinear") -> (output: T)',
    T=(dtypes.float32, dtypes.float16, dtypes.float64),
    lenient=True,
)


@to_image.shape
def _(grads, boxes, box_ind, image_size, T, method):
    if image_size is not None:
        if len(image_size) != 4:
            raise ValueError(f"image_size must have 4 elements, got {image_size}")
        if any(n is not None and n < 0 for n in image_size):
            raise ValueError(f"image dimensions must be positive, got {image_size}")
    _check_crops(grads, boxes, box_ind, None if image_size is None else image_size[3])
    return image_size


def _check_crops(grads, boxes, box_ind, depth):
    """One crop, one box and one number of a picture for each of them."""
    crops, places, pictures = grads.with_rank(4).tuple, boxes.with_rank(2).tuple, box_ind.with_rank(1).tuple
    if places[1] not in (None, 4):
        raise ValueError(f"boxes must have 4 columns, got {boxes}")
    if len({n for n in (crops[0], places[0], pictures[0]) if n is not None}) > 1:
        raise ValueError(f"boxes and grads have incompatible shape: grads {grads}, boxes {boxes}, box_ind {box_ind}")
    if None not in (crops[3], depth) and crops[3] != depth:
        raise ValueError(f"image_size and grads are incompatible: depths {depth} and {crops[3]}")


@to_image.kernel
def _(grads, boxes, box_ind, image_size, T, method):
    batch, height, width, channels = image_size
    _check_pictures(box_ind, batch)
    ys, xs = _grid(boxes, height, width, grads.shape[1], grads.shape[2])
    in_image = (_within(ys, height)[:, :, None] & _within(xs, width)[:, None, :])[..., None]
    grads = torch.where(in_image, grads, 0)
    total = grads.new_zeros(batch * height * width, channels)
    picture = box_ind.long()[:, None, None] * (height * width)

    def add(total, y, x, part):
        place = picture + _index(y, height)[:, :, None] * width + _index(x, width)[:, None, :]
        return total.index_add(0, place.reshape(-1), part.reshape(-1, channels))

    if method == "nearest":
        total = add(total, _rounded(ys), _rounded(xs), grads)
    else:
        top, bottom, left, right = torch.floor(ys), torch.ceil(ys), torch.floor(xs), torch.ceil(xs)
        down, across = (ys - top)[:, :, None, None], (xs - left)[:, None, :, None]
        for y, wy in ((top, 1 - down), (bottom, down)):
            for x, wx in ((left, 1 - across), (right, across)):
                total = add(total, y, x, grads * wy * wx)
    return total.reshape(batch, height, width, channels).to(T)


to_boxes = op(
    "CropAndResizeGradBoxes(grads: float32[4], image: T[4], boxes: float32[2], box_ind: int32[1]; "
    'method: string in {bilinear} = "bilinear") '
    "-> (output: float32)",
    T=REAL,
    lenient=True,
)


@to_boxes.shape
def _(grads, image, boxes, box_ind, method):
    _check_crops(grads, boxes, box_ind, image.with_rank(4).tuple[3])
    return boxes


@to_boxes.kernel
def _(grads, image, boxes, box_ind, method):
    height, width = image.shape[1:3]
    rows, columns = grads.shape[1:3]
    _check_pictures(box_ind, len(image))
    ys, xs = _grid(boxes, height, width, rows, columns)
    picture = box_ind.long()[:, None, None]
    in_image = _within(ys, height)[:, :, None] & _within(xs, width)[:, None, :]

    def at(y, x):
        return image[picture, _index(y, height)[:, :, None], _index(x, width)[:, None, :]].to(torch.float32)

    top, bottom, left, right = torch.floor(ys), torch.ceil(ys), torch.floor(xs), torch.ceil(xs)
    down, across = (ys - top)[:, :, None, None], (xs - left)[:, None, :, None]
    tl, tr, bl, br = at(top, left), at(top, right), at(bottom, left), at(bottom, right)
    dy = ((1 - across) * (bl - tl) + across * (br - tr)) * grads
    dx = ((1 - down) * (tr - tl) + down * (br - bl)) * grads
    dy, dx = (torch.where(in_image, d.sum(3), 0) for d in (dy, dx))

    def ends(d, axis, inside, outside):
        if outside == 1:
            return [0.5 * (inside - 1) * d.sum((1, 2))] * 2
        step = torch.arange(outside, dtype=torch.float32, device=d.device) / (outside - 1)
        step = step[:, None] if axis == 1 else step
        return [((1 - step) * d).sum((1, 2)) * (inside - 1), (step * d).sum((1, 2)) * (inside - 1)]

    y1, y2 = ends(dy, 1, height, rows)
    x1, x2 = ends(dx, 2, width, columns)
    return torch.stack([y1, x1, y2, x2], 1)
