"""Bytes and text at the edge (``tf.compat``): TF1 programs pass either, files and string tensors hold bytes.

>>> as_bytes("é"), as_text(b"caf\\xc3\\xa9")
(b'\\xc3\\xa9', 'café')
"""

from __future__ import annotations

import datetime
import numbers
import os
from typing import Any

import numpy as np

from headrace.core.shape import Dimension, TensorShape

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """`bytes_or_text` as bytes, text encoded.

    Args:
      bytes_or_text: A string or bytes; anything else is a TypeError.
      encoding: How text is encoded.

    Returns:
      Bytes.

    >>> tf.compat.as_bytes('text')
    b'text'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """`bytes_or_text` as text, bytes decoded.

    Args:
      bytes_or_text: A string or bytes; anything else is a TypeError.
      encoding: How bytes are decoded.

    Returns:
      A string.

    >>> tf.compat.as_text(b'text')
    'text'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_str(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """`bytes_or_text` as a `str`: in Python 3, what `as_text` gives.

    Args:
      bytes_or_text: A string or bytes; anything else is a TypeError.
      encoding: How bytes are decoded.

    Returns:
      A string.

    >>> tf.compat.as_str(b'text')
    'text'
    """
    return as_text(bytes_or_text, encoding)


def as_str_any(value: Any) -> str:
    """`value` as a `str`: bytes are decoded, anything else is printed.

    Args:
      value: Anything.

    Returns:
      A string.

    >>> tf.compat.as_str_any(b'text'), tf.compat.as_str_any(3)
    ('text', '3')
    """
    return as_str(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """The `str` of a path object; other values as they are.

    Args:
      path: A path object, or anything else.

    Returns:
      A string, or `path` itself.

    >>> import pathlib
    >>> tf.compat.path_to_str(pathlib.Path('/tmp/model'))
    '/tmp/model'
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def dimension_value(dimension: Any) -> Any:
    """The int, or None, of a `Dimension`; an int as it is.

    Args:
      dimension: A `tf.Dimension`, an integer or None.

    Returns:
      An integer, or None if the size is not known.

    >>> tf.compat.dimension_value(tf.Dimension(3))
    3
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """`shape[index]` as a `Dimension`, an unknown one when the rank is not known.

    Args:
      shape: A `tf.TensorShape`.
      index: The number of the axis.

    Returns:
      A `tf.Dimension`.

    >>> tf.dimension_at_index(tf.TensorShape([2, 3]), 1).value
    3
    """
    if shape.ndims is None:
        return Dimension(None)
    return Dimension(dimension_value(shape[index]))


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether code written for TensorFlow of that day may be used: Headrace stands at 1.15's, 14 October 2019.

    Args:
      year, month, day: The date.

    Returns:
      True or False.

    >>> tf.compat.forward_compatible(2019, 1, 1), tf.compat.forward_compatible(2020, 1, 1)
    (True, False)
    """
    return datetime.date(2019, 10, 14) > datetime.date(year, month, day)
