"""PartitionWorker: runs the partitions of one session's graph on one worker.

A partition is registered once, as data; the plans made of it read that data anew and never need the client's graph.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from headrace.core.errors import OpError
from headrace.passes.pipeline import Options, rewrite_placed
from headrace.passes.portable import Portable, from_portable
from headrace.passes.step_graph import StepGraph
from headrace.resources.rendezvous import Rendezvous
from headrace.resources.step import Step
from headrace.resources.waiting import Done, Wait
from headrace.runtime.executor import execute
from headrace.runtime.plan import StepPlan
from headrace.runtime.planner import Planner

Routes = Mapping[str, Callable[[int, str, Sequence[Any]], None]]  # by partition: what sends (step, key, values) there


class Runs(Protocol):
    """What the master asks of a worker, in this process or another."""

    def register(self, data: Portable, origins: Mapping[str, Any]) -> int:
        """Keeps a partition; returns the handle to run it by."""

    def run(
        self, handle: int, step: int, feeds: Sequence[Any], routes: Routes, done: Done, until: float | None
    ) -> None:
        """Begins to run a partition in a step, and tells ``done`` its results or its error."""

    def abort(self, step: int, error: OpError) -> None:
        """Ends the partitions of a step, and keeps out those that have not begun."""

    def end(self, step: int) -> None:
        """Forgets a step that is over everywhere."""

    def send(self, step: int, key: str, values: Sequence[Any]) -> None:
        """Leaves what another partition sent."""


class PartitionBlueprint:
    """A partition as a worker keeps it."""

    async_feeds = False

    def __init__(self, data: Portable, origins: Mapping[str, Any]) -> None:
        self._data = data
        self._origins = origins

    def graph(self, options: Options) -> StepGraph:
        """The partition's graph, each time a new one."""
        return rewrite_placed(from_portable(self._data, self._origins), options)


class StepPost:
    """How one partition of one step sends and takes."""

    __slots__ = ("_rendezvous", "_routes", "_step")

    def __init__(self, step: int, rendezvous: Rendezvous, routes: Routes) -> None:
        self._step = step
        self._rendezvous = rendezvous
        self._routes = routes

    def send(self, destination: str, key: str, values: Sequence[Any]) -> None:
        self._routes[destination](self._step, key, values)

    def recv(self, keys: Sequence[str], done: Done) -> Wait | None:
        return self._rendezvous.recv(self._step, keys, done)


class PartitionWorker:
    """Thread-safe."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._graph = planner.registered
        self._rendezvous = planner.registered.worker.rendezvous
        self._handles = itertools.count()
        self._plans: dict[int, StepPlan] = {}
        self._running: dict[int, list[Step]] = {}  # by the master's number of the step
        self._aborted: dict[int, OpError] = {}
        self._lock = threading.Lock()

    def register(self, data: Portable, origins: Mapping[str, Any]) -> int:
        plan = self._planner.plan(PartitionBlueprint(data, origins))
        handle = next(self._handles)
        self._plans[handle] = plan
        return handle

    def plan(self, handle: int) -> StepPlan:
        return self._plans[handle]

    def run(
        self, handle: int, step: int, feeds: Sequence[Any], routes: Routes, done: Done, until: float | None
    ) -> None:
        self._graph.pool.submit(partial(self.run_here, handle, step, feeds, routes, done, until))

    def run_here(
        self, handle: int, step: int, feeds: Sequence[Any], routes: Routes, done: Done, until: float | None
    ) -> None:
        """Runs a partition to its end on this thread."""
        results: Any = None
        error: BaseException | None = None
        steps = self._graph.steps
        try:
            mine = steps.start(until)
            try:
                mine.post = StepPost(step, self._rendezvous, routes)
                self._enter(step, mine)
                with mine.entered():
                    results = execute(self._plans[handle], feeds)
            finally:
                steps.finish(mine)
                self._leave(step, mine)
        except BaseException as e:  # noqa: BLE001 - the thread that waits for the step raises it
            error = e
        done(results, error)

    def _enter(self, number: int, step: Step) -> None:
        with self._lock:
            error = self._aborted.get(number)
            self._running.setdefault(number, []).append(step)
        if error is not None:
            raise error

    def _leave(self, number: int, step: Step) -> None:
        with self._lock:
            running = self._running.get(number, [])
            if step in running:
                running.remove(step)
            if not running:
                self._running.pop(number, None)

    def abort(self, step: int, error: OpError) -> None:
        with self._lock:
            self._aborted[step] = error
            running = list(self._running.get(step, ()))
        for one in running:
            one.cancel(error)
        self._rendezvous.abort(step, error)

    def end(self, step: int) -> None:
        with self._lock:
            self._aborted.pop(step, None)
        self._rendezvous.end(step)

    def send(self, step: int, key: str, values: Sequence[Any]) -> None:
        self._rendezvous.send(step, key, values)
