"""PNG files of 16 bits a channel with several channels, which Pillow neither reads nor writes in full."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from headrace.core.file_limits import DEFLATE_RATIO, check_image

_START = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type
_COLOUR_TYPES = {channels: colour_type for colour_type, channels in _CHANNELS.items()}
_PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))  # Adam7


def is_wide(data: bytes) -> bool:
    """Whether the file has several channels of 16 bits."""
    return data.startswith(_START) and data[24:25] == b"\x10" and data[25:26] in (b"\x02", b"\x04", b"\x06")


# ---- writing


def write_wide(pixels: np.ndarray, compression: int) -> bytes:
    """The file of [rows, columns, 2 to 4 channels] of uint16."""
    rows, columns, channels = pixels.shape
    lines = np.zeros((rows, 1 + columns * channels * 2), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = pixels.astype(">u2").reshape(rows, -1).view(np.uint8)
    header = struct.pack(">IIBBBBB", columns, rows, 16, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), compression)), (b"IEND", b""))
    return _START + b"".join(_chunk(name, payload) for name, payload in chunks)


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


# ---- reading


def read_wide(data: bytes) -> np.ndarray:
    """[rows, columns, channels] of uint16; a transparent colour makes an alpha channel.  ValueError if damaged."""
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13:
        raise ValueError("it has no header")
    columns, rows, _, colour_type, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    if colour_type not in _CHANNELS or not rows or not columns:
        raise ValueError(f"its header says {rows} x {columns} pixels of colour type {colour_type}")
    channels = _CHANNELS[colour_type]
    check_image(rows, columns, channels)
    passes = [(p, _part_size(rows, columns, p)) for p in (_PASSES if interlaced else ((0, 0, 1, 1),))]
    sizes = [height * (1 + width * channels * 2) if width else 0 for _, (height, width) in passes]
    raw = _inflated(b"".join(payload for name, payload in chunks if name == b"IDAT"), sum(sizes))
    pixels = np.zeros((rows, columns, channels), np.uint16)
    at = 0
    for ((top, left, down, across), (height, width)), size in zip(passes, sizes, strict=True):
        if size:
            lines = np.frombuffer(raw, np.uint8, size, at).reshape(height, -1)
            pixels[top::down, left::across] = (
                _unfiltered(lines, channels * 2).view(">u2").reshape(height, width, channels)
            )
            at += size
    transparent = dict(chunks).get(b"tRNS")
    if transparent is None:
        return pixels
    if len(transparent) != 2 * channels:
        raise ValueError(f"its transparent colour has {len(transparent)} bytes, not {2 * channels}")
    return _with_alpha(pixels, np.frombuffer(transparent, ">u2"))


def _part_size(rows: int, columns: int, part: tuple[int, int, int, int]) -> tuple[int, int]:
    """How many rows and columns of an image are in one of the passes."""
    top, left, down, across = part
    return len(range(top, rows, down)), len(range(left, columns, across))


def _inflated(data: bytes, size: int) -> bytes:
    """The bytes of all lines, and no more, however many there are."""
    if size > len(data) * DEFLATE_RATIO:
        raise ValueError(f"the pixels are incomplete: {len(data)} bytes cannot hold {size}")
    try:
        raw = zlib.decompressobj().decompress(data, size)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(raw) < size:
        raise ValueError(f"{size - len(raw)} bytes of pixels are missing")
    return raw


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_START)
    while place + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, place)
        name, payload = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        if data[place + 8 + size : place + 12 + size] != struct.pack(">I", zlib.crc32(name + payload)):
            raise ValueError(f"the chunk {name!r} is damaged")
        yield name, payload
        place += 12 + size


def _with_alpha(pixels: np.ndarray, transparent: np.ndarray) -> np.ndarray:
    alpha = np.where((pixels == transparent).all(-1, keepdims=True), 0, 65535).astype(np.uint16)
    return np.concatenate([pixels, alpha], -1)


def _unfiltered(lines: np.ndarray, size: int) -> np.ndarray:
    """The bytes of lines that begin with their filter; ``size``: bytes of a pixel.

    A byte depends on those to the left, above, and above left of it, so the pixels of a diagonal are computed together.
    """
    filters, rows = lines[:, 0], lines.shape[0]
    if filters.max() > 4:
        raise ValueError(f"there is no filter {filters.max()}")
    columns = (lines.shape[1] - 1) // size
    filtered = np.lib.stride_tricks.as_strided(
        lines[:, 1:], (rows, columns, size), (lines.strides[0], size, 1), writeable=False
    )
    result = np.zeros((rows + 1, columns + 1, size), np.uint8)  # with a row above and a column to the left
    for diagonal in range(rows + columns - 1):
        y = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        x = diagonal - y
        left, above, corner = (result[at].astype(np.int16) for at in ((y + 1, x), (y, x + 1), (y, x)))
        none = np.zeros_like(left)
        guesses = [none, left, above, (left + above) >> 1, _nearest(left, above, corner)]
        guess = np.choose(filters[y, None], guesses)
        result[y + 1, x + 1] = (filtered[y, x] + guess) & 255
    return np.ascontiguousarray(result[1:, 1:]).reshape(rows, -1)


def _nearest(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Paeth's guess: which of the three is nearest to left + above - corner."""
    to_left, to_above, to_corner = np.abs(above - corner), np.abs(left - corner), np.abs(left + above - 2 * corner)
    return np.where(
        (to_left <= to_above) & (to_left <= to_corner), left, np.where(to_above <= to_corner, above, corner)
    )
