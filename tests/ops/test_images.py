"""Corners of the image ops that no sample of TensorFlow's results shows."""

import numpy as np
import pytest
import torch

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import REGISTRY

RANDOM = np.random.RandomState(7)


def run(name, *arguments):
    kernel = REGISTRY.get(name).find_kernel("cpu", {"T": dtypes.float32}).call
    return kernel(*(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments)).numpy()


def picture(*shape):
    return RANDOM.rand(*shape).astype(np.float32)


# ---- crops


def test_a_box_that_is_no_number_shows_nothing():
    boxes = np.array([[np.nan, 0, 1, 1], [0, 0, 1, 1]], np.float32)
    crops = run("CropAndResize", picture(1, 4, 4, 1), boxes, np.zeros(2, np.int32), [2, 2], "bilinear", 7.0)
    assert (crops[0] == 7).all() and (crops[1] != 7).all()


@pytest.mark.parametrize("wrong", [2, -1])
def test_crops_of_images_there_are_not(wrong):
    image, boxes, pictures = picture(2, 4, 4, 1), picture(1, 4), np.array([wrong], np.int32)
    grad = picture(1, 2, 2, 1)
    with pytest.raises(OutOfRangeError, match="outside"):
        run("CropAndResize", image, boxes, pictures, [2, 2], "bilinear", 0.0)
    with pytest.raises(OutOfRangeError, match="outside"):
        run("CropAndResizeGradImage", grad, boxes, pictures, [2, 4, 4, 1], torch.float32, "bilinear")
    with pytest.raises(OutOfRangeError, match="outside"):
        run("CropAndResizeGradBoxes", grad, image, boxes, pictures, "bilinear")


# ---- boxes


def by_hand(boxes, scores, limit, threshold, least):
    """Non-maximum suppression, one pair after the other."""
    chosen = []
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        if len(chosen) == limit or not scores[i] > least:
            break
        if all(overlap(boxes[i], boxes[j]) <= threshold for j in chosen):
            chosen.append(i)
    return chosen


def overlap(a, b):
    (low, high), (low2, high2) = np.sort(a.reshape(2, 2), 0), np.sort(b.reshape(2, 2), 0)
    shared = np.prod(np.maximum(np.minimum(high, high2) - np.maximum(low, low2), 0))
    union = np.prod(high - low) + np.prod(high2 - low2) - shared
    return shared / union if union > 0 else np.float32(0)


@pytest.mark.parametrize("count", [1, 30, 700])
@pytest.mark.parametrize("limit", [0, 5, 60, 2000])
@pytest.mark.parametrize("least", [-np.inf, 0.5])
def test_thinning_out(count, limit, least):
    corner, side = picture(count, 2), picture(count, 2) * 0.4
    boxes = np.concatenate([corner, corner + side], 1)
    boxes[::7] = boxes[::7][:, [2, 3, 0, 1]]  # corners the other way round
    boxes[::11, 2:] = boxes[::11, :2]  # of no area
    scores = np.round(picture(count), 1)  # many alike
    found = run("NonMaxSuppressionV3", boxes, scores, limit, 0.3, least)
    assert found.tolist() == by_hand(boxes, scores, limit, 0.3, least)
    assert found.dtype == np.int32
