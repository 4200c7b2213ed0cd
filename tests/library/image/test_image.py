"""tf.image: shapes, errors, unknown sizes, chance, files, and what happens without Pillow.  Values: test_image_golden.py."""

import io
import sys

import numpy as np
import pytest
from running import run

import headrace as tf

IMAGE = np.arange(2 * 4 * 5 * 3, dtype=np.float32).reshape(2, 4, 5, 3) / 120


def test_shapes_as_far_as_they_are_known() -> None:
    batch = tf.placeholder(tf.float32, [None, None, 5, 3])
    assert tf.image.resize_images(batch, [7, 8]).shape.as_list() == [None, 7, 8, 3]
    assert tf.image.resize_images(batch, tf.placeholder(tf.int32, [2])).shape.as_list() == [None, None, None, 3]
    assert tf.image.flip_left_right(batch).shape.as_list() == [None, None, 5, 3]
    assert tf.image.resize_image_with_crop_or_pad(batch, 6, 6).shape.as_list() == [None, 6, 6, 3]
    assert tf.image.central_crop(batch, 0.6).shape.as_list() == [None, None, 3, 3]
    assert tf.image.rgb_to_grayscale(batch).shape.as_list() == [None, None, 5, 1]
    assert tf.image.rot90(batch, 1).shape.as_list() == [None, 5, None, 3]
    assert tf.image.decode_jpeg(tf.placeholder(tf.string, []), channels=3).shape.as_list() == [None, None, 3]
    assert tf.image.decode_png(tf.placeholder(tf.string, [])).shape.as_list() == [None, None, None]
    assert tf.image.decode_gif(tf.placeholder(tf.string, [])).shape.as_list() == [None, None, None, 3]
    assert tf.image.decode_image(tf.placeholder(tf.string, [])).shape.ndims is None
    assert tf.image.sobel_edges(batch).shape.as_list() == [None, None, 5, 3, 2]


def test_unknown_sizes_give_the_same() -> None:
    unknown = tf.placeholder_with_default(IMAGE, [None, None, None, 3])
    for function in (
        lambda x: tf.image.resize_image_with_crop_or_pad(x, 3, 8),
        lambda x: tf.image.crop_to_bounding_box(x, 1, 0, 2, 3),
        lambda x: tf.image.pad_to_bounding_box(x, 1, 0, 6, 7),
        lambda x: tf.image.central_crop(x, 0.5),
        lambda x: tf.image.resize_images(x, [6, 3], preserve_aspect_ratio=True),
        lambda x: tf.image.rot90(x, tf.placeholder_with_default(3, [])),
        tf.image.per_image_standardization,
        tf.image.sobel_edges,
    ):
        np.testing.assert_allclose(run(function(unknown)), run(function(IMAGE)), rtol=1e-5)


def test_errors_while_building() -> None:
    image = tf.image
    for function, message in (
        (lambda: image.resize_images(IMAGE[0, 0], [2, 2]), "must have either 3 or 4 dimensions"),
        (lambda: image.resize_images(tf.placeholder(tf.float32), [2, 2]), "'images' contains no shape."),
        (lambda: image.resize_images(IMAGE, [2, 2, 2]), "'size' must be a 1-D Tensor of 2 elements"),
        (lambda: image.resize_images(IMAGE, [2, 2], 9), "Resize method is not implemented."),
        (lambda: image.flip_left_right(IMAGE[0, 0]), "must be at least three-dimensional"),
        (lambda: image.crop_to_bounding_box(IMAGE, 2, 0, 3, 3), "height must be >= target"),
        (lambda: image.crop_to_bounding_box(IMAGE, -1, 0, 3, 3), "offset_height must be >= 0"),
        (lambda: image.pad_to_bounding_box(IMAGE, 2, 0, 4, 5), "height must be <= target"),
        (lambda: image.central_crop(IMAGE, 0.0), r"central_fraction must be within \(0, 1\]"),
        (lambda: image.random_brightness(IMAGE, -1), "max_delta must be non-negative."),
        (lambda: image.random_contrast(IMAGE, 2, 1), "upper must be > lower."),
        (lambda: image.random_hue(IMAGE, 0.7), "max_delta must be <= 0.5."),
        (lambda: image.random_saturation(IMAGE, -1, 1), "lower must be non-negative."),
        (lambda: image.adjust_gamma(IMAGE, -1), "Gamma should be a non-negative real number."),
        (lambda: image.decode_jpeg("", channels=4), "channels must be one of 0, 1, 3"),
        (lambda: image.ssim(IMAGE, IMAGE, 1.0), "at least filter_size = 11"),
    ):
        with pytest.raises(ValueError, match=message):
            function()


def test_a_size_that_does_not_fit_is_found_when_it_runs() -> None:
    image = tf.placeholder(tf.float32, [None, None, 3])
    cropped = tf.image.crop_to_bounding_box(image, 0, 0, 3, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="height must be >= target"):
        run(cropped, {image: IMAGE[0, :2]})


