"""Changes of single images, by a given amount or by a random one.  numpy's ``random`` draws, so its seed counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.library.keras.preprocessing.image.affine import apply_affine_transform
from headrace.library.keras.preprocessing.image.file import array_to_img, img_to_array


def random_rotation(
    x: Any, rg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
    cval: float = 0.0, interpolation_order: int = 1,
) -> np.ndarray:  # fmt: skip
    """Rotates an image by a random angle.

    Args:
      x: An array of rank 3.
      rg: The largest angle in degrees, in both directions.
      row_axis: Which axis are the rows.
      col_axis: Which axis are the columns.
      channel_axis: Which axis are the channels.
      fill_mode: What is seen beside the image: ``"constant"``, ``"nearest"``, ``"reflect"`` or ``"wrap"``.
      cval: The value for ``"constant"``.
      interpolation_order: 0 takes the nearest pixel, 1 is linear.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.random_rotation(np.ones([1, 4, 4]), 30).shape
    (1, 4, 4)
    """
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(
        x, theta=theta, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode,
        cval=cval, order=interpolation_order,
    )  # fmt: skip


def random_shift(
    x: Any, wrg: float, hrg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
    fill_mode: str = "nearest", cval: float = 0.0, interpolation_order: int = 1,
) -> np.ndarray:  # fmt: skip
    """Shifts an image by a random distance.

    Args:
      x: An array of rank 3.
      wrg: The largest shift to the side, as a part of the width.
      hrg: The largest shift up or down, as a part of the height.
      row_axis: Which axis are the rows.
      col_axis: Which axis are the columns.
      channel_axis: Which axis are the channels.
      fill_mode: What is seen beside the image: ``"constant"``, ``"nearest"``, ``"reflect"`` or ``"wrap"``.
      cval: The value for ``"constant"``.
      interpolation_order: 0 takes the nearest pixel, 1 is linear.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.random_shift(np.ones([1, 4, 4]), 0.5, 0.5).min()
    np.float64(1.0)
    """
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x, tx=tx, ty=ty, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode,
        cval=cval, order=interpolation_order,
    )  # fmt: skip


def random_shear(
    x: Any, intensity: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
    cval: float = 0.0, interpolation_order: int = 1,
) -> np.ndarray:  # fmt: skip
    """Shears an image by a random angle.

    Args:
      x: An array of rank 3.
      intensity: The largest angle in degrees, in both directions.
      row_axis: Which axis are the rows.
      col_axis: Which axis are the columns.
      channel_axis: Which axis are the channels.
      fill_mode: What is seen beside the image: ``"constant"``, ``"nearest"``, ``"reflect"`` or ``"wrap"``.
      cval: The value for ``"constant"``.
      interpolation_order: 0 takes the nearest pixel, 1 is linear.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.random_shear(np.ones([1, 4, 4]), 20).shape
    (1, 4, 4)
    """
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x, shear=shear, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode,
        cval=cval, order=interpolation_order,
    )  # fmt: skip


def random_zoom(
    x: Any, zoom_range: Any, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
    cval: float = 0.0, interpolation_order: int = 1,
) -> np.ndarray:  # fmt: skip
    """Zooms an image by two random factors, for its height and its width.

    Args:
      x: An array of rank 3.
      zoom_range: The smallest and the largest factor.
      row_axis: Which axis are the rows.
      col_axis: Which axis are the columns.
      channel_axis: Which axis are the channels.
      fill_mode: What is seen beside the image: ``"constant"``, ``"nearest"``, ``"reflect"`` or ``"wrap"``.
      cval: The value for ``"constant"``.
      interpolation_order: 0 takes the nearest pixel, 1 is linear.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.random_zoom(np.ones([1, 4, 4]), (0.5, 1.5)).shape
    (1, 4, 4)
    """
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return apply_affine_transform(
        x, zx=zx, zy=zy, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode,
        cval=cval, order=interpolation_order,
    )  # fmt: skip


def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """Adds a number to all values of an image, within the range that its values have.

    Args:
      x: An array of rank 3.
      intensity: What is added.
      channel_axis: Which axis are the channels; all are treated alike.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.apply_channel_shift(np.array([[[0.0, 5.0, 9.0]]]), 2.0)
    array([[[2., 7., 9.]]])
    """
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """Adds a random number to all values of an image, within the range that its values have.

    Args:
      x: An array of rank 3.
      intensity_range: The largest number, in both directions.
      channel_axis: Which axis are the channels; all are treated alike.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.random_channel_shift(np.ones([1, 2, 2]), 3.0).max()
    np.float64(1.0)
    """
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


def apply_brightness_shift(x: Any, brightness: float) -> np.ndarray:
    """Makes an image darker or brighter; its values are stretched to 0 to 255.

    Args:
      x: An array of rank 3, in the data format of `tf.keras.backend.image_data_format`.
      brightness: The factor: 0 is black, 1 changes nothing.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.apply_brightness_shift(np.array([[[0.0], [255.0]]]), 0.5)[0, :, 0]
    array([  0., 127.], dtype=float32)
    """
    image = array_to_img(x)
    try:
        from PIL import ImageEnhance
    except ImportError:
        raise ImportError("brightness shifts need Pillow: pip install Pillow") from None
    return img_to_array(ImageEnhance.Brightness(image).enhance(brightness))


def random_brightness(x: Any, brightness_range: Any) -> np.ndarray:
    """Makes an image darker or brighter by a random factor; its values are stretched to 0 to 255.

    Args:
      x: An array of rank 3, in the data format of `tf.keras.backend.image_data_format`.
      brightness_range: The smallest and the largest factor.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.preprocessing.image.random_brightness(np.ones([2, 2, 3]), (0.5, 1.5)).shape
    (2, 2, 3)
    """
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range` should be a tuple or list of two floats. Received: {brightness_range}")
    return apply_brightness_shift(x, np.random.uniform(brightness_range[0], brightness_range[1]))


def flip_axis(x: Any, axis: int) -> np.ndarray:
    """Mirrors an array along an axis.

    Args:
      x: An array.
      axis: The axis.

    Returns:
      An array of the shape of `x`.

    >>> from headrace.library.keras.preprocessing.image.change import flip_axis
    >>> flip_axis([1, 2, 3], 0)
    array([3, 2, 1])
    """
    return np.flip(np.asarray(x), axis)
