"""Records: what a reader makes of one work unit, usually a file, one record after another.

A record is a key and a value, both bytes.  The key tells where the record comes from: ``train.csv:12``.  Nothing here is
thread-safe, and nothing knows of queues: `Reader` does.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from headrace.core import file_limits
from headrace.core.errors import DataLossError, OpError, OutOfRangeError
from headrace.core.file import file_error, open_to_read
from headrace.core.record import read_record

Record = tuple[bytes, bytes]


class Records(Protocol):
    """The records of one work unit."""

    def next(self) -> Record | None:
        """The next record, None at the end.  After an error, the same error again."""

    def close(self) -> None: ...


class UnitItself:
    """One record: the work unit is key and value."""

    def __init__(self, unit: bytes) -> None:
        self._unit = unit

    def next(self) -> Record:
        return self._unit, self._unit

    def close(self) -> None:
        pass


class WholeFile(UnitItself):
    """One record: the contents of the file, with its name as the key."""

    def next(self) -> Record:
        with open_to_read(os.fsdecode(self._unit)) as file:
            return self._unit, file.read()


class _OpenFile:
    """A file that stays open from its first record to its last, or until it is closed or dropped."""

    def __init__(self, unit: bytes, compression: str = "") -> None:
        self._unit = unit
        self._path = os.fsdecode(unit)
        self._file = open_to_read(self._path, compression)
        self._error: OpError | None = None
        self.close = weakref.finalize(self, self._file.close)  # Python warns of open files that are dropped

    def next(self) -> Record | None:
        if self._error is None:
            try:
                return self._read()
            except OSError as error:
                self._error = file_error(error, self._path)
            except OpError as error:
                self._error = error
        raise self._error

    def _read(self) -> Record | None:
        raise NotImplementedError

    def _key(self, place: int) -> bytes:
        return b"%b:%d" % (self._unit, place)


class Lines(_OpenFile):
    """The lines of a text file, without their ends; the first has number 1, whether or not it is skipped."""

    def __init__(self, unit: bytes, skip_header_lines: int) -> None:
        super().__init__(unit)
        self._number = 0
        for _ in range(skip_header_lines):
            if self._read() is None:
                break

    def _read(self) -> Record | None:
        line = self._file.readline(file_limits.RECORD_BYTES)
        if not line:
            return None
        if len(line) == file_limits.RECORD_BYTES:
            raise DataLossError(
                None, None, f"{self._path}: line {self._number + 1} has over {file_limits.RECORD_BYTES} bytes"
            )
        self._number += 1
        return self._key(self._number), line.removesuffix(b"\n").removesuffix(b"\r")


class FixedLengthRecords(_OpenFile):
    """Pieces of ``record_bytes``, each ``hop_bytes`` after the one before, between a header and a footer.

    The first has number 0.  A rest that is shorter than a record is left out.
    """

    def __init__(
        self, unit: bytes, compression: str, record_bytes: int, header_bytes: int, footer_bytes: int, hop_bytes: int
    ) -> None:
        super().__init__(unit, compression)
        self._size, self._hop = record_bytes, hop_bytes
        self._window_size = record_bytes + footer_bytes  # a record is one only if the footer still fits behind it
        self._window = b""
        self._number = 0
        header = self._file.read(header_bytes)
        if len(header) < header_bytes:
            self.close()
            raise OutOfRangeError(
                None, None, f"{self._path} ends after {len(header)} bytes, within its header of {header_bytes} bytes"
            )

    def _read(self) -> Record | None:
        self._window += self._file.read(self._window_size - len(self._window))
        if len(self._window) < self._window_size:
            return None
        record = self._key(self._number), self._window[: self._size]
        self._number += 1
        if self._hop > len(self._window):
            self._file.read(self._hop - len(self._window))
        self._window = self._window[self._hop :]
        return record


class TFRecords(_OpenFile):
    """The records of a TFRecord file, named by their offset in what was compressed."""

    _offset = 0
    _FRAMING = 16  # bytes around a record: its length and two checksums

    def _read(self) -> Record | None:
        value = read_record(self._file, self._path, self._offset)
        if value is None:
            return None
        key = self._key(self._offset)
        self._offset += len(value) + self._FRAMING
        return key, value
