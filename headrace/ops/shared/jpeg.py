"""What a JPEG file says of its size, without reading a pixel."""

from __future__ import annotations

import struct

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
