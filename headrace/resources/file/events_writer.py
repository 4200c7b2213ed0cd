"""EventsWriter: TensorFlow's private class that writes events to a file from the calling thread."""

from __future__ import annotations

import os
from typing import Any

from headrace.core import errors
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.resources.file.event_file import EventFile


class EventsWriter:
    """Writes events to the file ``<file_prefix>.out.tfevents.<seconds>.<host>``, which the first event makes.

    Events are on disk after ``Flush`` and after ``Close``.  Not thread-safe.

    Args:
      file_prefix: The path of the file up to ``.out.tfevents``, as text or bytes; its folder must be there.

    >>> from headrace.python import pywrap_tensorflow
    >>> writer = pywrap_tensorflow.EventsWriter(b"/tmp/headrace_doctest_events")
    >>> writer.WriteEvent(tf.Event(step=1))
    >>> writer.Close()
    True
    """

    def __init__(self, file_prefix: Any) -> None:
        self._prefix = os.fsdecode(file_prefix)
        self._file = self._new_file("")

    def _new_file(self, suffix: str) -> EventFile:
        folder, stem = os.path.split(self._prefix)
        return EventFile(folder, suffix, stem)

    def InitWithSuffix(self, suffix: str) -> bool:  # noqa: N802 - TensorFlow's name
        """Begins another file whose name ends so."""
        self._file.close()
        self._file = self._new_file(suffix)
        return True

    def FileName(self) -> str:  # noqa: N802 - TensorFlow's name
        """The path of the file; "" before the first event."""
        return self._file.path

    def WriteEvent(self, event: Any) -> None:  # noqa: N802 - TensorFlow's name
        """Adds an Event message."""
        if not isinstance(event, protos().Event):
            raise TypeError(f"Expected an Event proto, got {event!r} of type {type(event).__name__} {at()}")
        self._WriteSerializedEvent(event.SerializeToString())

    def _WriteSerializedEvent(self, encoded: bytes) -> None:  # noqa: N802 - TensorFlow's name
        self._file.write(encoded)

    def Flush(self) -> bool:  # noqa: N802 - TensorFlow's name
        """Whether all events are on disk now."""
        try:
            self._file.flush()
        except (OSError, errors.OpError):
            return False
        return True

    def Close(self) -> bool:  # noqa: N802 - TensorFlow's name
        """Ends the file; whether all events are on disk."""
        flushed = self.Flush()
        self._file.close()
        return flushed
