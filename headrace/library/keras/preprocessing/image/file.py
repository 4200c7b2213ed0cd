"""Images as files, as Pillow's objects and as arrays.  Pillow is imported when the first of these functions is called."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from headrace.core.source import warn
from headrace.library.backend.config import floatx, image_data_format

_FILTERS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("images need Pillow: pip install Pillow") from None
    return Image


def checked_data_format(data_format: str | None) -> str:
    """The data format, by default that of `tf.keras.backend.image_data_format`.

    Args:
      data_format: The name, or None.

    Returns:
      ``"channels_first"`` or ``"channels_last"``; anything else is a ValueError.

    >>> from headrace.library.keras.preprocessing.image.file import checked_data_format
    >>> checked_data_format("channels_first")
    'channels_first'
    """
    if data_format is None:
        return image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"data_format must be 'channels_first' or 'channels_last', got {data_format!r}")
    return data_format


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """An array as an image of Pillow's.

    Args:
      x: An array of rank 3 with 1, 3 or 4 channels.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      scale: True stretches the values to 0 to 255.
      dtype: The type in which is computed; None for `tf.keras.backend.floatx`.

    Returns:
      An instance of ``PIL.Image.Image``.

    >>> tf.keras.preprocessing.image.array_to_img(np.zeros([4, 5, 3])).size
    (5, 4)
    """
    pixels = np.asarray(x, dtype=floatx() if dtype is None else dtype)
    if pixels.ndim != 3:
        raise ValueError(f"an array of rank 3 is a single image, got shape {pixels.shape}")
    if checked_data_format(data_format) == "channels_first":
        pixels = pixels.transpose(1, 2, 0)
    if scale:
        pixels = pixels - pixels.min()
        largest = pixels.max()
        pixels = (pixels / largest if largest != 0 else pixels) * 255
    channels = pixels.shape[2]
    if channels not in _MODES:
        raise ValueError(f"an image has 1, 3 or 4 channels, got {channels} (shape {pixels.shape} with channels last)")
    if channels == 1:
        pixels = pixels[:, :, 0]
        if pixels.max() > 255:
            return _pillow().fromarray(pixels.astype("int32"))
    return _pillow().fromarray(pixels.astype("uint8"))


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """An image of Pillow's as an array of rank 3.

    Args:
      img: An instance of ``PIL.Image.Image``, or an array of rank 2 or 3 with channels last.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      dtype: The type of the array; None for `tf.keras.backend.floatx`.

    Returns:
      An array.

    >>> image = tf.keras.preprocessing.image.array_to_img(np.zeros([4, 5, 1]))
    >>> tf.keras.preprocessing.image.img_to_array(image).shape
    (4, 5, 1)
    """
    data_format = checked_data_format(data_format)
    pixels = np.array(img, dtype=floatx() if dtype is None else dtype)
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if pixels.ndim != 3:
        raise ValueError(f"an image has rank 2 or 3, got shape {pixels.shape}")
    return pixels.transpose(2, 0, 1) if data_format == "channels_first" else pixels


def save_img(
    path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Writes an array as an image file.

    Args:
      path: The path of the file, or an open binary file.
      x: An array of rank 3 with 1, 3 or 4 channels.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      file_format: The format, such as ``"png"``; None for that of the file's name.
      scale: True stretches the values to 0 to 255.
      **kwargs: Arguments of Pillow's ``save``.

    >>> import io
    >>> file = io.BytesIO()
    >>> tf.keras.preprocessing.image.save_img(file, np.zeros([4, 5, 3]), file_format="png")
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    image = array_to_img(x, data_format=data_format, scale=scale)
    if image.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        warn("JPEG files have no alpha channel: the image is saved without it")
        image = image.convert("RGB")
    image.save(path, format="jpeg" if file_format == "jpg" else file_format, **kwargs)


def load_img(
    path: Any, grayscale: bool = False, color_mode: str = "rgb", target_size: Any = None,
    interpolation: str = "nearest",
) -> Any:  # fmt: skip
    """Reads an image file.

    Args:
      path: The path of the file, or an open binary file.
      grayscale: True for ``color_mode="grayscale"``, which is newer.
      color_mode: ``"rgb"``, ``"rgba"`` or ``"grayscale"``.
      target_size: The height and width that the image is resized to; None leaves it as it is.
      interpolation: How to resize: ``"nearest"``, ``"bilinear"``, ``"bicubic"``, ``"hamming"``, ``"box"`` or
        ``"lanczos"``.

    Returns:
      An instance of ``PIL.Image.Image``.

    >>> import io
    >>> file = io.BytesIO()
    >>> tf.keras.preprocessing.image.save_img(file, np.zeros([4, 5, 3]), file_format="png")
    >>> tf.keras.preprocessing.image.load_img(file, target_size=(2, 3)).size
    (3, 2)
    """
    if grayscale:
        color_mode = "grayscale"
    modes = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
    if color_mode not in modes:
        raise ValueError(f'color_mode must be "grayscale", "rgb", or "rgba", got {color_mode!r}')
    if isinstance(path, str | bytes | os.PathLike):
        with open(path, "rb") as file:
            image = _pillow().open(io.BytesIO(file.read()))
    else:
        image = _pillow().open(path)
    if image.mode != modes[color_mode]:
        image = image.convert(modes[color_mode])
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    if interpolation not in _FILTERS:
        raise ValueError(f"Invalid interpolation method {interpolation} specified. Supported: {', '.join(_FILTERS)}")
    return image.resize((target_size[1], target_size[0]), _pillow().Resampling[interpolation.upper()])
