"""Plans: a plan is something with ``run``.

Four kinds: one program (`SinglePlan`), several of which some wait (`PartsPlan`), nodes run one by one because primitives of
control flow decide what runs (`FramedStep`), partitions on several devices or tasks (`DividedPlan`).  `entry` adds what a step
that writes or saves variables has to tell others.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Protocol

from headrace.passes.cost.measured import Measured
from headrace.passes.pipeline import Options
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.strand import Strand
from headrace.passes.written import may_write
from headrace.resources.calling.dispatch import below_autograd
from headrace.resources.stepping import saving
from headrace.resources.stepping.interrupt import Shield
from headrace.resources.stepping.step import Event, Step, Steps
from headrace.runtime.code.codegen import Program
from headrace.runtime.code.failure import raisable
from headrace.runtime.drive.flow import Flow
from headrace.runtime.drive.framed import FramedPlan
from headrace.runtime.drive.waits import ENTRANCE, Waits
from headrace.runtime.host.cut_machine import Variables
from headrace.runtime.host.gate import Gate
from headrace.runtime.host.pool import Pool
from headrace.runtime.host.recorder import Recorder
from headrace.runtime.host.threads import ThreadChoice, _current, one_thread, use_threads
from headrace.runtime.host.writers import Entrance, PlanEntrance

Feeds = Sequence[Any]
Run = Callable[[Feeds], tuple[Any, ...]]


class Blueprint(Protocol):
    """What plans of a step are made from, each time from a new graph: a request, or a partition that a worker keeps."""

    @property
    def devices(self) -> Collection[str]:
        """The devices of this worker that the step uses at the same time; those of the graph's own nodes may be left out."""

    def graph(self, options: Options) -> StepGraph: ...


class Choice(Protocol):
    """The variants of a plan (`planning/variants.py`)."""

    def choose(self, feeds: Feeds) -> tuple[SinglePlan, bool]:
        """The variant to run with these feeds, and whether ``note`` is to hear how long that took."""

    def note(self, plan: SinglePlan, feeds: Feeds, seconds: float) -> None: ...


@dataclass(slots=True, eq=False, kw_only=True)
class StepPlan(ABC):
    """A step ready to run.  ``borrowed[i]``: fetch i may share memory with state, a feed or a constant, so copy it."""

    request: Blueprint
    graph: StepGraph
    feeds: list[Value]
    fetches: list[Value]
    borrowed: list[bool]
    generation: int
    steps: Steps  # where a step that may wait or loop is listed while it runs
    pool: Pool  # for nodes that block
    traced: TracedPlan | None = None  # made when a trace is first asked for
    writers: Any = None  # the worker's `Writers`, if the step writes variables or saves them
    writes: Variables = frozenset()  # the variables that it may write, if these are on this worker only
    runs: int = 0  # counted where a cost model is built of some of them
    running: list[None] = field(default_factory=list)  # of a plan that writes: one for each step that runs
    saves: Callable[[float, bool], AbstractContextManager[list[str]]] | None = None  # watches what it saves, if it does
    rivals: Any = None  # `Rivals`: this plan and one with nodes on other devices, while it is open which is faster

    @property
    def programs(self) -> list[Program]:
        """Those that it runs."""
        return []

    @property
    def parts(self) -> list[Part]:
        """The strands of a step in which nodes wait."""
        return []

    @property
    def framed(self) -> FramedPlan | None:
        """How a step with primitives of control flow runs."""
        return None

    @property
    def partitions(self) -> Any:
        """The partitions of a step over several devices or tasks, or None."""
        return None

    @abstractmethod
    def run(self, feeds: Feeds) -> tuple[Any, ...]:
        """Runs one step to its end.  Re-entrant: concurrent steps share only state."""

    def singles(self) -> list[SinglePlan]:
        """The plans of one program that it consists of."""
        return []

    def loosen(self) -> None:
        """Breaks the circles through what it holds, so that memory is freed with the last reference to the plan."""
        self.saves = None
        rivals, self.rivals = self.rivals, None
        if rivals is not None:
            rivals.loosen()
        for plan in self.singles():
            plan.variants = None


