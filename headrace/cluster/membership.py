"""Membership: which tasks of a cluster are there, as one process sees them.  A machine without threads, sockets or a clock.

`Membership.take(event, now)` returns the instructions that follow.  A task is *awaited* until it is first heard of, then
*present*, and in the end *lost*; once lost it stays so until it is expected anew.  Each start of a task has an incarnation, a
random number: who is heard with another one is not the task that was expected, but its successor, which has forgotten everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headrace.core.errors import ABORTED, UNAVAILABLE

PING_SECONDS: Final = 1.0
# A task that is connected, but busy, has so many times longer to answer than one that is silent.
ANSWER_FACTOR: Final = 6.0


# ---- events


@dataclass(frozen=True, slots=True)
class Expected:
    """A connection to the task is being made.  ``within``: seconds until it must be heard of; None: it may take any time.

    ``before``: the incarnation that was there the last time.
    """

    task: str
    within: float | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """The task has answered."""

    task: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The connection to the task has ended, or nothing came over it for too long."""

    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = Expected | Heard | Broken | Tick


# ---- instructions


@dataclass(frozen=True, slots=True)
class Ping:
    """Ask the task whether it is there."""

    task: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The task is there.  ``restarted``: it is not the one that was there before."""

    task: str
    incarnation: int
    restarted: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """End all that involves the task with an error of this code."""

    task: str
    code: int
    message: str


Instruction = Ping | Joined | Lost


# ---- the machine


@dataclass(slots=True)
class _Member:
    begun_at: float
    within: float | None
    before: int | None
    incarnation: int | None = None  # None: awaited
    heard_at: float = 0.0
    asked_at: float | None = None  # None: no answer is due
    lost: bool = False


class Membership:
    """Not thread-safe.  ``answer_seconds``: how long a task that is connected may take to answer."""

    def __init__(self, answer_seconds: float, ping_seconds: float = PING_SECONDS) -> None:
        self._answer_seconds = answer_seconds
        self._ping_seconds = ping_seconds
        self._members: dict[str, _Member] = {}

    def take(self, event: Event, now: float) -> Sequence[Instruction]:
        """What follows from an event."""
        if isinstance(event, Tick):
            return [one for task, member in self._members.items() for one in self._look(task, member, now)]
        if isinstance(event, Expected):
            self._members[event.task] = _Member(now, event.within, event.before)
            return []
        member = self._members.get(event.task)
        if member is None or member.lost:
            return []
        if isinstance(event, Heard):
            return self._hear(member, event, now)
        return [_lose(event.task, member, UNAVAILABLE, f"cannot be reached: {event.reason}")]

    def _hear(self, member: _Member, event: Heard, now: float) -> Sequence[Instruction]:
        member.heard_at, member.asked_at = now, None
        if member.incarnation is None:
            member.incarnation = event.incarnation
            restarted = member.before is not None and member.before != event.incarnation
            return [Joined(event.task, event.incarnation, restarted)]
        if member.incarnation != event.incarnation:
            return [_lose(event.task, member, ABORTED, "was started again: what the session had there is gone")]
        return []

    def _look(self, task: str, member: _Member, now: float) -> Sequence[Instruction]:
        if member.lost:
            return []
        if member.incarnation is None:
            if member.within is not None and now - member.begun_at >= member.within:
                return [_lose(task, member, UNAVAILABLE, f"could not be reached within {member.within:g} s")]
            return []
        if member.asked_at is None:
            if now - member.heard_at < self._ping_seconds:
                return []
            member.asked_at = now
            return [Ping(task)]
        if now - member.asked_at >= self._answer_seconds:
            why = f"is connected, but has not answered for {self._answer_seconds:g} s"
            return [_lose(task, member, UNAVAILABLE, why)]
        return []


def _lose(task: str, member: _Member, code: int, why: str) -> Lost:
    member.lost = True
    return Lost(task, code, f"{task} {why}")
