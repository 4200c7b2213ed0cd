"""The aggregator of a job with a lock, a clock and those that wait (`machine` decides), and a session's share in it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any, Final

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.resources.state.container import NodeState
from headrace.resources.state.replicas.box import decoded
from headrace.resources.state.replicas.machine import (
    Aggregator,
    Arrive,
    Event,
    Instruction,
    Join,
    Lead,
    Leave,
    Ready,
    Release,
    Rule,
    Stand,
    StandDown,
    Update,
    Updated,
    Withdraw,
)
from headrace.resources.state.replicas.machine import Tick as TickEvent
from headrace.resources.stepping.attempt import Attempt, Ended, Waiting, finish
from headrace.resources.stepping.waiting import Done, Wait

log = logging.getLogger("headrace")


class Arrival(Attempt):
    """A member waits until it may go on."""

    __slots__ = ("member",)

    called = "Arrive"

    def __init__(self, member: int, done: Done) -> None:
        super().__init__(done)
        self.member = member


class Candidacy(Arrival):
    """A member waits until it leads."""

    called = "LeadReplicas"
    for_room = True  # all but one do so all the time


class Offer(Arrival):
    """A member that leads waits for an update to make."""

    called = "NextUpdate"
    for_room = True


_WAITS: Final[dict[type, str]] = {Arrival: "to go on", Candidacy: "to lead", Offer: "for an update to make"}


class Replicas:
    """Thread-safe, never blocks; callbacks run outside the lock."""

    def __init__(self, name: str, rule: Rule, first: int, made_at: str = "") -> None:
        """``first``: numbers of members and updates are above it, so that those of an earlier process are never met again."""
        self.name, self.rule = name, rule
        self._machine = Aggregator(rule, first)
        self._lock = threading.Lock()
        self._numbers = first
        self._made_at = made_at
        self._waiting: dict[type, dict[int, Any]] = {Arrival: {}, Candidacy: {}, Offer: {}}
        self._timer: threading.Timer | None = None
        self._places: dict[int, bytes] = {}  # of members that have a box

    def check(self, rule: Rule) -> None:
        """Refuses who trains by other rules under this name."""
        if rule != self.rule:
            differ = [
                f"{key} {there!r}, not {asdict(rule)[key]!r}"
                for key, there in asdict(self.rule).items()
                if there != asdict(rule)[key]
            ]
            raise InvalidArgumentError(
                None, None,
                f"replicas {self.name!r} have {', '.join(differ)}: all workers must pass the same, or another name",
            )  # fmt: skip

    # ---- what members do

    def join(self, worker: str, known: int = 0, place: bytes | None = None) -> tuple[int, int]:
        """The number of a new member and its first step.  ``known``: as of `Join`; ``place``: of its box."""
        with self._lock:
            self._numbers += 1
            member = self._numbers
            if place is not None:
                self._places[member] = place
            ended = self._tell(Join(member, worker, known))
            step = self._machine.members[member].step
        finish(ended)
        return member, step

    def leave(self, member: int, why: str = "") -> None:
        """``why``: told to a worker that has not left by itself."""
        with self._lock:
            self._places.pop(member, None)
            ended = self._tell(Leave(member))
            for attempts in self._waiting.values():
                if member in attempts:
                    ended.append(attempts.pop(member).end(self._unknown(why)))
        finish(ended)

    def exclude(self, box: int, why: str) -> None:
        """Takes the membership of the one that has this box away, unless it has left: others cannot ask it."""
        with self._lock:
            members = [member for member, place in self._places.items() if decoded([place])[0].box == box]
        for member in members:
            log.warning("replicas %r go on without a worker whose gradients could not be added: %s", self.name, why)
            self.leave(member, f"the others could not add its gradients: {why}")

    def arrive(self, member: int, step: int, done: Done) -> Wait | None:
        """Ends with the member's number, the step that it may compute next, how many members there are, and the last update.

        How many is 0 as long as not all workers have been there.  Of the update: its ticket, and the places of those that have
        the variables as it has made them, as far as the member itself.
        """
        return self._wait(Arrival(member, done), Arrive(member, step))

    def stand(self, member: int, done: Done) -> Wait | None:
        """Ends when the member leads: it makes updates until its session ends."""
        return self._wait(Candidacy(member, done), Stand(member))

    def offer(self, member: int, done: Done) -> Wait | None:
        """Ends with an update to make, and the places of those that are counted."""
        return self._wait(Offer(member, done), Ready(member))

    def updated(self, ticket: int) -> None:
        """The update is made."""
        with self._lock:
            ended = self._tell(Updated(ticket))
        finish(ended)

    def _wait(self, attempt: Arrival, event: Event) -> Wait | None:
        waiting = self._waiting[type(attempt)]
        with self._lock:
            if attempt.member not in self._machine.members:
                raise self._unknown()
            if attempt.member in waiting:
                raise InvalidArgumentError(
                    None, None, f"two steps of one session wait in replicas {self.name!r}: a worker runs one at a time"
                )
            waiting[attempt.member] = attempt
            ended = self._tell(event)
        finish(ended)
        return None if attempt.ended else Waiting(self, attempt)  # type: ignore[arg-type]

    def _unknown(self, why: str = "") -> AbortedError:
        why = why or "its session has ended, or the server was started again"
        return AbortedError(None, None, f"this worker is no member of replicas {self.name!r} any more: {why}")

    # ---- the machine

    def _tell(self, event: Event) -> Ended:
        ended: Ended = []
        for one in self._machine.take(event, monotonic()):
            self._follow(one, ended)
        return ended

    def _follow(self, one: Instruction, ended: Ended) -> None:
        if isinstance(one, Release):
            known = len(self._machine.members) if self._machine.complete else 0
            ticket, holders = self._machine.made
            if one.member in holders:
                holders = holders[: holders.index(one.member)]
            released = (one.member, one.step, known, ticket, self._places_of(holders))
            ended.append(self._waiting[Arrival].pop(one.member).end(released))
        elif isinstance(one, Lead):
            candidacy = self._waiting[Candidacy].pop(one.member, None)
            if candidacy is not None:
                ended.append(candidacy.end())
        elif isinstance(one, Update):
            ended.append(self._waiting[Offer].pop(one.by).end((one, self._places_of(one.counted))))
        else:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(one.seconds, self._tick)
            self._timer.daemon = True
            self._timer.start()

    def _places_of(self, members: Sequence[int]) -> list[bytes]:
        return [self._places[member] for member in members if member in self._places]

    def _tick(self) -> None:
        with self._lock:
            self._timer = None
            ended = self._tell(TickEvent())
        finish(ended)

    def cancel(self, attempt: Attempt, error: Exception) -> None:
        ended: Ended = []
        with self._lock:
            if not attempt.ended and isinstance(attempt, Arrival):
                del self._waiting[type(attempt)][attempt.member]
                ended.append(attempt.end(error))
                ended += self._tell((Withdraw if type(attempt) is Arrival else StandDown)(attempt.member))
        finish(ended)

    # ---- for people

    def describe_wait(self, attempt: Attempt) -> str:
        what = _WAITS[type(attempt)]
        made_at = f" (made at {self._made_at})" if self._made_at else ""
        return f"replicas {self.name!r}, {what}: {self._machine.describe()}{made_at}"

    def describe(self) -> str:
        """How many members there are, and what they wait for."""
        machine = self._machine
        return (
            f"replicas {self.name!r}: {len(machine.members)} workers, {machine.updates} updates; {machine.describe()}"
        )

    def report(self) -> str:
        """What was counted, as JSON."""
        return json.dumps(self.counts())

    def counts(self) -> dict[str, Any]:
        """What was counted, as plain data."""
        with self._lock:
            machine = self._machine
            return {
                "updates": machine.updates, "workers": len(machine.members), "repeated": machine.repeated,
                "needed": machine.needed() if self.rule.gathers else 1,
                "staleness": {str(steps): count for steps, count in sorted(machine.staleness.items())},
                "slow": machine.slow(monotonic()),
                "by_worker": {worker: asdict(tally) for worker, tally in sorted(machine.tallies.items())},
            }  # fmt: skip


class Replica(NodeState):
    """A session's share.  It ends when the session is closed, or its process is lost."""

    def __init__(self, replicas: Replicas, worker: str) -> None:
        self.replicas = replicas
        self._worker = worker
        self._member: int | None = None
        self._lock = threading.Lock()

    def join(self, known: int = 0, place: bytes | None = None) -> tuple[int, int]:
        """Joins, as a new member if it was one before.  ``known``, ``place``: as of `Replicas.join`."""
        with self._lock:
            before, (self._member, step) = self._member, self.replicas.join(self._worker, known, place)
            member = self._member
        if before is not None:
            self.replicas.leave(before)
        return member, step

    @property
    def member(self) -> int:
        """Its number."""
        member = self._member
        if member is None:
            raise AbortedError(
                None, None,
                f"{self._worker} has not joined replicas {self.replicas.name!r}: this session must run "
                "tf.local_variables_initializer()",
            )  # fmt: skip
        return member

    def end(self) -> None:
        with self._lock:
            member, self._member = self._member, None
        if member is not None:
            self.replicas.leave(member)
