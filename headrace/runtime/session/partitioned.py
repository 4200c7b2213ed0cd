"""A step over several partitions: all run at the same time, and the first error ends them all."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, thread_time
from typing import Any, Final

from headrace.core.device import task_of
from headrace.core.errors import AbortedError, InternalError, OpError, UnavailableError, make_error
from headrace.core.source import at, user_source
from headrace.passes.partition.spare import Spared
from headrace.resources.stepping.step import Awaited, Step
from headrace.runtime.host.turn import Pace
from headrace.runtime.session.causality import settle
from headrace.runtime.session.partition_worker import PartitionWorker, Runs
from headrace.runtime.session.step_numbers import step_numbers

GRACE: Final = 0.2  # seconds that partitions have to say that they are out of time
_OWN_THREAD: Final = re.compile(r"run at thread headrace-[\w-]+")  # of the pool, or the one that takes messages


@dataclass(frozen=True, slots=True)
class Member:
    """A partition where it is registered.  ``feeds`` and ``fetches`` are positions in those of the step.

    ``spared``: when it does nothing in a step, so that it need not begin.
    """

    name: str
    worker: Runs
    handle: int
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    spared: Spared | None = None


class PartitionedStep:
    """The partitions of one request.  Re-entrant."""

    def __init__(self, members: Sequence[Member], fetches: int) -> None:
        # The one that runs on the thread of the caller comes last.
        self.members = sorted(members, key=lambda m: (isinstance(m.worker, PartitionWorker), len(m.fetches)))
        self._fetches = fetches
        self._workers = list({id(m.worker): m.worker for m in members}.values())
        # What the caller's partition sends before it waits goes along with the message that begins the others, if it is short.
        self._own = self.members[-1].worker if isinstance(self.members[-1].worker, PartitionWorker) else None
        self._others = [w for w in self._workers if not isinstance(w, PartitionWorker)] if self._own is not None else []
        self._pace = Pace()
        self._holds = True  # as long as something has gone along each time
        self._spares = any(m.spared is not None for m in members)  # then all but the caller's

    def run(self, feeds: Sequence[Any], step: Step) -> tuple[Any, ...]:
        """Runs a step to its end."""
        number = step_numbers.next()
        until = step.until
        if until is not None:  # the partitions know it, and say what they wait for, unless their process is stopped
            step.until = until + GRACE
        step.divided = True
        run = _Run(self, number)
        events = step.events()
        step.waits[run] = Awaited(None, run)
        step.ask_others = partial(self._waiting_elsewhere, number)
        spares = self._spares and self._own is not None and not self._own.is_traced  # who traces waits for all tasks
        hold = self._holds and self._pace.is_short and not spares
        begins = _Begins(self._others, number, self._pace)
        try:
            for i, member in enumerate(self.members):
                worker = member.worker
                run.begun += 1
                given = (member.handle, number, [feeds[k] for k in member.feeds], run.done(i, events), until)
                if self._own is not None and i == len(self.members) - 1:
                    begins.begin()
                    self._own.run_here(*given, None if spares else begins.let_go, step.ask_others)
                elif spares:
                    worker.hold(*given, member.spared)
                elif hold:
                    worker.hold(*given)
                else:
                    worker.run(*given)
            begins.let_go()
            if hold and not begins.went_along:
                self._holds = False
            while not run.is_over:
                step.next(events)
        except BaseException as e:
            begins.let_go()
            run.fail(e)
            run.wait_for_all(events, until)
            raise
        finally:
            step.forget(events)
            step.waits.pop(run, None)
            step_numbers.end(number)
            unheard = [worker for worker in self._workers if not worker.end(number)]
            if unheard and self._own is not None and self._own.is_watched:
                for worker in unheard:
                    worker.keep_out(number)
        if run.error is not None:
            raise located(run.error)
        return tuple(run.results)

    def abort(self, number: int, error: OpError) -> None:
        for worker in self._workers:
            worker.abort(number, error)

    def _waiting_elsewhere(self, number: int) -> str:
        """What the partitions on other tasks wait for, a line for each task."""
        names = {id(member.worker): task_of(member.name) for member in self.members}
        waits = {names[id(worker)]: worker.waiting(number) for worker in self._workers if worker is not self._own}
        return "".join(f"\n\t on {task}: {said}" for task, said in waits.items() if said)

    @property
    def is_local(self) -> bool:
        """Whether all partitions are in this process."""
        return all(isinstance(worker, PartitionWorker) for worker in self._workers)

    def traced(self) -> PartitionedStep:
        """The step with code that notes when each node runs."""
        members = [replace(m, handle=m.worker.trace(m.handle), spared=None) for m in self.members]
        return PartitionedStep(members, self._fetches)

    def statistics(self) -> Any:
        """What the last step did, if it was traced: the StepStats of all partitions, by this process's clock."""
        first, *others = (member.worker.statistics(member.handle) for member in self.members)
        for other in others:
            first.MergeFrom(other)
        settle(first, next((task_of(m.name) for m in self.members if isinstance(m.worker, PartitionWorker)), ""))
        return first

    @property
    def size(self) -> int:
        return self._fetches


