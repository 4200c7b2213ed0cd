"""Warps of images: whole shifts, quarter turns, places between pixels and beside the image."""

import sys

import numpy as np
import pytest

import headrace as tf

warp = tf.keras.preprocessing.image.apply_affine_transform
IMAGE = np.arange(12.0).reshape(3, 4, 1)


def row(fill_mode, tx=0, ty=0, **options):
    return warp(IMAGE, tx=tx, ty=ty, fill_mode=fill_mode, **options)[:, :, 0]


def test_nothing_to_do():
    assert warp(IMAGE) is IMAGE


@pytest.mark.parametrize(
    ("fill_mode", "expected"),
    [
        ("nearest", [2, 3, 3, 3]), ("constant", [2, 3, 7, 7]), ("reflect", [2, 3, 3, 2]), ("wrap", [2, 3, 1, 2]),
    ],
)  # fmt: skip
def test_beside_the_image(fill_mode, expected):
    assert row(fill_mode, ty=2, cval=7)[0].tolist() == expected


@pytest.mark.parametrize(
    ("fill_mode", "expected"),
    [
        ("nearest", [0, 0, 0.5, 1.5]), ("constant", [9, 9, 0.5, 1.5]), ("reflect", [0.5, 0, 0.5, 1.5]),
        ("wrap", [1.5, 2.5, 0.5, 1.5]),
    ],
)  # fmt: skip
def test_between_pixels(fill_mode, expected):
    np.testing.assert_allclose(row(fill_mode, ty=-1.5, cval=9)[0], expected)


def test_the_nearest_pixel():
    assert row("nearest", ty=0.4, order=0)[0].tolist() == [0, 1, 2, 3]
    assert row("nearest", ty=0.6, order=0)[0].tolist() == [1, 2, 3, 3]


def test_rows_are_shifted_by_tx():
    np.testing.assert_array_equal(row("nearest", tx=1)[:, 0], [4, 8, 8])


@pytest.mark.parametrize("order", [0, 1])
def test_a_quarter_turn(order):
    image = np.arange(18.0).reshape(3, 3, 2)
    turned = warp(image, theta=90, order=order)
    np.testing.assert_allclose(turned, np.rot90(image, -1) if turned[0, 0, 0] > 1 else image, atol=1e-9)
    assert turned[0, 0, 0] > 1  # it did turn
    np.testing.assert_allclose(warp(turned, theta=-90, order=order), image, atol=1e-9)


def test_zoom_and_shear_keep_the_centre():
    image = np.random.RandomState(0).rand(5, 5, 1)
    for options in ({"zx": 0.5, "zy": 0.25}, {"shear": 30}, {"theta": 33, "zx": 2}):
        np.testing.assert_allclose(warp(image, **options)[2, 2], image[2, 2])


@pytest.mark.parametrize("axes", [(1, 2, 0), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_axes_may_be_in_any_order(axes):
    image = np.random.RandomState(0).rand(4, 5, 3)
    changes = {"theta": 20, "tx": 0.7, "ty": -0.3, "shear": 10, "zx": 0.8}
    inverse = np.argsort(axes)
    moved = warp(
        image.transpose(inverse), row_axis=axes[0], col_axis=axes[1], channel_axis=axes[2], **changes
    ).transpose(axes)
    np.testing.assert_allclose(moved, warp(image, **changes))


def test_whole_numbers_are_rounded():
    assert row("nearest", ty=0.5).dtype == np.float64
    made = warp(np.array([[[10], [21]]], np.uint8), ty=0.5)
    assert made.dtype == np.uint8 and made[0, 0, 0] == 16


def test_mistakes(monkeypatch):
    with pytest.raises(ValueError, match="fill_mode must be one of constant, nearest, reflect, wrap, got 'mirror'"):
        row("mirror", tx=1)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match="interpolation of order 3 needs scipy: pip install scipy"):
        row("nearest", tx=1, order=3)
