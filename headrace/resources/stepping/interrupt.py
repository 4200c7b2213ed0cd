"""Ctrl-C in a step that waits.

Python runs the handler of a signal between any two instructions of the main thread.  A KeyboardInterrupt in the middle of a
queue's code would leave the queue half changed, and steps of other threads without the end that they wait for.  So while the
main thread runs a step that waits, Ctrl-C is noted, and the handler that was there runs where the step can stop: while it
waits, while it computes, and when it is over.
"""

from __future__ import annotations

from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]  # the public one spends 15 us on enumerations
from collections.abc import Callable
from queue import SimpleQueue
from threading import get_ident, main_thread
from types import FrameType
from typing import Any, Final, TypeVar

_Result = TypeVar("_Result")

_shields: Final[list[Shield]] = []  # of the main thread, the innermost last


class Shield:
    """In a ``with`` statement: keeps Ctrl-C back, if this is the main thread and Python handles the signal."""

    __slots__ = ("_before", "_events", "_noted", "_open", "_replaced")

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None  # what runs where the step can stop
        self._replaced: Callable[[int, FrameType | None], Any] | None = None
        self._events: SimpleQueue[Any] | None = None
        self._noted: tuple[int, FrameType | None] | None = None
        self._open = False

    def __enter__(self) -> Shield:
        if get_ident() == main_thread().ident:
            before = self._replaced = getsignal(SIGINT)
            if callable(before):
                # A shield around this one would only note the signal, and this thread would go on waiting in here.
                inside = _shields and before == _shields[-1]._note
                self._before = _shields[-1]._before if inside else before
                signal(SIGINT, self._note)
                _shields.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            _shields.remove(self)
            signal(SIGINT, self._replaced)
            self._before = self._replaced  # a shield around this one decides where what it holds can stop
            self.deliver()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = number, frame
        if self._open:
            self.deliver()
        elif self._events is not None:
            self._events.put((None, None, None))

    def deliver(self) -> None:
        """Runs the handler that was there if Ctrl-C was noted; it may raise."""
        if self._noted is not None:
            (number, frame), self._noted = self._noted, None
            assert self._before is not None
            self._before(number, frame)

    def wake(self, events: SimpleQueue[Any]) -> None:
        """Ctrl-C puts an empty event where the main thread is going to wait."""
        self._events = events
        self.deliver()

    def through(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Calls something that Ctrl-C may interrupt anywhere."""
        self._open = True
        try:
            self.deliver()
            return call(*arguments)
        finally:
            self._open = False


def shield() -> Shield | None:
    """The innermost shield, if this is the main thread."""
    return _shields[-1] if _shields and get_ident() == main_thread().ident else None