def located(error: BaseException) -> BaseException:
    """The error with the user's line that runs the step: the partition knows only its own thread, a lost task nothing."""
    if isinstance(error, OpError) and (thread := _OWN_THREAD.search(error.message)):
        here = f"{error.message[: thread.start()]}run at {user_source()}{error.message[thread.end() :]}"
        located = make_error(None, error.op, here, error.error_code).with_traceback(error.__traceback__)
        located.__cause__ = error.__cause__
        return located
    if isinstance(error, (AbortedError, UnavailableError)) and error.op is None:
        return type(error)(None, None, f"{error.message} {at()}")
    return error


def elsewhere(error: BaseException) -> OpError:
    """The error of a partition that ends because another part of the step has failed."""
    text = error.message if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    return AbortedError(None, None, f"another part of the step failed: {text}")


def wait_for_all(are_over: Callable[[], bool], events: SimpleQueue[Any], until: float | None) -> None:
    """Waits until the partitions of a step that has failed are over: the next step finds nothing of this one.

    Of a step that is out of time, those on tasks that do not answer are left to themselves.
    """
    while not are_over():
        try:
            events.get(True, None if until in (None, inf) else max(until + 2 * GRACE - monotonic(), 0.0))
        except Empty:
            return


class _Begins:
    """The messages that begin partitions of other tasks, until the caller's own partition waits for the first time."""

    __slots__ = ("_begin", "_number", "_others", "_pace", "went_along")

    def __init__(self, others: Sequence[Runs], number: int, pace: Pace) -> None:
        self._others = others
        self._number = number
        self._pace = pace
        self._begin: float | None = None
        self.went_along = False  # whether something has gone along with one of them

    def begin(self) -> None:
        self._begin = thread_time()

    def let_go(self) -> None:
        """Sends those that are left."""
        left = [other.let_go(self._number) for other in self._others]
        if self._begin is not None:
            self._pace.note(thread_time() - self._begin)
            self._begin = None
            self.went_along = not all(left)


class _Run:
    """One step under way.  Is the `Wait` for its partitions."""

    def __init__(self, plan: PartitionedStep, number: int) -> None:
        self._plan = plan
        self.number = number
        self.results: list[Any] = [None] * plan.size
        self.error: BaseException | None = None
        self.begun = 0
        self._ended: set[int] = set()
        self._all = len(plan.members)  # that must end before the thread of the step is told
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        return len(self._ended) >= self._all

    def done(self, index: int, events: SimpleQueue[Any]) -> Any:
        """What a partition calls when it is over.  The last one wakes the thread of the step."""

        def tell(results: Any, error: BaseException | None) -> None:
            positions = self._plan.members[index].fetches
            if error is None and len(results) != len(positions):  # of another process
                why = f"{self._plan.members[index].name} gave {len(results)} results in place of {len(positions)}"
                error = InternalError(None, None, why)
            if error is not None:
                self.fail(error)  # here and now: the thread of the step may be in a partition itself
            else:
                for position, value in zip(positions, results, strict=True):
                    self.results[position] = value
            with self._lock:
                self._ended.add(index)
                last = self.is_over
            if last:
                events.put((self, None, None))

        return tell

    def fail(self, error: BaseException) -> None:
        """Ends all partitions, once."""
        if self.error is None:
            self.error = error
            self._plan.abort(self.number, elsewhere(error))

    def cancel(self, error: Exception) -> None:
        self.fail(error)

    def describe(self) -> str:
        members = [
            member.name for i, member in enumerate(self._plan.members) if i < self.begun and i not in self._ended
        ]
        return f"partitions that have not ended: {', '.join(members)}; each task says in its log what its own waits for"

    def wait_for_all(self, events: SimpleQueue[Any], until: float | None) -> None:
        """Waits until every partition that was begun has ended."""
        with self._lock:
            self._all = self.begun
        wait_for_all(lambda: self.is_over, events, until)
