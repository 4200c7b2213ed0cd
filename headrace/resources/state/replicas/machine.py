"""The aggregator of a job: a machine without threads, tensors or a clock.  `Aggregator.take(event, now)` returns instructions.

Workers are *members* while their sessions live.  A member *arrives* when its gradients are at the servers (with `gathers`) or are
applied there (without), and is *released* when it may compute its next ones.

With `gathers` (synchronous, backup workers, quorum) there are *updates*, one after another.  When enough members have arrived,
their gradients are *counted*, and one of the members, who *leads*, makes the update from them.  Gradients that arrive later for
the same update are late: they are dropped.  Without `gathers` (asynchronous, bounded staleness) each arrival is an update.

A member that is lost is not waited for, unless `elastic` is false.  If the one that leads is lost, the next in line does: it
finishes the update that was begun, of the gradients of the same members, under the same ticket.

With `all_reduce` members keep their gradients themselves, and these are lost with them.  So an update counts as begun only when
their mean is *staged* at the servers, and nothing is written before.  One that is not is given up, and made of those still there.

An aggregator that follows another, whose process was lost, hears from those that join how many they were.  Some of them may have
been lost in the same moment: when nobody has joined for `patience` seconds, the job goes on with those that are there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Final

SAMPLES: Final = 32  # of a member's last times from release to arrival
LOOK_EVERY: Final = 16  # updates between two choices of the number of backups
SLOW: Final = 2.0  # times the median of all: a slow member

# ---- what a job agrees on


@dataclass(frozen=True, slots=True)
class Rule:
    """``workers``: how many there are before the first update.

    ``gathers``: gradients are gathered and averaged.  ``needed``: how many an update takes at least, 0 for those of all members;
    -1 for the number that makes the most of the time.  ``grace``: seconds that it then waits for more.
    ``staleness``: without ``gathers``, how many steps a member may be ahead of the slowest; -1 for any.
    ``copies``: what is gathered are not gradients but the members' copies of the variables.
    ``all_reduce``: dense gradients are summed from member to member, and variables passed on.
    ``said``: all of this as the program said it, and what only workers know.
    """

    workers: int = 1
    gathers: bool = False
    needed: int = 0
    grace: float = 0.0
    staleness: int = -1
    elastic: bool = True
    copies: bool = False
    all_reduce: bool = False
    said: str = ""


# ---- events


@dataclass(frozen=True, slots=True)
class Join:
    """A session is there.  ``worker``: what people call it.

    ``known``: how many members there were when its process was last released, by an aggregator before this one; 0 if never.
    """

    member: int
    worker: str
    known: int = 0


@dataclass(frozen=True, slots=True)
class Leave:
    """A session has ended, or its process is lost."""

    member: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """The member has computed gradients with what it was released for."""

    member: int
    step: int


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The member does not wait any more: its step was cancelled."""

    member: int


@dataclass(frozen=True, slots=True)
class Stand:
    """The member would lead."""

    member: int


@dataclass(frozen=True, slots=True)
class Ready:
    """It waits for the next update to make.  If one was begun, it will leave out what is done of it."""

    member: int


@dataclass(frozen=True, slots=True)
class StandDown:
    """It would not lead any more."""

    member: int


@dataclass(frozen=True, slots=True)
class Staged:
    """With `all_reduce`: what the update takes is at the servers.  It may write now if `Aggregator.staged` has its ticket."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Updated:
    """The update is made."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Tick:
    """It is the time of a `Wake`."""


Event = Join | Leave | Arrive | Withdraw | Stand | Ready | StandDown | Staged | Updated | Tick

# ---- instructions


@dataclass(frozen=True, slots=True)
class Release:
    """The member may compute gradients for this step."""

    member: int
    step: int


@dataclass(frozen=True, slots=True)
class Lead:
    """The member leads from now on."""

    member: int


@dataclass(frozen=True, slots=True)
class Update:
    """``by`` makes an update of the gradients of those that are ``counted``; of others that are not ``present`` none stay.

    Handed out again, because the one that had it was lost after it had begun, it has the same ``ticket``, and the same members
    count.
    """

    by: int
    ticket: int
    counted: tuple[int, ...]
    present: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wake:
    """Send a `Tick` in so many seconds, and not at the time that was said before; ``inf``: none."""

    seconds: float