class LearnsCosts(Protocol):
    """Learns what nodes take from the StepStats of runs which all were fed the same."""

    def measured(self, feeds: Sequence[Any], runs: Sequence[Any]) -> Measured: ...


@dataclass(slots=True)
class TracedPlan:
    """A step's plan with code that notes when each node runs.  One step at a time may use it."""

    plan: StepPlan
    recorder: Recorder | None  # None where the partitions of the plan have recorders of their own
    costs: LearnsCosts | None  # there then
    lock: threading.Lock = field(default_factory=threading.Lock)


# ---- one program


class PlacedStrand:
    """A strand of a step, and on which torch devices the values that cross strands are, by their names."""

    def __init__(self, index: int, names: Sequence[str], placed: dict[str, Any], outputs: Sequence[str]) -> None:
        self.index = index
        self._names = names
        self._outputs = outputs
        self._placed = placed

    def places(self, feeds: Sequence[Value]) -> dict[Value, Any]:
        """Where the strand's feeds are."""
        names = zip(feeds, self._names, strict=True)
        return {v: self._placed[name] for v, name in names if name in self._placed}

    def place(self, fetches: Sequence[Value], places: dict[Value, Any]) -> None:
        """Notes where the strand's results are."""
        for value, name in zip(fetches, self._outputs, strict=True):
            if value in places:
                self._placed[name] = places[value]


@dataclass(slots=True, eq=False, kw_only=True)
class SinglePlan(StepPlan):
    """One program is the whole step, or the whole of a strand."""

    program: Program
    threads: ThreadChoice
    gate: Gate | None  # where threads wait for others that compute for the session
    strand: PlacedStrand | None = None  # which strand of the request's step this is; None: all of it
    regions: int = 0
    variants: Choice | None = None  # for feeds of certain shapes, compiled ones among them
    plain: bool = field(init=False)  # whether the step cannot loop

    def __post_init__(self) -> None:
        self.plain = not self.program.bodies

    @property
    def programs(self) -> list[Program]:
        return [self.program]

    def singles(self) -> list[SinglePlan]:
        return [self]

    def run(self, feeds: Feeds) -> tuple[Any, ...]:
        """Runs the best variant there is, on the number of threads that is fastest."""
        gate = self.gate
        if gate is not None and not gate.passed:
            with gate:  # a waiting step uses no cores, and its wait is not measured
                return self.run(feeds)
        variants = self.variants  # closing the session removes them from the plan
        plan, is_timed = (self, False) if variants is None else variants.choose(feeds)
        choice = plan.threads
        if choice.settled and not is_timed:
            if _current.threads != 1:
                one_thread()
            return plan._call(feeds) if plan.plain else plan.interpret(feeds)
        threads = choice.pick()
        if threads == 1:
            one_thread()
            start = perf_counter()
            result = plan.interpret(feeds)
            seconds = perf_counter() - start
        else:
            with use_threads(threads, choice.cores) as threads:
                start = perf_counter()
                result = plan.interpret(feeds)
                seconds = perf_counter() - start
        choice.note(threads, seconds)
        if is_timed and variants is not None:
            variants.note(plan, feeds, seconds)
        return result

    def interpret(self, feeds: Feeds) -> tuple[Any, ...]:
        """Runs the plan's own program."""
        if self.plain:
            return self._call(feeds)
        with self.steps.running():
            return self._call(feeds)

    def _call(self, feeds: Feeds) -> tuple[Any, ...]:
        program = self.program
        try:
            if not program.long:
                return program.call(*feeds)  # type: ignore[no-any-return]
            with below_autograd():
                return program.call(*feeds)  # type: ignore[no-any-return]
        except Exception as e:
            raise raisable(e, program)  # noqa: B904 - it has its cause


# ---- several programs


