"""What a JPEG file says of its size, without reading a pixel, and its pixels by simplejpeg, where that is installed."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable

import numpy as np

_FRAMES = (0xFFC0, 0xFFC1, 0xFFC2)  # baseline, extended, progressive


def jpeg_size(data: bytes) -> tuple[int, int, int] | None:
    """The rows, columns and components; None if the header is not a plain one of 8 bits."""
    at = 2
    while at + 10 <= len(data):
        marker, length = struct.unpack_from(">HH", data, at)
        if marker in _FRAMES:
            bits, rows, columns, components = struct.unpack_from(">BHHB", data, at + 4)
            return (rows, columns, components) if bits == 8 and rows and columns else None
        if not 0xFFC0 < marker < 0xFFFF:  # padding, or no marker
            return None
        at += 2 + length
    return None


@functools.cache
def _decoder() -> Callable[..., np.ndarray] | None:
    """simplejpeg's decoder; None where it is not installed."""
    try:
        from simplejpeg import decode_jpeg
    except ImportError:
        return None
    decoder: Callable[..., np.ndarray] = decode_jpeg
    return decoder


def rgb_pixels(data: bytes) -> np.ndarray | None:
    """[rows, columns, 3]: the pixels that Pillow gives, in half of its time for a small file.

    simplejpeg decodes straight into the array and holds no lock meanwhile.  Pillow's own memory has four bytes for a pixel: it is
    cleared before, and copied three times after.  None if simplejpeg is missing or warns of the file, of which Pillow has more
    to say.
    """
    decode = _decoder()
    if decode is None:
        return None
    try:
        return decode(data, "RGB", fastdct=False, fastupsample=False)
    except ValueError:
        return None
