"""Reading a bundle: its index, then tensors and slices of them, each checked against its checksum.

A bundle may have only some rows of a tensor.  The others are in its base, which may have a base too (base.py).
"""

from __future__ import annotations

import math
from typing import IO, Any

import numpy as np

from headrace.core import dtypes, errors, file, wire
from headrace.core.checksum import crc32c, masked
from headrace.core.dtypes import DType
from headrace.resources.file.bundle.checkpoint import Checkpoint
from headrace.resources.file.bundle.entry import (
    INCREMENTS,
    Entry,
    Lineage,
    data_name,
    index_name,
    read_entry,
    read_header,
    stored_dtype,
)
from headrace.resources.file.bundle.extents import Extents, extents_text, slice_key
from headrace.resources.file.bundle.table import Table

_PIECE = 1 << 22  # bytes that are read, and then checked while they are in the cache
_CHECKED = 1 << 21  # bytes that are read to be checked only
_WORTH_MAPPING = 1 << 16  # bytes from which a tensor is mapped
_UNMAPPED = (dtypes.string, dtypes.bool)  # what is more than bytes with a checksum


class BundleReader(Checkpoint):
    """An open bundle."""

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        self._index = index_name(prefix)
        self._files: dict[int, IO[bytes]] = {}
        self._maps: dict[int, Any] = {}
        self.elsewhere: dict[int, str] = {}  # data files that are read in the place of the bundle's own, by number
        self.raw_entries: dict[bytes, Entry] = {}  # by key: those of slices too
        self.lineage = Lineage()
        self.base: BundleReader | None = None  # where the rows are that this one lacks
        with file.open_file(self._index, "rb") as opened, file.file_errors(self._index):
            items = list(Table(opened, self._index).items())
        self._take(items)

    def _take(self, items: list[tuple[bytes, bytes]]) -> None:
        if not items or items[0][0]:
            raise errors.DataLossError(None, None, f"{self._index} has no header")
        name = b""
        try:
            header = read_header(items[0][1])
            for name, value in items[1:]:
                self.raw_entries[name] = read_entry(value)
        except (ValueError, TypeError) as error:
            raise errors.DataLossError(None, None, f"{self._index}: the entry {name!r} is damaged: {error}") from None
        if header.min_consumer > INCREMENTS or header.producer < 1:
            raise errors.InvalidArgumentError(
                None, None,
                f"{self._index} has version {header.producer} of the format, for readers of version {header.min_consumer}; "
                f"this reader has version {INCREMENTS}",
            )  # fmt: skip
        if header.big_endian:
            raise errors.UnimplementedError(
                None, None, f"{self._index}: the bundle was written on a big-endian machine, which is not supported"
            )
        self.shards = header.shards
        self.lineage = header.lineage
        self.entries = {_text(key): entry for key, entry in self.raw_entries.items() if not key.startswith(b"\0")}

    def close(self) -> None:
        """Closes the data files."""
        for opened in self._files.values():
            opened.close()
        self._files.clear()
        self._maps.clear()
        if self.base is not None:
            self.base.close()

    def hold(self) -> None:
        """Opens all data files, so that what is read belongs together even if the bundle is replaced meanwhile."""
        for shard in sorted({entry.shard for entry in self.raw_entries.values() if not entry.slices}):
            self._data(shard)
        self.is_parallel = not file.is_remote(self.prefix)

    def _read_piece(self, name: str, dtype: DType, piece: Extents, shape: tuple[int, ...]) -> Any:
        text = f"{name} (slice {extents_text(piece)})"
        key = slice_key(_key(name), piece)
        entry = self.raw_entries.get(key)
        if entry is None:
            raise errors.DataLossError(None, None, f"{self._index}: there is no entry for {text}")
        if entry.dtype != dtype or entry.shape != shape or entry.slices:
            raise errors.DataLossError(
                None, None,
                f"{self._index}: {text} should be {dtype.name} {list(shape)}, but is {entry.dtype.name} {list(entry.shape)}",
            )  # fmt: skip
        return self._read_key(text, key, entry)

    def _read_whole(self, name: str, entry: Entry) -> Any:
        return self._read_key(name, _key(name), entry)

    def _read_key(self, name: str, key: bytes, entry: Entry) -> Any:
        path, data = self._place(name, entry)
        with file.file_errors(path):
            if entry.rows is not None:
                return _with_rows(self._read_in_base(name, key, entry), data, name, entry, path)
            if entry.dtype == dtypes.string:
                return _read_strings(data, name, entry, path)
            return _read_numbers(data, name, entry, path)

    def _read_in_base(self, name: str, key: bytes, entry: Entry) -> Any:
        """What the base has under the same key."""
        if self.base is None:
            raise errors.DataLossError(None, None, f"{self._index}: {name} has some rows only, but no base is named")
        in_base = self.base.raw_entries.get(key)
        if in_base is None or in_base.slices or (in_base.dtype, in_base.shape) != (entry.dtype, entry.shape):
            found = (
                "nothing"
                if in_base is None
                else f"{in_base.dtype.name} {list(in_base.shape)}{' in slices' * bool(in_base.slices)}"
            )
            raise errors.DataLossError(
                None, None,
                f"{self._index}: {name} is {entry.dtype.name} {list(entry.shape)}, with {entry.rows} rows here and the others in "
                f"the base {self.base.prefix}, which has {found} under this name",
            )  # fmt: skip
        return self.base._read_key(name, key, in_base)

    def map(self, name: str) -> Any:
        entry = self.entry(name)
        if entry.rows is not None:
            return None
        if entry.slices or not self.is_parallel or entry.size < _WORTH_MAPPING or entry.dtype in _UNMAPPED:
            return None
        stored = stored_dtype(entry.dtype)
        if entry.offset % stored.itemsize:
            return None
        path, data = self._place(name, entry)
        with file.file_errors(path):
            _check_numbers(data, name, entry, path)
            memory = self._maps.get(entry.shard)
            if memory is None:
                memory = self._maps[entry.shard] = np.frombuffer(file.mapped(data), np.uint8)
        return memory[entry.offset : entry.offset + entry.size].view(stored).reshape(entry.shape)

    def check_files(self) -> None:
        for key, entry in self.raw_entries.items():
            if not entry.slices:
                self._place(_text(key), entry)

    def _place(self, name: str, entry: Entry) -> tuple[str, IO[bytes]]:
        """The file that has the tensor; DataLossError if the tensor cannot be there."""
        path = self._path(entry.shard)
        data = self._data(entry.shard)
        with file.file_errors(path):
            end = file.size_of(data)
        if entry.expected_size not in (None, entry.size):
            raise errors.DataLossError(
                None, None,
                f"{self._index}: {name} has {entry.size} bytes, but {entry.dtype.name} {list(entry.shape)} takes "
                f"{entry.expected_size}",
            )  # fmt: skip
        if entry.offset + entry.size > end:
            raise errors.DataLossError(
                None, None,
                f"{path} is cut off: {name} needs bytes {entry.offset} to {entry.offset + entry.size}, the file has {end}",
            )  # fmt: skip
        return path, data

    def _data(self, shard: int) -> IO[bytes]:
        opened = self._files.get(shard)
        if opened is None:
            opened = self._files[shard] = file.open_file(self._path(shard), "rb", 0)
        return opened

    def _path(self, shard: int) -> str:
        return self.elsewhere.get(shard) or data_name(self.prefix, shard, self.shards)


