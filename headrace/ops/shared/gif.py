"""What a GIF file says of its size, without reading a pixel."""

from __future__ import annotations

import struct

_EXTENSION, _FRAME = 0x21, 0x2C


def gif_size(data: bytes) -> tuple[int, int, int]:
    """The number of frames, and the rows and columns that hold all of them; of what can be read, if the file is damaged."""
    frames = 0
    columns, rows, flags = struct.unpack_from("<HHB", data.ljust(13, b"\0"), 6)
    at = 13 + _colours(flags)
    while at + 1 < len(data):
        if data[at] == _EXTENSION:
            at = _after_blocks(data, at + 2)
        elif data[at] == _FRAME and at + 10 <= len(data):
            left, top, width, height, flags = struct.unpack_from("<HHHHB", data, at + 1)
            frames, columns, rows = frames + 1, max(columns, left + width), max(rows, top + height)
            at = _after_blocks(data, at + 11 + _colours(flags))
        else:
            at += 1  # readers look for the next block
    return max(frames, 1), rows, columns


def _colours(flags: int) -> int:
    """The bytes of a table of colours."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1
