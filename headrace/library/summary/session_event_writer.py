"""SessionEventWriter: writes events through a session, to the file that nodes of its graph write summaries to."""

from __future__ import annotations

from typing import Any

from headrace.core.proto import protos
from headrace.graph.convert import constant
from headrace.library.scope import name_scope
from headrace.library.summary.summary_writer import create_file_writer, import_event
from headrace.library.tensor.creation import placeholder_with_default


class SessionEventWriter:
    """What `EventFileWriter` does, by nodes of the session's graph: writers of one folder share a file.

    They share it with what the settings of the first one say.  Others may flush and close it too.
    """

    def __init__(
        self,
        session: Any,
        logdir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._session = session
        self._logdir = str(logdir)
        self._closed = False
        with session.graph.as_default(), name_scope("filewriter"):
            writer = create_file_writer(self._logdir, max_queue, int(flush_secs * 1000), filename_suffix or "")
            self._encoded = placeholder_with_default(constant(b"unused"), [])
            with writer.as_default():
                self._add = import_event(self._encoded)
            self._open, self._flush, self._close = writer.init(), writer.flush(), writer.close()
        session.run(self._open)

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self._logdir

    def add_encoded(self, encoded: bytes) -> None:
        """Adds an encoded Event."""
        if not self._closed:
            self._session.run(self._add, {self._encoded: encoded})

    def add_event(self, event: Any) -> None:
        """Adds an Event message.  Does nothing after `close`."""
        if not isinstance(event, protos().Event):
            raise TypeError(f"add_event takes a tf.Event, got {event!r} of type {type(event).__name__}")
        self.add_encoded(event.SerializeToString())

    def flush(self) -> None:
        """Returns when all events are on disk."""
        self._session.run(self._flush)

    def close(self) -> None:
        """Writes what there is and closes the file."""
        if not self._closed:
            self._session.run(self._close)
            self._closed = True

    def reopen(self) -> None:
        """Begins a new file in the same folder.  Does nothing if the writer is open."""
        if self._closed:
            self._closed = False
            self._session.run(self._open)
