"""PartitionWorker: runs the partitions of one session's graph on one worker.

A partition is registered once, as data; the plans made of it read that data again and never need the client's graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from time import thread_time
from typing import Any, NamedTuple, Protocol

from headrace.core.errors import AbortedError, CancelledError, OpError
from headrace.passes.partition.later import left_fetches
from headrace.passes.partition.spare import Spared
from headrace.passes.pipeline import Options, rewrite_placed
from headrace.passes.portable import Portable, from_portable
from headrace.passes.step_graph import StepGraph
from headrace.resources.state.holder import Holder
from headrace.resources.stepping.rendezvous import Rendezvous
from headrace.resources.stepping.saving import STAGES, Saving, carried
from headrace.resources.stepping.step import Event, Step
from headrace.resources.stepping.waiting import Done, Wait
from headrace.runtime.drive.plans import PartsPlan, StepPlan
from headrace.runtime.host.cut import Side
from headrace.runtime.host.cut_machine import Beginning, Variables
from headrace.runtime.host.device import Device
from headrace.runtime.host.recorder import Recorder
from headrace.runtime.host.registered import TracedGraph
from headrace.runtime.host.turn import Pace, turn
from headrace.runtime.host.writers import Entrance, PartitionEntrance, WorkerSide
from headrace.runtime.planning.plan import make_plan, variables_used, variables_written
from headrace.runtime.planning.planner import Planner
from headrace.runtime.session.parked import ParkedRun
from headrace.runtime.session.step_stats import step_stats
from headrace.runtime.session.steps_here import StepsHere

Send = Callable[[int, str, Sequence[Any]], None]  # (step, key, values)


class Runs(Protocol):
    """What the master asks of a task, in this process or another."""

    def register(
        self, data: Portable, origins: Mapping[str, Any], routes: Mapping[str, str], sources: Sequence[str],
        writers: Sequence[str],
    ) -> Callable[[], int]:  # fmt: skip
        """Begins to keep a partition; returns what waits for the handle to run it by.

        ``routes``: the task of each partition that it sends to, and of those on its own.  ``sources``: tasks that send to it.
        ``writers``: tasks on which its steps write variables; none if the master itself holds them up while variables are saved.
        """

    def run(self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None) -> None:
        """Begins to run a partition in a step, and tells ``done`` its results or its error."""

    def hold(
        self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None, spared: Spared | None = None
    ) -> None:  # fmt: skip
        """Begins to run a partition when `let_go` is called, or when the caller's own partition sends something small there.

        ``spared``: what it may be sent instead, and then it is over.
        """

    def let_go(self, step: int) -> bool:
        """Runs what is held of a step; whether anything is."""

    def give(self, step: int, key: str, value: Any) -> None:
        """Leaves a value for the partitions of a step that has begun."""

    def take(self, step: int, keys: Sequence[str], done: Done) -> None:
        """Tells ``done`` the values that partitions leave under these keys, or the error that ends the step.

        There is one value for each key; None is dead.
        """

    def trace(self, handle: int) -> int:
        """Keeps a partition once more, with code that notes when each node runs; returns the handle to run that by."""

    def statistics(self, handle: int) -> Any:
        """What a traced partition did in its last step, as StepStats."""

    def holders(self) -> list[Holder]:
        """Who holds memory on the task for this session."""

    def side(self, handles: Sequence[int] | None) -> Side:
        """The variables that partitions have to do with, to be watched; None: all of the task."""

    def waiting(self, step: int) -> str:
        """What the partitions of a step wait for on the task, in words; empty if for nothing, or if it does not answer soon."""

    def abort(self, step: int, error: OpError) -> None:
        """Ends the partitions of a step, and keeps out those that have not begun."""

    def end(self, step: int) -> bool:
        """Forgets a step that is over everywhere; whether the task has heard of it."""

    def keep_out(self, step: int) -> None:
        """Tells a task that has not heard of a step that it is over: who saves there need not wait for it to come."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the cluster as the master sees it: how its name begins, its devices, and what runs partitions there."""

    name: str
    devices: Sequence[Device]
    runs: Runs


