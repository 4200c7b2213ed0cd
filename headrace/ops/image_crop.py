"""Boxes cut out of images and resized.  A box is [y1, x1, y2, x2], as fractions of the image's height and width."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

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


# ---- on the host: NumPy, in as few calls as can be


@lru_cache(maxsize=256)
def _table(height, width, rows, columns):
    """For lines of both axes in one row: the columns of ``boxes`` where each begins and ends, the last pixel, and steps."""
    low = np.repeat([0, 1], (rows, columns))
    last = np.repeat([height - 1, width - 1], (rows, columns)).astype(np.float32)
    parts = np.repeat([max(rows - 1, 1), max(columns - 1, 1)], (rows, columns)).astype(np.float32)
    steps = np.concatenate([np.arange(rows), np.arange(columns)]).astype(np.float32)
    return np.stack([low, low + 2]), last, parts, steps


def _lines_on_host(boxes, height, width, rows, columns):
    """[boxes, rows + columns]: where the rows and the columns of each crop lie in the image."""
    ends, last, parts, steps = _table(height, width, rows, columns)
    ends = boxes.take(ends, 1)
    low, high = ends[:, 0], ends[:, 1]
    places = high - low
    places *= last
    places /= parts
    places *= steps
    places += low * last
    if rows == 1 or columns == 1:  # the middle
        alone = slice(None) if rows == columns else slice(0, 1) if rows == 1 else slice(rows, None)
        places[:, alone] = (np.float32(0.5) * (low + high) * last)[:, alone]
    return places, last


_NARROW = 8  # channels: gradients of so few are added up one by one
_FEW = 1 << 14  # numbers: NumPy adds so few up as quickly as torch does


class _Taps(NamedTuple):
    """How crops are made of pixels: for each line, how far past the pixel before it, whether it lies inside the image, and
    the pixels before and after, in images laid out as one row: those of rows are where a line of pixels starts."""

    past: np.ndarray  # [boxes, rows + columns]
    inside: np.ndarray | None  # [boxes, rows + columns]; None if all are
    rows: np.ndarray  # [2, boxes, rows, 1]
    columns: np.ndarray  # [boxes, 1, 2, columns]


def _taps(boxes, box_ind, extent, size):
    """What was found for the same boxes just before, as gradients ask for, is found again."""
    return _kept_taps(boxes.tobytes(), box_ind.tobytes(), tuple(extent), size)


@lru_cache(maxsize=4)
def _kept_taps(boxes, box_ind, extent, size):
    batch, height, width = extent
    rows, columns = size
    boxes, box_ind = np.frombuffer(boxes, np.float32).reshape(-1, 4), np.frombuffer(box_ind, np.int32)
    pictures = box_ind.tolist()
    if min(pictures) < 0 or max(pictures) >= batch:
        raise _outside(pictures, batch)
    places, last = _lines_on_host(boxes, height, width, rows, columns)
    pair = np.empty((2, len(boxes), rows + columns), np.float32)
    past = places - np.floor(places, out=pair[0])
    np.ceil(places, out=pair[1])
    inside = None
    if not (
        places.view(np.uint32) <= last.view(np.uint32)
    ).all():  # so bits of numbers from zero on compare, and no others
        inside = (places >= 0) & (places <= last)
        np.fmin(pair, last, out=pair)
        np.fmax(pair, 0, out=pair)
    pair = pair.astype(np.int64)
    starts = pair[:, :, :rows]
    if batch > 1:
        starts += (box_ind.astype(np.int64) * height)[:, None]
    starts *= width
    return _Taps(past, inside, starts[..., None], pair[:, :, None, rows:].transpose(1, 2, 0, 3))


def _around(image, taps):
    """The pixels around each one of the crops [2 (above, below), boxes, rows, 2 (left, right), columns * channels]."""
    count, _, two, columns = taps.columns.shape
    places = taps.rows + taps.columns.reshape(count, 1, two * columns)
    found = image.reshape(-1, image.shape[3]).take(places, 0).astype(np.float32, copy=False)
    return found.reshape(*places.shape[:3], 2, -1)


def _across(taps, channels):
    """How far past the column before it each number of a row lies [boxes, 1, columns * channels]."""
    return taps.past[:, taps.rows.shape[2] :].repeat(channels, 1)[:, None]


def _between(first, second, share):
    result = second - first
    result *= share
    result += first
    return result


def _bilinear_on_arrays(image, boxes, box_ind, size, outside):
    rows, columns = size
    taps = _taps(boxes, box_ind, image.shape[:3], size)
    above, below = _around(image, taps)
    lines = _between(above, below, taps.past[:, :rows, None, None])
    crops = _between(lines[:, :, 0], lines[:, :, 1], _across(taps, image.shape[3]))
    crops = crops.reshape(-1, rows, columns, image.shape[3])
    if taps.inside is not None:
        crops[~(taps.inside[:, :rows, None] & taps.inside[:, None, rows:])] = outside
    return crops


def _image_gradient_on_arrays(grads, boxes, box_ind, image_size):
    """Every number of the gradient, added up at four places at once."""
    count, rows, columns, channels = grads.shape
    taps = _taps(boxes, box_ind, image_size[:3], (rows, columns))
    grads, across = _kept_inside(grads, taps.inside), _across(taps, channels)
    parts = np.empty((2, count, rows, 2, columns * channels), np.float32)
    below = np.multiply(grads, taps.past[:, :rows, None], out=parts[1, :, :, 0])
    np.subtract(grads, below, out=parts[0, :, :, 0])
    np.multiply(parts[..., 0, :], across, out=parts[..., 1, :])
    parts[..., 0, :] -= parts[..., 1, :]
    if channels > _NARROW:
        places = taps.rows + taps.columns.reshape(count, 1, 2 * columns)
        total = torch.zeros(image_size)
        parts = torch.from_numpy(parts.reshape(-1, channels))
        total.view(-1, channels).index_add_(0, torch.from_numpy(places.reshape(-1)), parts)
        return total.numpy()
    numbers = (taps.columns * channels)[..., None] + np.arange(channels)
    places = taps.rows * channels + numbers.reshape(count, 1, -1)
    total = np.zeros(image_size, np.float32)
    if places.size <= _FEW:
        np.add.at(total.reshape(-1), places.reshape(-1), parts.reshape(-1))
    else:
        flat = torch.from_numpy(total).view(-1)
        flat.scatter_add_(0, torch.from_numpy(places.reshape(-1)), torch.from_numpy(parts.reshape(-1)))
    return total


def _kept_inside(grads, inside):
    """Gradients [boxes, rows, columns * channels], none where the crops show nothing of the image."""
    count, rows, _, channels = grads.shape
    grads = grads.reshape(count, rows, -1)
    return grads if inside is None else grads * inside[:, :rows, None] * inside[:, None, rows:].repeat(channels, 2)


def _boxes_gradient_on_arrays(image, boxes, box_ind, grads):
    height, width, channels = image.shape[1:]
    count, rows, columns = grads.shape[:3]
    taps = _taps(boxes, box_ind, image.shape[:3], (rows, columns))
    around = _around(image, taps)
    left, right = around[..., 0, :], around[..., 1, :]
    grads = _kept_inside(grads, taps.inside)
    above, below = _between(left, right, _across(taps, channels))
    below -= above
    below *= grads
    right -= left
    across = _between(*right, taps.past[:, :rows, None])
    across *= grads
    # Sums over what each row, or column, of a crop adds: its ends share them.
    found = np.empty((count, 2, 2), np.float32)
    found[:, :, 0] = below.sum(2) @ _shares(rows, height)
    found[:, :, 1] = across.sum(1) @ _shares(columns, width, channels)
    return found.reshape(count, 4)


@lru_cache(maxsize=64)
def _shares(count, inside, channels=1):
    """How much of each line's place, in pixels, the low and the high end of a box decide [count * channels, 2]."""
    high = np.full(1, 0.5) if count == 1 else np.arange(count) / (count - 1)
    return (np.stack([1 - high, high], 1) * (inside - 1)).astype(np.float32).repeat(channels, 0)


