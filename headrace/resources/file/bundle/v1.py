"""Reading V1 checkpoints: tables that hold the tensors themselves, as SavedTensorSlices.  They are not written any more.

The empty key has the names, dtypes, shapes and slices of all tensors in the file; every slice has an entry with its values.  A
checkpoint may be several files, each with some slices.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np

from headrace.core import dtypes, errors, file, wire
from headrace.core.dtypes import DType
from headrace.resources.file.bundle.checkpoint import Checkpoint
from headrace.resources.file.bundle.entry import Entry, read_shape, stored_dtype
from headrace.resources.file.bundle.extents import Extents, extents_text, read_slice_proto, slice_key
from headrace.resources.file.bundle.table import Table

_CONTENT, _STRINGS = 4, 8
_FIXED = {5: "<f4", 6: "<f8", 9: "<c8", 12: "<c16"}  # fields of TensorProto with packed numbers of fixed size
_VARINTS = (7, 10, 11, 13, 16, 17)


class V1Reader(Checkpoint):
    """An open checkpoint of one or more V1 files."""

    def __init__(self, prefix: str, paths: Sequence[str]) -> None:
        super().__init__(prefix)
        self._files: list[IO[bytes]] = []
        self._tables: dict[tuple[str, Extents], Table] = {}
        try:
            for path in paths:
                self._open(path)
        except BaseException:
            self.close()
            raise
        self.entries = dict(sorted(self.entries.items()))

    def _open(self, path: str) -> None:
        opened = file.open_file(path, "rb")
        self._files.append(opened)
        table = Table(opened, path)
        meta = table.get(b"")
        if meta is None:
            raise errors.DataLossError(None, None, f"{path} has no list of its tensors")
        try:
            for number, _, payload in wire.fields(_message(meta, 1)):
                if number == 1:
                    self._add(table, *_read_meta(payload))
        except (ValueError, TypeError, struct.error) as error:
            raise errors.DataLossError(None, None, f"{path}: the list of its tensors is damaged: {error}") from None

    def _add(self, table: Table, name: str, entry: Entry) -> None:
        for extents in entry.slices:
            self._tables[name, extents] = table
        known = self.entries.get(name)
        if known is not None and (known.dtype, known.shape) != (entry.dtype, entry.shape):
            raise errors.DataLossError(
                None, None,
                f"{table.path}: {name} is {entry.dtype.name} {list(entry.shape)}, but {known.dtype.name} "
                f"{list(known.shape)} in another file of the checkpoint",
            )  # fmt: skip
        self.entries[name] = entry if known is None else replace(known, slices=known.slices + entry.slices)

    def close(self) -> None:
        for opened in self._files:
            opened.close()

    def _read_piece(self, name: str, dtype: DType, piece: Extents, shape: tuple[int, ...]) -> Any:
        table = self._tables[name, piece]
        text = f"{name} (slice {extents_text(piece)})" if shape else name
        data = table.get(slice_key(name.encode("utf-8", "surrogateescape"), piece))
        if data is None:
            raise errors.DataLossError(None, None, f"{table.path}: there is no entry for {text}")
        try:
            return _values(_message(_message(data, 2), 3), dtype, shape)
        except (ValueError, TypeError) as error:
            raise errors.DataLossError(None, None, f"{table.path}: {text} is damaged: {error}") from None


def _message(data: bytes, number: int) -> bytes:
    """The field of this number, a message."""
    return next((v for n, t, v in wire.fields(data) if n == number and t == wire.BYTES), b"")


def _read_meta(data: bytes) -> tuple[str, Entry]:
    name, dtype, slices = "", 0, []
    shape: tuple[int, ...] = ()
    for number, _, payload in wire.fields(data):
        if number == 1:
            name = payload.decode("utf-8", "surrogateescape")
        elif number == 2:
            shape = read_shape(payload)
        elif number == 3:
            dtype = payload
        elif number == 4:
            slices.append(read_slice_proto(payload))
    for extents in slices:
        if len(extents) != len(shape):
            raise ValueError(f"{name} has shape {list(shape)} and the slice {extents_text(extents)}")
    return name, Entry(dtypes.as_dtype(dtype), shape, slices=tuple(slices))


def _values(data: bytes, dtype: DType, shape: tuple[int, ...]) -> Any:
    """The array in the fields of an encoded TensorProto that may lack dtype and shape; ValueError if it has another size."""
    parts: list[Any] = []
    strings: list[bytes] = []
    for number, wire_type, payload in wire.fields(data):
        if number == _STRINGS:
            strings.append(payload)
        elif number == _CONTENT:
            parts.append(np.frombuffer(payload, stored_dtype(dtype)))
        elif number in _FIXED:
            parts.append(np.frombuffer(payload, _FIXED[number]))
        elif number in _VARINTS:
            parts.append([payload] if wire_type == wire.VARINT else wire.unpack_int64(payload))
    if dtype == dtypes.string:
        result = np.empty(len(strings), object)
        result[:] = strings
        return result.reshape(shape)
    numbers = np.concatenate(parts) if parts else np.empty(0)
    if dtype == dtypes.float16 and numbers.dtype.kind in "iu":
        numbers = numbers.astype(np.uint16).view(np.float16)
    return numbers.astype(stored_dtype(dtype)).reshape(shape)