@dataclass(slots=True)
class Part:
    """One strand of a step in which nodes wait."""

    strand: Strand
    program: Program  # of a node that waits
    node: Node  # the node that waits, or the first one
    plan: SinglePlan | None = None  # of a strand that computes: how it runs, with threads and variants of its own


@dataclass(slots=True, eq=False, kw_only=True)
class PartsPlan(StepPlan):
    """A step in which nodes wait: strands run as they become ready, and the first error ends the step."""

    parts: list[Part] = field()
    flow: Flow
    uses: dict[Value, int] = field(init=False)  # of values that cross parts: how many take each, fetches included
    writing: frozenset[int] = field(init=False)  # the parts that may write variables

    def __post_init__(self) -> None:
        self.writing = frozenset(i for i, part in enumerate(self.parts) if any(map(may_write, part.strand.nodes)))
        self.uses = dict(Counter([v for part in self.parts for v in part.strand.inputs] + self.fetches))

    @property
    def programs(self) -> list[Program]:
        return [part.program for part in self.parts]

    def singles(self) -> list[SinglePlan]:
        return [part.plan for part in self.parts if part.plan is not None]

    def run(self, feeds: Feeds) -> tuple[Any, ...]:
        if not self.writes:
            return self.run_through(feeds, None)
        entrance = PlanEntrance(self)
        try:
            return self.run_through(feeds, entrance)
        finally:
            entrance.leave()

    def run_through(self, feeds: Feeds, entrance: Entrance | None) -> tuple[Any, ...]:
        """Runs one step to its end.  ``entrance``: asked before it writes variables."""
        with Shield() as guard, self.steps.running() as step:
            return StepRun(self, step, guard, entrance).run(feeds)


