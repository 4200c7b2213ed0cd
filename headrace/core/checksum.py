"""CRC-32C, the checksum of records and checkpoints, and the masked form in which files store it.

google-crc32c computes it where it is installed (a dependency of Headrace), else a table in Python, which is correct but slow:
about ten megabytes a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def _extend() -> Callable[[int, Any], int]:
    try:
        import google_crc32c
    except ImportError:
        return crc32c_by_table
    return google_crc32c.extend  # type: ignore[no-any-return]


@cache
def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        entries.append(byte)
    return tuple(entries)


def crc32c_by_table(crc: int, data: Any) -> int:
    """The checksum without google-crc32c."""
    table = _table()
    crc ^= 0xFFFFFFFF
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def crc32c(data: Any, crc: int = 0) -> int:
    """The checksum of bytes, or of an array of them, that follow those with the checksum ``crc``."""
    return _extend()(crc, data)


def masked(crc: int) -> int:
    """The checksum as it is stored: rotated and shifted, so that checksums of checksums stay useful."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def masked_crc(data: Any) -> int:
    """The checksum of ``data`` as it is stored."""
    return masked(_extend()(0, data))
