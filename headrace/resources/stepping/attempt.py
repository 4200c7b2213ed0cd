"""Calls that may have to wait: what a machine sees of them, and the lock and callbacks around a machine.

A machine (queue, barrier, accumulator, staging area, mutex) is plain code without threads.  Each of its events takes an
`Attempt` and returns the attempts that ended with it, its own or others'.  `Driver` is the thin part that threads share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from headrace.resources.stepping.waiting import Done, Wait


class Attempt:
    """One call of a machine.  The machine sets `ended` when the call ends, and never calls `done`."""

    __slots__ = ("done", "ended")

    called = ""  # TensorFlow's word for it in "Dequeue operation was cancelled"
    for_room = False  # whether it waits for others to take something, as a producer that is ahead does all the time

    def __init__(self, done: Done) -> None:
        self.done = done
        self.ended = False

    def end(self, outcome: Any = None) -> tuple[Attempt, Any]:
        """Marks the attempt as ended with a result or an error."""
        self.ended = True
        return self, outcome


Ended = list[tuple[Attempt, Any]]
"""Attempts that have ended, in this order, each with its result or its error (an instance of `BaseException`)."""


class Machine(Protocol):
    """What a driver asks of a machine besides its events."""

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        """Ends `attempt` with `error` and whatever can go on without it; nothing if it has ended."""

    def describe(self, attempt: Attempt) -> str:
        """Says what `attempt` waits for.  Called without the lock: it reads, and tolerates a change meanwhile."""


class Driver:
    """A machine behind a lock.  Thread-safe; callbacks run outside the lock, on the thread whose call ended the attempt."""

    def __init__(self, machine: Machine, made_at: str = "") -> None:
        """`made_at` is the user's line that made the resource, such as "train.py:12"."""
        self._lock = threading.Lock()
        self._machine = machine
        self._made_at = made_at

    def _begin(self, event: Callable[[Any], Ended], attempt: Attempt) -> Wait | None:
        """Tells the machine of `attempt`; None if the attempt has ended with that."""
        with self._lock:
            ended = event(attempt)
        finish(ended)
        return None if attempt.ended else Waiting(self, attempt)

    def cancel(self, attempt: Attempt, error: Exception) -> None:
        with self._lock:
            ended = self._machine.cancel(attempt, error)
        finish(ended)

    def describe_wait(self, attempt: Attempt) -> str:
        description = self._machine.describe(attempt)
        return f"{description} (made at {self._made_at})" if self._made_at else description


class Waiting:
    """The `Wait` of an attempt."""

    __slots__ = ("_attempt", "_driver")

    def __init__(self, driver: Driver, attempt: Attempt) -> None:
        self._driver = driver
        self._attempt = attempt

    @property
    def called(self) -> str:
        return self._attempt.called

    @property
    def for_room(self) -> bool:
        return self._attempt.for_room

    def cancel(self, error: Exception) -> None:
        self._driver.cancel(self._attempt, error)

    def describe(self) -> str:
        return self._driver.describe_wait(self._attempt)


def finish(ended: Ended) -> None:
    """Calls the callbacks.  No lock may be held."""
    for attempt, outcome in ended:
        if isinstance(outcome, BaseException):
            attempt.done(None, outcome)
        else:
            attempt.done(outcome, None)
