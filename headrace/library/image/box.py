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
    """A batch of images with boxes drawn on it; colours go round through `colors`, or through ten of ours.

    Args:
      images: A batch of images [batch, height, width, channels], float16 or float32, of 1, 3 or 4 channels.
      boxes: [batch, boxes, 4], float32: y1, x1, y2, x2 of each box as fractions of the height and width.
      name: A name for the op.
      colors: [colors, channels], float32: the colour of each box in turn. None takes ten fixed colours.

    Returns:
      The images with the boxes on them, of the type and shape of `images`.

    >>> boxes = [[[0.0, 0.0, 1.0, 1.0]]]
    >>> tf.Session().run(tf.image.draw_bounding_boxes(tf.zeros([1, 3, 3, 1]), boxes))[0, :, :, 0].tolist()
    [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """
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

    Args:
      image_size: Three integers, [height, width, channels], of the image to cut a window from.
      bounding_boxes: [batch, boxes, 4], float32: y1, x1, y2, x2 of each box as fractions of the image.
      seed: A seed for the op; None takes it from `tf.set_random_seed`, or draws one.
      seed2: A second seed. 0 or None leaves it to `seed` and `tf.set_random_seed`.
      min_object_covered: The least part of one of the boxes that the window covers, from 0 to 1.
      aspect_ratio_range: The least and the largest width divided by height; None for [0.75, 1.33].
      area_range: The least and the largest part of the image's area; None for [0.05, 1.0].
      max_attempts: How many windows are tried, 1 or more; None for 100.
      use_image_if_no_bounding_boxes: Whether the whole image is the box if there is none; if not, that is an error.
      name: A name for the op.

    Returns:
      Three tensors: the window's begin and its size, three integers each, and the window as a box, float32 [1, 1, 4].

    >>> boxes = [[[0.1, 0.2, 0.5, 0.9]]]
    >>> begin, size, box = tf.image.sample_distorted_bounding_box([100, 100, 3], boxes, area_range=[1.0, 1.0], seed=1)
    >>> tf.Session().run(size).tolist()
    [100, 100, -1]
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
    """The indices of boxes, best first, without those that overlap a better one by more than `iou_threshold`.

    Args:
      boxes: [boxes, 4], float16 or float32: the corners y1, x1, y2, x2 of each box.
      scores: [boxes], of the type of `boxes`: how good each box is.
      max_output_size: The most boxes to choose, an integer.
      iou_threshold: How much boxes may overlap, intersection over union, from 0 to 1.
      score_threshold: Boxes whose score is not larger are left out.
      name: A name for the op.

    Returns:
      An int32 vector: the indices of the chosen boxes.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [0.0, 2.0, 1.0, 3.0]]
    >>> tf.Session().run(tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.7], 3)).tolist()
    [0, 2]
    """
    with name_scope(name, "non_max_suppression"):
        return raw_ops.NonMaxSuppressionV3(boxes, scores, _limit(max_output_size), iou_threshold, score_threshold)


