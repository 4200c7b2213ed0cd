"""Boxes cut out of images and resized.  A box is [y1, x1, y2, x2], as fractions of the image's height and width."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch._C._functorch import is_functorch_wrapped_tensor

from headrace.core import dtypes
from headrace.core.dtypes import REAL
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import op
from headrace.graph import raw_ops

crop = op(
    "CropAndResize(image: T, boxes: float32, box_ind: int32, crop_size: host int32; "
    'method: string = "bilinear", extrapolation_value: float = 0.0) -> (crops: float32)',
    T=REAL,
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
    return places.clamp(0, inside - 1).long()


def _rounded(places):
    return torch.where(places < 0, torch.ceil(places - 0.5), torch.floor(places + 0.5))  # halves away from zero


# ---- on the host: the places of all crops are found by NumPy, in a few calls for both axes


def _lines_on_host(ends, last, outside):
    """Of ends [2 (low, high), axes, boxes]: how far each place lies past the pixel before it, the pixels before and after
    (inside the image), and which places lie inside it; ``last`` [axes] are the last pixels."""
    low, high = ends
    last = last[:, None]
    if outside == 1:
        places = (np.float32(0.5) * (low + high) * last)[:, :, None]
    else:
        width = (high - low) * last / np.float32(outside - 1)
        places = (low * last)[:, :, None] + _steps(outside) * width[:, :, None]
    pair = np.empty((2, *places.shape), np.float32)
    before = np.floor(places, out=pair[0])
    np.ceil(places, out=pair[1])
    past = places - before
    last = last[:, :, None]
    np.fmin(pair, last, out=pair)
    np.fmax(pair, 0, out=pair)
    return past, pair.astype(np.int64), (places >= 0) & (places <= last)


@lru_cache(maxsize=64)
def _steps(count):
    return np.arange(count, dtype=np.float32)


def _taps(boxes, box_ind, extent, rows, columns):
    """Past [boxes, lines], and inside, of rows and of columns; and the places of the four pixels around each one of the crops
    [2 (above, below), 2 (left, right), boxes, rows, columns] in images laid out as one row of pixels."""
    height, width = extent
    ends = boxes.numpy().reshape(-1, 2, 2).transpose(1, 2, 0)
    last = np.array([height - 1, width - 1], np.float32)
    if rows == columns:
        (down, across), pair, (known, also) = _lines_on_host(ends, last, rows)
        vertical, horizontal = pair[:, 0], pair[:, 1]
    else:
        (down,), vertical, (known,) = _lines_on_host(ends[:, :1], last[:1], rows)
        (across,), horizontal, (also,) = _lines_on_host(ends[:, 1:], last[1:], columns)
        vertical, horizontal = vertical[:, 0], horizontal[:, 0]
    lines = (vertical + (box_ind.numpy().astype(np.int64) * height)[:, None]) * width
    return down, across, known, also, lines[:, None, :, :, None] + horizontal[None, :, :, None, :]


def _around(image, places):
    """The four pixels around each one of the crops [2, 2, boxes, rows, columns * channels], in long rows."""
    channels = image.shape[3]
    found = image.reshape(-1, channels).index_select(0, torch.from_numpy(places.reshape(-1)))
    return found.view(*places.shape[:4], places.shape[4] * channels).float()


def _long(values, channels):
    """Values of columns [boxes, columns], once a channel [boxes, 1, columns * channels]."""
    return torch.from_numpy(values.repeat(channels, 1))[:, None]


def _bilinear_on_host(image, boxes, box_ind, rows, columns, outside):
    channels = image.shape[3]
    down, across, known, also, places = _taps(boxes, box_ind, image.shape[1:3], rows, columns)
    found = _around(image, places)
    edges = torch.lerp(found[:, 0], found[:, 1], _long(across, channels))
    crops = torch.lerp(edges[0], edges[1], torch.from_numpy(down)[:, :, None]).view(-1, rows, columns, channels)
    if not (known.all() and also.all()):
        crops.masked_fill_(torch.from_numpy(~(known[:, :, None] & also[:, None, :]))[..., None], outside)
    return crops


def _image_gradient_on_host(grads, boxes, box_ind, image_size):
    """Every number of the gradient, added up at four places at once."""
    batch, height, width, channels = image_size
    rows, columns = grads.shape[1:3]
    down, across, known, also, places = _taps(boxes, box_ind, (height, width), rows, columns)
    vertical = np.stack([1 - down, down]) * known
    horizontal = np.stack([1 - across, across]) * also
    weights = torch.from_numpy(vertical[:, None, :, :, None] * horizontal[None, :, :, None, :])
    parts = weights[..., None] * grads
    places = (places * channels)[..., None] + np.arange(channels)
    total = grads.new_zeros(batch * height * width * channels)
    total.scatter_add_(0, torch.from_numpy(places.reshape(-1)), parts.view(-1))
    return total.view(batch, height, width, channels)


def _boxes_gradient_on_host(image, boxes, box_ind, grads):
    height, width, channels = image.shape[1:]
    count, rows, columns = grads.shape[:3]
    down, across, known, also, places = _taps(boxes, box_ind, (height, width), rows, columns)
    found = _around(image, places)
    grads = grads.reshape(count, rows, columns * channels)
    below = torch.lerp(found[1, 0] - found[0, 0], found[1, 1] - found[0, 1], _long(across, channels)).mul_(grads)
    right = torch.lerp(found[0, 1] - found[0, 0], found[1, 1] - found[1, 0], torch.from_numpy(down)[:, :, None])
    # Sums over what each row, or column, of a crop adds: its ends share them.
    by_row = torch.matmul(below, _long(also.astype(np.float32), channels).mT).view(count, rows).numpy() * known
    by_column = torch.matmul(torch.from_numpy(known.astype(np.float32))[:, None], right.mul_(grads))
    by_column = by_column.view(count, columns, channels).sum(2).numpy() * also
    result = np.empty((count, 2, 2), np.float32)
    result[:, :, 0] = by_row @ _shares(rows) * np.float32(height - 1)
    result[:, :, 1] = by_column @ _shares(columns) * np.float32(width - 1)
    return torch.from_numpy(result.reshape(count, 4))


@lru_cache(maxsize=64)
def _shares(count):
    """How much of each line's place the low and the high end of a box decide [count, 2]."""
    high = np.full(1, 0.5) if count == 1 else np.arange(count) / (count - 1)
    return np.stack([1 - high, high], 1).astype(np.float32)


