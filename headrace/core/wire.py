"""The wire format of protocol buffers: varints, tags and fields, as far as records on disk need it.

Owns bytes only; which field means what is in the modules that use it (``example``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FEW = 96  # below so many bytes a plain loop beats numpy


def varint(value: int) -> bytes:
    """A non-negative integer, seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """-> the value, and where the next thing begins."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a varint goes on beyond the end of the message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def field(number: int, payload: bytes) -> bytes:
    """A field that holds bytes, a string, a message or packed numbers."""
    return varint(number << 3 | BYTES) + varint(len(payload)) + payload


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, payload) of each field: an int for varints, else bytes.  ValueError if it cannot be read."""
    at, size = 0, len(data)
    while at < size:
        tag = data[at]  # most tags and lengths are one byte
        at += 1
        if tag > 0x7F:
            tag, at = read_varint(data, at - 1)
        if not tag >> 3:
            raise ValueError("field number 0 is not allowed")
        wire_type = tag & 7
        if wire_type == VARINT:
            value, at = read_varint(data, at)
            yield tag >> 3, wire_type, value
            continue
        if wire_type == BYTES:
            if at < size and (length := data[at]) < 0x80:
                at += 1
            else:
                length, at = read_varint(data, at)
        elif wire_type in (FIXED64, FIXED32):
            length = 8 if wire_type == FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire_type} is not known")
        if at + length > size:
            raise ValueError(f"field {tag >> 3} goes on beyond the end of the message")
        yield tag >> 3, wire_type, data[at : at + length]
        at += length


def only_field(data: bytes, number: int) -> bytes | None:
    """The content of a message that is one field of bytes; None of any other message."""
    if len(data) < 2 or data[0] != number << 3 | BYTES:
        return None
    length, at = data[1], 2
    if length > 0x7F:
        length, at = read_varint(data, 1)
    return data[at:] if at + length == len(data) else None


def pack_int64(values: Iterable[int]) -> bytes:
    """Packed varints; negative numbers as 64-bit two's complement."""
    return b"".join(varint(v & 0xFFFFFFFFFFFFFFFF) for v in values)


def unpack_int64(data: bytes) -> np.ndarray[Any, Any]:
    """The inverse of ``pack_int64``."""
    if len(data) <= _FEW:
        decoded, at = [], 0
        while at < len(data):
            value, at = (data[at], at + 1) if data[at] < 0x80 else read_varint(data, at)
            decoded.append(value)
        return np.array(decoded, np.uint64).view(np.int64)
    raw = np.frombuffer(data, np.uint8)
    last = raw < 0x80
    if not last[-1]:
        raise ValueError("a varint goes on beyond the end of the message")
    ends = last.nonzero()[0]
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    more = ends - starts  # bytes after the first
    longest = int(np.maximum.reduce(more))
    if longest > 9:
        raise ValueError("a varint is longer than ten bytes")
    bits = raw & np.uint8(0x7F)
    values = bits.take(starts).astype(np.uint64)
    for k in range(1, longest + 1):
        which = (more >= k).nonzero()[0]
        values[which] |= bits.take(starts.take(which) + k).astype(np.uint64) << np.uint64(7 * k)
    return values.view(np.int64)
