"""Turns: short work stays on the thread that takes a message, and long work of the interpreter takes turns.

To hand it to another thread costs more than the work itself, and with many clients many threads would ask for the interpreter
at the same time.  So the thread of a message does what that message makes ready, after it has taken it.  `Pace`: what is short.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

SHORT: Final = 500e-6  # seconds of processor time: what takes longer would delay other messages
PER_NODE: Final = (
    25e-6  # seconds of processor time: a node that takes longer is a kernel that leaves the interpreter to others
)
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

    __slots__ = ("_mean", "_nodes")

    def __init__(self, nodes: int = 1) -> None:
        """``nodes``: how many it runs."""
        self._mean: float | None = None
        self._nodes = nodes

    @property
    def is_short(self) -> bool:
        return self._mean is not None and self._mean < SHORT

    @property
    def is_interpreted(self) -> bool:
        """Whether most of its time is the interpreter's: then nothing is gained if several such run at the same time."""
        return self._mean is not None and self._mean < PER_NODE * self._nodes

    def note(self, seconds: float) -> None:
        mean = self._mean
        self._mean = seconds if mean is None else mean + WEIGHT * (seconds - mean)