def non_max_suppression_with_scores(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """-> indices and scores; with a positive sigma, boxes that overlap a better one lose score instead of being dropped.

    Args:
      boxes: [boxes, 4], float16 or float32: the corners y1, x1, y2, x2 of each box.
      scores: [boxes], of the type of `boxes`: how good each box is.
      max_output_size: The most boxes to choose, an integer.
      iou_threshold: How much boxes may overlap, intersection over union, from 0 to 1. A box that overlaps a better one by
        more is dropped, or, with a positive sigma, has a score of 0.
      score_threshold: Boxes whose score is not larger are left out.
      soft_nms_sigma: The width of the Gaussian that lowers the scores of boxes that overlap; 0.0 lowers none.
      name: A name for the op.

    Returns:
      Two vectors: the int32 indices of the chosen boxes, best first, and their scores after the lowering.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 1.0, 1.5]]
    >>> indices, scores = tf.image.non_max_suppression_with_scores(boxes, [1.0, 0.5], 2, soft_nms_sigma=0.5)
    >>> tf.Session().run(scores).round(3)
    array([1.   , 0.447], dtype=float32)
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        indices, selected_scores, _ = raw_ops.NonMaxSuppressionV5(
            boxes, scores, _limit(max_output_size), iou_threshold, score_threshold, soft_nms_sigma
        )
        return indices, selected_scores


def non_max_suppression_padded(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """-> indices, padded with zeros to `max_output_size` if asked to, and how many of them count.

    Args:
      boxes: [boxes, 4], float16 or float32: the corners y1, x1, y2, x2 of each box.
      scores: [boxes], of the type of `boxes`: how good each box is.
      max_output_size: The most boxes to choose, an integer.
      iou_threshold: How much boxes may overlap, intersection over union, from 0 to 1.
      score_threshold: Boxes whose score is not larger are left out.
      pad_to_max_output_size: Whether the indices are padded with zeros to `max_output_size`.
      name: A name for the op.

    Returns:
      Two int32 tensors: the indices, best box first, and a scalar: how many of them are of chosen boxes.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0]]
    >>> found = tf.image.non_max_suppression_padded(boxes, [0.7, 0.9], 3, pad_to_max_output_size=True)
    >>> [one.tolist() for one in tf.Session().run(found)]
    [[1, 0, 0], 2]
    """
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
    """`non_max_suppression` with overlaps of one's own, [boxes, boxes].

    Args:
      overlaps: [boxes, boxes], float32: how much each box overlaps each other one.
      scores: [boxes], float32: how good each box is.
      max_output_size: The most boxes to choose, an integer.
      overlap_threshold: A box that overlaps a better one by more than this is dropped.
      score_threshold: Boxes whose score is not larger are left out.
      name: A name for the op.

    Returns:
      An int32 vector: the indices of the chosen boxes, best first.

    >>> overlaps = [[1.0, 0.8], [0.8, 1.0]]
    >>> tf.Session().run(tf.image.non_max_suppression_overlaps(overlaps, [0.4, 0.6], 2)).tolist()
    [1]
    """
    with name_scope(name, "non_max_suppression_overlaps"):
        limit = _limit(max_output_size)
        return raw_ops.NonMaxSuppressionWithOverlaps(overlaps, scores, limit, overlap_threshold, score_threshold)


def combined_non_max_suppression(
    boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any, iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"), pad_per_class: bool = False, clip_boxes: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """`non_max_suppression` for each class of each image, [batch, boxes, 1 or classes, 4], and the best of all of them.

    -> boxes, scores, classes, filled up with zeros, and how many of them count in each image.

    Args:
      boxes: [batch, boxes, 1 or classes, 4], float32: y1, x1, y2, x2 of each box, for all classes or for each.
      scores: [batch, boxes, classes], float32: how good each box is for each class.
      max_output_size_per_class: The most boxes to choose for each class of an image, an integer.
      max_total_size: The most boxes to choose for each image, an integer.
      iou_threshold: How much boxes of a class may overlap, intersection over union, from 0 to 1.
      score_threshold: Boxes whose score is not larger are left out.
      pad_per_class: Whether the result has `max_output_size_per_class` places for each class, up to `max_total_size`,
        not always `max_total_size`.
      clip_boxes: Whether the corners of the chosen boxes are cut off at 0 and 1.
      name: A name for the op.

    Returns:
      A named tuple: boxes [batch, places, 4], scores and classes [batch, places], and the int32 count for each image.

    >>> boxes = [[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0, 0.9]]]]
    >>> boxes, scores, classes, valid = tf.image.combined_non_max_suppression(boxes, [[[1.0], [0.5]]], 2, 2)
    >>> [one.tolist() for one in tf.Session().run([scores, classes, valid])]
    [[[1.0, 0.0]], [[0.0, 0.0]], [1]]
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

    Args:
      input: A batch of images [batch, height, width, channels], float32.
      size: Two integers, [height, width], of the windows.
      offsets: [batch, 2], float32: the middle of each window, y and x.
      centered: Whether offsets count from the middle of the image, or from its upper left corner.
      normalized: Whether offsets are fractions: -1 and 1 are the edges if `centered`, else 0 and 1. If not, they are
        pixels, or half pixels if `centered`.
      uniform_noise: Whether the noise outside the image is uniform or Gaussian.
      name: A name for the op.

    Returns:
      The windows, float32 [batch, size[0], size[1], channels].

    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.Session().run(tf.image.extract_glimpse(image, [1, 1], [[0.0, 0.0]])).tolist()
    [[[[4.0]]]]
    """
    return raw_ops.ExtractGlimpse(
        input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise,
        noise="uniform" if uniform_noise else "gaussian", name=name,
    )  # fmt: skip
