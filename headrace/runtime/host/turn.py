"""Turns: short work stays on the thread that takes a message.

To hand it to another thread costs more than the work itself, and with many clients many threads would ask for the interpreter
at the same time.  So the thread of a message does what that message makes ready, after it has taken it.  `Pace`: what is short.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

SHORT: Final = 500e-6  # seconds of processor time: what takes longer is worth a thread of its own
WEIGHT: Final = 1 / 8  # of the last time among all


class Turn(threading.local):
    """Of one thread: what it calls when it has taken the messages that are there; None for a thread that takes none."""

    def __init__(self) -> None:
        self.calls: deque[Callable[[], Any]] | None = None


turn: Final = Turn()


class Pace:
    """How much processor time something takes on its thread, on average; the last times count most.

    By the clock, all would be long on a machine that is busy, and then it would be busy with threads.
    """

    __slots__ = ("_mean",)

    def __init__(self) -> None:
        self._mean: float | None = None

    @property
    def is_short(self) -> bool:
        return self._mean is not None and self._mean < SHORT

    def note(self, seconds: float) -> None:
        mean = self._mean
        self._mean = seconds if mean is None else mean + WEIGHT * (seconds - mean)
