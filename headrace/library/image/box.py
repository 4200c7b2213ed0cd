"""Boxes on images (``tf.image``): drawing, sampling, and keeping the best of those that overlap."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric.random import get_seed
from headrace.library.scope import name_scope


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """A batch of images with boxes drawn on it; colours go round through `colors`, or through ten of ours."""
    if colors is None:
        return raw_ops.DrawBoundingBoxes(images, boxes, name=name)
    return raw_ops.DrawBoundingBoxesV2(images, boxes, colors, name=name)


def sample_distorted_bounding_box(
    image_size: Any, bounding_boxes: Any, seed: int | None = None, seed2: int | None = None,
    min_object_covered: Any = 0.1, aspect_ratio_range: Any = None, area_range: Any = None,
    max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """-> begin and size for `tf.slice`, and the box as fractions, of a window drawn by chance.

    The window's aspect ratio and share of the image lie in the ranges given, and it covers at least `min_object_covered` of
    one of the boxes; after `max_attempts` it is the whole image.
    """
    if seed2:
        seeds: tuple[int | None, int | None] = (seed, seed2)
    else:
        seeds = get_seed(seed)
    with name_scope(name, "sample_distorted_bounding_box"):
        sampled = raw_ops.SampleDistortedBoundingBoxV2(
            image_size, bounding_boxes, min_object_covered, seed=seeds[0] or 0, seed2=seeds[1] or 0,
            aspect_ratio_range=[0.75, 1.33] if aspect_ratio_range is None else list(aspect_ratio_range),
            area_range=[0.05, 1.0] if area_range is None else list(area_range),
            max_attempts=100 if max_attempts is None else max_attempts,
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes), name=name,
        )  # fmt: skip
        begin, size, box = sampled
        return begin, size, box


def _limit(max_output_size: Any) -> Tensor:
    return convert_to_tensor(max_output_size, dtypes.int32, name="max_output_size")


def non_max_suppression(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The indices of boxes, best first, without those that overlap a better one by more than `iou_threshold`."""
    with name_scope(name, "non_max_suppression"):
        return raw_ops.NonMaxSuppressionV3(boxes, scores, _limit(max_output_size), iou_threshold, score_threshold)


def non_max_suppression_with_scores(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """-> indices and scores; with a positive sigma, boxes that overlap a better one lose score instead of being dropped."""
    with name_scope(name, "non_max_suppression_with_scores"):
        indices, selected_scores, _ = raw_ops.NonMaxSuppressionV5(
            boxes, scores, _limit(max_output_size), iou_threshold, score_threshold, soft_nms_sigma
        )
        return indices, selected_scores


def non_max_suppression_padded(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """-> indices, padded with zeros to `max_output_size` if asked to, and how many of them count."""
    with name_scope(name, "non_max_suppression_padded"):
        indices, valid = raw_ops.NonMaxSuppressionV4(
            boxes, scores, _limit(max_output_size), iou_threshold, score_threshold,
            pad_to_max_output_size=pad_to_max_output_size,
        )  # fmt: skip
        return indices, valid


def non_max_suppression_overlaps(
    overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"), name: str | None = None,
) -> Tensor:  # fmt: skip
    """`non_max_suppression` with overlaps of one's own, [boxes, boxes]."""
    with name_scope(name, "non_max_suppression_overlaps"):
        limit = _limit(max_output_size)
        return raw_ops.NonMaxSuppressionWithOverlaps(overlaps, scores, limit, overlap_threshold, score_threshold)


def combined_non_max_suppression(
    boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any, iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"), pad_per_class: bool = False, clip_boxes: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """`non_max_suppression` for each class of each image, [batch, boxes, 1 or classes, 4], and the best of all of them.

    -> boxes, scores, classes, filled up with zeros, and how many of them count in each image.
    """
    with name_scope(name, "combined_non_max_suppression"):
        return raw_ops.CombinedNonMaxSuppression(
            boxes, scores, convert_to_tensor(max_output_size_per_class, dtypes.int32, name="max_output_size_per_class"),
            convert_to_tensor(max_total_size, dtypes.int32, name="max_total_size"), iou_threshold, score_threshold,
            pad_per_class=pad_per_class, clip_boxes=clip_boxes,
        )  # fmt: skip


def extract_glimpse(
    input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True, uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window of `size` at an offset of each image, noise where it lies outside.

    Offsets are [batch, 2], y and x: fractions of the image if `normalized`, from its centre if `centered`, pixels otherwise.
    """
    return raw_ops.ExtractGlimpse(
        input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise,
        noise="uniform" if uniform_noise else "gaussian", name=name,
    )  # fmt: skip
