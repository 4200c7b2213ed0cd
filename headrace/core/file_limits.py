"""How much a file may ask for, whatever its headers say.  SECURITY.md lists these for users.

A size in a header is compared with these, and with what the file can hold, before memory is taken for it.
"""

from __future__ import annotations

from typing import Final

IMAGE_ELEMENTS: Final = 1 << 29  # numbers in a decoded image: rows x columns x channels x frames; TensorFlow's for JPEG
UNPACKED_BYTES: Final = 1 << 30  # of one string that DecodeCompressed unpacks
RECORD_BYTES: Final = 1 << 31  # of one record of a TFRecord or event file, and of one line of a compressed file
REPEATED_BYTES: Final = 1 << 30  # of the constants of one graph, or of one TensorProto, that repeat their last value
DEFLATE_RATIO: Final = 1032  # times its size is the most that deflated data can unpack to
PIECE: Final = 1 << 24  # bytes that are read together where only the file says how many will come


def check_image(rows: int, columns: int, channels: int, frames: int = 1) -> None:
    """ValueError if an image is too large to be decoded."""
    if rows * columns * channels * frames > IMAGE_ELEMENTS:
        size = f"{frames} frames of " * (frames > 1) + f"{rows} x {columns} pixels with {channels} channels"
        raise ValueError(f"an image of {size} is too large: at most {IMAGE_ELEMENTS} numbers are decoded")