def test_chance_repeats_with_a_seed() -> None:
    images = np.arange(64, dtype=np.float32).reshape(16, 2, 2, 1)
    tf.set_random_seed(3)
    flipped = tf.image.random_flip_left_right(images, seed=1)
    one = tf.image.random_flip_up_down(IMAGE[0], seed=2)
    others = [tf.image.random_brightness(IMAGE, 0.3), tf.image.random_contrast(IMAGE, 0.5, 1.5)]
    others += [tf.image.random_hue(IMAGE, 0.3), tf.image.random_saturation(IMAGE, 0.5, 1.5)]
    first, second = run([flipped, one, *others]), run([flipped, one, *others])
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    mirrored = (first[0] == images[:, :, ::-1]).all(axis=(1, 2, 3))
    assert 2 < mirrored.sum() < 14
    assert ((first[0] == images).all(axis=(1, 2, 3)) | mirrored).all()
    assert (first[1] == IMAGE[0]).all() or (first[1] == IMAGE[0, ::-1]).all()


def test_sampled_windows(session: tf.Session) -> None:
    boxes = np.array([[[0.2, 0.3, 0.8, 0.9]]], np.float32)
    begin, size, box = tf.image.sample_distorted_bounding_box(
        [40, 60, 3], boxes, seed=5, min_object_covered=0.6, aspect_ratio_range=[0.7, 1.5], area_range=[0.1, 0.9]
    )
    assert (begin.dtype, size.shape.as_list(), box.shape.as_list()) == (tf.int32, [3], [1, 1, 4])
    for _ in range(50):
        (y, x, z), (rows, columns, all_), found = session.run([begin, size, box])
        assert (z, all_) == (0, -1)
        assert 0 <= y <= y + rows <= 40 and 0 <= x <= x + columns <= 60
        np.testing.assert_allclose(found[0, 0], [y / 40, x / 60, (y + rows) / 40, (x + columns) / 60], rtol=1e-6)
        if (rows, columns) != (40, 60):
            assert 0.1 <= rows * columns / 2400 <= 0.9
            assert 0.6 < columns / rows < 1.6
    with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes provided"):
        run(tf.image.sample_distorted_bounding_box([4, 4, 3], np.zeros((1, 0, 4), np.float32)))
    with pytest.raises(ValueError, match="max_attempts must be at least 1, got 0"):
        tf.image.sample_distorted_bounding_box([4, 4, 3], boxes, max_attempts=0)


def test_names() -> None:
    x = tf.placeholder(tf.float32, [2, 4, 5, 3], name="x")
    assert tf.image.resize_bilinear(x, [2, 2]).op.name == "ResizeBilinear"
    assert tf.image.resize_images(x, [2, 2]).op.name == "resize/ResizeBilinear"
    assert tf.image.flip_left_right(x).op.name == "flip_left_right/ReverseV2"
    assert tf.image.decode_jpeg(tf.placeholder(tf.string)).op.name == "DecodeJpeg"


@pytest.mark.parametrize("kind", ["GIF", "BMP", "PNG", "JPEG"])
def test_files(kind: str) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.zeros((6, 4, 3), np.uint8)
    pixels[:, 2:] = (255, 0, 0)
    written = io.BytesIO()
    pillow.fromarray(pixels).save(written, kind, **({"quality": 95, "subsampling": 0} if kind == "JPEG" else {}))
    contents = written.getvalue()
    found = run(tf.image.decode_image(contents, channels=3))
    assert found.shape == ((1, 6, 4, 3) if kind == "GIF" else (6, 4, 3))
    np.testing.assert_allclose(found.reshape(6, 4, 3).astype(int), pixels, atol=3 if kind == "JPEG" else 0)
    assert run(tf.image.is_jpeg(contents)) == (kind == "JPEG")
    floats = run(tf.image.decode_image(contents, channels=3, dtype=tf.float32))
    assert floats.max() > 0.98 and floats.max() <= 1


def test_colours_of_a_png_as_grey() -> None:
    """The values are TensorFlow's: libpng cuts off where Pillow rounds."""
    pytest.importorskip("PIL")
    pixels = np.array([[[37, 235, 140], [72, 255, 137], [133, 203, 129], [9, 9, 9]]], np.uint8)
    contents = tf.image.encode_png(pixels)
    wanted = [164, 186, 173, 9]
    grey = tf.image.decode_png(contents, channels=1)
    assert run(grey).ravel().tolist() == wanted
    assert run(tf.image.decode_image(contents, channels=1)).ravel().tolist() == wanted
    wide = tf.image.decode_png(contents, channels=1, dtype=tf.uint16)
    assert run(wide).ravel().tolist() == [257 * value for value in wanted]


def test_files_that_are_none() -> None:
    pytest.importorskip("PIL")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="expected JPEG or PNG or GIF data.*not an image: b'hello'"
    ):
        run(tf.image.decode_jpeg("hello"))
    png = run(tf.image.encode_png(np.random.RandomState(0).randint(0, 256, (9, 9, 3)).astype(np.uint8)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="invalid PNG data"):
        run(tf.image.decode_png(png[:100]))


def test_jpeg_quality_costs_detail() -> None:
    pytest.importorskip("PIL")
    noise = np.random.RandomState(0).uniform(0, 1, (16, 16, 3)).astype(np.float32)
    good, bad = run([tf.image.adjust_jpeg_quality(noise, 100), tf.image.adjust_jpeg_quality(noise, 5)])
    assert good.dtype == np.float32
    assert np.abs(good - noise).mean() < np.abs(bad - noise).mean()


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(tf.errors.UnimplementedError, match=r"pip install Pillow"):
        run(tf.image.encode_png(np.zeros((2, 2, 1), np.uint8)))
