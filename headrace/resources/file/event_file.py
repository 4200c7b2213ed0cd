"""Event files: records of Event messages, written by a thread of their own, and read back.

`EventFileWriter` is what callers see; `_Mailbox` holds what they wrote until the thread takes it; `EventFile` is the file.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import IO, Any

from headrace.core import errors, event, file
from headrace.core.proto import protos
from headrace.core.record import frame, read_record

log = logging.getLogger("tensorflow")  # the logger of tf.logging

_VERSION = b"brain.Event:2"
_MANY = 64  # events of an unbounded queue that are written together
_LOOK = 1.0  # seconds between two looks whether the writing thread is still there


def _path(path: Any) -> str:
    """The `str` of a path, which may be bytes or a path object."""
    return os.fsdecode(path) if isinstance(path, (bytes, os.PathLike)) else str(path)


class EventFile:
    """A file that is made when the first event is written, under a name that no other file has.  Not thread-safe."""

    def __init__(self, folder: str, suffix: str, stem: str = "events") -> None:
        self._folder = folder
        self._stem = stem
        self._suffix = suffix
        self._file: IO[bytes] | None = None
        self.path = ""
        self._unsaved = 0

    def write(self, encoded: bytes) -> None:
        opened = self._file or self._open()
        opened.write(frame(encoded))
        self._unsaved += 1

    def _open(self) -> IO[bytes]:
        now = seconds = int(time.time())
        while self._file is None:
            name = f"{self._stem}.out.tfevents.{seconds:010d}.{socket.gethostname()}{self._suffix}"
            self.path = os.path.join(self._folder, name)
            try:
                self._file = file.open_file(self.path, "xb")
            except errors.AlreadyExistsError:
                seconds += 1  # a file of the same second
        self._file.write(frame(event.event(float(now), None, event.FILE_VERSION, _VERSION)))
        file.sync_folder(self.path)
        return self._file

    def flush(self) -> None:
        """All that was written is on disk when this returns."""
        if self._file is None or not self._unsaved:
            return
        file.sync(self._file)
        if not file.exists(self.path):
            raise errors.NotFoundError(
                None, None, f"{self.path}; the event file was removed, with {self._unsaved} events that were not saved"
            )
        self._unsaved = 0

    def close(self) -> None:
        opened, self._file = self._file, None
        if opened is not None:
            opened.close()


class _Mailbox:
    """Encoded events between the threads that add them and the one that writes them.  Thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._enough = (capacity + 1) // 2 if capacity > 0 else _MANY  # events that are worth waking for
        self._changed = threading.Condition()
        self._is_idle = True  # the writing thread waits for the first event
        self._events: deque[bytes] = deque()
        self._asked = 0  # flushes asked for, and done
        self._done = 0
        self._closing = False
        self._ended = False
        self.error: Exception | None = None  # that ended the writing thread

    # ---- for those who add

    def put(self, encoded: bytes, writer: threading.Thread) -> None:
        """Adds an event; waits while there are too many.  Raises what ended the writing thread."""
        with self._changed:
            while 0 < self._capacity <= len(self._events) and self._is_served(writer):
                self._changed.wait(_LOOK)
            self.check(writer)
            self._events.append(encoded)
            if self._is_idle or len(self._events) >= self._enough:
                self._changed.notify_all()

    def flush(self, writer: threading.Thread) -> None:
        """Returns when all that was added is on disk."""
        with self._changed:
            self._asked += 1
            ticket = self._asked
            self._changed.notify_all()
            while self._done < ticket and self._is_served(writer):
                self._changed.wait(_LOOK)
            self.check(writer)

    def close(self) -> None:
        """Lets the writing thread end when it has written everything.  Does not wait."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def _is_served(self, writer: threading.Thread) -> bool:
        return not self._ended and writer.is_alive()

    def check(self, writer: threading.Thread) -> None:
        """Raises what ended the writing thread."""
        if self.error is not None:
            raise self.error
        if not self._ended and not writer.is_alive():
            raise errors.FailedPreconditionError(
                None, None, "the thread that writes events is gone: a process that was forked needs a writer of its own"
            )

    # ---- for the writing thread

    def take(self, timeout: float | None) -> tuple[list[bytes], int | None, bool]:
        """-> events to write, what to tell `flushed` if a flush is asked for, whether this is all.

        Waits for one of them; with a timeout, for as many events as are worth waking for.
        """
        least = 1 if timeout is None else self._enough
        with self._changed:
            self._is_idle = timeout is None
            self._changed.wait_for(
                lambda: len(self._events) >= least or self._asked > self._done or self._closing, timeout
            )
            self._is_idle = False
            events = list(self._events)
            self._events.clear()
            self._changed.notify_all()
            return events, self._asked if self._asked > self._done else None, self._closing

    def flushed(self, ticket: int) -> None:
        with self._changed:
            self._done = ticket
            self._changed.notify_all()

    def end(self, error: Exception | None) -> None:
        with self._changed:
            self._ended = True
            self.error = error
            self._changed.notify_all()


def _write(mailbox: _Mailbox, event_file: EventFile, flush_secs: float) -> None:
    """The writing thread.  It holds no reference to the writer, which may be dropped without being closed."""
    failure: Exception | None = None
    try:
        try:
            _write_all(mailbox, event_file, flush_secs)
        finally:
            event_file.close()
    except OSError as error:
        failure = file.file_error(error, event_file.path)
    except Exception as error:  # noqa: BLE001 - raised again by the next call of the writer
        failure = error
    finally:
        if failure is not None:
            log.error("Writing events failed: %s", failure)
        mailbox.end(failure)


def _write_all(mailbox: _Mailbox, event_file: EventFile, flush_secs: float) -> None:
    """Writes events until the mailbox is closed."""
    flush_at = 0.0  # the first event is flushed immediately
    unsaved = closing = False
    while not closing:
        wait = max(flush_at - time.monotonic(), 0.0) if unsaved else None
        events, ticket, closing = mailbox.take(wait)
        for encoded in events:
            event_file.write(encoded)
        unsaved = unsaved or bool(events)
        if closing or ticket is not None or (unsaved and time.monotonic() >= flush_at):
            event_file.flush()
            unsaved = False
            flush_at = time.monotonic() + flush_secs
        if ticket is not None:
            mailbox.flushed(ticket)


_open_writers: weakref.WeakSet[EventFileWriter] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Writes what a program that ends without closing its writers has added."""
    for writer in list(_open_writers):
        try:
            writer.close()
        except errors.OpError as error:
            log.error("Events of %s were lost: %s", writer.get_logdir(), error)


