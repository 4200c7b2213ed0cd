"""A lease: of the sessions that share it at most one holds it, the others stand in line.

Each session has a `Seat`, which ends with the session: when it is closed, or its process is lost.  Then the lease goes to the
next in line.  Every change of the holder, to another seat or to none, has a number.  Numbers grow, so whoever got the lease under
a number can ask whether it still holds it (a fencing token).

The lease also knows whether its job *goes on*: from the first holder until the last seat ends.  While it does, the next in line
gets the lease.  Before that only a seat that may begin the job does: workers that come early wait for their chief.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.core.errors import AbortedError
from headrace.resources.state.container import NodeState
from headrace.resources.stepping.attempt import Attempt, Driver, Ended, finish
from headrace.resources.stepping.waiting import Done, Wait


class Standing(NamedTuple):
    """The lease as one seat sees it."""

    number: int  # of the last change
    mine: bool
    went_on: bool  # whether the job was going on when the holder got the lease
    holder: str  # empty: nobody
    in_line: int


class Change(Attempt):
    """Waits until the lease has another number than the one that the seat has seen."""

    __slots__ = ("seat", "seen")

    for_room = True  # it waits all the time, and nothing is wrong with that

    def __init__(self, seat: Seat, seen: int, done: Done) -> None:
        super().__init__(done)
        self.seat, self.seen = seat, seen


class LeaseMachine:
    """Who holds the lease, and who stands in line, in the order they came.  Not thread-safe."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.number = 0
        self.holder: Seat | None = None
        self.went_on = False
        self.goes_on = False
        self.seats: list[Seat] = []  # of the job, in line or not
        self.line: list[Seat] = []
        self.beginners: set[Seat] = set()
        self.waiting: list[Change] = []

    def join(self, seat: Seat, stands: bool, begins: bool) -> Ended:
        """Adds a seat to the job.  It ``stands`` in line if it can hold the lease, and ``begins`` a job that does not go on."""
        if seat not in self.seats:
            self.seats.append(seat)
        if stands and seat is not self.holder and seat not in self.line:
            self.line.append(seat)
        if begins:
            self.beginners.add(seat)
        return self._advance()

    def leave(self, seat: Seat) -> Ended:
        """Ends a seat.  If it is the holder's, the lease goes to the next in line."""
        self.beginners.discard(seat)
        if seat in self.line:
            self.line.remove(seat)
        if seat in self.seats:
            self.seats.remove(seat)
        self.goes_on = self.goes_on and bool(self.seats)
        if seat is not self.holder:
            return self._advance()
        self.holder = None
        self.number += 1
        return self._advance()

    def change(self, attempt: Change) -> Ended:
        self.waiting.append(attempt)
        return self._ended()

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        if attempt.ended:
            return []
        self.waiting.remove(attempt)  # type: ignore[arg-type]
        return [attempt.end(error)]

    def standing(self, seat: Seat) -> Standing:
        holder = "" if self.holder is None else self.holder.who
        return Standing(self.number, seat is self.holder, self.went_on, holder, len(self.line))

    def describe(self, attempt: Attempt) -> str:
        state = "free" if self.holder is None else f"held by {self.holder.who}"
        return f"{self.title} is {state}, {len(self.line)} stand in line; it waits for a change"

    def _advance(self) -> Ended:
        if self.holder is None:
            able = (seat for seat in self.line if self.goes_on or seat in self.beginners)
            self.holder = next(able, None)
            if self.holder is not None:
                self.line.remove(self.holder)
                self.number += 1
                self.went_on, self.goes_on = self.goes_on, True
        return self._ended()

    def _ended(self) -> Ended:
        told = [attempt for attempt in self.waiting if attempt.seen != self.number]
        self.waiting = [attempt for attempt in self.waiting if attempt.seen == self.number]
        return [attempt.end(self.standing(attempt.seat)) for attempt in told]


class Lease(Driver):
    """Thread-safe, never blocks."""

    _machine: LeaseMachine

    def __init__(self, name: str = "", made_at: str = "") -> None:
        super().__init__(LeaseMachine(f"Lease '{name}'"), made_at)

    def join(self, seat: Seat, stands: bool, begins: bool) -> Standing:
        with self._lock:
            ended = self._machine.join(seat, stands, begins)
            standing = self._machine.standing(seat)
        finish(ended)
        return standing

    def leave(self, seat: Seat) -> None:
        with self._lock:
            ended = self._machine.leave(seat)
        finish(ended)

    def change(self, seat: Seat, seen: int, done: Done) -> Wait | None:
        """Ends with a `Standing` when the lease has another number than ``seen``."""
        return self._begin(self._machine.change, Change(seat, seen, done))

    def check(self, seat: Seat, number: int) -> None:
        """Raises AbortedError unless the seat has held the lease since its number was ``number``."""
        with self._lock:
            standing = self._machine.standing(seat)
        if not standing.mine or standing.number != number:
            now = f"{standing.holder or 'nobody'} holds it under number {standing.number}"
            raise AbortedError(
                None, None, f"{self._machine.title} is no longer held by {seat.who} under number {number}: {now}"
            )


class Seat(NodeState):
    """A session's place at a lease.  It ends when the session is closed, or its process is lost."""

    def __init__(self, lease: Lease, who: str) -> None:
        self.lease, self.who = lease, who

    def end(self) -> None:
        self.lease.leave(self)