def _is_on_host(image, boxes, box_ind, *more):
    """Whether NumPy may be used: on values in the host's memory that nobody traces or differentiates."""
    if not (type(image) is type(boxes) is type(box_ind) is torch.Tensor and image.is_cpu):
        return False
    followed = any(x.requires_grad or is_functorch_wrapped_tensor(x) for x in (image, boxes, *more))
    return len(boxes) > 0 and 0 not in image.shape and not followed


def _checked(function, image, boxes, box_ind, batch, *arguments):
    try:
        return function(image, boxes, box_ind, *arguments)
    except (IndexError, RuntimeError):
        if all(0 <= i < batch for i in box_ind.tolist()):
            raise
        raise _outside(box_ind.tolist(), batch) from None


def _outside(pictures, batch):
    return OutOfRangeError(None, None, f"box_ind has values outside [0, batch_size): {pictures}, batch size {batch}")


@crop.kernel
def _(image, boxes, box_ind, crop_size, method, extrapolation_value):
    height, width = image.shape[1:3]
    rows, columns = _crop_size(crop_size)
    if method == "bilinear" and _is_on_host(image, boxes, box_ind):
        return _checked(_bilinear_on_host, image, boxes, box_ind, len(image), rows, columns, extrapolation_value)
    if _is_on_host(image, boxes, box_ind) and not all(0 <= i < len(image) for i in box_ind.tolist()):
        raise _outside(box_ind.tolist(), len(image))
    ys, xs = _grid(boxes, height, width, rows, columns)
    picture = box_ind.long()[:, None, None]
    known = (_within(ys, height)[:, :, None] & _within(xs, width)[:, None, :])[..., None]

    def at(y, x):
        return image[picture, _index(y, height)[:, :, None], _index(x, width)[:, None, :]].to(torch.float32)

    if method == "nearest":
        found = at(_rounded(ys), _rounded(xs))
    else:
        top, bottom, left, right = torch.floor(ys), torch.ceil(ys), torch.floor(xs), torch.ceil(xs)
        down, across = (ys - top)[:, :, None, None], (xs - left)[:, None, :, None]
        upper = at(top, left) + (at(top, right) - at(top, left)) * across
        lower = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * across
        found = upper + (lower - upper) * down
    return torch.where(known, found, extrapolation_value)


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
    "CropAndResizeGradImage(grads: float32, boxes: float32, box_ind: int32, image_size: host int32; T: type, "
    'method: string = "bilinear") -> (output: T)',
    T=(dtypes.float32, dtypes.float16, dtypes.float64),
)
to_image.shape(lambda grads, boxes, box_ind, image_size, T, method: image_size)