class PartitionBlueprint:
    """A partition as a worker keeps it."""

    def __init__(self, data: Portable, origins: Mapping[str, Any], devices: Collection[str]) -> None:
        """``devices``: those of the worker that the step uses."""
        self._data = data
        self._origins = origins
        self.devices = devices

    def graph(self, options: Options) -> StepGraph:
        """The partition's graph, each time a new one."""
        return rewrite_placed(from_portable(self._data, self._origins), options)


class StepPost:
    """How one partition of one step sends and takes."""

    __slots__ = ("_rendezvous", "_sends", "_step", "_unsent")

    def __init__(self, step: int, rendezvous: Rendezvous, sends: Mapping[str, Send], fetches: Collection[str]) -> None:
        """``sends``: what sends to each partition.  ``fetches``: the keys under which it leaves fetches for the client."""
        self._step = step
        self._rendezvous = rendezvous
        self._sends = sends
        self._unsent = set(fetches)

    def send(self, destination: str, key: str, values: Sequence[Any]) -> None:
        if self._unsent:
            self._unsent.discard(key)
        self._sends[destination](self._step, key, values)

    def leave_dead(self) -> None:
        """Nothing more is sent: fetches that were not are dead, and a client that waits for them is told so."""
        for key in self._unsent:
            self._rendezvous.send(self._step, key, [None])

    def recv(self, keys: Sequence[str], done: Done) -> Wait | None:
        return self._rendezvous.recv(self._step, keys, done)


class Registered(NamedTuple):
    """A partition with its plan."""

    blueprint: PartitionBlueprint
    plan: StepPlan
    sends: Mapping[str, Send]
    tasks: frozenset[str]  # those that its steps involve
    fetches: Collection[str]  # the keys under which it leaves fetches for the client (partial runs)
    writers: Sequence[str]  # tasks on which its steps write variables, if it is to be held up while they are saved
    writes: Variables  # of these, on its own task
    here: int  # partitions of its steps on this task
    pace: Pace | None  # None: it may block or loop for long, however short it has been so far
    traced: TracedGraph | None = None  # what its plan is bound to if its steps are traced


