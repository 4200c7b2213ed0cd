"""Pixels as a PNG file, by Pillow, which is imported when the first image is read or written."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from headrace.core import errors


def pillow() -> Any:
    """The module PIL.Image."""
    try:
        from PIL import Image
    except ImportError:
        raise errors.UnimplementedError(
            None, None, "reading and writing images needs Pillow: pip install Pillow"
        ) from None
    return Image


def png_bytes(pixels: np.ndarray, compression: int = -1) -> bytes:
    """The file of [rows, columns, 1 to 4 channels] of uint8, or one channel of uint16."""
    if not pixels.size:
        raise ValueError(f"image must not be empty, got shape {list(pixels.shape)}")
    flat = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    written = io.BytesIO()
    picture = pillow().fromarray(np.ascontiguousarray(flat))
    picture.save(written, "PNG", **({"compress_level": compression} if compression >= 0 else {}))
    return written.getvalue()
