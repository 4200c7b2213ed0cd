"""Images in the host's memory: kernels give what they give on any device."""

import numpy as np
import pytest
import torch

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError
from headrace.core.registry import REGISTRY

RANDOM = np.random.RandomState(7)


class Elsewhere(torch.Tensor):
    """A tensor that kernels do not take for one in the host's memory."""


def run(name, *arguments, elsewhere=False):
    kernel = REGISTRY.get(name).find_kernel("cpu", {"T": dtypes.float32}).function
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    if elsewhere:
        tensors = [t.as_subclass(Elsewhere) if isinstance(t, torch.Tensor) else t for t in tensors]
    return kernel(*tensors).as_subclass(torch.Tensor).numpy()


def agree(name, *arguments, atol=1e-5):
    wanted = run(name, *arguments, elsewhere=True)
    found = run(name, *arguments)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=atol)
    return wanted


def picture(*shape):
    return RANDOM.rand(*shape).astype(np.float32)


# ---- crops


@pytest.mark.parametrize("channels", [1, 3, 9])
@pytest.mark.parametrize("size", [(3, 3), (1, 1), (1, 4), (5, 1), (4, 6)])
@pytest.mark.parametrize("wide", [False, True], ids=["inside", "beyond"])
def test_crops(channels, size, wide):
    image = picture(2, 7, 9, channels)
    boxes = picture(5, 4) * 1.6 - 0.3 if wide else np.sort(picture(5, 2, 2), 1).reshape(5, 4)
    pictures = np.array([0, 1, 1, 0, 1], np.int32)
    boxes = boxes.astype(np.float32)
    crops = agree("CropAndResize", image, boxes, pictures, list(size), "bilinear", -2.0)
    grad = RANDOM.randn(*crops.shape).astype(np.float32)
    agree("CropAndResizeGradImage", grad, boxes, pictures, list(image.shape), torch.float32, "bilinear")
    agree("CropAndResizeGradBoxes", grad, image, boxes, pictures, "bilinear", atol=1e-3)


def test_a_box_that_is_no_number_shows_nothing():
    boxes = np.array([[np.nan, 0, 1, 1], [0, 0, 1, 1]], np.float32)
    crops = run("CropAndResize", picture(1, 4, 4, 1), boxes, np.zeros(2, np.int32), [2, 2], "bilinear", 7.0)
    assert (crops[0] == 7).all() and (crops[1] != 7).all()


def test_crops_of_images_there_are_not():
    for wrong in (2, -1):
        with pytest.raises(OutOfRangeError, match="outside"):
            run(
                "CropAndResize",
                picture(2, 4, 4, 1),
                picture(1, 4),
                np.array([wrong], np.int32),
                [2, 2],
                "bilinear",
                0.0,
            )


# ---- sizes


@pytest.mark.parametrize("channels", [1, 3, 8])
@pytest.mark.parametrize("size", [(5, 6), (12, 4), (4, 13), (1, 1), (9, 7)])
@pytest.mark.parametrize("options", [(False, False), (True, False), (False, True)])
def test_sizes(channels, size, options):
    image = picture(3, 9, 7, channels)
    for kind in ("Bilinear", "NearestNeighbor", "Bicubic"):
        agree(f"Resize{kind}", image, list(size), *options)
    grad = RANDOM.randn(3, *size, channels).astype(np.float32)
    agree("ResizeBilinearGrad", grad, image, *options)
    agree("ResizeBicubicGrad", grad, image, *options)
    agree("ResizeNearestNeighborGrad", grad, [9, 7], *options)
    agree("ResizeArea", image, list(size), options[0])


def test_many_images():
    """More than are resized at a time."""
    image = picture(5, 150, 160, 3)
    agree("ResizeBilinear", image, [190, 170], False, False)
    agree("ResizeBicubic", image, [90, 300], False, True)


# ---- colours


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 5, 6, 3), (1, 130, 140, 3), (0, 2, 3)])
def test_colours(shape):
    images = picture(*shape) * 1.4 - 0.2
    images.reshape(-1, 3)[::3] = images.reshape(-1, 3)[::3, :1]  # grey
    images.reshape(-1, 3)[1:4] = 0
    hue = agree("RGBToHSV", images)
    agree("HSVToRGB", hue)
    if len(shape) > 2:
        agree("AdjustHue", images, np.array(0.3, np.float32), atol=1e-4)
        agree("AdjustSaturation", images, np.array(1.5, np.float32), atol=1e-4)
        agree("AdjustContrastv2", images, np.array(1.5, np.float32))


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


def test_drawing():
    images, boxes = picture(2, 8, 9, 3), (picture(2, 14, 4) * 1.8 - 0.4).astype(np.float32)
    boxes[0, 0] = 0, 0, 1, 1
    boxes[0, 1] = 0.5, 0.5, 0.5, 0.5
    agree("DrawBoundingBoxes", images, boxes)
    agree("DrawBoundingBoxesV2", images, boxes, picture(3, 4))
    agree("DrawBoundingBoxesV2", images[..., :1], boxes, picture(0, 4))