_MANY = 1 << 40  # elements: the kernels on arrays are those on tensors


def _is_on_host(image, boxes, box_ind, *more):
    """Whether NumPy may be used: on values in the host's memory that nobody traces or differentiates."""
    if not (type(image) is type(boxes) is type(box_ind) is torch.Tensor and image.is_cpu):
        return False
    followed = any(x.requires_grad or is_functorch_wrapped_tensor(x) for x in (image, boxes, *more))
    return len(boxes) > 0 and 0 not in image.shape and not followed


def _array(tensor):
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _outside(pictures, batch):
    return OutOfRangeError(None, None, f"box_ind has values outside [0, batch_size): {pictures}, batch size {batch}")


@crop.kernel
def _cropped(image, boxes, box_ind, crop_size, method, extrapolation_value):
    height, width = image.shape[1:3]
    rows, columns = _crop_size(crop_size)
    if method == "bilinear" and _is_on_host(image, boxes, box_ind):
        arrays = _array(image), boxes.numpy(), box_ind.numpy()
        return torch.from_numpy(_bilinear_on_arrays(*arrays, (rows, columns), extrapolation_value))
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
def _to_image(grads, boxes, box_ind, image_size, T, method):
    batch, height, width, channels = image_size
    if method == "bilinear" and _is_on_host(grads, boxes, box_ind):
        found = _image_gradient_on_arrays(grads.numpy(), boxes.numpy(), box_ind.numpy(), image_size)
        return torch.from_numpy(found).to(T)
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
def _to_boxes(grads, image, boxes, box_ind, method):
    height, width = image.shape[1:3]
    rows, columns = grads.shape[1:3]
    if _is_on_host(image, boxes, box_ind, grads):
        arrays = _array(image), boxes.numpy(), box_ind.numpy(), grads.numpy()
        return torch.from_numpy(_boxes_gradient_on_arrays(*arrays))
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
