"""PartialRun: a step whose feeds come, and whose fetches are taken, in several calls (``Session.partial_run``).

Its partitions begin immediately, here and on other tasks.  What is fed is a message to those that take it; what is fetched is one
that its partition leaves for the client.  Each task holds what its partition still needs, and no thread while that waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from queue import SimpleQueue
from typing import Any, Final

from headrace.core.errors import CancelledError, InvalidArgumentError, OpError
from headrace.core.source import at
from headrace.passes.partition.later import feed_key, fetch_key
from headrace.resources.stepping.interrupt import Shield
from headrace.resources.stepping.step import Awaited, Event, Step
from headrace.runtime.drive.plans import DividedPlan, StepPlan
from headrace.runtime.planning.plan import Request
from headrace.runtime.session.partition_worker import Runs
from headrace.runtime.session.partitioned import elsewhere, located, wait_for_all
from headrace.runtime.session.step_numbers import step_numbers

_OVER: Final = "over"  # the token of the event that a partition is over


class PartialRun:
    """Thread-safe: what several threads feed and fetch may overlap."""

    def __init__(self, plan: StepPlan, ended: Callable[[PartialRun], None]) -> None:
        """Begins it.  ``ended`` is called with it in the end."""
        assert isinstance(plan, DividedPlan) and isinstance(plan.request, Request)
        self._plan = plan
        self._members = plan.partitions.members
        self._feeds = [feed_key(tensor.name) for tensor in plan.request.feeds]
        self._fetches = [fetch_key(tensor.name) for tensor in plan.request.fetches]
        self._names = [tensor.name for tensor in plan.request.fetches]
        self._number = step_numbers.next()
        self._ended: Callable[[PartialRun], None] | None = ended
        self._error: BaseException | None = None
        self._left = 0  # partitions that are not over
        self._noted = False
        self._listeners: list[SimpleQueue[Event]] = []
        self._lock = threading.Lock()
        try:
            if plan.writes_unfed:
                self._note()
            for member in self._members:
                with self._lock:
                    self._left += 1
                member.worker.run(member.handle, self._number, [], self._one_over, inf)
        except BaseException as e:
            self._fail(e)
            self._end()
            raise

    def run(self, feeds: Mapping[int, Any], fetches: Sequence[int]) -> dict[int, Any]:
        """Gives it feeds and waits for fetches, by their positions.  An error ends it."""
        results: dict[int, Any] = {}
        asked = _Asked([self._names[i] for i in fetches], self._fail)
        with self._waiting(asked) as (step, events):
            self._note()
            for member in self._members:
                for i in member.feeds:
                    if i in feeds:
                        member.worker.give(self._number, self._feeds[i], feeds[i])
            missing = 0
            for member in self._members:
                indices = [i for i in member.fetches if i in fetches]
                if indices:
                    missing += 1
                    keys = [self._fetches[i] for i in indices]
                    member.worker.take(self._number, keys, partial(_tell, events, tuple(indices)))
            while missing:
                positions, values, error = step.next(events)
                failure = self._error or error
                if failure is not None:
                    raise failure
                if positions is not _OVER:
                    missing -= 1
                    results.update(zip(positions, values, strict=True))
            dead = [self._names[i] for i, value in results.items() if value is None]
            if dead:
                why = "it is on a branch that was not taken, or inside a loop"
                raise InvalidArgumentError(None, None, f"The tensor returned for {dead[0]} was not valid: {why} {at()}")
        return results

    def finish(self) -> None:
        """Waits until all partitions are over, when everything is fed and fetched."""
        with self._waiting(_Asked([], self._fail)) as (step, events):
            while self._left:
                step.next(events)
                if self._error is not None:
                    raise self._error
        self._end()

    def close(self) -> None:
        """Ends it where it is."""
        self._fail(CancelledError(None, None, "the session was closed while a partial run was under way"))
        self._end()

    @contextmanager
    def _waiting(self, asked: _Asked) -> Iterator[tuple[Step, SimpleQueue[Event]]]:
        """Lets this thread wait inside as a step of the session."""
        with Shield(), self._plan.steps.running() as step:
            step.divided = True
            events = step.events()
            step.waits[events] = Awaited(None, asked)
            with self._lock:
                self._listeners.append(events)
            try:
                if self._error is not None:
                    raise self._error
                yield step, events
            except BaseException as e:
                self._fail(e)
                wait_for_all(lambda: not self._left, events, step.until)
                self._end()
                if not (isinstance(e, OpError) and isinstance(self._error, Exception)):
                    raise  # Ctrl-C, here or in another thread
                raise located(self._error) from self._error.__cause__
            finally:
                with self._lock:
                    self._listeners.remove(events)
                step.waits.pop(events, None)
                step.forget(events)

    def _one_over(self, results: Any, error: BaseException | None) -> None:
        if error is not None:
            self._fail(error)
        with self._lock:
            self._left -= 1
            listeners = list(self._listeners)
        for events in listeners:
            events.put((_OVER, None, None))

    def _fail(self, error: BaseException) -> None:
        """Ends all partitions, once."""
        with self._lock:
            first = self._error is None
            if first:
                self._error = error
        if first:
            for worker in self._workers():
                worker.abort(self._number, elsewhere(error))

    def _end(self) -> None:
        """Lets all tasks forget it, once."""
        with self._lock:
            ended, self._ended = self._ended, None
            if ended is None:
                return
            if self._noted:
                self._plan.running.pop()
        if self._noted and self._plan.writers.watched:
            self._plan.writers.look(self._plan)
        step_numbers.end(self._number)
        for worker in self._workers():
            worker.end(self._number)
        ended(self)

    def _note(self) -> None:
        """From now on it may write variables."""
        with self._lock:
            if self._noted or not self._plan.writes or self._ended is None:
                return
            self._noted = True
            self._plan.running.append(None)
        if self._plan.writers.watched:
            self._plan.writers.enter(self._plan)

    def _workers(self) -> Sequence[Runs]:
        return list({id(m.worker): m.worker for m in self._members}.values())


def _tell(events: SimpleQueue[Event], positions: tuple[int, ...], values: Any, error: BaseException | None) -> None:
    events.put((positions, values, error))


class _Asked:
    """What a call waits for.  Is the `Wait` of it."""

    def __init__(self, names: Sequence[str], fail: Callable[[BaseException], None]) -> None:
        self._names = names
        self._fail = fail

    def cancel(self, error: Exception) -> None:
        self._fail(error)

    def describe(self) -> str:
        return f"partial_run waits for {', '.join(self._names) or 'its step to end'}"
