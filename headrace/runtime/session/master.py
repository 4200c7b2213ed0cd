"""The master of a session: plans steps, caches the plans, runs them on workers.  A local session is a cluster of one.

It owns the client's graph and the passes over the whole step, down to its partitions.  What follows is the workers'.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from operator import or_
from time import time_ns
from typing import Any, Final, Protocol

from headrace.core.config import ConfigProto, RunMetadata
from headrace.core.device import task_of, type_of
from headrace.core.errors import OpError, ResourceExhaustedError
from headrace.core.process import no_collection
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.passes.bodies import held_bodies
from headrace.passes.choose_device import Chooser
from headrace.passes.cost.measured import Measured
from headrace.passes.cost.rates import USUAL, Machine
from headrace.passes.cost.step import StepCost
from headrace.passes.observe import Observe
from headrace.passes.partition.cut import Cutting
from headrace.passes.partition.later import feed_later, needed_feeds
from headrace.passes.partition.partition import Partition, destinations, partition, partition_names
from headrace.passes.partition.spare import Spared, spared
from headrace.passes.pipeline import rewrite_placed
from headrace.passes.placement.policy import Policy
from headrace.passes.placement.problem import Site
from headrace.passes.portable import origins_of, to_portable
from headrace.passes.step_graph import StepGraph
from headrace.passes.whole_graph import WholeGraph
from headrace.passes.written import saves, written
from headrace.resources.stepping.step import current, deadline
from headrace.runtime.costs.calibrate import machine as calibrated
from headrace.runtime.costs.costs import Costs
from headrace.runtime.costs.observe import of_entries
from headrace.runtime.drive.plans import DividedPlan, Run, StepPlan, TracedPlan, entry
from headrace.runtime.host.cut import Side, cut
from headrace.runtime.host.cut_machine import Variables
from headrace.runtime.host.device import part_of, visible_devices, waiting
from headrace.runtime.host.placement_log import PlacementLog
from headrace.runtime.host.registered import RegisteredGraph, TracedGraph
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.host.writers import WorkerSide
from headrace.runtime.planning.plan import (
    Request,
    borrowed_fetches,
    make_plan,
    note_writes,
    variables_used,
    variables_written,
)
from headrace.runtime.planning.planner import Planner
from headrace.runtime.session.partial import PartialRun
from headrace.runtime.session.partition_graph import partition_graph
from headrace.runtime.session.partition_worker import PartitionWorker, Runs, Send, Task
from headrace.runtime.session.partitioned import Member, PartitionedStep
from headrace.runtime.session.rivals import Rivals
from headrace.runtime.session.sites import sites_of
from headrace.runtime.session.step_costs import WARM, DividedCosts, measure, predict
from headrace.runtime.session.step_numbers import step_numbers
from headrace.runtime.session.step_stats import cost_graph, step_stats
from headrace.runtime.session.step_tracer import StepTracer

PARTIAL_RUNS: Final = 512  # unfinished ones of a session in a cluster: each is a call under way on its tasks


class Cluster(Protocol):
    """The tasks beside this process's own, as one session sees them."""

    tasks: Sequence[Task]

    @property
    def session(self) -> str:
        """How the tasks know this one."""

    @property
    def includes_own(self) -> bool:
        """Whether this process is a task itself; otherwise nothing runs here."""

    def send_to(self, task: str) -> Send:
        """What sends to a task from here."""

    def on_lost(self, lose: Callable[[str, OpError], None]) -> None:
        """Calls ``lose(task, error)`` when nothing passes between this process and a task any more."""

    def close(self) -> None:
        """Says goodbye to all tasks."""


