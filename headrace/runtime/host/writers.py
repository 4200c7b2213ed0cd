"""Writers: the steps of a worker that write variables, so that a save knows which steps it overlaps with, and can hold them up.

A step that writes variables of this worker only is noted in its plan's `running` from its beginning to its end; that is all it
costs while nobody saves.  Of a step that writes on other tasks too, each task notes its partitions (`Partitions`).  What a save
makes of that is decided by a machine (cut_machine.py); cut.py is the save's own side.

No lock is needed to begin a step: a step is first noted and then looks whether somebody watches; a save first watches and then
looks which steps are noted.  So at least one of them sees the other.  The same holds at the end of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol
from weakref import WeakSet

from headrace.passes.step_graph import StepGraph
from headrace.passes.written import all_names
from headrace.resources.stepping.attempt import Driver, finish
from headrace.resources.stepping.interrupt import Shield
from headrace.resources.stepping.step import Awaited, Step, Steps
from headrace.resources.stepping.waiting import Done, Wait
from headrace.runtime.host.cut_machine import Beginning, CutMachine, Key, Letting, Outcome, Share, Variables, Watch


class Plan(Hashable, Protocol):
    """What is asked here of a plan whose steps write variables of this worker only."""

    request: Any  # of a whole step: its ops and fetches
    graph: StepGraph
    steps: Steps
    writes: Variables
    running: list[None]


class Partitions(Protocol):
    """What is asked here of a session's partitions of steps that write on several tasks."""

    session: str

    def parts(self) -> Iterable[Share]:
        """The steps that have begun here."""

    def is_over(self, step: int, watch: Watch) -> bool:
        """Whether a step will write nothing any more here of what is watched."""

    def describe(self, step: int) -> str:
        """A step in words."""


class Writers(Driver):
    """Thread-safe, never blocks; is the `Table` of its machine."""

    _machine: CutMachine

    def __init__(self, task: str) -> None:
        super().__init__(CutMachine(self))
        self.task = task
        self.watched = False
        self._plans: dict[int, list[Plan]] = {}  # those that write, by the owner of their graph
        self._partitions: WeakSet[Partitions] = WeakSet()  # a step that runs keeps those of its session

    # ---- what there is

    def add(self, plan: Plan, owner: int) -> None:
        """Steps of the plan will be noted."""
        with self._lock:
            self._plans.setdefault(owner, []).append(plan)

    def add_partitions(self, partitions: Partitions) -> None:
        with self._lock:
            self._partitions.add(partitions)

    def forget(self, owner: int) -> None:
        """Drops the plans of one session, and ends its watches."""
        with self._lock:
            self._plans.pop(owner, None)
            ended = self._machine.drop(owner)
            self.watched = bool(self._machine.watches)
        finish(ended)

    def parts(self) -> Iterator[Share]:
        for plans in self._plans.values():
            for plan in plans:
                if plan.running:
                    yield Share(plan, plan.writes, (), True, plan)
        for partitions in list(self._partitions):
            yield from partitions.parts()

    def is_over(self, key: Any, watch: Watch) -> bool:
        if not isinstance(key, tuple):
            return not key.running
        session, step = key
        return all(one.is_over(step, watch) for one in self._of(session))

    def describe(self, key: Any) -> str:
        if not isinstance(key, tuple):
            return _described(key)
        session, step = key
        return "; ".join(one.describe(step) for one in self._of(session))

    def _of(self, session: str) -> list[Partitions]:
        return [one for one in list(self._partitions) if one.session == session]

    # ---- steps

    def begin(self, beginning: Beginning) -> Wait | None:
        """Somebody watches: a part of a step waits until it may write.  None if it may now."""
        return self._begin(self._machine.begin, beginning)

    def enter(self, plan: Plan) -> None:
        """A step that is noted begins while somebody watches: the save is told, or the step waits until it may write."""
        plan.running.pop()
        self.look(plan)  # a save may have seen it
        note = partial(plan.running.append, None)
        with Shield(), plan.steps.running() as step:
            try:
                self.wait_to_begin(step, Beginning(plan, plan.writes, plan, None, note))
            except BaseException:
                note()  # as it was
                raise

    def wait_to_begin(self, step: Step, beginning: Beginning) -> None:
        """Waits on this thread until a part of a step may begin."""
        events = step.events()
        beginning.done = lambda result, error: events.put((step, result, error))
        wait = self.begin(beginning)
        try:
            if wait is not None:
                step.waits[beginning] = Awaited(None, wait)
                step.next(events)
        except BaseException:
            self.cancel(beginning, RuntimeError("the step was ended"))
            raise
        finally:
            step.waits.pop(beginning, None)
            step.forget(events)

    def look(self, key: Key) -> None:
        """A step has ended, here or everywhere, while somebody watches."""
        self._look(lambda left: (key,) if key in left else ())

    def look_at_session(self, session: str) -> None:
        """Steps of a session may be over."""
        self._look(lambda left: [key for key in left if isinstance(key, tuple) and key[0] == session])

    def _look(self, keys: Callable[[Any], Iterable[Key]]) -> None:
        with self._lock:
            ended = self._machine.look(keys)
        finish(ended)

    # ---- saves

    def open(
        self, number: int, variables: Variables | None, holds: bool, owner: int, own: Collection[Hashable], done: Done
    ) -> None:
        """Watches variables; None: all there are.  Tells ``done`` the steps of several tasks that have `Begun`."""
        with self._lock:
            self.watched = True  # before the machine looks which steps are noted
            ended = self._machine.open(Watch(number, variables, holds, owner, own, done))
        finish(ended)

    def let(self, number: int, keys: Sequence[Key], waits: bool, done: Done) -> None:
        """Lets parts of these steps begin.  Tells ``done``, when it waits no longer, which are not over."""
        with self._lock:
            ended = self._machine.let(number, keys, Letting(done), waits)
        finish(ended)

    def held_up(self, session: str) -> int:
        """How many parts of a session's steps are held up."""
        with self._lock:
            keys = self._machine.held_up()
        return sum(isinstance(key, tuple) and key[0] == session for key in keys)

    def holds(self, owner: int) -> bool:
        """Whether a session holds up all steps that write here."""
        with self._lock:
            watches = list(self._machine.watches.values())
        return any(one.owner == owner and one.holds and one.variables is None for one in watches)

    def release(self, number: int, torn: Sequence[Key] = ()) -> Outcome:
        """Ends a watch."""
        with self._lock:
            outcome, ended = self._machine.release(number, torn)
            self.watched = bool(self._machine.watches)
        finish(ended)
        return outcome