def _read_numbers(data: IO[bytes], name: str, entry: Entry, path: str) -> Any:
    array = _empty(entry, stored_dtype(entry.dtype), name, path)
    flat = array.reshape(-1).view(np.uint8)
    crc = 0
    for at in range(0, len(flat), _PIECE):
        piece = flat[at : at + _PIECE]
        _fill(data, entry.offset + at, piece, name, path)
        crc = crc32c(piece, crc)
    _check_crc(masked(crc), entry.crc, name, path)
    _check_bools(flat, name, entry, path)
    return array


def _with_rows(array: Any, data: IO[bytes], name: str, entry: Entry, path: str) -> Any:
    """The tensor as the base has it, with the rows that this bundle has."""
    raw = np.empty(entry.size, np.uint8)
    _fill(data, entry.offset, raw, name, path)
    _check_crc(masked(crc32c(raw)), entry.crc, name, path)
    end = 8 * (entry.rows or 0)
    numbers, values = raw[:end].view(np.int64), raw[end:]
    _check_bools(values, name, entry, path)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(array):
        raise errors.DataLossError(
            None, None,
            f"{path}: {name} has row {numbers.min() if numbers.min() < 0 else numbers.max()}, its base has {len(array)} rows",
        )  # fmt: skip
    array[numbers] = values.view(array.dtype).reshape(len(numbers), *array.shape[1:])
    return array