class Master:
    """Thread-safe: several threads may plan and run steps at the same time."""

    def __init__(
        self, graph: Graph, config: ConfigProto, worker: LocalWorker | None = None, cluster: Cluster | None = None
    ) -> None:
        """``worker``: one that other sessions use too; None: one of its own.  ``cluster``: the tasks in other processes."""
        self.graph = graph
        self.config = config
        self._owns_worker = worker is None
        self._cluster = cluster
        self.worker = worker or LocalWorker(config)
        others = [] if cluster is None else list(cluster.tasks)
        mine = self.worker.devices if cluster is None or cluster.includes_own else []
        everywhere = [*mine, *(d for task in others for d in task.devices)]
        self.devices = visible_devices(everywhere, config.device_filters)
        timeout = config.operation_timeout_in_ms / 1000
        self.registered = RegisteredGraph(self.worker, timeout, config.isolate_session_state)
        self.planner = Planner(self.registered, config, [d.name for d in self.devices])
        self.after_each_pass = PlacementLog() if config.log_device_placement else None
        self.part_of = part_of(self.devices, config.partition)
        self.cutting = Cutting(config.gather_transfers, lossy=config.lossy_transfers, late=config.late_transfers)
        parts = {self.part_of(d.name) for d in self.devices}
        self._one_partition = len(parts) == 1 and task_of(next(iter(parts))) == self.worker.task
        self.costs = Costs()  # of its traced steps
        self.planner.policy = self._policy()
        self.planner.whole = self._whole()
        if cluster is None:
            self._local = PartitionWorker(self.planner)
        else:
            self._local = PartitionWorker(self.planner, cluster.send_to, cluster.session, step_numbers.is_over)
            cluster.on_lost(self._local.lose)
        self.tasks: dict[str, Runs] = {self.worker.task: self._local, **{t.name: t.runs for t in others}}
        self._plans: dict[tuple[Request, int], StepPlan] = {}
        self._partial_runs: set[PartialRun] = set()  # those that have not ended
        self._lock = threading.Lock()
        self._measuring = threading.Lock()  # steps that are measured run one at a time

    def _whole(self) -> WholeGraph:
        """What decides where state is.  Sessions on servers find each other's state: they share where that is."""
        names = tuple(d.name for d in self.devices)
        chooser = Chooser(names, self.worker.has_kernel, self.config.allow_soft_placement)
        homes = self.graph._state_homes.setdefault(names, {}) if self._shares_state else {}
        pruned = self.config.graph_options.place_pruned_graph
        return WholeGraph(self.graph, chooser, pruned, homes, self.planner.policy)

    @property
    def _shares_state(self) -> bool:
        return not self._owns_worker or self._cluster is not None

    def _policy(self, machine: Machine | None = None, measured: Measured | None = None) -> Policy | None:
        """What decides where nodes are that may be on several devices; None: they are on the first.

        By default it counts with what this machine can do, and with the session's measured costs.
        """
        name = self.config.placement
        if name == "first" or len({self.part_of(d.name) for d in self.devices}) == 1:
            return None
        machine = calibrated(self.registered.threads) if machine is None else machine
        known = (lambda: self.costs.measured) if measured is None else lambda: measured
        return Policy(name, self._sites(machine), self.part_of, machine, known, USUAL if self._shares_state else None)

    def _sites(self, machine: Machine) -> Sequence[Site]:
        """The devices, as a placement policy sees them."""
        return sites_of(self.worker, self.devices, machine)

    def use_costs(self, machine: Machine, measured: Measured | None = None) -> None:
        """What nodes and transfers cost, for the policy.  To be called before the first step: plans that there are stay."""
        self.planner.policy = policy = self._policy(machine, measured)
        if self.planner.whole is not None:
            self.planner.whole.policy = policy

    @property
    def after_each_pass(self) -> Callable[[str, StepGraph], None] | None:
        """Called with the name of each pass and the graph after it."""
        return self.planner.after_each_pass

    @after_each_pass.setter
    def after_each_pass(self, observe: Callable[[str, StepGraph], None] | None) -> None:
        self.planner.after_each_pass = observe

    def plan(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        later: bool = False,
        check_numbers: bool = False,
        observe: Observe | None = None,
    ) -> StepPlan:
        """The cached plan for this request; made again when an existing node of the graph was changed.

        ``later``: the feeds come while it runs (`partial_run`).
        ``check_numbers``: it stops where a number becomes NaN or infinite.
        ``observe``: what it gives after its fetches, as rows of each task.
        """
        request = Request(tuple(feeds), tuple(fetches), tuple(targets), later, check_numbers, observe)
        key = (request, self.graph._mutations)
        plan = self._plans.get(key)
        if plan is None or plan.generation != self.registered.resources.generation:
            generation = self.registered.resources.generation  # a reset from now on makes the plan old
            plan = self._make(request)
            plan.generation = generation
            with self._lock:
                self._plans[key] = plan
        return plan

    def forget(self, plan: StepPlan) -> None:
        """Makes the plan anew when it is asked for again."""
        with self._lock:
            for key in [key for key, one in self._plans.items() if one is plan]:
                del self._plans[key]

    def _make(self, request: Request) -> StepPlan:
        """The plan of a request.  Where the policy has moved nodes there are two, and the first runs say which is faster."""
        if self.planner.policy is None:
            return self._made(request)[0]
        plan, moved = self._made(replace(request, plain=request.later))
        if moved and not self.planner.policy.forced:
            plain, _ = self._made(replace(request, plain=True))
            plan.borrowed[:] = plain.borrowed[:] = list(map(or_, plan.borrowed, plain.borrowed))
            wait = waiting([d.torch_device for d in self.worker.devices])
            plan.rivals = Rivals(plan, plain, wait)
        return plan

    def chosen(self, plan: StepPlan) -> StepPlan:
        """The plan, or that with all nodes on their first devices where that has turned out to be faster."""
        return plan if plan.rivals is None else plan.rivals.chosen

    def _made(self, request: Request) -> tuple[StepPlan, bool]:
        """A plan, and whether the policy has moved nodes of it."""
        if self._one_partition and not request.later:
            plan = self.planner.plan(request)
            note_writes(plan, variables_written(plan.graph, self.registered), self.registered)
            return self._saving(plan, self._used(plan.graph) if saves(plan.graph) else None), False
        options = self.planner.options(request)
        with no_collection():
            graph = request.placed(options)
            moved = graph.moved
            if not moved and options.policy is not None:
                request = replace(request, plain=True)  # whatever is planned of it later is placed like this
            writes = variables_written(graph, self.registered)
            saved = self._used(graph) if saves(graph) else None
            writers = {task_of(handle.device) for handle in written(graph)}
            mine = writers <= {self.worker.task}
            names = partition_names(graph, self.part_of)
            if request.later:
                plan = self._cut_for_later(request, graph, bool(names), () if mine else sorted(writers))
            elif not names or (len(names) == 1 and task_of(names[0]) == self.worker.task):
                plan = self.planner.plan(request, rewrite_placed(graph, options))
            else:
                plan = self._cut(request, graph, () if mine else sorted(writers))
            if mine:  # otherwise each task notes its own partitions
                note_writes(plan, writes, self.registered)
            return self._saving(plan, saved), moved

    def _used(self, graph: StepGraph) -> Variables:
        return variables_used(graph, self.registered)

    def _saving(self, plan: StepPlan, saved: Variables | None) -> StepPlan:
        """The plan, which says where the variables are that it saves; ``saved``: those of this task, None if it saves nothing."""
        if saved is not None:
            plan.saves = partial(self._cut_steps, self._sides(plan, saved))
        return plan

    def _sides(self, plan: StepPlan, used: Variables) -> list[Side]:
        """The variables that a plan has to do with, to be watched; ``used``: those of this task."""
        members = plan.partitions.members if isinstance(plan, DividedPlan) else []
        handles: dict[int, list[int]] = {}
        for member in members:
            handles.setdefault(id(member.worker), []).append(member.handle)
        own = {plan, *map(self._local.own, handles.pop(id(self._local), ()))}
        others = [runs.side(handles[id(runs)]) for runs in self.tasks.values() if id(runs) in handles]
        mine = WorkerSide(self.registered.writers, lambda: used, self.registered.owner, own)
        return [mine, *others] if used else others

    def cut(self, tasks: Sequence[str], wait_secs: float) -> AbstractContextManager[list[str]]:
        """Inside, no step writes a variable of these tasks, and none has written only a part of what it writes there."""
        return self._cut_steps([self.tasks[task].side(None) for task in tasks], wait_secs)

    def _cut_steps(
        self, sides: Sequence[Side], wait_secs: float, holds: bool = True
    ) -> AbstractContextManager[list[str]]:
        turn = None if self._cluster is None else self.tasks[min(map(task_of, (d.name for d in self.devices)))].side([])
        return cut(sides, self.registered.steps, wait_secs, holds, turn)

    def _cut(self, request: Request, graph: StepGraph, writers: Sequence[str]) -> StepPlan:
        """The plan of a step over several partitions, which are registered here."""
        return self._register(request, graph, lambda: partition(graph, self.part_of, self.cutting), writers)

    def _cut_for_later(self, request: Request, graph: StepGraph, anything: bool, writers: Sequence[str]) -> StepPlan:
        """The plan of a step whose feeds come while it runs.  ``anything``: whether something runs in it."""
        needs = needed_feeds(graph)
        values = list(graph.fetches)
        writes = [needs.get(node, 0) for node in graph.nodes if node.op_def.traits.writes or held_bodies(node)]

        def cut_later() -> list[Partition]:
            # Gathered or delayed, what needs one feed could wait for another.
            parts = partition(graph, self.part_of, replace(self.cutting, gather=False, late=False))
            if not anything:
                parts[0].name = self.worker.device("").name
            feeds, fetches = [t.name for t in request.feeds], [t.name for t in request.fetches]
            for one in parts:
                feed_later(one, feeds, fetches, borrowed_fetches(one.graph))
            return parts

        plan = self._register(request, graph, cut_later, writers)
        plan.needs = tuple(needs.get(value.op, 0) for value in values)
        plan.writes_unfed = 0 in writes
        return plan

    def _register(
        self, request: Request, graph: StepGraph, make: Callable[[], list[Partition]], writers: Sequence[str]
    ) -> DividedPlan:
        """The plan of a step whose partitions, which ``make`` makes of the graph, are registered with their tasks."""
        borrowed = borrowed_fetches(graph)
        feeds, fetches = list(graph.feeds), list(graph.fetches)
        origins = origins_of(graph)
        parts = make()
        tasks = {one.name: task_of(one.name) for one in parts}
        sends = {one.name: destinations(one.graph) for one in parts}
        spares = self._spares(parts, tasks)
        begun = []
        with self._in_time():
            for one in parts:  # all tasks plan at the same time
                mine = tasks[one.name]
                runs = self.tasks[mine]
                routes = {name: task for name, task in tasks.items() if task == mine or name in sends[one.name]}
                sources = [task for name, task in tasks.items() if one.name in sends[name]]
                begun.append((one, runs, runs.register(to_portable(one.graph), origins, routes, sources, writers)))
            members = [
                Member(one.name, runs, handle(), tuple(one.feeds), tuple(one.fetches), spares.get(one.name))
                for one, runs, handle in begun
            ]
        return DividedPlan(
            request=request, graph=graph, feeds=feeds, fetches=fetches, borrowed=borrowed,
            generation=self.registered.resources.generation, steps=self.registered.steps, pool=self.registered.pool,
            partitions=PartitionedStep(members, len(fetches)),
        )  # fmt: skip

    def _spares(self, parts: Sequence[Partition], tasks: Mapping[str, str]) -> dict[str, Spared]:
        """When partitions of other tasks do nothing, if the only one of this task says so."""
        mine = [one for one in parts if tasks[one.name] == self.worker.task]
        others = [one for one in parts if tasks[one.name] != self.worker.task]
        found = spared(mine[0], others) if len(mine) == 1 else None
        return {} if found is None else {one.name: when for one, when in zip(others, found, strict=True)}

    def _in_time(self) -> AbstractContextManager[None]:
        """Inside, tasks must answer within the time that a step may take."""
        seconds = self.config.operation_timeout_in_ms / 1000
        return deadline(seconds) if seconds and current.until is None else nullcontext()

    def torch_device(self, name: str) -> Any:
        """The torch device that results of a device are on; those of another task come to the host."""
        mine = not name or task_of(name) == self.worker.task
        return self.worker.torch_device(name if mine else "")

    def entry(self, plan: StepPlan) -> Run:
        """What runs a step of the plan.  A server counts its steps; partitions count their own."""
        if plan.rivals is None:
            return self._entry(plan)
        rivals: Rivals = plan.rivals
        rivals.bind(self._entry)
        return rivals.run

    def _entry(self, plan: StepPlan) -> Run:
        run = entry(plan)
        if self.config.graph_options.build_cost_model > 0:
            return lambda feeds: self.run_measured(plan, feeds, RunMetadata())
        if self._owns_worker or isinstance(plan, DividedPlan):
            return run
        worker = self.worker

        def run_counted(feeds: Sequence[Any]) -> tuple[Any, ...]:
            try:
                return run(feeds) if worker.step_tracer is None else self._run_for(worker.step_tracer, plan, run, feeds)
            finally:
                worker.note_step()

        return run_counted

    def _run_for(self, tracer: StepTracer, plan: StepPlan, run: Run, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """Runs a step of a plan that is not cut, traced if somebody outside wants that."""
        session = self._local.session or f"{self.worker.task} {id(self)}"
        subject = None if plan.saves is not None else tracer.plan(plan, session, self.worker.task, bool(plan.writes))
        if subject is None:
            return run(feeds)
        try:
            began = time_ns()
            results = self.run_traced(plan, feeds, RunMetadata())
            if plan.traced is not None and plan.traced.recorder is not None:
                tracer.note(subject, began, plan.traced.recorder)
            return results
        finally:
            tracer.leave(subject)

    def run(self, plan: StepPlan, feeds: Sequence[Any]) -> tuple[Any, ...]:
        return entry(plan)(feeds)

    def run_measured(self, plan: StepPlan, feeds: Sequence[Any], metadata: RunMetadata) -> tuple[Any, ...]:
        """Runs a step, traced if it is one of those of which a cost model is built."""
        return self.run_traced(plan, feeds, metadata, True) if self.measures_next(plan) else entry(plan)(feeds)

    def measures_next(self, plan: StepPlan) -> bool:
        """Whether a cost model is built of the plan's next run: GraphOptions says after how many runs, and of every how many."""
        graph_options = self.config.graph_options
        every, after = graph_options.build_cost_model, graph_options.build_cost_model_after
        with self._lock:
            number, plan.runs = plan.runs - after, plan.runs + 1
        return every > 0 and number >= 0 and (number + 1) % every == 0

    def run_traced(
        self, plan: StepPlan, feeds: Sequence[Any], metadata: RunMetadata, with_costs: bool = False
    ) -> tuple[Any, ...]:
        """Runs a step, interpreted, and says in ``metadata`` when each node ran; ``with_costs``: and what each cost."""
        traced = self._traced(self.chosen(plan))
        host = self.worker.device("").name
        with traced.lock:
            recorder = traced.recorder
            if recorder is None:
                results = entry(traced.plan)(feeds)
                assert isinstance(traced.plan, DividedPlan) and traced.costs is not None
                metadata.step_stats = traced.plan.partitions.statistics()
                self.costs.add(traced.costs.measured(feeds, [metadata.step_stats]))
                return results
            recorder.start()
            results = entry(traced.plan)(feeds)
            self.costs.add(of_entries(recorder.entries, type_of(host)))
            metadata.step_stats = step_stats(recorder, host)
            if with_costs:
                metadata.cost_graph = cost_graph(traced.plan, recorder, host)
            return results

    def measure(self, plan: StepPlan, feeds: Sequence[Any], runs: int) -> Measured:
        """Runs a step so many times and says what its nodes took."""
        plan = self.chosen(plan)
        with self._measuring:
            if not isinstance(plan, DividedPlan) or plan.partitions.is_local:
                return measure(plan, feeds, self.planner, runs)
            traced = self._traced(plan)
            assert isinstance(traced.plan, DividedPlan) and traced.costs is not None
            seen = []
            with traced.lock:
                for number in range(WARM + runs):
                    entry(traced.plan)(feeds)
                    if number >= WARM:
                        seen.append(traced.plan.partitions.statistics())
                return traced.costs.measured(feeds, seen)

    def predict(self, plan: StepPlan, shapes: Sequence[Sequence[int]] | None, measured: Measured | None) -> StepCost:
        """What a step would take.  ``shapes``: of its feeds, where they are known."""
        return predict(self.chosen(plan), shapes, self.planner, measured, self._sites)

    def _traced(self, plan: StepPlan) -> TracedPlan:
        with self._lock:
            if plan.traced is None:
                plan.traced = self._make_traced(plan)
            return plan.traced

    def _make_traced(self, plan: StepPlan) -> TracedPlan:
        """The plan whose steps are traced: one for all devices of this process, or by partitions if other tasks have some."""
        if isinstance(plan, DividedPlan) and not plan.partitions.is_local:
            with self._in_time():
                traced = replace(plan, partitions=plan.partitions.traced())
            return TracedPlan(traced, None, DividedCosts(traced, self.planner))
        binder = TracedGraph(self.registered)
        traced_plan = make_plan(plan.request, binder, self.planner.options(plan.request))
        note_writes(traced_plan, plan.writes, self.registered)
        traced_plan.saves = plan.saves
        return TracedPlan(traced_plan, binder.recorder, None)

    def partition_graphs(self, plan: StepPlan) -> list[Any]:
        """What the plan runs in this process, as GraphDefs: one for each partition."""
        plan = self.chosen(plan)
        if not isinstance(plan, DividedPlan):
            return [partition_graph(plan, self.worker.device("").name)]
        return [
            partition_graph(member.worker.plan(member.handle), member.name)
            for member in plan.partitions.members
            if isinstance(member.worker, PartitionWorker)
        ]

    def partial_run(self, plan: StepPlan) -> PartialRun:
        """Begins a step of a plan whose feeds come later."""
        if self._cluster is not None and len(self._partial_runs) >= PARTIAL_RUNS:
            raise ResourceExhaustedError(
                None, None,
                f"{PARTIAL_RUNS} partial runs of the session are unfinished, and more are not accepted in a cluster: feed and "
                f"fetch all that was promised to partial_run_setup, or close the session {at()}",
            )  # fmt: skip
        run = PartialRun(plan, self._partial_runs.discard)
        self._partial_runs.add(run)
        return run

    def close(self) -> None:
        self.registered.close()
        for run in self._partial_runs.copy():
            run.close()
        if self._cluster is not None:
            self._cluster.close()
        for plan in list(self._plans.values()):
            plan.loosen()
        self._plans.clear()
        if self._owns_worker:
            self.worker.close()
