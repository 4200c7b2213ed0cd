"""Summaries against what real TensorFlow made: bytes, node names, and the pixels of images."""

import io

import numpy as np
import pytest
from golden.program import compare, decode, load, run
from golden.summary_programs import PROGRAMS
from PIL import Image

import headrace as tf

KEPT = load("summary")
IMAGES = [name for name in PROGRAMS if name.startswith("image ")]


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in IMAGES])
def test_summaries_are_tensorflows_byte_by_byte(name):
    compare(tf, PROGRAMS, name, KEPT)


def pictures(encoded):
    """(tag, height, width, channels, pixels) of each image of a summary."""
    found = []
    for value in tf.Summary.FromString(encoded).value:
        image = value.image
        pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        found.append((value.tag, image.height, image.width, image.colorspace, pixels))
    return found


@pytest.mark.parametrize("name", IMAGES)
def test_images_have_tensorflows_pixels(name):
    (ours,), nodes = run(tf, PROGRAMS[name])
    (theirs,) = [decode(v) for v in KEPT[name]["values"]]
    assert nodes == KEPT[name]["nodes"]
    mine, wanted = pictures(ours.item()), pictures(theirs.item())
    assert [picture[:4] for picture in mine] == [picture[:4] for picture in wanted]
    for (*_, pixels), (*_, expected) in zip(mine, wanted, strict=True):
        np.testing.assert_array_equal(pixels, expected)
