"""CutMachine: one task's side of saves: which steps may begin while variables are read, and which are waited for.

A save *watches* variables.  One that *holds* is a cut between steps, in three calls to each task:

- `open`: from now on no part of a step begins that writes what is watched.  The answer names the steps of several tasks that have
  begun here and may not be over elsewhere.
- `let`: of these steps, joined over all tasks, parts may begin.  The answer comes when they are over here, and with them all
  that was under way.  A step that is not among them has begun nowhere, so it comes wholly after the cut.
- `release`: all that is held begins.

One that does not hold makes the same calls, and nobody waits: it learns which variables others wrote meanwhile.
Plain code without threads: each event returns the attempts that have ended with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Final, NamedTuple, Protocol

from headrace.core.errors import CancelledError
from headrace.resources.stepping.attempt import Attempt, Ended
from headrace.resources.stepping.waiting import Done

Variables = frozenset[Any]  # of headrace.resources.state.variable.Variable
NOTHING: Final[Variables] = frozenset()
Key = Any  # a step: (session, number) if it has partitions here, else the plan that it is of


class Share(NamedTuple):
    """What has begun here of a step that writes variables, and is not known to be over."""

    key: Key
    writes: Variables
    tasks: Collection[str]  # on which it writes variables; empty: this one only
    runs: bool  # here, at the moment
    own: Hashable = None  # what a save knows its own steps by


class Begun(NamedTuple):
    """A step of several tasks, as one of them tells a save."""

    key: Key
    tasks: Collection[str]  # on which it writes variables


class Outcome(NamedTuple):
    """What there is to say at the end of a watch."""

    torn: list[str]  # variables that others wrote, or may have written
    late: list[str]  # steps that are still waited for, in words


class Watch(Attempt):
    """The variables that a save reads here.  Ends with the steps that have `Begun`."""

    __slots__ = ("holds", "left", "let", "letting", "number", "own", "owner", "reported", "seen", "variables")

    def __init__(
        self,
        number: int,
        variables: Variables | None,
        holds: bool,
        owner: Any,
        own: Collection[Hashable],
        done: Done,
    ) -> None:
        """``variables``: None: all there are.  ``owner``: the session.  ``own``: of the save itself, which is not held up."""
        super().__init__(done)
        self.number, self.variables, self.holds = number, variables, holds
        self.owner, self.own = owner, own
        self.reported: set[Key] = set()  # steps that had begun here before
        self.let: Collection[Key] = ()
        self.left: set[Key] = set()  # those that are not over here
        self.letting: Letting | None = None
        self.seen: dict[Key, Variables] = {}  # what steps write that overlap with it

    def concerns(self, writes: Variables, own: Hashable = None) -> bool:
        """Whether one that writes these writes what is watched."""
        if own in self.own:
            return False
        return bool(writes) if self.variables is None else not self.variables.isdisjoint(writes)

    def meets(self, other: Watch) -> bool:
        """Whether both hold steps for the same variables.  Those that watch nothing are turns: one after another."""
        mine, theirs = self.variables, other.variables
        if not (self.holds and other.holds):
            return False
        if mine is None or theirs is None:
            return NOTHING not in (mine, theirs)
        return mine == theirs or not mine.isdisjoint(theirs)


class Letting(Attempt):
    """Waits until steps are over here; ends with those that are not."""

    __slots__ = ()


class Beginning(Attempt):
    """A part of a step that asks whether it may begin."""

    __slots__ = ("key", "note", "own", "writes")

    def __init__(
        self,
        key: Key,
        writes: Variables,
        own: Hashable,
        done: Done | None = None,
        note: Callable[[], object] | None = None,
    ) -> None:
        """``done``: None if that is not known yet.  ``note`` is called when it begins, before anybody else hears of it."""
        super().__init__(done or _nobody)
        self.key, self.writes, self.own, self.note = key, writes, own, note

    def end(self, outcome: Any = None) -> tuple[Attempt, Any]:
        if outcome is None and self.note is not None:
            self.note()
        return super().end(outcome)


def _nobody(result: Any, error: BaseException | None) -> None:
    raise AssertionError("nobody waits for this")


class Table(Protocol):
    """What is known of the steps here."""

    def parts(self) -> Iterable[Share]:
        """Those that have begun; none that only asks whether it may begin."""

    def is_over(self, key: Key, watch: Watch) -> bool:
        """Whether a step will write nothing any more of what is watched."""

    def describe(self, key: Key) -> str:
        """A step in words."""


class CutMachine:
    """Not thread-safe."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.watches: dict[int, Watch] = {}
        self._waiting: list[Watch] = []  # for others that hold the same variables, in the order they came
        self._held: list[Beginning] = []

    # ---- saves

    def open(self, watch: Watch) -> Ended:
        self._waiting.append(watch)
        return self._open_next()

    def let(self, number: int, keys: Iterable[Key], letting: Letting, waits: bool) -> Ended:
        """Parts of these steps may begin.  Ends when they are over, or now unless it ``waits``."""
        watch = self.watches.get(number)
        if watch is None:
            return [letting.end(CancelledError(None, None, "the save is over"))]
        watch.let = frozenset(keys)
        watch.left.update(key for key in watch.let if not self._table.is_over(key, watch))
        watch.letting = letting
        ended = self._begin_held()
        return [*ended, *(self._let(watch) if waits and watch.left else [letting.end(list(watch.left))])]

    def release(self, number: int, torn: Iterable[Key] = ()) -> tuple[Outcome, Ended]:
        """Ends a watch.  ``torn``: steps that another task knows not to be over."""
        waiting = [watch for watch in self._waiting if watch.number == number]
        watch = self.watches.pop(number, None) or next(iter(waiting), None)
        if watch is None:
            return Outcome([], []), []
        over = CancelledError(None, None, "the save is over")
        late = [self._table.describe(key) for key in watch.left]
        ended: Ended = []
        if waiting:
            self._waiting.remove(watch)
            ended.append(watch.end(over))
            late = ["another consistent save of the same variables"]
        if watch.letting is not None and not watch.letting.ended:
            ended.append(watch.letting.end(over))
        known = {part.key: part.writes for part in self._table.parts()} if torn else {}
        written = [*watch.seen.values(), *(known.get(key, frozenset()) for key in torn)]
        names = {
            v.name for writes in written for v in (writes if watch.variables is None else writes & watch.variables)
        }
        return Outcome(sorted(names), late), [*ended, *self._open_next(), *self._begin_held()]

    def drop(self, owner: Any) -> Ended:
        """Ends the watches of a session that is over."""
        ended: Ended = []
        for watch in [*self.watches.values(), *self._waiting]:
            if watch.owner == owner:
                ended += self.release(watch.number)[1]
        return ended

    # ---- steps

    def begin(self, beginning: Beginning) -> Ended:
        """Ends when the part may begin."""
        self._held.append(beginning)
        return self._begin_held()

    def held_up(self) -> list[Key]:
        """The steps of which parts ask whether they may begin."""
        return [one.key for one in self._held]

    def look(self, keys: Callable[[Iterable[Key]], Iterable[Key]]) -> Ended:
        """Something has happened to steps: ``keys`` says which of those that are waited for."""
        ended: Ended = []
        for watch in self.watches.values():
            if watch.left:
                watch.left.difference_update([key for key in keys(watch.left) if self._table.is_over(key, watch)])
                ended += self._let(watch)
        return ended

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        if attempt.ended:
            return []
        if isinstance(attempt, Beginning):
            self._held.remove(attempt)
        elif isinstance(attempt, Watch):
            self._waiting.remove(attempt)
        return [attempt.end(error)]

    def describe(self, attempt: Attempt) -> str:
        if isinstance(attempt, Beginning):
            return "waiting for a consistent save to read the variables that it writes"
        return "waiting for steps that write what is saved"

    # ---- how it goes on

    def _open_next(self) -> Ended:
        ended: Ended = []
        for watch in list(self._waiting):
            earlier = self._waiting[: self._waiting.index(watch)]
            if not any(watch.meets(other) for other in (*self.watches.values(), *earlier)):
                self._waiting.remove(watch)
                ended.append(self._open(watch))
        return ended

    def _open(self, watch: Watch) -> tuple[Attempt, Any]:
        self.watches[watch.number] = watch
        parts = [part for part in self._table.parts() if watch.concerns(part.writes, part.own)]
        watch.reported.update(part.key for part in parts if isinstance(part.key, tuple))
        watch.left.update(part.key for part in parts if part.runs)
        watch.seen.update((part.key, part.writes) for part in parts if part.runs and not watch.holds)
        return watch.end([Begun(part.key, part.tasks) for part in parts if len(part.tasks) > 1])

    def _begin_held(self) -> Ended:
        ended: Ended = []
        for one in list(self._held):
            concerned = [watch for watch in self.watches.values() if watch.concerns(one.writes, one.own)]
            if all(not w.holds or one.key in w.reported or one.key in w.let for w in concerned):
                for watch in concerned:
                    if not watch.holds:
                        watch.seen[one.key] = watch.seen.get(one.key, frozenset()) | one.writes
                self._held.remove(one)
                ended.append(one.end())
        return ended

    @staticmethod
    def _let(watch: Watch) -> Ended:
        if watch.left or watch.letting is None or watch.letting.ended:
            return []
        return [watch.letting.end([])]
