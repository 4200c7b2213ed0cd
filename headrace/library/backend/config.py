"""Settings of Keras for the whole process: the default dtype, epsilon and the order of axes of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.numeric.math import cast
from headrace.library.state.variable import Variable

_FLOATS = ("float16", "float32", "float64")
_FORMATS = ("channels_last", "channels_first")


class _Settings:
    floatx = "float32"
    epsilon = 1e-7
    image_data_format = "channels_last"


def backend() -> str:
    """The name of the backend that Keras runs on.

    Returns:
      "tensorflow".

    >>> tf.keras.backend.backend()
    'tensorflow'
    """
    return "tensorflow"


def epsilon() -> float:
    """The small number that keeps divisions and logarithms away from zero.

    Returns:
      A float.

    >>> tf.keras.backend.epsilon()
    1e-07
    """
    return _Settings.epsilon


def set_epsilon(value: float) -> None:
    """Sets the small number that keeps divisions and logarithms away from zero.

    Args:
      value: A float.

    >>> tf.keras.backend.set_epsilon(1e-5)
    >>> tf.keras.backend.epsilon()
    1e-05
    >>> tf.keras.backend.set_epsilon(1e-7)
    """
    _Settings.epsilon = value


def floatx() -> str:
    """The dtype of variables and inputs that are given none.

    Returns:
      "float16", "float32" or "float64".

    >>> tf.keras.backend.floatx()
    'float32'
    """
    return _Settings.floatx


def set_floatx(value: str) -> None:
    """Sets the dtype of variables and inputs that are given none.

    Args:
      value: "float16", "float32" or "float64".

    >>> tf.keras.backend.set_floatx("float64")
    >>> tf.keras.Input([2]).dtype
    tf.float64
    >>> tf.keras.backend.set_floatx("float32")
    """
    if value not in _FLOATS:
        raise ValueError(f"Unknown floatx type: {value!r}; expected one of {', '.join(_FLOATS)}")
    _Settings.floatx = str(value)


def image_data_format() -> str:
    """The order of axes of images that layers assume if they are told none.

    Returns:
      "channels_last" or "channels_first".

    >>> tf.keras.backend.image_data_format()
    'channels_last'
    """
    return _Settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Sets the order of axes of images that layers assume if they are told none.

    Args:
      data_format: "channels_last" or "channels_first".

    >>> tf.keras.backend.set_image_data_format("channels_first")
    >>> tf.keras.backend.image_data_format()
    'channels_first'
    >>> tf.keras.backend.set_image_data_format("channels_last")
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Unknown data_format: {data_format!r}; expected one of {', '.join(_FORMATS)}")
    _Settings.image_data_format = str(data_format)


def cast_to_floatx(x: Any) -> Any:
    """A tensor or an array with elements of the dtype `floatx`.

    Args:
      x: A tensor, a variable, or what numpy makes an array of.

    Returns:
      A tensor for a tensor, an array for anything else.

    >>> tf.keras.backend.cast_to_floatx([1, 2])
    array([1., 2.], dtype=float32)
    """
    if isinstance(x, (Tensor, Variable, SparseTensor)):
        return cast(x, floatx())
    return np.asarray(x, dtype=floatx())