def _check_bools(flat: Any, name: str, entry: Entry, path: str) -> None:
    if entry.dtype == dtypes.bool and flat.size and flat.max() > 1:
        raise errors.DataLossError(None, None, f"{path}: {name} has values that are no bools")


def _empty(entry: Entry, dtype: Any, name: str, path: str) -> Any:
    try:
        return np.empty(entry.shape, dtype)
    except ValueError as error:  # an empty tensor can have a size that no array has
        raise errors.DataLossError(None, None, f"{path}: {name} has shape {list(entry.shape)}: {error}") from None


def _check_numbers(data: IO[bytes], name: str, entry: Entry, path: str) -> None:
    """Reads a tensor and forgets it: DataLossError if its checksum is wrong."""
    buffer = np.empty(min(_CHECKED, entry.size), np.uint8)
    crc = 0
    for at in range(0, entry.size, _CHECKED):
        piece = buffer[: entry.size - at]
        _fill(data, entry.offset + at, piece, name, path)
        crc = crc32c(piece, crc)
    _check_crc(masked(crc), entry.crc, name, path)


def _fill(data: IO[bytes], offset: int, piece: Any, name: str, path: str) -> None:
    view = memoryview(piece)
    while view:
        count = file.read_at(data, offset, view)
        if not count:
            raise errors.DataLossError(None, None, f"{path} is cut off: it ends within {name}")
        view = view[count:]
        offset += count


def _read_strings(data: IO[bytes], name: str, entry: Entry, path: str) -> Any:
    if math.prod(entry.shape) > entry.size:  # each takes a byte for its length
        raise errors.DataLossError(
            None, None, f"{path}: {name} has {entry.size} bytes for the strings of shape {list(entry.shape)}"
        )
    result = _empty(entry, object, name, path)
    contents = np.empty(entry.size, np.uint8)
    _fill(data, entry.offset, contents, name, path)
    raw = contents.tobytes()
    lengths, at = [], 0
    try:
        for _ in range(result.size):
            length, at = wire.read_varint(raw, at)
            lengths.append(length)
    except ValueError:
        raise errors.DataLossError(None, None, f"{path}: the lengths of the strings of {name} are damaged") from None
    crc = crc32c(b"".join(length.to_bytes(4 if length < 1 << 32 else 8, "little") for length in lengths))
    _check_crc(masked(crc), int.from_bytes(raw[at : at + 4], "little"), f"the lengths of the strings of {name}", path)
    if at + 4 + sum(lengths) != len(raw):
        found = at + 4 + sum(lengths)
        raise errors.DataLossError(None, None, f"{path}: {name} has {len(raw)} bytes, its strings take {found}")
    _check_crc(masked(crc32c(raw[at:], crc)), entry.crc, name, path)
    flat = result.reshape(-1)
    at += 4
    for place, length in enumerate(lengths):
        flat[place] = raw[at : at + length]
        at += length
    return result


def _check_crc(found: int, expected: int, name: str, path: str) -> None:
    if found != expected:
        raise errors.DataLossError(
            None, None, f"{path}: {name} has a wrong checksum: expected {expected:#010x}, found {found:#010x}"
        )


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")
