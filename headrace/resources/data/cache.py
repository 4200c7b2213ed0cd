"""Caches: elements that are kept when they have been taken once, in memory or in a file.

Only a cache that is complete is used: a chain that was left before its end computes its elements again.  A file is a TFRecord
file of encoded elements; it gets its name when it is complete.  One iterator at a time writes it, of all programs of this
machine: the others are refused meanwhile.  On remote file systems, which have no locks, all may write, and the last one stays.
"""

from __future__ import annotations

import os
import weakref
from functools import partial
from typing import IO

from headrace.core import file as files
from headrace.core.errors import AlreadyExistsError
from headrace.core.file_lock import FileLock
from headrace.core.record import frame, read_record
from headrace.resources.calling.batch import Element
from headrace.resources.data.files import FRAMING
from headrace.resources.data.saved import decode, encode
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State


class _Kept:
    """The elements of a cache in memory, when they are complete."""

    def __init__(self) -> None:
        self.elements: list[Element] | None = None

    def save(self) -> State:
        return None if self.elements is None else [list(element) for element in self.elements]

    def restore(self, state: State) -> None:
        self.elements = [tuple(element) for element in state]


class MemoryCache(OneInput):
    """Keeps the elements in memory, for the epochs of one iterator."""

    shares = True

    def begin(self, run: Run) -> Cursor:
        return _MemoryCursor(self, run)


class _MemoryCursor(Cursor):
    def __init__(self, stage: MemoryCache, run: Run) -> None:
        self._stage, self._run = stage, run
        self._kept = run.shared(stage, _Kept)
        self._given = 0
        self._own: list[Element] = []  # what is to be kept, while the input is read
        self._input: Cursor | None = stage.input.begin(run) if self._kept.elements is None else None

    def next(self) -> Element | None:
        if self._input is not None:
            element = self._input.next()
            if element is None:
                self._kept.elements, self._input = self._own, None
                self._given = len(self._own)
            else:
                self._own.append(element)
            return element
        elements = self._kept.elements or []
        if self._given >= len(elements):
            return None
        self._given += 1
        return elements[self._given - 1]

    def save(self) -> State:
        if self._input is None:
            return self._given
        return [self._input.save(), [list(element) for element in self._own]]

    def restore(self, state: State) -> None:
        if isinstance(state, int):
            self._given, self._input = state, None
            return
        self._input = self._stage.input.begin(self._run)
        self._input.restore(state[0])
        self._own = [tuple(element) for element in state[1]]


class _Writing:
    """The right to write the file, of all cursors of one iterator."""

    def __init__(self, path: str) -> None:
        self._lock = None if files.is_remote(path) else FileLock(f"{path}.lockfile")

    def begin(self) -> None:
        if self._lock is None:
            return
        try:
            acquired = self._lock.acquire()
        except OSError as e:
            raise files.file_error(e, self._lock.path) from None
        if not acquired:
            raise AlreadyExistsError(
                None, None,
                "There appears to be a concurrent caching iterator running - cache lockfile already exists "
                f"('{self._lock.path}'), of {self._lock.holder() or 'another process'}. Take elements from this iterator when "
                "that one is at its end or closed, or cache to another file",
            )  # fmt: skip

    def end(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def save(self) -> State:
        return None

    def restore(self, state: State) -> None:
        """Nothing of it is saved."""


class FileCache(OneInput):
    """Keeps the elements in a file, for all iterators and programs that name it."""

    def __init__(self, input: Stage, path: str) -> None:
        super().__init__(input)
        self.path = path

    def begin(self, run: Run) -> Cursor:
        return _FileCursor(self, run)


class _FileCursor(OneCursor):
    def __init__(self, stage: FileCache, run: Run) -> None:
        super().__init__(stage, run)
        self._offset = 0
        self._file: IO[bytes] | None = None
        self._written = ""  # the file that is being written
        self._whole = True  # what is written is all of it
        self._reads: bool | None = None  # decided with the first element
        self._writing = run.shared(stage, partial(_Writing, stage.path))
        run.at_close(self, _FileCursor._close)
        run.at_close(self._writing, _Writing.end)

    def next(self) -> Element | None:
        if self._reads is None:
            self._reads = files.exists(self.stage.path)
        return self._read() if self._reads or self._found_whole() else self._write()

    def _found_whole(self) -> bool:
        """Whether somebody has completed the file before this cursor wrote anything; otherwise this one may write."""
        if self._file is None:
            files.make_folder(os.path.dirname(self.stage.path))
            self._writing.begin()
            if self.run.closed:  # a thread that was ahead of it: the lock was given back before
                self._writing.end()
                self.run.check_open()
            self._reads = not self._written and files.exists(self.stage.path)
            if self._reads:
                self._writing.end()
        return bool(self._reads)

    def _read(self) -> Element | None:
        if self._file is None:
            self._file = self._opened(self.stage.path, "rb")
            self._file.seek(self._offset)
        data = read_record(self._file, self.stage.path, self._offset)
        if data is None:
            self._close()
            return None
        self._offset += len(data) + FRAMING
        return tuple(decode(data))

    def _write(self) -> Element | None:
        if self._file is None:
            if not self._written:
                self._written = files.temporary_name(self.stage.path)
            self._file = self._opened(self._written, "ab")
            if (
                files.size_of(self._file) < self._offset
            ):  # the file that was begun is gone: these elements are not cached
                self._whole = False
            self._file.truncate(self._offset)
        element = self.input.next()
        if element is not None:
            data = frame(encode(list(element)))
            self._file.write(data)
            self._offset += len(data)
            return element
        self._close()
        if self._whole:
            files.replace(self._written, self.stage.path)
            self._reads = True
        else:
            files.remove(self._written)
        self._writing.end()
        return None

    def _opened(self, path: str, mode: str) -> IO[bytes]:
        file: IO[bytes] = files.open_file(path, mode)
        weakref.finalize(self, file.close)
        return file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def position(self) -> State:
        if self._file is not None and not self._reads:
            self._file.flush()
        return [self._offset, self._written, self._reads]

    def move(self, position: State) -> None:
        self._offset, self._written, self._reads = position
        if self._written and not self._written.startswith(files.temporary_prefix(self.stage.path)):
            raise ValueError(f"{self._written} is no unfinished file of the cache {self.stage.path}")
