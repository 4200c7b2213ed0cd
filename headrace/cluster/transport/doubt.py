"""Doubt: what comes after a long silence waits until the other end has proved that it has not given the connection up.

A process that was stopped, or cut off, finds messages that were sent to it before.  Their sender may have given the connection
up, and may have sent the same elsewhere again.  So it is asked, over the same connection: one that has given it up has closed
it and never answers, and one that answers meant all that it sent before its answer.  No sockets here, and no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from time import CLOCK_BOOTTIME, clock_gettime
from typing import Any

from headrace.cluster.transport.codec import MalformedError


def now() -> float:
    """Seconds, on a clock that goes on while the machine sleeps."""
    return clock_gettime(CLOCK_BOOTTIME)


class Doubt:
    """Of one end of a connection.  For one thread."""

    __slots__ = ("_asked", "_most", "heard_at", "messages", "patience")

    def __init__(self, most: int) -> None:
        """``most``: messages that may be held back."""
        self._most = most
        self._asked = 0
        self.patience = inf  # seconds of silence without a doubt
        self.heard_at = 0.0
        self.messages: deque[Any] | None = None  # while there is doubt: what has come meanwhile, in this order

    def begin(self, patience: float, now: float) -> None:
        """From now on a silence longer than ``patience`` seconds is a reason for doubt."""
        self.patience, self.heard_at = patience, now

    def hear(self, now: float) -> int:
        """Something has come.  The number of the question that must be asked before it is looked at; 0: none."""
        silent = now - self.heard_at > self.patience
        self.heard_at = now
        if not silent:
            return 0
        if self.messages is None:
            self.messages = deque()
        self._asked += 1  # the answer to the question before may have been among what was not read for so long
        return self._asked

    def hold(self, message: Any) -> None:
        """Keeps a message while there is doubt."""
        assert self.messages is not None
        if len(self.messages) >= self._most:
            raise MalformedError(f"{self._most} messages came, but no answer to the question whether anybody is there")
        self.messages.append(message)

    def answered(self, number: int) -> Sequence[Any]:
        """The other end is there: what was held back, in order.  Nothing if that answers an earlier question."""
        if not 0 < number <= self._asked:
            raise MalformedError(f"question {number} was answered, and {self._asked} were asked")
        if number < self._asked or self.messages is None:
            return ()
        messages, self.messages = self.messages, None
        return messages
