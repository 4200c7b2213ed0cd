"""The table: a file of sorted keys with their values, in blocks with checksums.  It is LevelDB's format.

    data blocks   meta index block (empty)   index block: last key of each block -> its place   footer (48 bytes)

A block is a row of entries and a trailer: its compression and its masked CRC-32C.  An entry leaves out what its key shares with
the key before; every 16th key, a *restart*, is whole.  Blocks are not compressed: TensorFlow writes none that are.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import IO

from headrace.core import errors, wire
from headrace.core.checksum import crc32c, masked

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = struct.Struct("<BI")
_BLOCK_SIZE = 262144
_RESTART_INTERVAL = 16

Place = tuple[int, int]  # offset and size of a block, without its trailer


# ---- writing


def table_bytes(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The table of these keys and values, which come in order."""
    file = bytearray()
    block, index = _Block(_RESTART_INTERVAL), _Block(1)
    last = b""
    pending: bytes | None = None  # the place of a block that is written, but not yet in the index
    for key, value in items:
        if pending is not None:
            index.add(_separator(last, key), pending)
            pending = None
        block.add(key, value)
        last = key
        if len(block.entries) + 4 * len(block.restarts) + 4 >= _BLOCK_SIZE:
            pending = _append(file, block)
            block = _Block(_RESTART_INTERVAL)
    if block.entries:
        pending = _append(file, block)
    meta = _append(file, _Block(_RESTART_INTERVAL))
    if pending is not None:
        index.add(_successor(last), pending)
    places = meta + _append(file, index)
    return bytes(file) + places.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


class _Block:
    """The entries of one block while it is written."""

    def __init__(self, restart_interval: int) -> None:
        self.entries = bytearray()
        self.restarts = [0]
        self._interval = restart_interval
        self._since_restart = 0
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since_restart < self._interval:
            longest = min(len(key), len(self._last))
            while shared < longest and key[shared] == self._last[shared]:
                shared += 1
        else:
            self.restarts.append(len(self.entries))
            self._since_restart = 0
        lengths = wire.varint(shared) + wire.varint(len(key) - shared) + wire.varint(len(value))
        self.entries += lengths + key[shared:] + value
        self._last = key
        self._since_restart += 1

    def __bytes__(self) -> bytes:
        count = len(self.restarts)
        return bytes(self.entries) + struct.pack(f"<{count + 1}I", *self.restarts, count)


def _append(file: bytearray, block: _Block) -> bytes:
    """Writes a block and gives its place, encoded."""
    contents = bytes(block)
    place = wire.varint(len(file)) + wire.varint(len(contents))
    file += contents + _TRAILER.pack(0, masked(crc32c(contents + b"\0")))
    return place


def _separator(low: bytes, high: bytes) -> bytes:
    """A short key that is at least ``low`` and below ``high``."""
    shared = 0
    while shared < min(len(low), len(high)) and low[shared] == high[shared]:
        shared += 1
    if shared < min(len(low), len(high)) and low[shared] < 0xFF and low[shared] + 1 < high[shared]:
        return low[:shared] + bytes([low[shared] + 1])
    return low


def _successor(key: bytes) -> bytes:
    """A short key that is at least ``key``."""
    for place, byte in enumerate(key):
        if byte != 0xFF:
            return key[:place] + bytes([byte + 1])
    return key


# ---- reading


class Table:
    """An open table.  DataLossError, with the path, wherever it is damaged.  Not thread-safe; the caller closes the file."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file, self.path = file, path
        self._size = file.seek(0, 2)
        if self._size < _FOOTER:
            raise self._damaged(f"it has {self._size} bytes, a table has at least {_FOOTER}")
        footer = self._read(self._size - _FOOTER, _FOOTER)
        magic = struct.unpack("<Q", footer[-8:])[0]
        if magic != _MAGIC:
            raise self._damaged(f"it ends with the number {magic:#018x}, a table ends with {_MAGIC:#018x}")
        try:
            at = _place(footer, _place(footer, 0)[1])[0]
            entries = list(_entries(self._block(at)))
            self._last_keys = [key for key, _ in entries]
            self._places = [_place(value, 0)[0] for _, value in entries]
        except (ValueError, struct.error) as error:
            raise self._damaged(str(error)) from None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys with their values, in order."""
        last: bytes | None = None
        for place in self._places:
            for key, value in self._block_entries(place):
                if last is not None and key <= last:
                    raise self._damaged(f"the key {key!r} comes after {last!r}")
                last = key
                yield key, value

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None if there is no such key."""
        at = bisect_left(self._last_keys, key)
        if at == len(self._places):
            return None
        return next((value for other, value in self._block_entries(self._places[at]) if other == key), None)

    def _block_entries(self, place: Place) -> list[tuple[bytes, bytes]]:
        try:
            return list(_entries(self._block(place)))
        except (ValueError, struct.error) as error:
            raise self._damaged(f"the block at {place[0]}: {error}") from None

    def _block(self, place: Place) -> bytes:
        offset, size = place
        if offset + size + _TRAILER.size > self._size - _FOOTER:
            raise ValueError(f"a block of {size} bytes at {offset} goes beyond the end")
        data = self._read(offset, size + _TRAILER.size)
        compression, stored = _TRAILER.unpack(data[size:])
        crc = masked(crc32c(data[: size + 1]))
        if crc != stored:
            raise ValueError(f"the block at {offset} has a wrong checksum: expected {stored:#010x}, found {crc:#010x}")
        if compression:
            raise errors.UnimplementedError(
                None,
                None,
                f"{self.path}: the block at {offset} is compressed (type {compression}), which is not supported",
            )
        return data[:size]

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) < size:
            raise self._damaged(f"it ends {size - len(data)} bytes too early")
        return data

    def _damaged(self, problem: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"{self.path} is not a valid table: {problem}")


def _place(data: bytes, at: int) -> tuple[Place, int]:
    offset, at = wire.read_varint(data, at)
    size, at = wire.read_varint(data, at)
    return (offset, size), at


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise ValueError("a block is shorter than 4 bytes")
    end = len(block) - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    if end < 0:
        raise ValueError("a block has more restarts than bytes")
    at, key = 0, b""
    while at < end:
        shared, at = wire.read_varint(block, at)
        own, at = wire.read_varint(block, at)
        size, at = wire.read_varint(block, at)
        if shared > len(key) or at + own + size > end:
            raise ValueError(f"the entry at {at} goes beyond the end of its block")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + size]
        at += size