class EventFileWriter:
    """Writes events to a new file in ``logdir``, by a thread that ends on `close`, or when the writer is dropped.

    ``max_queue`` events may wait to be written (any number if it is not positive) before `add_event` waits.  They are on disk
    after `flush`, after `close`, and ``flush_secs`` seconds after they were added.  Where ``logdir`` is on another file system
    (``memory://``, ``s3://``), that system decides when others see them; after `close` they do.
    """

    def __init__(
        self, logdir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None
    ) -> None:  # fmt: skip
        self._logdir = _path(logdir).removeprefix("file://")
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._restarting = threading.Lock()
        try:
            file.make_folder(self._logdir)
        except errors.AlreadyExistsError:
            raise errors.FailedPreconditionError(None, None, f"{self._logdir}; it is not a folder") from None
        if not file.is_remote(self._logdir) and not os.access(self._logdir, os.W_OK):
            raise errors.PermissionDeniedError(None, None, f"{self._logdir}; the folder is not writable")
        self._start()

    def _start(self) -> None:
        self._mailbox = _Mailbox(self._max_queue)
        event_file = EventFile(self._logdir, self._suffix)
        self._thread = threading.Thread(
            target=_write, args=(self._mailbox, event_file, self._flush_secs), name="EventLoggerThread", daemon=True
        )
        self._closed = False
        self._thread.start()
        weakref.finalize(self, self._mailbox.close).atexit = False
        _open_writers.add(self)

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self._logdir

    def add_encoded(self, encoded: bytes) -> None:
        """Adds an encoded Event."""
        if not self._closed:
            self._ask(lambda mailbox, thread: mailbox.put(encoded, thread))

    def add_event(self, event: Any) -> None:
        """Adds an Event message.  Does nothing after `close`."""
        if not isinstance(event, protos().Event):
            raise TypeError(f"add_event takes a tf.Event, got {event!r} of type {type(event).__name__}")
        self.add_encoded(event.SerializeToString())

    def flush(self) -> None:
        """Returns when all events are on disk."""
        if not self._closed:
            self._ask(_Mailbox.flush)

    def _ask(self, call: Callable[[_Mailbox, threading.Thread], None]) -> None:
        """What ended the writing is raised once; then events go to a new file: a disk may have room again."""
        mailbox = self._mailbox
        try:
            call(mailbox, self._thread)
        except errors.OpError as error:
            with self._restarting:
                if error is mailbox.error and mailbox is self._mailbox and not self._closed:
                    self._start()
            raise

    def close(self) -> None:
        """Writes what there is and ends the thread."""
        if self._closed:
            return
        self._closed = True
        _open_writers.discard(self)
        self._mailbox.close()
        self._thread.join()
        self._mailbox.check(self._thread)

    def reopen(self) -> None:
        """Begins a new file in the same folder.  Does nothing if the writer is open."""
        if self._closed:
            self._start()


class summary_iterator:  # noqa: N801 - TensorFlow's name
    """The Event messages of a file, one after another.

    When it has come to the end it can be asked again later: events that were written meanwhile follow.  A record that is damaged,
    or only half written so far, is a DataLossError; the next attempt reads it again.

    Args:
      path: The path of an event file.

    >>> for event in tf.train.summary_iterator(path):  # doctest: +SKIP
    ...     for value in event.summary.value:
    ...         print(event.step, value.tag, value.simple_value)
    """

    def __init__(self, path: Any) -> None:
        self._path = _path(path)
        self._offset = 0
        self._file: IO[bytes] | None = self._opened()

    def _opened(self) -> IO[bytes]:
        opened = file.open_file(self._path, "rb")
        opened.seek(self._offset)
        return opened

    def __iter__(self) -> summary_iterator:
        return self

    def __next__(self) -> Any:
        """The next event; StopIteration at the end of the file."""
        if self._file is None:
            self._file = self._opened()
        try:
            record = read_record(self._file, self._path, self._offset)
        except errors.DataLossError:
            self._close()
            raise
        if record is None:
            self._close()
            raise StopIteration
        self._offset = self._file.tell()
        return protos().Event.FromString(record)

    next = __next__

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._close()
