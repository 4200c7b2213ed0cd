"""The event file that hooks write to: one writer for each folder, None where TensorBoard's messages are not installed."""

from __future__ import annotations

from typing import Any

from headrace.core.proto import protos
from headrace.library import log
from headrace.library.summary.file_writer import FileWriter, FileWriterCache


def event_writer(folder: Any) -> FileWriter | None:
    """The writer of the folder.  Training goes on without one: a program may train where TensorBoard is not."""
    try:
        return FileWriterCache.get(folder)
    except ImportError as error:
        log.warning("No events are written to %s: %s", folder, error)
        return None


def add_session_log(writer: FileWriter, step: Any, status: str, checkpoint_path: str | None = None) -> None:
    """Writes that a session began (START) or saved (CHECKPOINT)."""
    message = protos().SessionLog
    writer.add_session_log(message(status=message.SessionStatus.Value(status), checkpoint_path=checkpoint_path), step)
