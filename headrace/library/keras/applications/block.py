"""What the networks are built of: layers with the settings that they share, applied where they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.library.backend.config import image_data_format
from headrace.library.layers.convolutional import Conv2D
from headrace.library.layers.core import Activation
from headrace.library.layers.merge import Add, Concatenate
from headrace.library.layers.normalization import BatchNormalization
from headrace.library.layers.pooling import AveragePooling2D, MaxPooling2D
from headrace.library.layers.resizing import ZeroPadding2D


def is_channels_last() -> bool:
    """Whether the channels of images are their last axis."""
    return image_data_format() == "channels_last"


def channel_axis() -> int:
    """The axis of the channels in a batch of images."""
    return 3 if is_channels_last() else 1


def channels(x: Any) -> int:
    """How many channels a batch of images has."""
    return int(x.shape[channel_axis()])


def rows_and_columns(x: Any) -> tuple[int | None, int | None]:
    """The size of the images of a batch, as far as it is known."""
    begin = 1 if is_channels_last() else 2
    rows, columns = x.shape.as_list()[begin : begin + 2]
    return rows, columns


def conv(x: Any, filters: int, size: Any, name: str | None = None, **options: Any) -> Any:
    """A convolution without bias, unless ``use_bias`` says otherwise."""
    return Conv2D(filters, size, name=name, **{"use_bias": False, **options})(x)


def norm(x: Any, name: str | None = None, **options: Any) -> Any:
    """Batch normalization of each channel."""
    return BatchNormalization(axis=channel_axis(), name=name, **options)(x)


def relu(x: Any, name: str | None = None) -> Any:
    """The positive part."""
    return Activation("relu", name=name)(x)


def pad(x: Any, before: Any, after: Any, name: str | None = None) -> Any:
    """Zeros above and left (``before``), below and right (``after``): numbers, or pairs for rows and columns."""
    tops, bottoms = ((n, n) if isinstance(n, int) else n for n in (before, after))
    return ZeroPadding2D(((tops[0], bottoms[0]), (tops[1], bottoms[1])), name=name)(x)


def pad_for_stride(x: Any, size: int, name: str) -> Any:
    """Zeros so that a convolution of this size with stride 2 and padding "valid" does what "same" does in other frameworks."""
    half = size // 2
    before = tuple(half - (1 if length is None else 1 - length % 2) for length in rows_and_columns(x))
    return pad(x, before, half, name)


def max_pool(x: Any, size: int, strides: int, **options: Any) -> Any:
    """The largest value of each window."""
    return MaxPooling2D(size, strides=strides, **options)(x)


def average_pool(x: Any, size: int, strides: int, **options: Any) -> Any:
    """The mean of each window."""
    return AveragePooling2D(size, strides=strides, **options)(x)


def join(tensors: Sequence[Any], name: str | None = None) -> Any:
    """The channels of all tensors."""
    return Concatenate(axis=channel_axis(), name=name)(list(tensors))


def total(x: Any, y: Any, name: str | None = None) -> Any:
    """The sum of two tensors."""
    return Add(name=name)([x, y])
