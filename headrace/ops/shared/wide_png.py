"""PNG files of 16 bits a channel with several channels, which Pillow neither reads nor writes in full."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

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
    channels = _CHANNELS[colour_type]
    try:
        raw = zlib.decompress(b"".join(payload for name, payload in chunks if name == b"IDAT"))
    except zlib.error as error:
        raise ValueError(str(error)) from None
    pixels = np.zeros((rows, columns, channels), np.uint16)
    for top, left, down, across in _PASSES if interlaced else ((0, 0, 1, 1),):
        part = pixels[top::down, left::across]
        if part.size:
            size = part.shape[0] * (1 + part.shape[1] * channels * 2)
            if len(raw) < size:
                raise ValueError(f"{size - len(raw)} bytes of pixels are missing")
            lines = np.frombuffer(raw[:size], np.uint8).reshape(part.shape[0], -1)
            part[:] = _unfiltered(lines, channels * 2).view(">u2").reshape(part.shape)
            raw = raw[size:]
    transparent = dict(chunks).get(b"tRNS")
    return pixels if transparent is None else _with_alpha(pixels, np.frombuffer(transparent, ">u2"))


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
    filtered = lines[:, 1:].reshape(rows, -1, size).astype(np.int16)
    columns = filtered.shape[1]
    result = np.zeros((rows + 1, columns + 1, size), np.int16)  # with a row above and a column to the left
    for diagonal in range(rows + columns - 1):
        y = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        x = diagonal - y
        left, above, corner = result[y + 1, x], result[y, x + 1], result[y, x]
        none = np.zeros_like(left)
        guesses = [none, left, above, (left + above) >> 1, _nearest(left, above, corner)]
        guess = np.choose(filters[y, None], guesses)
        result[y + 1, x + 1] = (filtered[y, x] + guess) & 255
    return result[1:, 1:].astype(np.uint8).reshape(rows, -1)


def _nearest(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Paeth's guess: which of the three is nearest to left + above - corner."""
    to_left, to_above, to_corner = np.abs(above - corner), np.abs(left - corner), np.abs(left + above - 2 * corner)
    return np.where(
        (to_left <= to_above) & (to_left <= to_corner), left, np.where(to_above <= to_corner, above, corner)
    )
