"""The master of a session: plans steps, caches the plans, runs them on the worker.  A local session is a cluster of one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from headrace.core.config import ConfigProto
from headrace.core.process import no_collection
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.passes.pipeline import Options, passes_off
from headrace.passes.step_graph import StepGraph
from headrace.runtime.compiler.background import compile_in_background
from headrace.runtime.compiler.compile import compile_region
from headrace.runtime.device import deterministic, visible_devices
from headrace.runtime.executor import PartialRun, execute
from headrace.runtime.fed_shapes import FedShapes, has_shapes, may_vary
from headrace.runtime.placement_log import PlacementLog
from headrace.runtime.plan import Request, StepPlan, TracedPlan, make_compiled_plan, make_dynamic_plan, make_plan
from headrace.runtime.registered import RegisteredGraph, TracedGraph
from headrace.runtime.step_stats import step_stats
from headrace.runtime.tier import Tier, compile_mode
from headrace.runtime.worker import LocalWorker


class Master:
    """Thread-safe: several threads may plan and run steps at the same time."""

    def __init__(self, graph: Graph, config: ConfigProto, worker: LocalWorker | None = None) -> None:
        """``worker``: one that other sessions use too; None: one of its own."""
        self.graph = graph
        self.config = config
        self._owns_worker = worker is None
        self.worker = worker or LocalWorker(config)
        self.devices = visible_devices(self.worker.devices, config.device_filters)
        timeout = config.operation_timeout_in_ms / 1000
        self.registered = RegisteredGraph(self.worker, timeout, config.isolate_session_state)
        self.compile_mode = compile_mode(config)
        # A step that waits for its code gains nothing from another process.
        self._compile_region = compile_region if self.compile_mode == "always" else compile_in_background
        self._plans: dict[tuple[Request, int], StepPlan] = {}
        self._lock = threading.Lock()
        self.lower = config.control_flow == "lowered"  # run loops and conditionals as primitives of control flow
        self.after_each_pass: Callable[[str, StepGraph], None] | None = (
            PlacementLog() if config.log_device_placement else None
        )

    def plan(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        async_feeds: bool = False,
    ) -> StepPlan:
        """The cached plan for this request; made anew when an existing node of the graph was changed."""
        request = Request(tuple(feeds), tuple(fetches), tuple(targets), async_feeds)
        key = (request, self.graph._mutations)
        plan = self._plans.get(key)
        if plan is None or plan.generation != self.registered.resources.generation:
            generation = self.registered.resources.generation  # a reset from now on makes the plan old
            with no_collection():
                plan = make_plan(request, self.registered, self._options())
            plan.generation = generation
            if not async_feeds:
                for one in [part.plan for part in plan.parts if part.plan is not None] or [plan]:
                    self._equip(one)
            with self._lock:
                self._plans[key] = plan
        return plan

    def _equip(self, plan: StepPlan) -> None:
        """Gives a plan its tiers, and plans for feeds of certain shapes."""
        if not plan.single or (plan.strand is not None and not has_shapes(plan.feeds)):
            return
        if self.compile_mode != "off":
            plan.tier = Tier(plan, self.compile_mode, self._compile, self._compile_many)
        if self.worker.arrays and may_vary(plan.feeds):
            plan.fed_shapes = FedShapes(plan, partial(self._plan_for, plan))

    def _plan_for(self, plan: StepPlan, shapes: Sequence[Sequence[int]]) -> StepPlan:
        with no_collection():
            return make_plan(plan.request, self.registered, self._options(), shapes, plan.strand)

    def _compile(self, plan: StepPlan, shapes: Sequence[Sequence[int]]) -> StepPlan:
        return make_compiled_plan(
            plan.request, shapes, self.registered, self._compiler_options(), self._compile_region, plan.strand
        )

    def _compile_many(self, plan: StepPlan, seen: Sequence[Sequence[Sequence[int]]]) -> StepPlan:
        return make_dynamic_plan(
            plan.request, seen, self.registered, self._compiler_options(), self._compile_region, plan.strand
        )

    def _compiler_options(self) -> Options:
        return replace(self._options(), interpreted=False)

    def _options(self) -> Options:
        worker = self.worker
        level = self.config.graph_options.optimizer_options.opt_level
        return Options(
            devices=[d.name for d in self.devices],
            evaluate=worker.evaluate,
            has_kernel=worker.has_kernel,
            simplify=level >= 0,
            rewrite=level >= 0 and not deterministic(),
            soft_placement=self.config.allow_soft_placement,
            lower=self.lower,
            off=passes_off(),
            after_each=self.after_each_pass,
        )

    def run(self, plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
        return execute(plan, feeds)

    def run_traced(self, plan: StepPlan, feeds: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """Runs a step, interpreted, and says when each node ran: the results, and a StepStats message."""
        with self._lock:
            traced = plan.traced
            if traced is None:
                binder = TracedGraph(self.registered)
                assert binder.recorder is not None
                traced = plan.traced = TracedPlan(make_plan(plan.request, binder, self._options()), binder.recorder)
        with traced.lock:
            traced.recorder.start()
            results = execute(traced.plan, feeds)
            return results, step_stats(traced.recorder, self.worker.device("").name)

    def partial_run(self, plan: StepPlan) -> PartialRun:
        return PartialRun(plan)

    def close(self) -> None:
        self.registered.close()
        self._plans.clear()
        if self._owns_worker:
            self.worker.close()
