"""Driving a plan: feeds in, strands run as they become ready, fetches out; the first error ends the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from headrace.passes.step_graph import Value
from headrace.resources.calling.dispatch import below_autograd
from headrace.resources.stepping import saving
from headrace.resources.stepping.interrupt import Shield
from headrace.resources.stepping.step import Event, Step
from headrace.runtime.code.failure import explained
from headrace.runtime.drive.waits import Waits
from headrace.runtime.host.threads import _current, one_thread, use_threads
from headrace.runtime.planning.plan import Part, StepPlan

Entry = Callable[[StepPlan, Sequence[Any]], tuple[Any, ...]]


def entry(plan: StepPlan) -> Entry:
    """What runs a step of a request: a step that writes variables or saves them lets others know of it."""
    if plan.saves is not None:
        return _execute_saving
    return _execute_writing if plan.writes else execute


def _execute_writing(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    running = plan.running
    running.append(None)
    try:
        if plan.writers.watched:
            plan.writers.enter(plan)
        return execute(plan, feeds)
    finally:
        running.pop()


def _execute_saving(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    with plan.writers.watching(plan, saving.current.saving or saving.Saving()):
        return _execute_writing(plan, feeds) if plan.writes else execute(plan, feeds)


def execute(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    """Runs one step to its end on the best tier there is.  Re-entrant: concurrent steps share only state."""
    gate = plan.gate
    if gate is not None and plan.single and not gate.passed:
        with gate:  # a waiting step uses no cores, and its wait is not measured
            return execute(plan, feeds)
    variants = plan.variants  # closing the session removes them from the plan
    is_timed = False
    if variants is not None:
        plan, is_timed = variants.choose(feeds)
    choice = plan.threads
    if choice.settled and not is_timed:
        if _current.threads != 1:
            one_thread()
        return interpret(plan, feeds)
    threads = choice.pick()
    if threads == 1:
        one_thread()
        start = perf_counter()
        result = interpret(plan, feeds)
        seconds = perf_counter() - start
    else:
        with use_threads(threads, choice.cores) as threads:
            start = perf_counter()
            result = interpret(plan, feeds)
            seconds = perf_counter() - start
    choice.note(threads, seconds)
    if is_timed:
        variants.note(plan, feeds, seconds)
    return result


def interpret(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    """Runs the plan's own programs."""
    if plan.plain:
        return _call(plan, feeds)
    if not plan.waits:
        with plan.steps.running() as step:
            return _call(plan, feeds) if plan.framed is None else plan.framed.run(feeds, step, plan.pool)
    with Shield() as guard, plan.steps.running() as step:
        if plan.framed is not None:
            return plan.framed.run(feeds, step, plan.pool, guard)
        if plan.partitions is not None:
            return plan.partitions.run(feeds, step)
        return StepRun(plan, step, guard).run(feeds)


def _call(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    program = plan.programs[0]
    try:
        if not program.long:
            return program.call(*feeds)  # type: ignore[no-any-return]
        with below_autograd():
            return program.call(*feeds)  # type: ignore[no-any-return]
    except Exception as e:
        raise explained(e, program)  # noqa: B904 - it has its cause


class StepRun:
    """One step under way, in parts.  Used by one thread at a time."""

    def __init__(self, plan: StepPlan, step: Step, guard: Shield, events: SimpleQueue[Event] | None = None) -> None:
        """``events``: where its thread waits, if not at a queue of its own."""
        assert plan.flow is not None
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

    def _compute(self, part: Part) -> None:
        results = self.guard.through(execute, part.plan, self._inputs(part))
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
        part = self._parts[index]
        if part.node.op_def.traits.asynchronous:
            self.values.update((v, results[v.value_index]) for v in part.strand.outputs)
        else:
            self.values.update(zip(part.strand.outputs, results, strict=True))
        del results  # which would live as long as what runs now
        self.advance(self.flow.done(index))
        return True
