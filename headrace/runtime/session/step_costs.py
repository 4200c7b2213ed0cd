"""What the steps of a session cost: measured by running them, predicted from what is known of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, Final

from headrace.passes.cost.measured import Measured
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.rates import Machine
from headrace.passes.cost.step import StepCost, step_cost
from headrace.passes.pipeline import Context, Stage, run_stage
from headrace.passes.placement.predict import divided_cost
from headrace.passes.placement.problem import Site
from headrace.passes.specialise import may_wait
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.runtime.costs.calibrate import machine
from headrace.runtime.costs.observe import Clock, Stopwatch, excess, of_spans, of_statistics, pause
from headrace.runtime.drive.plans import DividedPlan, SinglePlan, StepPlan, entry
from headrace.runtime.host.registered import RegisteredGraph, TracedGraph
from headrace.runtime.planning.plan import make_plan, make_plan_for, note_writes
from headrace.runtime.planning.planner import Planner
from headrace.runtime.planning.variants import may_gain

WARM: Final = 2  # runs that do not count: caches are cold


def measure(
    plan: StepPlan, feeds: Sequence[Any], planner: Planner, runs: int, clock: Clock = perf_counter_ns
) -> Measured:
    """Runs a step so many times, interpreted, and a few before; says what its nodes took."""
    registered = planner.registered
    watch = Stopwatch(registered.torch_device, clock)
    traced = _traced(plan, feeds, planner, TracedGraph(registered, watch))
    note_writes(traced, plan.writes, registered)
    traced.saves = plan.saves
    run, spans = entry(traced), []
    for number in range(WARM + runs):
        watch.start()
        run(feeds)
        if number >= WARM:
            spans.append(watch.spans)
    shapes = {value: tuple(fed.shape) for value, fed in zip(traced.feeds, feeds, strict=True) if hasattr(fed, "shape")}
    host = registered.worker.device("").device_type
    return of_spans(spans, shapes, _pauses(registered), host, excess(clock))


def _traced(plan: StepPlan, feeds: Sequence[Any], planner: Planner, binder: TracedGraph) -> StepPlan:
    options = planner.options(plan.request)
    if isinstance(plan, SinglePlan) and may_gain(plan):
        traced: StepPlan = make_plan_for(plan.request, binder, options, [tuple(fed.shape) for fed in feeds])
    else:
        traced = make_plan(plan.request, binder, options)
    for mine, own in zip(traced.singles(), plan.singles(), strict=False):
        mine.threads = own.threads  # with what was learnt of how many it should have
    return traced


def shapes_of(feeds: Sequence[Any]) -> list[tuple[int, ...]] | None:
    """The shapes of what is fed; None if not everything has one."""
    return [tuple(fed.shape) for fed in feeds] if all(hasattr(fed, "shape") for fed in feeds) else None


class DividedCosts:
    """What the nodes of a step over tasks take, by its traced runs.  Not thread-safe."""

    def __init__(self, plan: DividedPlan, planner: Planner) -> None:
        self._plan = plan
        self._planner = planner
        self._shapes: object = ...  # of what was fed last
        self._feeds: list[Value] = []
        self._nodes: dict[str, Node] = {}

    def measured(self, feeds: Sequence[Any], runs: Sequence[Any]) -> Measured:
        """What the StepStats of some runs tell, which all were fed the same."""
        shapes = shapes_of(feeds)
        if shapes != self._shapes:
            whole = _whole(self._plan, shapes, self._planner)
            self._shapes, self._feeds, self._nodes = shapes, whole.feeds, {node.name: node for node in whole.nodes}
        fed = {} if shapes is None else dict(zip(self._feeds, shapes, strict=True))
        return of_statistics(runs, self._nodes, fed)


def _pauses(registered: RegisteredGraph) -> dict[str, float]:
    devices = {d.device_type: d.torch_device for d in registered.worker.devices}
    return {name: pause(found) for name, found in devices.items() if found.type not in ("cpu", "meta")}


def predict(
    plan: StepPlan, shapes: Sequence[Sequence[int]] | None, planner: Planner, measured: Measured | None,
    sites: Callable[[Machine], Sequence[Site]],
) -> StepCost:  # fmt: skip
    """What a step would take.  ``shapes``: of its feeds, where they are known.  ``sites``: the session's devices."""
    if isinstance(plan, DividedPlan):
        rates = machine(planner.registered.threads)
        return divided_cost(_whole(plan, shapes, planner), sites(rates), CostModel(rates, measured))
    variants: Any = plan.variants if isinstance(plan, SinglePlan) else None
    if isinstance(plan, SinglePlan) and shapes is not None and may_gain(plan):
        plan = planner.plan_for(plan, shapes)
    compiled = variants is not None and variants.state in ("compiled", "to be compiled")
    model = CostModel(machine(planner.registered.threads), measured)
    return step_cost(nodes_of(plan), model, plan.feeds, plan.fetches, compiled)


def _whole(plan: StepPlan, shapes: Sequence[Sequence[int]] | None, planner: Planner) -> StepGraph:
    """The placed graph of a step before it is cut, with the nodes that run: what is fused is fused."""
    options = planner.options(plan.request)
    graph = plan.request.graph(options)
    context = Context(options, shapes=shapes or ())
    if shapes is not None:
        graph = run_stage(Stage.SPECIALISE, graph, context)
    if not any(map(may_wait, graph.nodes)):
        graph = run_stage(Stage.FUSE, graph, context)
    return run_stage(Stage.ORDER, graph, context)


def nodes_of(plan: StepPlan) -> list[Node]:
    """The nodes that run, in order where one program runs them."""
    if plan.parts:
        return [
            n for part in plan.parts for n in (part.plan.graph.nodes if part.plan is not None else part.strand.nodes)
        ]
    return plan.graph.nodes if plan.framed is None else list(plan.framed.nodes)