class StepRun:
    """One step under way, in parts.  Used by one thread at a time."""

    def __init__(
        self, plan: PartsPlan, step: Step, guard: Shield | None, entrance: Entrance | None,
        events: SimpleQueue[Event] | None = None,
    ) -> None:  # fmt: skip
        """``guard``: None where Ctrl-C does not come.  ``entrance``: asked before the first part that writes variables.

        ``events``: where its thread waits, if not at a queue of its own.
        """
        self._entrance = entrance
        self._writing = plan.writing
        self._held: list[int] | None = None  # the parts that wait at the entrance
        self._uses = plan.uses.copy()  # a value is let go when the last strand that uses it has taken it
        self._parts = plan.parts
        self._fetches = plan.fetches
        self._feeds = plan.feeds
        self.flow = plan.flow.copy()
        self.values: dict[Value, Any] = {}
        self.step = step
        self.guard = guard
        self.waits = Waits(step, plan.pool, events)

    def run(self, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the step to its end."""
        try:
            with self.waits:
                self.begin(feeds)
                while self.waits:
                    self.settle()
        except BaseException:
            self.values.clear()  # a lock among them must not live as long as the traceback
            raise
        return self.results()

    def begin(self, feeds: Sequence[Any]) -> None:
        """Runs what can run before anything has come."""
        self.values.update(zip(self._feeds, feeds, strict=True))
        self.advance(self.flow.start())

    def results(self) -> tuple[Any, ...]:
        """The fetches, when nothing waits any more."""
        return tuple([self.values[v] for v in self._fetches])

    def advance(self, ready: list[int]) -> None:
        """Begins what waits and runs what computes, until nothing is ready."""
        while ready:
            if self._entrance is not None:
                ready = self._let_in(ready)
            computing = []
            for index in ready:
                part = self._parts[index]
                if part.plan is not None:
                    computing.append(index)
                else:
                    self.waits.begin(index, part.node, part.program, self._inputs(part))
            if not computing:
                return
            self.step.stop_if_over()
            index, *ready = sorted(computing)
            self._compute(self._parts[index])
            ready += self.flow.done(index)

    def _let_in(self, ready: list[int]) -> list[int]:
        """Those of the parts that may run: before the first that writes, the step asks whether it may."""
        assert self._entrance is not None
        writing = [index for index in ready if index in self._writing]
        if not writing:
            return ready
        if self._held is None:
            part = self._parts[writing[0]]
            if self.waits.ask(ENTRANCE, part.node, part.program, self._entrance):
                self._entrance = None
                return ready
            self._held = []
        self._held += writing
        return [index for index in ready if index not in self._writing]

    def _compute(self, part: Part) -> None:
        assert part.plan is not None
        guard, inputs = self.guard, self._inputs(part)
        results = part.plan.run(inputs) if guard is None else guard.through(part.plan.run, inputs)
        self.values.update(zip(part.strand.outputs, results, strict=True))

    def _inputs(self, part: Part) -> list[Any]:
        values, uses = self.values, self._uses
        inputs = []
        for value in part.strand.inputs:
            inputs.append(values[value])
            uses[value] -= 1
            if not uses[value]:
                del values[value]
        return inputs

    def settle(self, patience: float = inf, since: float | None = None) -> bool:
        """Waits for one node to be over, and goes on with what it makes ready; False if none was for so many seconds."""
        index, results = self.waits.next(patience, since)
        if index is None:
            return False
        if index is ENTRANCE:
            ready, self._held, self._entrance = self._held, None, None
            self.advance(ready or [])
            return True
        part = self._parts[index]
        if part.node.op_def.traits.asynchronous:
            self.values.update((v, results[v.value_index]) for v in part.strand.outputs)
        else:
            self.values.update(zip(part.strand.outputs, results, strict=True))
        del results  # which would live as long as what runs now
        self.advance(self.flow.done(index))
        return True


# ---- nodes one by one, and partitions


@dataclass(slots=True, eq=False, kw_only=True)
class FramedStep(StepPlan):
    """A step with primitives of control flow."""

    framed: FramedPlan = field()
    waits: bool = field(init=False)  # whether nodes may wait

    def __post_init__(self) -> None:
        self.waits = self.framed.waits

    def run(self, feeds: Feeds) -> tuple[Any, ...]:
        if not self.waits:
            with self.steps.running() as step:
                return self.framed.run(feeds, step, self.pool)
        with Shield() as guard, self.steps.running() as step:
            return self.framed.run(feeds, step, self.pool, guard)


@dataclass(slots=True, eq=False, kw_only=True)
class DividedPlan(StepPlan):
    """A step over several devices or tasks."""

    partitions: Any = field()  # `PartitionedStep`
    needs: tuple[int, ...] = ()  # where feeds come later: those that each fetch needs, bit i for feed i
    writes_unfed: bool = False  # where feeds come later: whether it may write variables before the first

    def run(self, feeds: Feeds) -> tuple[Any, ...]:
        with Shield(), self.steps.running() as step:
            return self.partitions.run(feeds, step)  # type: ignore[no-any-return]


# ---- what others get to know


def entry(plan: StepPlan) -> Run:
    """What runs a step of a request: a step that writes variables or saves them lets others know of it."""
    run = plan.run
    if plan.writes and not isinstance(plan, PartsPlan):  # which asks by itself, before its first write
        run = partial(_run_writing, plan, run)
    return run if plan.saves is None else partial(_run_saving, plan, run)


def _run_writing(plan: StepPlan, run: Run, feeds: Feeds) -> tuple[Any, ...]:
    running = plan.running
    running.append(None)
    try:
        if plan.writers.watched:
            plan.writers.enter(plan)
        return run(feeds)
    finally:
        running.pop()
        if plan.writers.watched:
            plan.writers.look(plan)


def _run_saving(plan: StepPlan, run: Run, feeds: Feeds) -> tuple[Any, ...]:
    if plan.saves is None:  # the session is being closed, and the step says so
        return run(feeds)
    one = saving.current.saving or saving.Saving()
    with plan.saves(one.wait_secs, one.consistent) as torn:
        results = run(feeds)
    one.torn = tuple(torn)
    return results