class PartitionWorker:
    """Thread-safe."""

    def __init__(
        self, planner: Planner, send_to: Callable[[str], Send] | None = None, session: str = "",
        is_over: Callable[[int], bool] | None = None,
    ) -> None:  # fmt: skip
        """``send_to(task)`` gives what sends to another task; None where there is none.  ``session``: its name in the cluster.

        ``is_over``: whether a step is over everywhere, where that is known; None: the client tells (`heard`).
        """
        self._planner = planner
        self._graph = planner.registered
        self._task = planner.registered.worker.task
        self._rendezvous = planner.registered.worker.rendezvous
        self._send_to = send_to
        self._handles = itertools.count()
        self._partitions: dict[int, Registered] = {}
        self.session = session
        self._unwritten: dict[int, Saving] = {}  # by step: what its saves have left to be written
        self._here = StepsHere(self._task, session, self._rendezvous, self._partitions, is_over)
        self._writers = planner.registered.writers
        self._writers.add_partitions(self._here)

    def register(
        self, data: Portable, origins: Mapping[str, Any], routes: Mapping[str, str], sources: Sequence[str],
        writers: Sequence[str] = (),
    ) -> Callable[[], int]:  # fmt: skip
        mine = [partition for partition, task in routes.items() if task == self._task]
        blueprint = PartitionBlueprint(data, origins, mine)  # a partition has the name of its device
        sends = {partition: self._sender(task) for partition, task in routes.items()}
        handle = next(self._handles)
        tasks = frozenset((*routes.values(), *sources))
        plan = self._make(blueprint)
        self._partitions[handle] = Registered(
            blueprint, plan, sends, tasks, left_fetches(data), writers, self._writes(plan, writers), len(mine), self._pace(plan)
        )  # fmt: skip
        return lambda: handle

    def _writes(self, plan: StepPlan, writers: Sequence[str]) -> Variables:
        return variables_written(plan.graph, self._graph) if writers else frozenset()

    def _pace(self, plan: StepPlan) -> Pace | None:
        """What measures the partition; None where that tells nothing of the next run: loops, accelerators, code of users."""
        worker, programs = self._graph.worker, plan.programs
        known = programs and not any(program.bodies for program in programs)
        known = known and all(node.op_def.built_in for node in plan.graph.nodes)
        known = known and self._planner.compile_mode != "always" and self._graph.gate is None
        return (
            Pace(len(plan.graph.nodes))
            if known and all(worker.torch_device(d.name).type == "cpu" for d in worker.devices)
            else None
        )

    def forget(self, handle: int) -> None:
        """Drops a partition that nobody will run."""
        self._partitions.pop(handle, None)

    def trace(self, handle: int) -> int:
        traced, new = TracedGraph(self._graph), next(self._handles)
        partition = self._registered(handle)
        self._partitions[new] = partition._replace(plan=self._make(partition.blueprint, traced), traced=traced)
        return new

    def copy_to_trace(self, handle: int) -> tuple[int, frozenset[str], int, bool]:
        """As `trace`, with the tasks that steps involve, how many partitions they have here, and whether this one writes."""
        partition = self._registered(handle)
        writes = bool(partition.writes or variables_written(partition.plan.graph, self._graph))
        return self.trace(handle), partition.tasks | {self._task}, partition.here, writes

    def statistics(self, handle: int) -> Any:
        return step_stats(self.recorder(handle), self._graph.worker.device("").name)

    def recorder(self, handle: int) -> Recorder:
        """What notes the steps of a traced partition."""
        traced = self._registered(handle).traced
        assert traced is not None
        return traced.recorder

    def holders(self) -> list[Holder]:
        return self._graph.holders()

    def _registered(self, handle: int) -> Registered:
        partition = self._partitions.get(handle)
        if partition is None:  # TensorFlow's words and class: a monitored session begins a new session
            raise AbortedError(
                None,
                None,
                f"Graph handle is not found: {handle}. This session has registered no such partition on {self._task}",
            )
        return partition

    def _make(self, blueprint: PartitionBlueprint, traced: TracedGraph | None = None) -> StepPlan:
        generation = self._graph.resources.generation  # a reset from now on makes the plan old
        if traced is None:
            plan = self._planner.plan(blueprint)
        else:
            plan = make_plan(blueprint, traced, self._planner.options())
        plan.generation = generation
        return plan

    def _sender(self, task: str) -> Send:
        if task == self._task or self._send_to is None:
            return self._rendezvous.send
        return self._send_to(task)

    def plan(self, handle: int) -> StepPlan:
        """The plan of a partition; made anew after a reset of containers."""
        partition = self._registered(handle)
        if partition.plan.generation != self._graph.resources.generation:
            plan = self._make(partition.blueprint, partition.traced)
            partition = partition._replace(plan=plan, writes=self._writes(plan, partition.writers))
            self._partitions[handle] = partition
        return partition.plan

    def run(self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None) -> None:
        self._soon(self._partitions.get(handle), carried(partial(self._run, handle, step, feeds, done, until, False)))

    def hold(
        self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None, spared: Spared | None = None
    ) -> None:  # fmt: skip
        self.run(handle, step, feeds, done, until)  # no message that anything could go along with

    def let_go(self, step: int) -> bool:
        return False

    def _soon(self, partition: Registered | None, call: Callable[[], None]) -> None:
        """Calls on this thread, after the message that it takes, if that is short; otherwise on another one."""
        worker = self._graph.worker
        if turn.calls is None or partition is None or (pace := partition.pace) is None:
            worker.pool.submit(call)
        elif partition.plan.generation != self._graph.resources.generation:  # planning is not short
            worker.pool.submit(call)
        elif pace.is_short:
            turn.calls.append(call)
        else:
            (worker.lane if pace.is_interpreted else worker.pool).submit(call)

    def saving(self, step: int, deferred: bool, local: tuple[str, str] | None) -> AbstractContextManager[Any]:
        """How partitions that are run inside save: if it is ``deferred``, they leave their files for `write_files`."""
        if not deferred:
            return nullcontext() if local is None else Saving(local=local).entered()
        return self._unwritten.setdefault(step, Saving(asynchronous=True, local=local)).entered()

    def write_files(self, step: int, stage: int) -> None:
        """Writes what the saves of a step have left for one stage, on this thread."""
        saving = self._unwritten.get(step)
        if saving is None:
            raise AbortedError(None, None, f"{self._task} has nothing to write of step {step}: the save was given up")
        saving.write_stage(stage)
        if stage == STAGES[-1]:
            self._unwritten.pop(step, None)

    def drop_files(self, step: int) -> None:
        """Ends the writing of files, without waiting."""
        saving = self._unwritten.pop(step, None)
        if saving is not None:
            saving.give_up(0.0)

    def give(self, step: int, key: str, value: Any) -> None:
        # A copy: the caller may change it while the step still needs it.
        self._rendezvous.send(step, key, [value.clone() if hasattr(value, "clone") else value.copy()])

    def take(self, step: int, keys: Sequence[str], done: Done) -> None:
        self._rendezvous.recv(step, keys, done)

    def run_here(
        self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None,
        before_wait: Callable[[], None] | None = None, ask_others: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        """Runs a partition to its end on this thread.  ``before_wait`` is called once if the thread is going to wait.

        ``ask_others``: what partitions on other tasks wait for, to be told if this one waits for long.
        """
        self._run(handle, step, feeds, done, until, True, before_wait, ask_others)

    def _run(
        self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None, to_the_end: bool,
        before_wait: Callable[[], None] | None = None, ask_others: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        """Runs a partition; unless ``to_the_end``, only as far as it gets before it waits."""
        tracer = self._graph.worker.step_tracer
        if tracer is not None and not self._writers.watched:  # a save knows partitions by their handles
            subject = tracer.partition(self, handle, self._graph.worker.pool.submit)
            if subject is not None:
                handle, done = subject.handle, tracer.traced(subject, self, step, done)
        try:
            mine = self._graph.steps.start(until)
            mine.before_wait, mine.ask_others = before_wait, ask_others
        except BaseException as e:  # noqa: BLE001 - the thread that waits for the step raises it
            done(None, e)
            return

        def over(results: Any, error: BaseException | None) -> None:
            self._graph.steps.finish(mine)
            self._leave(step, handle, mine)
            if error is None:
                try:
                    post.leave_dead()
                except OpError as e:
                    results, error = None, e
            done(results, error)

        def begin() -> None:
            try:
                plan = self.plan(handle)
                if isinstance(plan, PartsPlan) and not to_the_end:
                    soon = partial(self._soon, partition)
                    parked = ParkedRun(plan, mine, over, soon, partition.pace, entrance)
                else:
                    parked, begun_at = None, thread_time()
                    with mine.entered():
                        results = plan.run_through(feeds, entrance) if isinstance(plan, PartsPlan) else plan.run(feeds)
                    if partition.pace is not None and not to_the_end:
                        partition.pace.note(thread_time() - begun_at)
            except BaseException as e:  # noqa: BLE001 - as above
                over(None, e)
            else:
                if parked is None:
                    over(results, None)
                else:
                    parked.start(feeds)

        entrance: Entrance | None = None
        asks = False
        try:
            partition = self._registered(handle)
            mine.post = post = StepPost(step, self._rendezvous, partition.sends, partition.fetches)
            if partition.traced is not None:
                partition.traced.recorder.start()
            self._here.enter(step, handle, mine)
            if partition.writes:
                if isinstance(partition.plan, PartsPlan):
                    entrance = PartitionEntrance(self._writers, self._beginning(partition, handle, step))
                elif self._writers.watched:
                    asked = None if to_the_end else partial(self._asked, partition, carried(begin), over)
                    asks = self._ask_to_begin(self._beginning(partition, handle, step), mine, asked)
            self._look(step)  # a save may wait for it to come
        except BaseException as e:  # noqa: BLE001 - as above
            over(None, e)
        else:
            if not asks:
                begin()

    def _beginning(self, partition: Registered, handle: int, step: int) -> Beginning:
        """What counts the partition as one that has not begun to write."""
        beginning = Beginning((self.session, step), partition.writes, self.own(handle))
        self._here.ask(step, handle, beginning)
        return beginning

    def _ask_to_begin(self, beginning: Beginning, mine: Step, done: Done | None) -> bool:
        """Somebody saves variables: waits until a partition may write them, or lets ``done`` be told; whether it does so."""
        if done is None:
            self._writers.wait_to_begin(mine, beginning)
            return False
        beginning.done = done
        wait = self._writers.begin(beginning)
        if wait is not None:
            mine.events(_Ender(wait, mine))
        return True

    def _asked(
        self, partition: Registered, begin: Callable[[], None], over: Done, _: Any, error: BaseException | None
    ) -> None:
        try:
            if error is not None:
                raise error
            self._soon(partition, begin)
        except BaseException as e:  # noqa: BLE001 - it was ended, or the worker is closed
            over(None, e)

    def _leave(self, number: int, handle: int, step: Step) -> None:
        if self._here.leave(number, handle, step):
            self._graph.worker.note_step()
        self._look(number)

    def _look(self, number: int) -> None:
        if self._writers.watched:
            self._writers.look((self.session, number))

    def heard(self, oldest: int) -> None:
        """All steps of the client with smaller numbers are over."""
        self._here.heard(oldest)
        if self._writers.watched:
            self._writers.look_at_session(self.session)

    def side(self, handles: Sequence[int] | None) -> WorkerSide:
        if handles is None:
            return WorkerSide(self._writers, lambda: None, self._graph.owner)
        return WorkerSide(self._writers, partial(self._used, handles), self._graph.owner, set(map(self.own, handles)))

    def _used(self, handles: Sequence[int]) -> Variables:
        return frozenset[Any]().union(*(variables_used(self.plan(one).graph, self._graph) for one in handles))

    def own(self, handle: int) -> Hashable:
        """What a save knows its own partition by."""
        return id(self), handle

    def waiting(self, step: int) -> str:
        return self._here.report(step)

    def abort(self, step: int, error: OpError) -> None:
        for one in self._here.abort(step, error):
            one.cancel(error)
        self._rendezvous.abort(step, error)
        self._look(step)

    def lose(self, task: str, error: OpError) -> None:
        """Ends the steps that involve a task: nothing passes between it and this one any more.

        Later steps of the same partitions end too: the task may not know yet that what it sends does not arrive.
        """
        concerned = {handle for handle, one in list(self._partitions.items()) if task in one.tasks}
        for number in self._here.break_off(concerned, error):
            self.abort(number, error)

    def end(self, step: int) -> bool:
        self._here.end(step)
        self._rendezvous.end(step)
        self._look(step)
        return True

    def keep_out(self, step: int) -> None:
        """It hears of all steps."""

    @property
    def is_traced(self) -> bool:
        """Whether somebody traces the steps of this task."""
        return self._graph.worker.step_tracer is not None

    @property
    def is_watched(self) -> bool:
        """Whether somebody saves variables of this task."""
        return self._writers.watched

    def close(self) -> None:
        """Ends and forgets all steps."""
        for step in list(self._unwritten):
            self.drop_files(step)
        closed = CancelledError(None, None, f"the session was closed on {self._task}")
        for step in self._here.close():
            self._rendezvous.abort(step, closed)  # a taker of what a partition leaves belongs to no step here
            self.end(step)
        if self._writers.watched:
            self._writers.look_at_session(self.session)


class _Ender(SimpleQueue[Event]):
    """Ends a wait when its step is ended."""

    def __init__(self, wait: Wait, step: Step) -> None:
        self._wait, self._step = wait, step

    def put(self, item: Event, block: bool = True, timeout: float | None = None) -> None:
        if self._step.error is not None:
            self._wait.cancel(self._step.error)