@to_image.kernel
def _(grads, boxes, box_ind, image_size, T, method):
    batch, height, width, channels = image_size
    if method == "bilinear" and _is_on_host(grads, boxes, box_ind):
        return _checked(_image_gradient_on_host, grads, boxes, box_ind, batch, image_size).to(T)
    ys, xs = _grid(boxes, height, width, grads.shape[1], grads.shape[2])
    known = (_within(ys, height)[:, :, None] & _within(xs, width)[:, None, :])[..., None]
    grads = torch.where(known, grads, 0)
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
    'CropAndResizeGradBoxes(grads: float32, image: T, boxes: float32, box_ind: int32; method: string = "bilinear") '
    "-> (output: float32)",
    T=REAL,
)
to_boxes.shape(lambda grads, image, boxes, box_ind, method: boxes)


@to_boxes.kernel
def _(grads, image, boxes, box_ind, method):
    height, width = image.shape[1:3]
    rows, columns = grads.shape[1:3]
    if _is_on_host(image, boxes, box_ind, grads):
        return _checked(_boxes_gradient_on_host, image, boxes, box_ind, len(image), grads)
    ys, xs = _grid(boxes, height, width, rows, columns)
    picture = box_ind.long()[:, None, None]
    known = _within(ys, height)[:, :, None] & _within(xs, width)[:, None, :]

    def at(y, x):
        return image[picture, _index(y, height)[:, :, None], _index(x, width)[:, None, :]].to(torch.float32)

    top, bottom, left, right = torch.floor(ys), torch.ceil(ys), torch.floor(xs), torch.ceil(xs)
    down, across = (ys - top)[:, :, None, None], (xs - left)[:, None, :, None]
    tl, tr, bl, br = at(top, left), at(top, right), at(bottom, left), at(bottom, right)
    dy = ((1 - across) * (bl - tl) + across * (br - tr)) * grads
    dx = ((1 - down) * (tr - tl) + down * (br - bl)) * grads
    dy, dx = (torch.where(known, d.sum(3), 0) for d in (dy, dx))

    def ends(d, axis, inside, outside):
        if outside == 1:
            return [0.5 * (inside - 1) * d.sum((1, 2))] * 2
        step = torch.arange(outside, dtype=torch.float32, device=d.device) / (outside - 1)
        step = step[:, None] if axis == 1 else step
        return [((1 - step) * d).sum((1, 2)) * (inside - 1), (step * d).sum((1, 2)) * (inside - 1)]

    y1, y2 = ends(dy, 1, height, rows)
    x1, x2 = ends(dx, 2, width, columns)
    return torch.stack([y1, x1, y2, x2], 1)
