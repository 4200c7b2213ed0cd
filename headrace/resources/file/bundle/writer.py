"""Writing a bundle so that a crash at any moment leaves the checkpoint before it, or this one, whole.

The data file is written under a name that no index speaks of, and synced.  Then the index is written under another name, synced,
renamed, and the folder is synced: with the rename, and not before, the bundle is there.  A bundle that replaces one of the same
name cannot have data files of the same names.  So it counts its shards from the first number that is free (``-of-00002`` instead
of ``-of-00001``), and removes the old files last.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from headrace.core import dtypes, errors, file, wire
from headrace.core.checksum import crc32c, masked
from headrace.core.dtypes import DType
from headrace.resources.file.bundle.entry import Entry, Header, Lineage, data_name, index_name, shards_in_name
from headrace.resources.file.bundle.extents import Extents, is_whole, slice_key
from headrace.resources.file.bundle.removal import remove_data
from headrace.resources.file.bundle.table import table_bytes

_BUFFER = 1 << 20  # small tensors are collected up to this many bytes before they are written
_STRIDE = 1 << 23  # bytes after which the disk is told to begin with them
_BEHIND = 1 << 26  # bytes before those, which the disk should have finished: their memory is used again


class BundleWriter:
    """Writes the tensors of one bundle, in one data file; a context manager that finishes it, or removes it after an error.

    Memory of its own is small: numbers go from the caller's pieces to the file.  Not thread-safe.
    """

    def __init__(self, prefix: str, lineage: Lineage = Lineage()) -> None:  # noqa: B008 - it cannot be changed
        self.prefix = prefix
        self._lineage = lineage
        self._entries: dict[bytes, Entry] = {}
        self._offset = 0
        self._begun = 0  # bytes that the disk was told to begin with
        folder = prefix.rpartition("/")[0]
        if folder:
            file.make_folder(folder, parents=False)
        self._shards, self._path, self._file = claimed(prefix)

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, error_class: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if error_class is not None:
            self.abandon()
            if isinstance(error, OSError):
                raise file.file_error(error, self._path) from None
            return
        try:
            self.finish()
        except OSError as os_error:
            self.abandon()
            raise file.file_error(os_error, self._path) from None
        except BaseException:
            self.abandon()
            raise

    def add(
        self, name: str, dtype: DType, shape: tuple[int, ...], pieces: Iterable[Any],
        part: tuple[tuple[int, ...], Extents] | None = None,
    ) -> None:  # fmt: skip
        """Writes a tensor, whose bytes come in ``pieces``: arrays of uint8 that nobody changes until the next is asked for.

        ``part`` is the full shape, and the extents in it, of a tensor that is a slice of a larger one.
        """
        self._add(name, Entry(dtype, tuple(shape)), pieces, part)

    def add_rows(
        self, name: str, dtype: DType, shape: tuple[int, ...], rows: Any, pieces: Iterable[Any],
        part: tuple[tuple[int, ...], Extents] | None = None,
    ) -> None:  # fmt: skip
        """Writes some rows of a tensor of this shape, whose others are as in the base: their numbers (int64) and their values."""
        entry = Entry(dtype, tuple(shape), rows=len(rows))
        self._add(name, entry, chain(array_pieces(rows), pieces), part)

    def _add(
        self, name: str, entry: Entry, pieces: Iterable[Any], part: tuple[tuple[int, ...], Extents] | None
    ) -> None:
        key = self._key(name, entry.dtype, entry.shape, part)
        crc, size = 0, 0
        for piece in pieces:
            crc = crc32c(piece, crc)
            self._file.write(piece)
            size += len(piece)
            self._write_back(self._offset + size)
        expected = entry.expected_size
        if size != expected:
            raise errors.InternalError(
                None, None, f"the pieces of {name} have {size} bytes, its shape asks for {expected}"
            )
        self._place(key, entry, size, crc)

    def add_strings(self, name: str, strings: Any, part: tuple[tuple[int, ...], Extents] | None = None) -> None:
        """Writes an array of bytes objects: all lengths, their checksum, all bytes."""
        key = self._key(name, dtypes.string, strings.shape, part)
        items = list(strings.reshape(-1))
        lengths = [len(item) for item in items]
        crc = crc32c(b"".join(length.to_bytes(4 if length < 1 << 32 else 8, "little") for length in lengths))
        checksum = masked(crc).to_bytes(4, "little")
        crc = crc32c(checksum, crc)
        head = b"".join(map(wire.varint, lengths)) + checksum
        self._file.write(head)
        for item in items:
            crc = crc32c(item, crc)
            self._file.write(item)
        self._place(key, Entry(dtypes.string, tuple(strings.shape)), len(head) + sum(lengths), crc)

    def _key(
        self, name: str, dtype: DType, shape: tuple[int, ...], part: tuple[tuple[int, ...], Extents] | None
    ) -> bytes:
        """The tensor's key in the index.  A slice is also noted with the tensor it is a part of."""
        key = name.encode()
        if part is not None and not is_whole(part[1], part[0]):
            full_shape, extents = part
            whole = self._entries.get(key, Entry(dtype, full_shape))
            if whole.dtype != dtype or whole.shape != full_shape or (key in self._entries and not whole.slices):
                raise errors.InvalidArgumentError(
                    None, None,
                    f"the slices of {name} do not belong together: {dtype.name} {list(full_shape)} and "
                    f"{whole.dtype.name} {list(whole.shape)}",
                )  # fmt: skip
            self._entries[key] = Entry(dtype, full_shape, slices=(*whole.slices, extents))
            key = slice_key(key, extents)
        if key in self._entries:
            raise errors.InvalidArgumentError(None, None, f"Adding duplicate key: {name}")
        return key

    def _place(self, key: bytes, entry: Entry, size: int, crc: int) -> None:
        self._entries[key] = replace(entry, offset=self._offset, size=size, crc=masked(crc))
        self._offset += size
        self._write_back(self._offset)

    def _write_back(self, end: int) -> None:
        if end - self._begun >= _STRIDE:
            start = max(self._begun - _BEHIND, 0)
            file.write_back(self._file, start, end - start)
            self._begun = end

    def finish(self) -> None:
        """Makes the bundle last, and then visible."""
        file.sync(self._file)
        self._file.close()
        publish_index(self.prefix, self._entries, self._shards, self._lineage)

    def abandon(self) -> None:
        """Removes what was written."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(errors.OpError):
            file.remove(self._path)


def publish_index(prefix: str, entries: dict[bytes, Entry], shards: int, lineage: Lineage) -> None:
    """Writes the index, with which the bundle becomes visible; then removes the data files of the bundle it replaces.

    A bundle that has all rows of all its tensors needs no base.
    """
    if all(entry.rows is None for entry in entries.values()):
        lineage = Lineage(lineage.own_id)
    items = [(b"", Header(shards, lineage=lineage).encode())] + [
        (key, entries[key].encode()) for key in sorted(entries)
    ]
    file.sync_folder(prefix)  # the name of the data file must last before the index speaks of it
    file.write_durably(index_name(prefix), table_bytes(items))
    file.remove_unfinished(index_name(prefix))
    for path in file.beginning_with(f"{prefix}.data-"):
        if shards_in_name(path) not in (None, shards):
            with contextlib.suppress(errors.OpError):  # another process may have removed it
                remove_data(path)


def free_count(prefix: str, shards: int) -> int:
    """The first number of shards, from ``shards`` on, that no data file of ``prefix`` has in its name."""
    counts = {shards_in_name(path) for path in file.beginning_with(f"{prefix}.data-")}
    while shards in counts:
        shards += 1
    return shards


def claimed(prefix: str) -> tuple[int, str, Any]:
    """A data file that was not there before: the number of shards in its name, its path, and the open file."""
    shards = free_count(prefix, 1)
    while True:
        path = data_name(prefix, 0, shards)
        try:
            return shards, path, file.open_file(path, "xb", _BUFFER)
        except errors.AlreadyExistsError:  # another process was quicker
            shards += 1


def array_pieces(array: Any, piece_size: int = 1 << 22) -> Iterable[Any]:
    """The bytes of an array of numbers, piece by piece."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return (flat[at : at + piece_size] for at in range(0, len(flat), piece_size))