class Entrance(Protocol):
    """Where a step in which nodes wait asks whether it may write variables: before its first write, not when it begins."""

    wait: Wait | None  # what it waits for

    def enter(self, done: Done) -> bool:
        """Whether it may write now; otherwise tells ``done`` when it may."""


class PlanEntrance:
    """Of a step that writes variables of this worker only."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan
        self._is_in = False
        self.wait: Wait | None = None

    def enter(self, done: Done) -> bool:
        plan, writers = self._plan, self._plan.writers
        self._note()
        if not writers.watched:
            return True
        self.leave()
        self.wait = writers.begin(Beginning(plan, plan.writes, plan, done, self._note))
        return False

    def _note(self) -> None:
        self._plan.running.append(None)
        self._is_in = True

    def leave(self) -> None:
        """The step is over."""
        if self._is_in:
            self._is_in = False
            self._plan.running.pop()
            if self._plan.writers.watched:
                self._plan.writers.look(self._plan)


class PartitionEntrance:
    """Of a step that writes on several tasks."""

    def __init__(self, writers: Writers, beginning: Beginning) -> None:
        self._writers = writers
        self._beginning = beginning
        self.wait: Wait | None = None

    def enter(self, done: Done) -> bool:
        self._beginning.ended = True  # first it has begun, and then it looks whether somebody watches
        if not self._writers.watched:
            return True
        self._beginning.ended = False
        self._beginning.done = done
        self.wait = self._writers.begin(self._beginning)
        return False


class WorkerSide:
    """The `Side` of a cut that is in this process."""

    def __init__(
        self, writers: Writers, variables: Callable[[], Variables | None], owner: int, own: Collection[Hashable] = ()
    ) -> None:
        """``variables``: those to watch.  ``own``: what steps of the save itself are known by: they are not held up."""
        self.task = writers.task
        self._writers, self._variables = writers, variables
        self._owner, self._own = owner, own

    def open(self, cut: int, holds: bool, done: Done) -> None:
        self._writers.open(cut, self._variables(), holds, self._owner, self._own, done)

    def let(self, cut: int, keys: Sequence[Key], waits: bool, done: Done) -> None:
        self._writers.let(cut, keys, waits, done)

    def release(self, cut: int, torn: Sequence[Key], done: Done) -> None:
        done(self._writers.release(cut, torn), None)


def _described(plan: Plan) -> str:
    """A running step in words: what it was asked for, and what it waits for."""
    ops = [*plan.request.targets, *(tensor.op for tensor in plan.request.fetches)]
    asked = ", ".join(f"{op.name} (made at {op.source})" for op in ops[:3])
    more = f" and {len(ops) - 3} more" if len(ops) > 3 else ""
    waits = plan.steps.report(all_names(plan.graph))
    return f"the step that runs {asked}{more}" + (f"; {waits}" if waits else "")