Instruction = Release | Lead | Update | Wake

# ---- the machine


@dataclass(slots=True)
class Tally:
    """What is known of a worker, over all of its sessions."""

    counted: int = 0
    late: int = 0
    sessions: int = 0
    working: float = 0.0  # seconds, from release to arrival
    waiting: float = 0.0  # seconds, from arrival to release


@dataclass(slots=True)
class _Member:
    worker: str
    step: int  # that it was released for; without `gathers` its own count
    released_at: float
    seen: int = 0  # updates at its release
    arrived_at: float | None = None  # None: it is computing
    times: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))


class Aggregator:
    """Not thread-safe."""

    def __init__(self, rule: Rule, tickets: int = 0, patience: float = inf) -> None:
        """``tickets``: before the first, so that two aggregators after one another have different ones."""
        self.rule = rule
        self._patience = patience
        self._complete_at: float | None = None  # with those that are there then; None: it is, or waits for ever
        self.updates = 0
        self.complete = False  # whether all workers have been there
        self.members: dict[int, _Member] = {}
        self.tallies: dict[str, Tally] = {}
        self.staleness: Counter[int] = Counter()  # of counted gradients: updates between their release and theirs
        self.repeated = 0  # updates that were handed out again
        self.made: tuple[int, tuple[int, ...]] = (0, ())  # the ticket of the last, who made it and who waited, by name
        self._ticket = tickets
        self._line: dict[int, bool] = {}  # who would lead; the first does, and is told once
        self._ready = False  # whether it waits for an update
        self._update: Update | None = None  # that is being made
        self.staged: Update | None = None  # the last that was, with `all_reduce`
        self._begun: Update | None = None  # that somebody was to make who is lost, or has failed
        self._witnesses: set[int] = set()  # who were members then
        self._counted: tuple[int, ...] = ()  # for the next one, as long as nobody is ready to make it
        self._needed = rule.needed
        self._arrived: dict[int, None] = {}  # for the next one, in this order
        self._floor = 0  # the step of the slowest
        self.awaited = rule.workers  # before the first update; fewer if members know that the job went on with fewer

    def take(self, event: Event, now: float) -> list[Instruction]:
        """What follows from an event."""
        if isinstance(event, Join):
            return self._join(event, now)
        if isinstance(event, Leave):
            return self._leave(event.member, now)
        if isinstance(event, Arrive):
            return self._arrive(event, now)
        if isinstance(event, Withdraw):
            return self._withdraw(event.member)
        if isinstance(event, Stand):
            return self._stand(event.member)
        if isinstance(event, Ready):
            return self._offer(event.member, now)
        if isinstance(event, StandDown):
            return [*self._stand_down(event.member), *self._decide(now)]
        if isinstance(event, Staged):
            return self._stage(event.ticket)
        if isinstance(event, Updated):
            return self._updated(event.ticket, now)
        return self._tick(now)

    # ---- members

    def _join(self, event: Join, now: float) -> list[Instruction]:
        step = self.updates if self.rule.gathers else self._floor
        self.members[event.member] = _Member(event.worker, step, now, self.updates)
        self._tally(event.worker).sessions += 1
        if self.complete:
            return self._go_on(now)
        if self.rule.elastic and event.known:
            self.awaited = min(self.awaited, event.known)
            self._complete_at = inf
        self.complete = len(self.members) >= self.awaited
        if self._complete_at is None:
            return self._go_on(now)
        self._complete_at = None if self.complete else now + self._patience
        return [Wake(inf if self.complete else self._patience), *self._go_on(now)]

    def _tick(self, now: float) -> list[Instruction]:
        if self._complete_at is not None and now >= self._complete_at:
            self.complete, self._complete_at = True, None
        return self._go_on(now)

    def _leave(self, number: int, now: float) -> list[Instruction]:
        if self.members.pop(number, None) is None:
            return []
        self._arrived.pop(number, None)
        if number in self._counted:  # its server may be lost too, with what it brought
            self._counted = ()
        told: list[Instruction] = []
        if self._complete_at is not None and not self.members:  # the next to join begins to wait
            self._complete_at = None
            told.append(Wake(inf))
        told += self._stand_down(number)
        if self._begun is not None and self._witnesses.isdisjoint(self.members):
            self._begun = None  # all have left or joined anew: a server was lost, and what it had was restored
            self._ticket += 1
        return [*told, *self._go_on(now)]

    def _go_on(self, now: float) -> list[Instruction]:
        if self.rule.gathers:
            return self._decide(now)
        self._floor = self._least()
        return self._release_those_near(now)

    def _tally(self, worker: str) -> Tally:
        return self.tallies.setdefault(worker, Tally())

    # ---- arrivals

    def _arrive(self, event: Arrive, now: float) -> list[Instruction]:
        member = self.members[event.member]
        member.arrived_at = now
        member.times.append(now - member.released_at)
        self._tally(member.worker).working += now - member.released_at
        if not self.rule.gathers:
            return self._advance(event.member, member, now)
        if event.step != self.updates:  # the update is made already
            self._tally(member.worker).late += 1
            return [self._release(event.member, now)]
        self._arrived[event.member] = None
        return self._decide(now)

    def _withdraw(self, number: int) -> list[Instruction]:
        member = self.members.get(number)
        if member is not None:
            member.arrived_at = None
            self._arrived.pop(number, None)
        return []

    def _count(self, member: _Member) -> None:
        self._tally(member.worker).counted += 1
        self.staleness[self.updates - member.seen] += 1

    def _release(self, number: int, now: float) -> Release:
        member = self.members[number]
        if member.arrived_at is not None:
            self._tally(member.worker).waiting += now - member.arrived_at
        if self.rule.gathers:
            member.step = self.updates
        member.seen, member.released_at, member.arrived_at = self.updates, now, None
        return Release(number, member.step)

    # ---- without gathering

    def _advance(self, number: int, member: _Member, now: float) -> list[Instruction]:
        was_slowest = member.step == self._floor
        self._count(member)
        self.updates += 1
        member.step += 1
        if was_slowest:
            return self._go_on(now)
        return [self._release(number, now)] if self._is_near(member) else []

    def _least(self) -> int:
        if not self.complete:
            return 0
        return min((member.step for member in self.members.values()), default=self._floor)

    def _is_near(self, member: _Member) -> bool:
        return self.rule.staleness < 0 or member.step - self._floor <= self.rule.staleness

    def _release_those_near(self, now: float) -> list[Instruction]:
        waiting = [n for n, one in self.members.items() if one.arrived_at is not None and self._is_near(one)]
        return [self._release(number, now) for number in waiting]

    # ---- updates

    def _decide(self, now: float) -> list[Instruction]:
        """Hands out the next update if enough have arrived for it."""
        if self._update is not None or self._counted or not self.complete or not self.rule.gathers:
            return []
        if self._begun is not None:
            return self._hand_out()
        arrived, needed = self._arrived, self.needed()
        if not arrived or len(arrived) < needed:
            return []
        if self.rule.grace and len(arrived) < max(len(self.members), needed):
            enough_at = self.members[list(arrived)[needed - 1]].arrived_at or 0.0
            if enough_at + self.rule.grace > now:
                return [Wake(enough_at + self.rule.grace - now)]
        self._counted = self._by_name(arrived)
        return self._hand_out()

    def _by_name(self, members: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(members, key=lambda n: (self.members[n].worker, n)))

    def needed(self) -> int:
        """How many gradients the next update takes at least."""
        most = len(self.members) if self.rule.elastic else max(len(self.members), self.rule.workers)
        return max(1, min(self._needed, most) if self._needed > 0 else most)

    def _stand(self, number: int) -> list[Instruction]:
        self._line.setdefault(number, False)
        return self._lead()

    def _lead(self) -> list[Instruction]:
        first = self.leader
        if first is None or self._line[first]:
            return []
        self._line[first] = True
        return [Lead(first)]

    @property
    def leader(self) -> int | None:
        """Who makes the updates."""
        return next(iter(self._line), None)

    @property
    def unfinished(self) -> bool:
        """Whether an update was begun, and nobody makes it now."""
        return self._begun is not None

    def _give_up(self) -> None:
        """The update under way is not finished by the one that had it."""
        if self._update is None:
            return
        update, self._update = self._update, None
        self.repeated += 1
        if self.rule.all_reduce and (self.staged is None or self.staged.ticket != update.ticket):
            self._ticket += 1  # and whoever had it cannot begin it any more
        else:
            self._begun, self._witnesses = update, set(self.members)

    def _stage(self, ticket: int) -> list[Instruction]:
        if self._update is not None and ticket == self._ticket:
            self.staged = self._update
        return []

    def _stand_down(self, number: int) -> list[Instruction]:
        if number not in self._line:
            return []
        if number == self.leader:
            self._ready = False
            self._give_up()
        del self._line[number]
        return self._lead()

    def _offer(self, number: int, now: float) -> list[Instruction]:
        told = self._stand(number)
        if number != self.leader:
            return told
        self._give_up()  # it has failed to make it
        self._ready = True
        return [*told, *(self._hand_out() if self._counted else self._decide(now))]

    def _hand_out(self) -> list[Instruction]:
        counted = self._counted if self._begun is None else self._begun.counted
        if not counted or not self._ready or self.leader is None:
            return []
        self._begun, self._counted, self._ready = None, (), False
        self._update = Update(self.leader, self._ticket, counted, tuple(self.members))
        return [self._update]

    def _updated(self, ticket: int, now: float) -> list[Instruction]:
        if self._update is None or ticket != self._ticket:  # somebody else has made it
            return []
        by, counted, self._update = self._update.by, self._update.counted, None
        self.made = (ticket, (by, *(number for number in self._by_name(self._arrived) if number != by)))
        for number in counted:
            if number in self.members:
                self._count(self.members[number])
        for number in self._arrived.keys() - set(counted):
            self._tally(self.members[number].worker).late += 1
        self.updates += 1
        self._ticket += 1
        if self.rule.needed < 0 and self.updates % LOOK_EVERY == 0:
            self._needed = best_number([list(member.times) for member in self.members.values()])
        waiting, self._arrived = self._arrived, {}
        return [self._release(number, now) for number in waiting]

    # ---- for people

    def slow(self, now: float) -> list[tuple[str, float]]:
        """Workers that take much longer than the median, and how many times."""
        usual = {n: _usual(member, now) for n, member in self.members.items()}
        known = [seconds for seconds in usual.values() if seconds is not None]
        if len(known) < 2 or median(known) <= 0:
            return []
        middle = median(known)
        return [
            (self.members[n].worker, seconds / middle)
            for n, seconds in usual.items()
            if seconds is not None and seconds >= SLOW * middle
        ]

    def describe(self) -> str:
        """What members wait for, in words."""
        if not self.complete:
            soon = (
                "" if self._complete_at is None else f"; the others have {self._patience:g} s after the last that came"
            )
            return f"{len(self.members)} of {self.awaited} workers have joined{soon}"
        computing = sorted(member.worker for member in self.members.values() if member.arrived_at is None)
        names = ", ".join(computing[:4]) + (f" and {len(computing) - 4} more" if len(computing) > 4 else "")
        if not self.rule.gathers:
            return f"the slowest worker is at step {self._floor}; computing: {names or 'nobody'}"
        if self._update is not None:
            return f"update {self.updates} is being made by {self._name(self._update.by)}"
        if self._begun is not None:
            return f"update {self.updates} was begun by a worker that is lost, and nobody finishes it yet"
        if self._counted:
            return f"update {self.updates} has its gradients, and nobody makes it: no session runs its queue runners"
        return f"update {self.updates} needs {self.needed()} gradients; computing: {names or 'nobody'}"

    def _name(self, number: int) -> str:
        return self.members[number].worker if number in self.members else "a lost worker"


def _usual(member: _Member, now: float) -> float | None:
    """Its median time, or the time that it has been computing for if that is more; None if that is not known yet."""
    if not member.times:
        return None
    under_way = now - member.released_at if member.arrived_at is None else 0.0
    return max(median(member.times), under_way)


def best_number(times: Sequence[Sequence[float]]) -> int:
    """How many of the members to wait for, for the most gradients a second, by their last times; -1 if there are none yet."""
    rounds = min((len(one) for one in times), default=0)
    if rounds == 0:
        return -1
    totals = [0.0] * len(times)
    for i in range(rounds):
        for place, seconds in enumerate(sorted(one[-1 - i] for one in times)):
            totals[place] += seconds
    return max(range(1, len(times) + 1), key=lambda n: (n / totals[n - 1] if totals[n - 1] > 0 else 0.0, n))
