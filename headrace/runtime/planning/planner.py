"""Planner: makes the plans of one registered graph, with their tiers.  All that follows the global passes is decided here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.config import ConfigProto
from headrace.core.process import no_collection
from headrace.passes.pipeline import Options, make_detached_graph, passes_off
from headrace.passes.placement.policy import Policy
from headrace.passes.step_graph import StepGraph
from headrace.passes.whole_graph import WholeGraph
from headrace.resources.calling.value import tensor_held
from headrace.runtime.compiler.background import compile_in_background
from headrace.runtime.compiler.compile import compile_region
from headrace.runtime.drive.plans import Blueprint, SinglePlan, StepPlan
from headrace.runtime.host.device import checks_numbers, deterministic, waiting
from headrace.runtime.host.hooks import HookedPlace
from headrace.runtime.host.precision import half_types
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.planning.body import BodyFunction
from headrace.runtime.planning.plan import make_compiled_plan, make_dynamic_plan, make_plan, make_plan_for
from headrace.runtime.planning.tier import compile_mode
from headrace.runtime.planning.variants import RUNS, Variants, has_shapes, may_gain


@dataclass(frozen=True, slots=True)
class _Detachment:
    """The blueprint of a detached body."""

    body: StepGraph
    device: str

    @property
    def devices(self) -> Collection[str]:
        return ()

    def graph(self, options: Options) -> StepGraph:
        return make_detached_graph(self.body, self.device, options)


def _copied(value: Any) -> Any:
    return value.clone() if hasattr(value, "clone") else value.copy()


class Planner:
    """Thread-safe."""

    def __init__(self, registered: RegisteredGraph, config: ConfigProto, devices: Sequence[str] | None = None) -> None:
        """``devices``: those that nodes may be on; by default the worker's."""
        self.registered = registered
        self.config = config
        self.devices = devices if devices is not None else registered.worker.device_names
        self.compile_mode = compile_mode(config)
        # A step that waits for its code gains nothing from another process.
        self._compile_region = compile_region if self.compile_mode == "always" else compile_in_background
        self.lower = config.control_flow == "lowered"  # run loops and conditionals as primitives of control flow
        self.half = half_types(config, {d.name: d.torch_device for d in registered.worker.devices})
        self.after_each_pass: Callable[[str, StepGraph], None] | None = None
        registered.plan_body = self.plan_body
        self.whole: WholeGraph | None = None  # of a session: the client's graph, which decides where state is
        self.policy: Policy | None = None  # of a session: what decides where nodes are that may be on several devices

    def options(self, blueprint: Blueprint | None = None) -> Options:
        """If numbers are checked or all is observed, the nodes are those of the user's graph."""
        worker = self.registered.worker
        check_numbers = checks_numbers() or getattr(blueprint, "check_numbers", False)
        observe = getattr(blueprint, "observe", None)
        plain = check_numbers or (observe is not None and observe.plain)
        level = -1 if plain else self.config.graph_options.optimizer_options.opt_level
        return Options(
            devices=self.devices,
            evaluate=worker.evaluate,
            has_kernel=worker.has_kernel,
            simplify=level >= 0,
            rewrite=level >= 0 and not deterministic(),
            soft_placement=self.config.allow_soft_placement,
            half=self.half,
            lower=self.lower,
            check_numbers=check_numbers,
            observe=observe,
            off=passes_off(),
            after_each=self.after_each_pass,
            whole=self.whole,
            policy=self.policy,
        )

    def plan(self, blueprint: Blueprint, graph: StepGraph | None = None) -> StepPlan:
        """The plan, with its variants.  ``graph``: the blueprint's, where there is one already."""
        with no_collection():
            plan = make_plan(blueprint, self.registered, self.options(blueprint), graph=graph)
        for one in plan.singles():
            self._equip(one)
        return plan

    def plan_body(self, body: StepGraph) -> BodyFunction:
        """A detached body as a function of run-time values."""
        return BodyFunction(body, self._plan_call, self.registered.state, self.registered.restart)

    def _plan_call(self, body: StepGraph) -> Callable[..., tuple[Any, ...]]:
        device = self.registered.worker.device("").name
        with no_collection():
            plan = make_plan(_Detachment(body, device), self.registered, self.options())
        for single in plan.singles():
            single.gate = None  # a step that waits for the function may be inside
        run = plan.run
        if not any(node.op_def.traits.reads_buffer for node in plan.graph.nodes):
            return lambda *values: run([tensor_held(value) for value in values])
        borrowed = plan.borrowed

        def call(*values: Any) -> tuple[Any, ...]:
            results = run([tensor_held(value) for value in values])
            return tuple([_copied(r) if b else r for r, b in zip(results, borrowed, strict=True)])

        return call

    def _equip(self, plan: SinglePlan) -> None:
        """Gives a plan its variants: compiled, and for feeds of certain shapes."""
        if plan.strand is not None and not has_shapes(plan.feeds):
            return
        here = self.registered.worker.device_names  # a plan may name devices of other tasks
        names = {n.device for n in plan.graph.nodes if n.device in here}
        mode = self.compile_mode if any(map(self._can_compile_for, names)) else "off"
        runs = 0
        if self.registered.arrays and may_gain(plan):
            # A job that resumes must run the same code from its first step on as the one that it goes on with.
            runs = 1 if deterministic() else RUNS
        if runs or mode != "off":
            finish = waiting([self.registered.torch_device(name) for name in names])
            plan.variants = Variants(plan, self, runs, mode, finish)

    def _can_compile_for(self, name: str) -> bool:
        """Whether regions on the device may be compiled.  Hooks see each kernel; on the null device nothing is computed."""
        if self.compile_mode == "auto" and "device:CPU" in name:
            return False
        return (
            not isinstance(self.registered.place(name), HookedPlace)
            and self.registered.torch_device(name).type != "meta"
        )

    def plan_for(self, plan: SinglePlan, shapes: Sequence[Sequence[int]]) -> SinglePlan:
        """The interpreted plan for feeds of these shapes."""
        with no_collection():
            return make_plan_for(plan.request, self.registered, self.options(plan.request), shapes, plan.strand)

    def compile(self, plan: SinglePlan, shapes: Sequence[Sequence[int]]) -> SinglePlan:
        """The compiled plan for feeds of these shapes."""
        options = replace(self.options(plan.request), interpreted=False)
        return make_compiled_plan(plan.request, shapes, self.registered, options, self._compile_region, plan.strand)

    def compile_many(self, plan: SinglePlan, seen: Sequence[Sequence[Sequence[int]]]) -> SinglePlan:
        """The compiled plan for feeds of many shapes, of which some were ``seen``."""
        options = replace(self.options(plan.request), interpreted=False)
        return make_dynamic_plan(
            plan.request,
            seen,
            self.registered,
            options,
            self._compile_region,
            self.compile_mode == "always",
            plan.strand,
        )
