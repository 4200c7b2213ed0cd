"""Sources that read files: lines, TFRecords, records of a fixed length.  A position is a file and an offset in it."""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

from headrace.core import file_limits
from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.core.file import file_error, open_to_read, size_of
from headrace.core.record import read_record
from headrace.resources.calling.batch import Element
from headrace.resources.data.stage import Cursor, Run, Stage, State

FRAMING = 16  # bytes around a TFRecord: its length and two checksums


class Files(Stage):
    """The records of files, one file after the other."""

    def __init__(self, names: Sequence[bytes], compression: str) -> None:
        if compression not in ("", "ZLIB", "GZIP"):
            raise InvalidArgumentError(None, None, f"Unsupported compression_type: {compression}.")
        self.names, self.compression = names, compression

    @abstractmethod
    def open(self, file: IO[bytes], path: str, offset: int) -> Callable[[], tuple[bytes, int] | None]:
        """What reads the next record of a file that is at an offset: the record and where the one after it begins."""

    def start(self, file: IO[bytes], path: str) -> int:
        """The offset of the first record of an open file."""
        return 0

    def begin(self, run: Run) -> Cursor:
        cursor = _FilesCursor(self)
        run.at_close(cursor, _FilesCursor.close)
        return cursor


class _FilesCursor(Cursor):
    def __init__(self, stage: Files) -> None:
        self._stage = stage
        self._at = 0  # which file
        self._offset: int | None = None  # of the next record; None before the file is opened
        self._read: Callable[[], tuple[bytes, int] | None] | None = None
        self._close: Any = None

    def next(self) -> Element | None:
        elements: list[Element] = []
        self.fill(elements, 1)
        return elements[0] if elements else None

    def fill(self, elements: list[Element], count: int) -> None:
        most = len(elements) + count
        while len(elements) < most and self._at < len(self._stage.names):
            if self._read is None:
                self._open()
            assert self._read is not None
            try:
                self._fill(self._read, elements, most)
            except OSError as e:
                raise file_error(e, os.fsdecode(self._stage.names[self._at])) from None
            except (InvalidArgumentError, DataLossError):  # the file is not as it should be: the next one may be
                self._leave()
                raise

    def _fill(self, read: Callable[[], tuple[bytes, int] | None], elements: list[Element], most: int) -> None:
        while len(elements) < most:
            record = read()
            if record is None:
                self._leave()
                return
            value, self._offset = record
            elements.append((np.array(value, object),))

    def _open(self) -> None:
        stage, path = self._stage, os.fsdecode(self._stage.names[self._at])
        file = open_to_read(path, stage.compression)
        self._close = weakref.finalize(self, file.close)  # Python warns of open files that are dropped
        if self._offset is None:
            self._offset = stage.start(file, path)
        elif stage.compression:
            _pass_over(file, self._offset)
        else:
            file.seek(self._offset)
        self._read = stage.open(file, path, self._offset)

    def close(self) -> None:
        if self._close is not None:
            self._close()

    def _leave(self) -> None:
        self.close()
        self._at, self._offset, self._read = self._at + 1, None, None

    def save(self) -> State:
        return [self._at, self._offset]

    def restore(self, state: State) -> None:
        self._at, self._offset = state


def _pass_over(file: IO[bytes], count: int) -> None:
    while count:
        count -= len(file.read(min(count, file_limits.PIECE))) or count


class Lines(Files):
    """The lines of text files, without their ends."""

    def open(self, file: IO[bytes], path: str, offset: int) -> Callable[[], tuple[bytes, int] | None]:
        readline, most = file.readline, file_limits.RECORD_BYTES

        def read() -> tuple[bytes, int] | None:
            nonlocal offset
            line = readline(most)
            if not line:
                return None
            if len(line) == most:
                raise DataLossError(None, None, f"{path}: the line at {offset} has over {most} bytes")
            offset += len(line)
            return line.removesuffix(b"\n").removesuffix(b"\r"), offset

        return read


