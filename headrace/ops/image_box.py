"""Boxes on images: drawn, sampled, and thinned out by how much they overlap.

A box is [y1, x1, y2, x2], as fractions of the image's height and width.
"""

from __future__ import annotations

import hashlib
import heapq
import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import INTEGER
from headrace.core.registry import op
from headrace.ops.shared.refuse import expect_sizes
from headrace.ops.shared.whole import FAR, whole
from headrace.resources.calling.value import from_numpy

# ---- drawing

_COLORS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1), (0.5, 0.5, 0, 1), (0.5, 0, 0, 1),
    (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip


def _draw(images, boxes, colors):
    """Draws the boxes; ``colors`` is None for TensorFlow's own colours."""
    colors = boxes.new_tensor(_COLORS) if colors is None else colors
    height, width, depth = images.shape[1:]
    if boxes.shape[2] != 4 or depth > colors.shape[1]:
        raise ValueError(
            f"boxes must have 4 elements and colors one for each of {depth} channels, got boxes of shape "
            f"{list(boxes.shape)} and colors of shape {list(colors.shape)}"
        )
    if depth == 1:
        colors = torch.cat([torch.ones_like(colors[:, :1]), colors[:, 1:]], 1)
    row = torch.arange(height, device=images.device)[:, None]
    column = torch.arange(width, device=images.device)
    sides = boxes * boxes.new_tensor([height - 1, width - 1, height - 1, width - 1])
    sides = whole(sides, -FAR, FAR)
    drawn = images
    for number in range(boxes.shape[1]):
        top, left, bottom, right = (sides[:, number, i, None, None] for i in range(4))
        inside = (row >= top) & (row <= bottom) & (column >= left) & (column <= right)
        edge = (row == top) | (row == bottom) | (column == left) | (column == right)
        color = colors[number % colors.shape[0], :depth].to(images.dtype)
        drawn = torch.where((inside & edge)[..., None], color, drawn)
    return drawn


def _drawn_shape(images, boxes, *colors):
    if images.with_rank(4).tuple[3] not in (None, 1, 3, 4):
        raise ValueError(f"images must have 1, 3 or 4 channels, got {images}")
    sizes = boxes.with_rank(3).tuple
    if sizes[2] not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {sizes[2]}: boxes, got shape {boxes}")
    images[:1].merge_with(boxes[:1])
    return images


draw = op(
    "DrawBoundingBoxes(images: T[4], boxes: float32[3]) -> (output: T)",
    T=(dtypes.float32, dtypes.float16),
    view=True,
    lenient=True,
)
draw.not_differentiable()
draw.shape(_drawn_shape)
draw.kernel(lambda images, boxes: _draw(images, boxes, None))

draw_in = op(
    "DrawBoundingBoxesV2(images: T[3+], boxes: float32[3], colors: float32[2]) -> (output: T)",
    T=(dtypes.float32, dtypes.float16), view=True, lenient=True,
)  # fmt: skip
draw_in.not_differentiable()
draw_in.shape(_drawn_shape)
draw_in.kernel(lambda images, boxes, colors: _draw(images, boxes, colors if colors.numel() else None))

# ---- sampling

sample = op(
    "SampleDistortedBoundingBoxV2(image_size: host T[1], bounding_boxes: float32[3], min_object_covered: float32[0]; "
    "seed: int = 0, seed2: int = 0, aspect_ratio_range: list(float) = [0.75, 1.33], area_range: list(float) = [0.05, 1.0], "
    "max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = False) "
    "-> (begin: T, size: T, bboxes: float32)",
    T=INTEGER, random=True, stateful=True, host=True, lenient=True,
)  # fmt: skip
sample.not_differentiable()


@sample.shape
def _(image_size, boxes, covered, seed, seed2, aspect_ratio_range, area_range, max_attempts, use_image):
    if image_size is not None and len(image_size) not in (2, 3):
        raise ValueError(f"image_size must contain 3 elements [height, width, channels], got {image_size}")
    if boxes.ndims is not None and boxes.tuple[-1] not in (None, 4):
        raise ValueError(f"bounding boxes must have 4 elements, got shape {boxes}")
    for label, bounds, most in (("aspect_ratio_range", aspect_ratio_range, math.inf), ("area_range", area_range, 1.0)):
        if len(bounds) != 2:
            raise ValueError(f"{label} field must specify 2 dimensions, got {list(bounds)}")
        if not 0 < bounds[0] <= bounds[1] <= most or math.isinf(bounds[1]):
            raise ValueError(f"{label} must be two positive, rising numbers of at most {most}, got {list(bounds)}")
    if max_attempts < 1:
        raise ValueError(f"max_attempts must be at least 1, got {max_attempts}")
    return [(3,), (3,), (1, 1, 4)]


sample.refuse(lambda image_size, *rest: expect_sizes("image_size", image_size, 1))


@sample.state
def _(context):
    seeds = context.attrs["seed"], context.attrs["seed2"]
    digest = hashlib.blake2b(f"{seeds[0]},{seeds[1]}".encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little") if any(seeds) else None)


def _try(random, height, width, aspect_ratio_range, area_range):
    """A window of a random shape, size and place; None if none of that shape fits."""
    ratio = random.uniform(*aspect_ratio_range)
    least, most = area_range[0] * height * width, area_range[1] * height * width
    low, high = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
    if round(high * ratio) > width:
        high = int((width + 0.5 - 1e-7) / ratio)
        if round(high * ratio) > width:
            high -= 1
    high = min(high, height)
    low = min(low, high)
    rows = int(random.integers(low, high + 1)) if low < high else low
    columns = round(rows * ratio)
    if rows * columns < least:
        rows += 1
        columns = round(rows * ratio)
    if rows * columns > most:
        rows -= 1
        columns = round(rows * ratio)
    if not least <= rows * columns <= most or not (0 < rows <= height and 0 < columns <= width):
        return None
    y = int(random.integers(0, height - rows + 1))
    x = int(random.integers(0, width - columns + 1))
    return y, x, y + rows, x + columns


def _covers(window, boxes, least):
    """Whether the window covers at least that share of one of the boxes that have a pixel."""
    y1, x1, y2, x2 = window
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    rows = np.minimum(boxes[:, 2], y2) - np.maximum(boxes[:, 0], y1)
    columns = np.minimum(boxes[:, 3], x2) - np.maximum(boxes[:, 1], x1)
    shared = np.maximum(rows, 0) * np.maximum(columns, 0)
    return bool(np.any((areas >= 1) & (shared >= least * np.maximum(areas, 1e-12)))) if least > 0 else True


@sample.kernel
def _(
    image_size, bounding_boxes, min_object_covered, seed, seed2, aspect_ratio_range, area_range, max_attempts,
    use_image_if_no_bounding_boxes, *, state, node,
):  # fmt: skip
    height, width = int(image_size[0]), int(image_size[1])
    boxes = bounding_boxes.detach().cpu().numpy().reshape(-1, 4).astype(np.float64)
    if not len(boxes):
        if not use_image_if_no_bounding_boxes:
            raise ValueError(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not "
                "provide any bounding boxes."
            )
        boxes = np.array([[0.0, 0.0, 1.0, 1.0]])
    if ((boxes < 0) | (boxes > 1)).any() or (boxes[:, :2] >= boxes[:, 2:]).any():
        raise ValueError(f"All bounding box coordinates must be in [0.0, 1.0], minima below maxima: {boxes.tolist()}")
    pixels = np.trunc(boxes * [height, width, height, width])
    least = float(min_object_covered)
    chosen = (0, 0, height, width)
    for _ in range(max_attempts):
        window = _try(state, height, width, aspect_ratio_range, area_range)
        if window is not None and _covers(window, pixels, least):
            chosen = window
            break
    y1, x1, y2, x2 = chosen
    dtype = node.outputs[0].dtype.as_numpy_dtype
    fractions = np.array([[[y1 / height, x1 / width, y2 / height, x2 / width]]], np.float32)
    begin, size = np.array([y1, x1, 0], dtype), np.array([y2 - y1, x2 - x1, -1], dtype)
    return from_numpy(begin), from_numpy(size), from_numpy(fractions)


# ---- thinning out


def _overlaps(boxes):
    """A function of one box: [boxes], its intersection over union with each; boxes of no area overlap nothing."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = np.prod(high - low, 1)

    def overlaps(i):
        shared = np.prod(np.maximum(np.minimum(high, high[i]) - np.maximum(low, low[i]), 0), 1)
        union = areas + areas[i] - shared
        return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)

    return overlaps


def _select(scores, overlaps, limit, threshold, least):
    """Takes the best box again and again; each drops those it overlaps -> indices."""
    if limit < 0:
        raise ValueError(f"max_output_size must be non-negative, got {limit}")
    order = (-scores).argsort(kind="stable")
    order = order[scores[order] > least]
    chosen: list[int] = []
    while len(order) and len(chosen) < limit:
        chosen.append(order[0])
        order = order[1:]
        order = order[~(overlaps(chosen[-1])[order] > threshold)]
    return np.array(chosen, np.int32)


def _select_soft(scores, overlaps, limit, threshold, least, sigma):
    """Takes the best box again and again; each lowers the scores of those it overlaps -> indices, scores."""
    heap = [(-s, i, 0) for i, s in enumerate(scores.tolist()) if s > least]
    heapq.heapify(heap)
    chosen: list[int] = []
    selected_scores: list[float] = []
    rows: list[list[float]] = []  # the overlaps of the chosen
    while heap and len(chosen) < limit:
        negative, i, seen = heapq.heappop(heap)
        score = -negative
        for row in reversed(rows[seen:]):
            score *= math.exp(-0.5 / sigma * row[i] ** 2) if row[i] <= threshold else 0.0
            if score <= least:
                break
        if score == -negative:
            chosen.append(i)
            selected_scores.append(score)
            rows.append(overlaps(i).tolist())
        elif score > least:
            heapq.heappush(heap, (-score, i, len(chosen)))
    return np.array(chosen, np.int32), np.array(selected_scores)


def _on_host(values):
    return values.detach().float().cpu().numpy()


def _nms(boxes, scores, limit, threshold, least, sigma=0.0):
    if not 0 <= threshold <= 1:
        raise ValueError("iou_threshold must be in [0, 1]")
    overlaps, points = _overlaps(_on_host(boxes)), _on_host(scores)
    if sigma > 0:
        return _select_soft(points, overlaps, limit, threshold, least, sigma)
    chosen = _select(points, overlaps, limit, threshold, least)
    return chosen, points[chosen].astype(np.float64)


def _check_boxes(boxes, scores):
    count, four = boxes.with_rank(2).tuple
    number = scores.with_rank(1).tuple[0]
    if four not in (None, 4) or (None not in (count, number) and count != number):
        raise ValueError(f"boxes must be [number, 4] and scores [number], got {boxes} and {scores}")


_T = (dtypes.float32, dtypes.float16)
_LIMITS = "max_output_size: host int32[0], iou_threshold: host float32[0], score_threshold: host float32[0]"
_TRAITS = {"dynamic_shape": True}

thin = op(
    f"NonMaxSuppressionV3(boxes: T[2], scores: T[1], {_LIMITS}) -> (selected_indices: int32)",
    T=_T,
    **_TRAITS,
    lenient=True,
)
thin.not_differentiable()


@thin.shape
def _(boxes, scores, *limits):
    _check_boxes(boxes, scores)
    return (None,)


@thin.kernel
def _(boxes, scores, limit, threshold, least):
    return from_numpy(_nms(boxes, scores, limit, threshold, least)[0]).to(boxes.device)


thin_padded = op(
    f"NonMaxSuppressionV4(boxes: T[2], scores: T[1], {_LIMITS}; pad_to_max_output_size: bool = False) "
    "-> (selected_indices: int32, valid_outputs: int32)",
    T=_T, **_TRAITS, lenient=True,
)  # fmt: skip
thin_padded.not_differentiable()


@thin_padded.shape
def _(boxes, scores, limit, threshold, least, pad_to_max_output_size):
    _check_boxes(boxes, scores)
    return [(limit if pad_to_max_output_size else None,), ()]


def _padded(values, limit, pad):
    return np.concatenate([values, np.zeros(limit - len(values), values.dtype)]) if pad else values


@thin_padded.kernel
def _(boxes, scores, limit, threshold, least, pad_to_max_output_size):
    chosen, _ = _nms(boxes, scores, limit, threshold, least)
    indices = from_numpy(_padded(chosen, limit, pad_to_max_output_size)).to(boxes.device)
    return indices, torch.tensor(len(chosen), dtype=torch.int32, device=boxes.device)


thin_soft = op(
    f"NonMaxSuppressionV5(boxes: T[2], scores: T[1], {_LIMITS}, soft_nms_sigma: host float32[0]; "
    "pad_to_max_output_size: bool = False) -> (selected_indices: int32, selected_scores: T, valid_outputs: int32)",
    T=_T, **_TRAITS, lenient=True,
)  # fmt: skip
thin_soft.not_differentiable()


@thin_soft.shape
def _(boxes, scores, limit, threshold, least, sigma, pad_to_max_output_size):
    _check_boxes(boxes, scores)
    size = (limit if pad_to_max_output_size else None,)
    return [size, size, ()]


@thin_soft.kernel
def _(boxes, scores, limit, threshold, least, sigma, pad_to_max_output_size):
    chosen, selected_scores = _nms(boxes, scores, limit, threshold, least, sigma)
    indices = from_numpy(_padded(chosen, limit, pad_to_max_output_size)).to(boxes.device)
    values = from_numpy(_padded(selected_scores.astype(np.float32), limit, pad_to_max_output_size)).to(scores)
    return indices, values, torch.tensor(len(chosen), dtype=torch.int32, device=boxes.device)


thin_by = op(
    "NonMaxSuppressionWithOverlaps(overlaps: float32[2], scores: float32[1], max_output_size: host int32[0], "
    "overlap_threshold: host float32[0], score_threshold: host float32[0]) -> (selected_indices: int32)",
    **_TRAITS,
    lenient=True,
)
thin_by.not_differentiable()


@thin_by.shape
def _(overlaps, scores, *limits):
    rows, columns = overlaps.with_rank(2).tuple
    count = scores.with_rank(1).tuple[0]
    if len({n for n in (rows, columns, count) if n is not None}) > 1:
        raise ValueError(f"overlaps must be square, with a row for each of the scores; got {overlaps} and {scores}")
    return (None,)


@thin_by.kernel
def _(overlaps, scores, limit, threshold, least):
    table = _on_host(overlaps)
    chosen = _select(_on_host(scores), table.T.__getitem__, limit, threshold, least)
    return from_numpy(chosen).to(overlaps.device)


for _name, _least in (
    ("NonMaxSuppression", "; iou_threshold: float = 0.5"),
    ("NonMaxSuppressionV2", ", iou_threshold: host float32[0]"),
):
    _plain = op(
        f"{_name}(boxes: T[2], scores: T[1], max_output_size: host int32[0]{_least}) -> (selected_indices: int32)",
        T=_T,
        **_TRAITS,
        lenient=True,
    )
    _plain.not_differentiable()

    @_plain.shape
    def _(boxes, scores, *limits):
        _check_boxes(boxes, scores)
        return (None,)

    @_plain.kernel
    def _(boxes, scores, limit, threshold):
        return from_numpy(_nms(boxes, scores, limit, threshold, -math.inf)[0]).to(boxes.device)


# ---- by class, for a whole batch

thin_classes = op(
    "CombinedNonMaxSuppression(boxes: float32[4], scores: float32[3], max_output_size_per_class: host int32[0], "
    "max_total_size: host int32[0], iou_threshold: host float32[0], score_threshold: host float32[0]; "
    "pad_per_class: bool = False, clip_boxes: bool = True) "
    "-> (nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32)",
    **_TRAITS,
    lenient=True,
)
thin_classes.not_differentiable()


def _kept(per_class, total, classes, pad_per_class):
    if pad_per_class and None not in (per_class, classes, total):
        return min(total, per_class * classes)
    return None if pad_per_class else total


@thin_classes.shape
def _(boxes, scores, per_class, total, threshold, least, pad_per_class, clip_boxes):
    batch, count, groups, four = boxes.with_rank(4).tuple
    own, number, classes = scores.with_rank(3).tuple
    if four not in (None, 4) or (None not in (groups, classes) and groups not in (1, classes)):
        raise ValueError(
            f"boxes must be [batch, boxes, 1 or classes, 4] and scores [batch, boxes, classes], got {boxes} and {scores}"
        )
    if None not in (count, number) and count != number:
        raise ValueError(f"Dimensions must be equal, but are {count} and {number}: boxes and scores")
    if None not in (batch, own) and batch != own:
        raise ValueError(f"Dimensions must be equal, but are {batch} and {own}: the batches of boxes and scores")
    for name, limit, least_limit in (("max_output_size_per_class", per_class, 0), ("max_total_size", total, 1)):
        if limit is not None and limit < least_limit:
            raise ValueError(f"{name} must be at least {least_limit}, got {limit}")
    size = _kept(per_class, total, classes, pad_per_class)
    batch = own if batch is None else batch
    return [(batch, size, 4), (batch, size), (batch, size), (batch,)]


@thin_classes.kernel
def _(boxes, scores, per_class, total, threshold, least, pad_per_class, clip_boxes):
    if total <= 0 or per_class <= 0:
        raise ValueError(f"max_total_size and max_output_size_per_class must be > 0, got {total} and {per_class}")
    if boxes.shape[0] != scores.shape[0]:
        raise ValueError(f"boxes and scores must have same batch size: got {boxes.shape[0]} and {scores.shape[0]}")
    batch, classes = scores.shape[0], scores.shape[2]
    size = _kept(per_class, total, classes, pad_per_class)
    best_boxes, scores_and_classes = np.zeros((batch, size, 4), np.float32), np.zeros((2, batch, size), np.float32)
    valid = np.zeros(batch, np.int32)
    places, points = boxes.detach().cpu(), scores.detach().cpu()
    for b in range(batch):
        best = []
        for c in range(classes):
            own = places[b, :, min(c, places.shape[2] - 1)]
            chosen, selected_scores = _nms(own, points[b, :, c], per_class, threshold, least)
            best += [
                (-score, c, own[i].numpy()) for i, score in zip(chosen.tolist(), selected_scores.tolist(), strict=True)
            ]
        best.sort(key=lambda one: one[0])
        for n, (score, c, box) in enumerate(best[:size]):
            best_boxes[b, n] = np.clip(box, 0, 1) if clip_boxes else box
            scores_and_classes[:, b, n] = -score, c
        valid[b] = min(len(best), size)
    outputs = (best_boxes, scores_and_classes[0], scores_and_classes[1], valid)
    return tuple(from_numpy(np.ascontiguousarray(m)).to(boxes.device) for m in outputs)
