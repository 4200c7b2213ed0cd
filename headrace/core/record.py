"""Records: TF1's file of byte strings, each with its length and checksums (TFRecord).

    length (8 bytes, little endian)   masked CRC-32C of the length (4)   the record   masked CRC-32C of the record (4)

The checksum is that of ``checksum``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

from headrace.core import errors, file_limits
from headrace.core.checksum import masked_crc

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")


def frame(record: bytes) -> bytes:
    """One record as it stands in the file."""
    length = struct.pack("<Q", len(record))
    return length + _CHECKSUM.pack(masked_crc(length)) + record + _CHECKSUM.pack(masked_crc(record))


def read_record(file: IO[bytes], path: str, offset: int = 0) -> bytes | None:
    """The next record, None at the end; DataLossError if the file is damaged or cut off there."""
    header = file.read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise errors.DataLossError(None, None, f"truncated record at {offset} in {path}")
    length, crc = _HEADER.unpack(header)
    if masked_crc(header[:8]) != crc:
        raise errors.DataLossError(
            None, None, f"corrupted record at {offset} in {path}: its length has a wrong checksum"
        )
    if length > file_limits.RECORD_BYTES:
        raise errors.DataLossError(
            None, None,
            f"corrupted record at {offset} in {path}: it should have {length} bytes, at most {file_limits.RECORD_BYTES} are read",
        )  # fmt: skip
    framed = _read(file, length + _CHECKSUM.size)
    if len(framed) < length + _CHECKSUM.size:
        raise errors.DataLossError(None, None, f"truncated record at {offset} in {path}")
    record = framed[:length]
    if masked_crc(record) != _CHECKSUM.unpack_from(framed, length)[0]:
        raise errors.DataLossError(None, None, f"corrupted record at {offset} in {path}: it has a wrong checksum")
    return record


def _read(file: IO[bytes], length: int) -> bytes:
    """That many bytes, fewer at the end of the file.  Memory is taken for what the file has, not for what it says it has."""
    if length <= file_limits.PIECE:
        return file.read(length)
    pieces, missing = [], length
    while missing and (piece := file.read(min(missing, file_limits.PIECE))):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def read_records(file: IO[bytes], path: str) -> Iterator[bytes]:
    """All the records of an open file."""
    offset = 0
    while (record := read_record(file, path, offset)) is not None:
        yield record
        offset += len(record) + _HEADER.size + _CHECKSUM.size
