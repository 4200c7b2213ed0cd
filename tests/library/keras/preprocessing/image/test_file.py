"""Images as files and as arrays."""

import io

import numpy as np
import pytest

import headrace as tf

image = tf.keras.preprocessing.image
PIXELS = np.random.RandomState(0).randint(0, 256, [4, 6, 3]).astype(np.float32)
PIXELS[0, 0], PIXELS[0, 1] = 0, 255  # so that scaling changes nothing


def test_there_and_back(tmp_path):
    path = tmp_path / "image.png"
    image.save_img(path, PIXELS)
    np.testing.assert_array_equal(image.img_to_array(image.load_img(path)), PIXELS)
    first = image.img_to_array(image.load_img(str(path)), data_format="channels_first")
    np.testing.assert_array_equal(first, PIXELS.transpose(2, 0, 1))
    np.testing.assert_array_equal(image.img_to_array(image.array_to_img(first, "channels_first")), PIXELS)


def test_modes_and_sizes(tmp_path):
    path = tmp_path / "image.png"
    image.save_img(path, PIXELS)
    assert image.load_img(path, color_mode="rgba").mode == "RGBA"
    assert image.load_img(path, grayscale=True, target_size=(8, 12)).size == (12, 8)
    twice = image.img_to_array(image.load_img(path, target_size=(8, 12)))
    np.testing.assert_array_equal(twice[::2, ::2], PIXELS)
    with pytest.raises(ValueError, match="Invalid interpolation method cubic"):
        image.load_img(path, target_size=(1, 1), interpolation="cubic")
    with pytest.raises(ValueError, match="color_mode must be"):
        image.load_img(path, color_mode="bgr")


def test_one_channel_and_four():
    assert image.array_to_img(PIXELS[:, :, :1]).mode == "L"
    assert image.array_to_img(np.zeros([2, 2, 4])).mode == "RGBA"
    deep = image.array_to_img(np.full([2, 2, 1], 1000), scale=False)
    assert image.img_to_array(deep).max() == 1000
    with pytest.raises(ValueError, match="1, 3 or 4 channels, got 2"):
        image.array_to_img(np.zeros([2, 2, 2]))
    with pytest.raises(ValueError, match=r"rank 3 is a single image, got shape \(2, 2\)"):
        image.array_to_img(np.zeros([2, 2]))
    with pytest.raises(ValueError, match="rank 2 or 3"):
        image.img_to_array(np.zeros([2]))
    with pytest.raises(ValueError, match="data_format must be"):
        image.img_to_array(PIXELS, data_format="last")


def test_no_alpha_in_jpeg():
    file = io.BytesIO()
    with pytest.warns(UserWarning, match="JPEG files have no alpha channel"):
        image.save_img(file, np.zeros([2, 2, 4]), file_format="jpg")
    assert file.getvalue()[:2] == b"\xff\xd8"
