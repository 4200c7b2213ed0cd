"""Images as the networks expect them, and names of the classes of ImageNet."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library.backend.config import floatx, image_data_format
from headrace.library.keras.applications.classifier import keras_file

_MEANS = {"caffe": (103.939, 116.779, 123.68), "torch": (0.485, 0.456, 0.406)}
_DEVIATIONS = {"caffe": None, "torch": (0.229, 0.224, 0.225)}


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Images as a network was trained on them.

    Args:
      x: An image or a batch of images with colours from 0 to 255: an array, which stays as it is, or a tensor.
      data_format: "channels_last" or "channels_first"; None for `tf.keras.backend.image_data_format`.
      mode: "caffe" swaps red and blue and takes the mean colour of ImageNet away; "tf" scales to -1 to 1; "torch" scales to 0 to
        1 and then to the mean and the deviation of ImageNet.

    Returns:
      Images of floats.

    >>> tf.keras.applications.imagenet_utils.preprocess_input(np.full([1, 1, 3], 255), mode="tf").ravel()
    array([1., 1., 1.], dtype=float32)
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"mode must be 'caffe', 'tf' or 'torch', got {mode!r} {at()}")
    data_format = image_data_format() if data_format is None else data_format
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"data_format must be 'channels_first' or 'channels_last', got {data_format!r} {at()}")
    if isinstance(x, np.ndarray) and not np.issubdtype(x.dtype, np.floating):
        x = x.astype(floatx())
    if mode == "tf":
        return x / 127.5 - 1.0
    axis = 0 if data_format == "channels_last" else -2
    means, deviations = (_broadcast(values[mode], axis, x) for values in (_MEANS, _DEVIATIONS))
    x = x / 255.0 if mode == "torch" else _reversed(x, data_format)
    x = x - means
    return x if deviations is None else x / deviations


def _broadcast(values: Any, axis: int, x: Any) -> Any:
    """Numbers of channels in the form in which arithmetic with images takes them."""
    if values is None:
        return None
    array = np.array(values, x.dtype if isinstance(x, np.ndarray) else x.dtype.as_numpy_dtype)
    return array if axis == 0 else array[:, None, None]


def _reversed(x: Any, data_format: str) -> Any:
    """The images with blue first."""
    if data_format == "channels_last":
        return x[..., ::-1]
    return x[::-1] if len(x.shape) == 3 else x[:, ::-1]


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """The likeliest classes of ImageNet, by name.

    The names are in ``~/.keras/models/imagenet_class_index.json``, which Keras downloads there; Headrace downloads nothing.

    Args:
      preds: An array of probabilities, a row of 1000 for each image.
      top: How many classes to name.

    Returns:
      For each image a list of (WordNet's number, name, probability), the likeliest first.

    Example: ``tf.keras.applications.vgg16.decode_predictions(model.predict(images), top=3)``
    """
    preds = np.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). Found array with "
            f"shape: {preds.shape} {at()}"
        )
    names = _class_names()
    orders = np.argsort(-preds, axis=1, kind="stable")[:, :top]
    return [[(*names[i], row[i]) for i in order] for row, order in zip(preds, orders, strict=True)]


def _class_names() -> list[tuple[str, str]]:
    path = keras_file("imagenet_class_index.json")
    try:
        found = json.loads(path.read_text())
        names = [tuple(found[str(i)]) for i in range(1000)]
        if any(len(name) != 2 for name in names):
            raise ValueError("each class must have a number and a name")
    except FileNotFoundError:
        raise ValueError(
            f"there is no {str(path)!r}, which names the classes of ImageNet. Headrace downloads nothing: put Keras's "
            f"file there {at()}"
        ) from None
    except (ValueError, KeyError, TypeError) as e:
        raise ValueError(f"{str(path)!r} does not name the 1000 classes of ImageNet: {e} {at()}") from None
    return names


def preprocessing(mode: str) -> Callable[..., Any]:
    """``preprocess_input`` of the networks that were trained in this mode."""

    def preprocess(x: Any, data_format: str | None = None) -> Any:
        return preprocess_input(x, data_format, mode)

    preprocess.__name__ = preprocess.__qualname__ = "preprocess_input"
    preprocess.__doc__ = (
        _ABOUT[mode]
        + """

    Args:
      x: An image or a batch of images with colours from 0 to 255: an array, which stays as it is, or a tensor.
      data_format: "channels_last" or "channels_first"; None for `tf.keras.backend.image_data_format`.

    Returns:
      Images of floats.

    Example: ``model.predict(preprocess_input(images))``
    """
    )
    return preprocess


_ABOUT = {
    "caffe": "Images with blue first, and the mean colour of ImageNet taken away.",
    "tf": "Images with colours from -1 to 1.",
    "torch": "Images with colours of the mean 0 and the deviation 1 that ImageNet has.",
}
caffe_input, tf_input, torch_input = (preprocessing(mode) for mode in ("caffe", "tf", "torch"))
