"""Driving a plan: feeds in, strands run as they become ready, fetches out; the first error ends the step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from time import perf_counter
from typing import Any, Final

from headrace.passes.step_graph import Value
from headrace.resources.dispatch import below_autograd
from headrace.runtime.failure import explain
from headrace.runtime.plan import StepPlan
from headrace.runtime.threads import _current, one_thread, use_threads

_OPEN: Final = nullcontext()


def execute(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    """Runs one step to its end on the best tier there is.  Re-entrant: concurrent steps share only state."""
    gate = plan.gate
    if gate is not None and plan.single and not gate.passed:
        with gate:  # a waiting step uses no cores, and its wait is not measured
            return execute(plan, feeds)
    tier = plan.tier
    if tier is not None and tier.hot:
        plan = tier.choose(feeds) or plan
    if plan.fed_shapes is not None:
        plan = plan.fed_shapes.choose(feeds)
    choice = plan.threads
    if choice.settled and (tier is None or plan.tier is not tier):
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
        with use_threads(threads) as threads:
            start = perf_counter()
            result = interpret(plan, feeds)
            seconds = perf_counter() - start
    choice.note(threads, seconds)
    if tier is not None and plan.tier is tier:
        tier.note(plan, feeds, seconds)
    return result


def interpret(plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
    """Runs the plan's own programs."""
    if plan.single:
        program = plan.programs[0]
        try:
            if not program.long:
                return program.call(*feeds)  # type: ignore[no-any-return]
            with below_autograd():
                return program.call(*feeds)  # type: ignore[no-any-return]
        except Exception as e:
            raise explain(e, program) from e
    if plan.framed is not None:
        return plan.framed.run(feeds)
    run = StepRun(plan)
    for value, fed in zip(plan.feeds, feeds, strict=True):
        run.values[value] = fed
    run.advance(run.flow.start())
    return tuple(run.values[v] for v in plan.fetches)


class StepRun:
    """One step under way.  Used by one thread at a time."""

    def __init__(self, plan: StepPlan) -> None:
        self.plan = plan
        self.flow = plan.flow.copy()
        self.values: dict[Value, Any] = {}

    def advance(self, ready: list[int]) -> None:
        """Runs everything that is or becomes ready."""
        queue = sorted(ready)
        while queue:
            index = queue.pop(0)
            self.run_strand(index)
            queue.extend(self.flow.done(index))

    def run_strand(self, index: int) -> None:
        program, strand = self.plan.programs[index], self.plan.strands[index]
        try:
            with _OPEN if strand.asynchronous else self.plan.gate or _OPEN, below_autograd():
                results = program.call(*[self.values[v] for v in strand.inputs])
        except Exception as e:
            raise explain(e, program) from e
        self.values.update(zip(strand.outputs, results, strict=True))


class PartialRun:
    """A step whose feeds arrive in several calls (``Session.partial_run``)."""

    def __init__(self, plan: StepPlan) -> None:
        self._run = StepRun(plan)
        fed = {
            s.nodes[0].outputs[0]: s.index
            for s in plan.strands
            if s.asynchronous and s.inputs == [s.nodes[0].outputs[0]]
        }
        self._feeds = fed
        self._run.advance([i for i in self._run.flow.start() if i not in fed.values()])

    def supply(self, value: Value, fed: Any) -> None:
        self._run.values[value] = fed
        index = self._feeds[value]
        self._run.advance([index])

    def get(self, value: Value) -> Any:
        """The value; KeyError if what was fed so far does not determine it."""
        return self._run.values[value]
