"""SummaryWriter: the event file that nodes of a graph write summaries to."""

from __future__ import annotations

import threading
import time

from headrace.core import event
from headrace.core.errors import NotFoundError
from headrace.resources.file.event_file import EventFileWriter


class SummaryWriter:
    """An event file, from `open` until `close`; it can be opened again, and is a new file then.  Thread-safe."""

    def __init__(self, name: str, source: str) -> None:
        self._name = name
        self._source = source
        self._lock = threading.Lock()
        self._events: EventFileWriter | None = None

    def open(self, logdir: str, max_queue: int, flush_secs: float, suffix: str) -> None:
        """Begins a file in a folder.  Does nothing if one is open."""
        with self._lock:
            if self._events is None:
                self._events = EventFileWriter(logdir, max_queue, flush_secs, suffix)

    def _opened(self) -> EventFileWriter:
        events = self._events
        if events is None:
            raise NotFoundError(
                None, None,
                f"the summary writer {self._name!r}, made at {self._source}, is not open: run its init() first, or "
                "tf.contrib.summary.summary_writer_initializer_op()",
            )  # fmt: skip
        return events

    def add(self, step: int, number: int, payload: bytes) -> None:
        """Writes one field of bytes of an Event, such as ``event.SUMMARY``."""
        self._opened().add_encoded(event.event(time.time(), step, number, payload))

    def add_event(self, encoded: bytes) -> None:
        """Writes an encoded Event."""
        self._opened().add_encoded(encoded)

    def flush(self) -> None:
        """Returns when all that was written is on disk."""
        self._opened().flush()

    def close(self) -> None:
        """Writes what there is and closes the file."""
        with self._lock:
            events, self._events = self._opened(), None
        events.close()
