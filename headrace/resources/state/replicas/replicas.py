"""The aggregator of a job with a lock, a clock and those that wait (`machine` decides), and a session's share in it."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import inf
from time import monotonic
from typing import Any, Final

from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.core.silence import lost_seconds
from headrace.resources.state.container import NodeState
from headrace.resources.state.replicas.box import decoded
from headrace.resources.state.replicas.counts import NOTHING, Report, is_of_several, since, summary
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
    Staged,
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

    __slots__ = ("finishes",)

    called = "NextUpdate"
    for_room = True

    def __init__(self, member: int, finishes: bool, done: Done) -> None:
        super().__init__(member, done)
        self.finishes = finishes


_WAITS: Final[dict[type, str]] = {Arrival: "to go on", Candidacy: "to lead", Offer: "for an update to make"}


class Replicas:
    """Thread-safe, never blocks; callbacks run outside the lock."""

    def __init__(self, name: str, rule: Rule, first: int, made_at: str = "") -> None:
        """``first``: numbers of members and updates are above it, so that those of an earlier process are never met again."""
        self.name, self.rule = name, rule
        self._machine = Aggregator(rule, first, lost_seconds())
        self._lock = threading.Lock()
        self._numbers = first
        self._made_at = made_at
        self._waiting: dict[type, dict[int, Any]] = {Arrival: {}, Candidacy: {}, Offer: {}}
        self._timer: threading.Timer | None = None
        self._handed_out = -1  # the ticket of the last update
        self._places: dict[int, bytes] = {}  # of members that have a box
        self._excluded: dict[int, str] = {}  # why those are no members any more who have not left by themselves

    def check(self, rule: Rule) -> None:
        """Refuses who trains by other rules under this name."""
        if rule != self.rule:
            raise InvalidArgumentError(
                None, None,
                f"replicas {self.name!r} have {self.rule.said}, and this worker has {rule.said}: all workers must pass the same, "
                "or another name",
            )  # fmt: skip

    # ---- what members do

    def join(
        self, worker: str, known: int = 0, before: int | None = None, place: bytes | None = None
    ) -> tuple[int, int, str]:
        """The number of a new member, its first step, and what it is called: several of one name are numbered.

        ``known``: as of `Join`.  ``before``: the same member until now.  ``place``: of its box.
        """
        with self._lock:
            self._numbers += 1
            member = self._numbers
            if place is not None:
                self._places[member] = place
            taken = {one.worker for number, one in self._machine.members.items() if number != before}
            called = next(name for name in _numbered(worker) if name not in taken)
            ended = self._tell(Join(member, called, known))
            step = self._machine.members[member].step
        finish(ended)
        return member, step, called

    def leave(self, member: int, why: str = "") -> None:
        """``why``: told to a worker that has not left by itself."""
        with self._lock:
            self._places.pop(member, None)
            if not why:
                self._excluded.pop(member, None)
            elif member in self._machine.members:
                self._excluded[member] = why
            ended = self._tell(Leave(member))
            for attempts in self._waiting.values():
                if member in attempts:
                    ended.append(attempts.pop(member).end(self._unknown(member)))
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
        """Ends when the member leads, with whether an update was begun: it makes updates until its session ends."""
        return self._wait(Candidacy(member, done), Stand(member))

    def offer(self, member: int, finishes: bool, done: Done) -> Wait | None:
        """Ends with an update to make, and the places of those that are counted.

        ``finishes``: one that was begun too, as it leaves out what is done of it.
        """
        return self._wait(Offer(member, finishes, done), Ready(member))

    def staged(self, ticket: int) -> Update:
        """The update under way may be begun, as what it takes is at the servers: whoever is lost now, it is finished."""
        with self._lock:
            self._tell(Staged(ticket))
            update = self._machine.staged
        if update is None or update.ticket != ticket:
            raise AbortedError(None, None, f"an update of replicas {self.name!r} was given to another worker meanwhile")
        return update

    def updated(self, ticket: int) -> None:
        """The update is made."""
        with self._lock:
            ended = self._tell(Updated(ticket))
        finish(ended)

    def _wait(self, attempt: Arrival, event: Event) -> Wait | None:
        waiting = self._waiting[type(attempt)]
        with self._lock:
            if attempt.member not in self._machine.members:
                raise self._unknown(attempt.member)
            if attempt.member in waiting:
                raise InvalidArgumentError(
                    None, None, f"two steps of one session wait in replicas {self.name!r}: a worker runs one at a time"
                )
            waiting[attempt.member] = attempt
            ended = self._tell(event)
        finish(ended)
        return None if attempt.ended else Waiting(self, attempt)  # type: ignore[arg-type]

    def _unknown(self, member: int) -> AbortedError:
        why = self._excluded.get(member, "its session has ended, or the server was started again")
        return AbortedError(None, None, f"this worker is no member of replicas {self.name!r} any more: {why}")

    def _unfinished(self) -> AbortedError:
        why = "its session begins anew, and whoever leads then finishes it"
        return AbortedError(None, None, f"an update of replicas {self.name!r} was begun and not finished: {why}")

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
                ended.append(candidacy.end(self._machine.unfinished))
        elif isinstance(one, Update):
            offer = self._waiting[Offer].pop(one.by)
            refused = one.ticket == self._handed_out and not offer.finishes
            self._handed_out = one.ticket
            ended.append(offer.end(self._unfinished() if refused else (one, self._places_of(one.counted))))
        else:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if one.seconds < inf:
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


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} #{number}" for number in itertools.count(2))


class Replica(NodeState):
    """A session's share.  It ends when the session is closed, or its process is lost."""

    def __init__(self, replicas: Replicas, worker: str) -> None:
        self.replicas = replicas
        self._worker = worker
        self._member: int | None = None
        self._called = worker
        self._before: Report = NOTHING  # as of the last summary
        self._lock = threading.Lock()

    def join(self, known: int = 0, task: str = "", place: bytes | None = None) -> tuple[int, int]:
        """Joins, as a new member if it was one before.

        ``known``, ``place``: as of `Replicas.join`.  ``task``: its name if it has no other.
        """
        with self._lock:
            before = self._member
            self._member, step, self._called = self.replicas.join(self._worker or task, known, before, place)
            member, self._before = self._member, self.replicas.counts()
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
                f"this worker has not joined replicas {self.replicas.name!r}: this session must run "
                "tf.local_variables_initializer()",
            )  # fmt: skip
        return member

    def report(self) -> dict[str, Any]:
        """What was counted in the whole job, and what this worker is called in it."""
        return {**self.replicas.counts(), "worker": self._called}

    def summary(self, tag: str) -> bytes:
        """What was counted, and since the last summary of this session, as a Summary; an empty one while there is one worker."""
        with self._lock:
            report = self.replicas.counts()
            new, self._before = since(self._before, report), report
        return summary(tag, report, new) if is_of_several(report) else b""

    def end(self) -> None:
        with self._lock:
            member, self._member = self._member, None
        if member is not None:
            self.replicas.leave(member)