class CsvRecords(Files):
    """The records of CSV files, without their ends: lines, but that a quoted field may go on in the next.

    A line ends with a line feed, a carriage return, or both.
    """

    def __init__(self, names: Sequence[bytes], compression: str, header: bool, delimiter: bytes, quotes: bool) -> None:
        super().__init__(names, compression)
        self.header, self.delimiter, self.quotes = header, delimiter, quotes

    def open(self, file: IO[bytes], path: str, offset: int) -> Callable[[], tuple[bytes, int] | None]:
        readline, most = file.readline, file_limits.RECORD_BYTES
        at_header = self.header and not offset
        text, at = b"", 0  # what was read last, and how far it was taken

        def line() -> bytes:
            nonlocal text, at
            if at == len(text):
                text, at = readline(most), 0
                if len(text) == most:
                    raise DataLossError(None, None, f"{path}: the record at {offset} has over {most} bytes")
            end = text.find(b"\r", at) + 1
            if not 0 < end < len(text) - text.endswith(b"\n"):
                end = len(text)
            taken, at = text[at:end], end
            return taken

        def record() -> tuple[bytes, int] | None:
            nonlocal offset
            lines = [line()]
            size = len(lines[0])
            if not size:
                return None
            is_open = self.quotes and self._ends_open(lines[0], False)
            while is_open and lines[-1] and size < most:
                lines.append(line())
                size += len(lines[-1])
                is_open = self._ends_open(lines[-1], True)
            if size >= most:
                raise DataLossError(None, None, f"{path}: the record at {offset} has over {most} bytes")
            offset += size
            return b"".join(lines).removesuffix(b"\n").removesuffix(b"\r"), offset

        def read() -> tuple[bytes, int] | None:
            nonlocal at_header
            if at_header:
                at_header = False
                if record() is None:
                    raise InvalidArgumentError(None, None, f"Can't read header of file {path}")
            return record()

        return read

    def _ends_open(self, line: bytes, is_open: bool) -> bool:
        """Whether a line ends inside a quoted field; ``is_open``: whether it begins inside of one."""
        at = 0
        while True:
            if is_open or line.startswith(b'"', at):
                at = line.find(b'"', at if is_open else at + 1)
                while at >= 0 and line.startswith(b'"', at + 1):  # two quotes stand for one
                    at = line.find(b'"', at + 2)
                if at < 0:
                    return True
                is_open = False
            at = line.find(self.delimiter, at) + 1
            if not at:
                return False


class TFRecords(Files):
    """The records of TFRecord files."""

    def open(self, file: IO[bytes], path: str, offset: int) -> Callable[[], tuple[bytes, int] | None]:
        def read() -> tuple[bytes, int] | None:
            nonlocal offset
            record = read_record(file, path, offset)
            if record is None:
                return None
            offset += len(record) + FRAMING
            return record, offset

        return read


class FixedLengthRecords(Files):
    """Pieces of one length between a header and a footer."""

    def __init__(self, names: Sequence[bytes], compression: str, header: int, record: int, footer: int) -> None:
        super().__init__(names, compression)
        for name, number, least in (("header", header, 0), ("record", record, 1), ("footer", footer, 0)):
            if number < least:
                raise InvalidArgumentError(None, None, f"`{name}_bytes` must be >= {least}, got {number}")
        self.header, self.record, self.footer = header, record, footer

    def start(self, file: IO[bytes], path: str) -> int:
        if not self.compression:
            self._check(size_of(file) - self.header - self.footer, path)
            file.seek(self.header)
        else:
            _pass_over(file, self.header)
        return self.header

    def _check(self, body: int, path: str) -> None:
        if body < 0 or body % self.record:
            raise InvalidArgumentError(
                None, None,
                f"Excluding the header ({self.header} bytes) and footer ({self.footer} bytes), input file \"{path}\" has body "
                f"length {body} bytes, which is not an exact multiple of the record length ({self.record} bytes).",
            )  # fmt: skip

    def open(self, file: IO[bytes], path: str, offset: int) -> Callable[[], tuple[bytes, int] | None]:
        window = b""
        size = self.record + self.footer  # a record is one only if the footer still fits behind it

        def read() -> tuple[bytes, int] | None:
            nonlocal offset, window
            window += file.read(size - len(window))
            if len(window) < size:
                self._check(offset - self.header + len(window) - self.footer, path)
                return None
            record, window = window[: self.record], window[self.record :]
            offset += self.record
            return record, offset

        return read
