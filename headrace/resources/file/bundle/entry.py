"""What the index of a bundle says: a header, and for each tensor its dtype, shape and place in a data file.

Owns the names of the files and the encoding of BundleHeaderProto and BundleEntryProto.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field

import numpy as np

from headrace.core import dtypes, wire
from headrace.core.dtypes import DType
from headrace.resources.file.bundle.extents import Extents, read_slice_proto, slice_proto

VERSION = 1  # of TensorFlow's format
INCREMENTS = 2  # of ours: the version that a reader of a bundle with a base needs
_DATA_NAME = re.compile(r"\.data-(\d{5,})-of-(\d{5,})$")
_OURS = 1000  # the first number of the header's fields that are not TensorFlow's
_UNKEPT = (dtypes.resource, dtypes.variant)


def index_name(prefix: str) -> str:
    """The file that names the tensors."""
    return f"{prefix}.index"


def data_name(prefix: str, shard: int, shards: int) -> str:
    """The file that holds the tensors of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def shards_in_name(path: str) -> int | None:
    """The number of shards in the name of a data file; None for other files."""
    match = _DATA_NAME.search(path)
    return None if match is None else int(match[2])


def stored_dtype(dtype: DType) -> np.dtype:
    """numpy's type for the elements as they are stored: bits for bfloat16, plain integers for quantized numbers."""
    if dtype == dtypes.string or dtype in _UNKEPT:
        raise TypeError(f"elements of {dtype.name} are not stored as plain numbers")
    plain = np.dtype(np.uint16 if dtype == dtypes.bfloat16 else dtype.as_numpy_dtype)
    return plain if plain.names is None else plain[0]


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor, or a slice of one.  A tensor that is kept as slices has their extents and no place of its own.

    ``rows``: so many rows are kept, their numbers (int64) and then their values; the others are in the base.  None: all are.
    """

    dtype: DType
    shape: tuple[int, ...]
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc: int = 0  # masked
    slices: tuple[Extents, ...] = field(default=())
    rows: int | None = None

    def encode(self) -> bytes:
        """The encoded BundleEntryProto."""
        shape = b"".join(wire.field(2, _number(1, size)) for size in self.shape)
        parts = [_number(1, self.dtype.as_datatype_enum), wire.field(2, shape)]
        parts += [_number(3, self.shard), _number(4, self.offset), _number(5, self.size)]
        if self.crc:
            parts.append(wire.varint(6 << 3 | wire.FIXED32) + struct.pack("<I", self.crc))
        parts += [wire.field(7, slice_proto(extents)) for extents in self.slices]
        return b"".join(parts) + (b"" if self.rows is None else _number(8, self.rows + 1))

    @property
    def expected_size(self) -> int | None:
        """The size that dtype and shape ask for; None for strings.  ValueError if there cannot be such rows."""
        if self.rows is None:
            return None if self.dtype == dtypes.string else math.prod(self.shape) * stored_dtype(self.dtype).itemsize
        if self.dtype == dtypes.string or not self.shape or self.rows > self.shape[0]:
            raise ValueError(f"{self.rows} rows of {self.dtype.name} {list(self.shape)}")
        return self.rows * (8 + math.prod(self.shape[1:]) * stored_dtype(self.dtype).itemsize)


def read_entry(data: bytes) -> Entry:
    """The entry in an encoded BundleEntryProto; ValueError if it cannot be used."""
    values: dict[int, int] = {}
    shape: tuple[int, ...] = ()
    crc = 0
    slices = []
    for number, wire_type, payload in wire.fields(data):
        if wire_type == wire.VARINT:
            values[number] = payload
        elif number == 2:
            shape = read_shape(payload)
        elif number == 6 and wire_type == wire.FIXED32:
            crc = struct.unpack("<I", payload)[0]
        elif number == 7:
            slices.append(read_slice_proto(payload))
    try:
        dtype = dtypes.as_dtype(values.get(1, 0))
    except TypeError as error:
        raise ValueError(f"it has no usable dtype: {error}") from None
    rows = values[8] - 1 if values.get(8) else None
    entry = Entry(dtype, shape, values.get(3, 0), values.get(4, 0), values.get(5, 0), crc, tuple(slices), rows)
    if rows is not None:
        entry.expected_size  # noqa: B018 - it looks whether there can be such rows
    return entry


@dataclass(frozen=True, slots=True)
class Lineage:
    """What others know the bundle by, and the bundle it builds on, if any: its name in the same folder and its ``own_id``."""

    own_id: str = ""
    base: str = ""
    base_id: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """The number of data files, their byte order, the version of the format, and what the bundle builds on."""

    shards: int
    big_endian: bool = False
    producer: int = VERSION
    min_consumer: int = 0
    lineage: Lineage = Lineage()

    def encode(self) -> bytes:
        """The encoded BundleHeaderProto.  TensorFlow passes over the fields that are ours, and refuses what has a base."""
        versions = _number(1, self.producer) + _number(2, INCREMENTS if self.lineage.base else self.min_consumer)
        texts = (self.lineage.own_id, self.lineage.base, self.lineage.base_id)
        ours = b"".join(wire.field(_OURS + i, text.encode()) for i, text in enumerate(texts) if text)
        return _number(1, self.shards) + _number(2, self.big_endian) + wire.field(3, versions) + ours


def read_header(data: bytes) -> Header:
    """The header in an encoded BundleHeaderProto."""
    values: dict[int, int] = {}
    versions: dict[int, int] = {}
    texts = {_OURS: "", _OURS + 1: "", _OURS + 2: ""}
    for number, wire_type, payload in wire.fields(data):
        if number == 3 and wire_type == wire.BYTES:
            versions = {n: v for n, t, v in wire.fields(payload) if t == wire.VARINT}
        elif number in texts and wire_type == wire.BYTES:
            texts[number] = bytes(payload).decode()
        elif wire_type == wire.VARINT:
            values[number] = payload
    lineage = Lineage(*texts.values())
    return Header(values.get(1, 0), values.get(2, 0) == 1, versions.get(1, 0), versions.get(2, 0), lineage)


def _number(number: int, value: int) -> bytes:
    return wire.varint(number << 3) + wire.varint(value) if value else b""


def read_shape(data: bytes) -> tuple[int, ...]:
    sizes = []
    for number, _, payload in wire.fields(data):
        if number == 2:
            sizes.append(next((v for n, _, v in wire.fields(payload) if n == 1), 0))
    if any(size >= 1 << 62 for size in sizes):
        raise ValueError(f"its shape {sizes} has a dimension of unknown size")
    return tuple(sizes)
