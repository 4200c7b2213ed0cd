"""How a process leaves when SIGTERM comes: its exit status, and how long it may take.

A cluster takes a machine back by sending SIGTERM, and kills what still runs some seconds later.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

STATUS: Final = 128 + signal.SIGTERM
"""The status a shell gives for a process that SIGTERM has ended."""

SECONDS: Final = 30.0

SLEEP: Final = 1.0
"""Seconds the main thread sleeps at a time.  Only it runs handlers, and a signal that comes as it falls asleep wakes nobody."""


class Terminated(SystemExit):
    """Ends the process after SIGTERM, with its status."""

    def __init__(self) -> None:
        super().__init__(STATUS)


def leave_seconds() -> float:
    """How long the step under way may take after SIGTERM."""
    setting = os.environ.get("HEADRACE_LEAVE_SECONDS", "")
    try:
        seconds = float(setting) if setting else SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < threading.TIMEOUT_MAX:
        raise ValueError(f"HEADRACE_LEAVE_SECONDS must be a number of seconds, 0 or more, got {setting!r}")
    return seconds


def is_free() -> bool:
    """Whether this thread may handle SIGTERM, and nobody else does."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@contextmanager
def raising() -> Iterator[None]:
    """Inside, SIGTERM raises `Terminated` in the main thread, unless somebody else handles it."""
    handles = is_free()
    if handles:
        signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        if handles and signal.getsignal(signal.SIGTERM) is _raise:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Terminated
