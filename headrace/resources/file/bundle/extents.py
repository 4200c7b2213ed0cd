"""Slices of tensors: their text form ("4 10 0,2:-"), their wire form, their keys in tables, and what two of them share.

The extents of a slice are a (start, length) for each dimension; length -1 stands for the whole dimension.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.core import wire

Extents = tuple[tuple[int, int], ...]
FULL = (0, -1)
_ESCAPES = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}
_EXTENT = re.compile(r"(\d+),(\d+)")


def parse_shape_and_slice(text: str) -> tuple[tuple[int, ...], Extents]:
    """The full shape and the extents in "4 10 0,2:-"; ValueError if they are not that."""
    *dims, last = text.strip().split(" ")
    if not all(dim.isdigit() for dim in dims):
        raise ValueError(f"expected 'dim dim ... extent:extent' in shape_and_slice, got {text!r}")
    extents = parse_extents(last, text)
    shape = tuple(map(int, dims))
    if len(shape) != len(extents):
        raise ValueError(
            f"Expected rank ({len(shape)} dimensions) of the slice in shape_and_slice, got {len(extents)}: {text!r}"
        )
    for size, (start, length) in zip(shape, extents, strict=True):
        if start + max(length, 0) > size:
            raise ValueError(f"the slice goes beyond the dimension of size {size} in shape_and_slice {text!r}")
    return shape, extents


def parse_extents(text: str, where: str | None = None) -> Extents:
    """The extents in "0,2:-"; ValueError if they are not that."""
    extents = []
    for part in text.split(":"):
        match = _EXTENT.fullmatch(part)
        if part != "-" and match is None:
            raise ValueError(f"expected a pair of numbers or '-' but got {part!r} in {where or text!r}")
        extents.append(FULL if match is None else (int(match[1]), int(match[2])))
    return tuple(extents)


def extents_text(extents: Extents) -> str:
    """ "0,2:-": what `parse_extents` reads."""
    return ":".join("-" if length < 0 else f"{start},{length}" for start, length in extents)


def placed(extents: Extents, shape: Sequence[int]) -> Extents:
    """The extents with the length of every dimension."""
    return tuple((0, size) if length < 0 else (at, length) for (at, length), size in zip(extents, shape, strict=True))


def is_whole(extents: Extents, shape: Sequence[int]) -> bool:
    """Whether the slice is all of a tensor of this shape."""
    return placed(extents, shape) == tuple((0, size) for size in shape)


def shared(one: Extents, other: Extents) -> Extents | None:
    """What two slices, with all their lengths, have in common; None if that is nothing."""
    common = []
    for (start, length), (other_start, other_length) in zip(one, other, strict=True):
        low, high = max(start, other_start), min(start + length, other_start + other_length)
        if low >= high:
            return None
        common.append((low, high - low))
    return tuple(common)


def index_of(part: Extents, whole: Extents) -> tuple[slice, ...]:
    """The index of a slice in an array that holds a larger slice."""
    return tuple(slice(at - base, at - base + length) for (at, length), (base, _) in zip(part, whole, strict=True))


# ---- on the wire


def slice_proto(extents: Extents) -> bytes:
    """The encoded TensorSliceProto."""
    return b"".join(wire.field(1, b"" if e == FULL else _extent_proto(*e)) for e in extents)


def _extent_proto(start: int, length: int) -> bytes:
    return (wire.varint(1 << 3) + wire.varint(start) if start else b"") + wire.varint(2 << 3) + wire.varint(length)


def read_slice_proto(data: bytes) -> Extents:
    """The extents in an encoded TensorSliceProto."""
    extents = []
    for number, _, payload in wire.fields(data):
        if number == 1:
            values = {n: v for n, _, v in wire.fields(payload)}
            extents.append((values.get(1, 0), values.get(2, -1)))
    return tuple(extents)


# ---- keys: what sorts as the values in them do (TensorFlow's OrderedCode)


def slice_key(name: bytes, extents: Extents) -> bytes:
    """The key of a slice: zero, the name, the number of dimensions, then start and length of each."""
    escaped = b"".join(_ESCAPES.get(byte, bytes([byte])) for byte in name)
    numbers = b"".join(_signed(number) for extent in extents for number in extent)
    return _unsigned(0) + escaped + b"\x00\x01" + _unsigned(len(extents)) + numbers


def _unsigned(number: int) -> bytes:
    size = (number.bit_length() + 7) // 8
    return bytes([size]) + number.to_bytes(size, "big")


def _signed(number: int) -> bytes:
    """Its first bits say how many bytes it takes: as many ones as bytes, turned around for negative numbers."""
    size = (number if number >= 0 else ~number).bit_length() // 7 + 1
    header = ((1 << size) - 1) << (7 * size)
    return ((number ^ header) & ((1 << 8 * size) - 1)).to_bytes(size, "big")
