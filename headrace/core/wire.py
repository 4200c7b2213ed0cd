"""The wire format of protocol buffers: varints, tags and fields, as far as records on disk need it.

Owns bytes only; which field means what is in the modules that use it (``tensor_proto``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


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


def unpack_int64(data: bytes) -> np.ndarray[Any, Any]:
    """The numbers in packed varints; negative ones are 64-bit two's complement."""
    decoded, at = [], 0
    while at < len(data):
        value, at = read_varint(data, at)
        decoded.append(value & 0xFFFFFFFFFFFFFFFF)
    return np.array(decoded, np.uint64).view(np.int64)
