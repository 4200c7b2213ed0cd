"""RayCluster: the tasks of one cluster, each a program that an actor runs on a node of Ray's choice."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Final

import ray

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.connection import forget_key, remember_key
from headrace.cluster.ray_engine import engine, placement
from headrace.cluster.ray_engine.options import Options
from headrace.cluster.ray_engine.output import Output
from headrace.cluster.ray_engine.program import SERVE, TaskName, arguments_for, tf_config
from headrace.cluster.ray_engine.restart import Restarts
from headrace.cluster.ray_engine.task import (
    REPORT_SECONDS,
    START_SECONDS,
    RunningTask,
    answers,
    make_tasks,
    read_report,
    spec_of,
)
from headrace.cluster.serve import READY
from headrace.cluster.transport.keys import KEY, KEY_FILE, cluster_keys
from headrace.core.leaving import leave_seconds
from headrace.core.source import at

END_SECONDS: Final = 3.0  # for what is left to do when the time to leave is over, until SIGKILL
KEEPER_SECONDS: Final = 1.5  # then, until a task that does not end is left to its keeper
MOMENT: Final = 0.2
FOR_EVER: Final = "inf"
JOIN_SECONDS: Final = "90"  # without a session, until `Server.join` of a worker returns


class RayCluster:
    """A running cluster, made by ``headrace.cluster.ray``.  Its tasks end with it, with this process, or with their actors.

    Thread-safe, but for ``close``.
    """

    def __init__(self, options: Options) -> None:
        options.check()
        self._options = options
        self._script = options.script()
        self._output = Output()
        self._key = ""  # chosen when it is known where the tasks are
        self._groups: list[Any] = []
        self._free_bundles: list[placement.Bundle] = []  # of workers that were removed
        self._tasks: dict[TaskName, RunningTask] = {}
        self._worker_hosts: list[str] = []  # of all there have been, by number
        self._failed: RunningTask | None = None
        self._changed = threading.Condition()
        self._membership = threading.Lock()
        self._closed = False
        self._watch: threading.Thread | None = None
        self._opened_ray = False
        try:
            address = options.address or os.environ.get("RAY_ADDRESS")
            self._say(
                f"connecting to Ray at {address}" if address else "starting Ray on this machine, which takes a while"
            )
            self._opened_ray = engine.open_ray(options.address, options.ps + options.workers, options.working_dir)
            self._key = _key(own_machine=self._opened_ray and not address)
            self._here = engine.own_host()
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # ---- what users ask for

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks, as ``tf.device`` takes them: "/job:ps/task:0"."""
        with self._changed:
            return [name.device for name in self._tasks]

    @property
    def target(self) -> str:
        """The target of the chief, or else of the first worker: ``tf.Session(c.target)``."""
        workers = [name for name in self.tasks if not name.startswith("/job:ps/")]
        if not workers:
            raise RuntimeError(f"the cluster has no worker {at()}")
        return self.target_of(workers[0])

    def target_of(self, task: str) -> str:
        """The target of a task, which is named as in ``tasks``."""
        with self._changed:
            for name, running in self._tasks.items():
                if name.device == task:
                    return f"grpc://{running.address}"
        raise ValueError(f"there is no task {task!r}; the tasks are {', '.join(self.tasks)} {at()}")

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The tasks there are now, as a ``tf.train.ClusterSpec``."""
        with self._changed:
            return spec_of(self._tasks.values())

    def wait(self) -> int:
        """Waits until all workers have ended or a task has failed for good; returns 0, or the exit code of the first that failed.

        That is 128 and the number of the signal if a signal has killed it, 1 if it is lost.
        """
        with self._changed:
            while self._failed is None and any(t.ended is None for t in self._tasks.values() if t.name.job != "ps"):
                self._changed.wait(MOMENT)
            return 0 if self._failed is None else self._failed.exit_code

    def add_worker(self) -> int:
        """Starts one more worker and returns its number.

        It knows the parameter servers and itself.  The other workers need not know it: each replica of an asynchronous job works
        with the parameter servers alone.
        """
        with self._membership:
            if self._closed:
                raise RuntimeError(f"the cluster is closed {at()}")
            bundle = self._free_bundles.pop() if self._free_bundles else self._reserve(1, placement.PACK)[0]
            (task,) = make_tasks([TaskName("worker", len(self._worker_hosts))], [bundle])
            try:
                if self._local and task.host != self._here:
                    raise RuntimeError(
                        f"{task.name} was placed on {task.host}, but all others are on {self._here} and listen there only {at()}"
                    )
                self._set_address(task)
                self._worker_hosts.append(task.address)
                with self._changed:
                    others = [other for other in self._tasks.values() if other.name.job != "worker"]
                self._launch([task], spec_of([*others, task]))
            except BaseException:
                self._drop(task)
                raise
            return task.name.index

    def remove_worker(self, index: int) -> None:
        """Ends a worker: SIGTERM, and SIGKILL three seconds later.  Its number is not used again."""
        with self._membership:
            task = self._tasks.get(TaskName("worker", index))
            if task is None:
                there = [name.index for name in self._tasks if name.job == "worker"]
                raise ValueError(f"there is no worker {index}; the workers are {there} {at()}")
            self._stop([task])
            self._drop(task)

    def close(self) -> None:
        """Ends all tasks: SIGTERM, and SIGKILL three seconds later.  An interrupt meanwhile kills them immediately."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._watch is not None:
                self._stop(list(self._tasks.values()))
        finally:
            watch, self._watch = self._watch, None
            if watch is not None:
                watch.join()
            for task in self._tasks.values():
                ray.kill(task.actor)
            for group in self._groups:
                placement.release(group)
            forget_key(self._key)
            if self._opened_ray:
                engine.close_ray()

    # ---- starting

    def _say(self, text: str) -> None:
        if self._script is not None:  # the command's; a program that asks for a cluster hears nothing
            self._output.say(text)

    def _start(self) -> None:
        options = self._options
        servers, workers = options.names()
        self._say(f"starting {_counted(len(servers), 'parameter server')} and {_counted(len(workers), 'worker')}")
        if options.wait is None:
            resources = [options.ps_resources] * len(servers) + [options.worker_resources] * len(workers)
            placement.check_room(resources)
        worker_bundles = self._reserve(len(workers), placement.PACK)  # first, as they are the larger
        server_bundles = self._reserve(len(servers), placement.SPREAD) if servers else []
        tasks = make_tasks([*servers, *workers], [*server_bundles, *worker_bundles])
        self._local = all(task.host == self._here for task in tasks)
        for task in tasks:
            self._set_address(task)
        self._worker_hosts = [task.address for task in tasks if task.name.job == "worker"]
        self._launch(tasks, spec_of(tasks))
        self._say("running: " + ", ".join(f"{task.name} at {task.address}" for task in tasks))
        self._say(f"to watch it: headrace top {self.target}")

    def _reserve(self, count: int, strategy: str) -> list[placement.Bundle]:
        resources = self._options.ps_resources if strategy == placement.SPREAD else self._options.worker_resources
        seconds = placement.BUSY_SECONDS if self._options.wait is None else self._options.wait
        bundles = placement.reserve(resources, count, strategy, seconds)
        self._groups.append(bundles[0].group)
        return bundles

    def _set_address(self, task: RunningTask) -> None:
        """A cluster on one machine, this one, listens to nobody else."""
        if self._local:
            task.address = f"localhost:{task.address.rpartition(':')[2]}"

    def _launch(self, tasks: Sequence[RunningTask], spec: ClusterSpec) -> None:
        """Starts the programs of the tasks, and watches them."""
        with self._changed:
            self._tasks |= {task.name: task for task in tasks}
        for task in tasks:
            task.spec = spec
            task.restarts = Restarts(self._options.restarts, self._options.restart_window, monotonic())
        for task, problem in zip(tasks, answers(tasks, self._begin), strict=True):
            if problem:
                raise FileNotFoundError(f"{task.name} cannot start on {task.host}: {problem}")
        remember_key([task.address for task in tasks], self._key)
        if self._watch is None:
            self._watch = threading.Thread(target=self._watch_tasks, name="headrace-ray", daemon=True)
            self._watch.start()
        if self._script is None:
            self._await_servers(tasks)

    def _begin(self, task: RunningTask) -> Any:
        """Has the actor of a task start its program; what it will answer."""
        directory = None if self._script is None or engine.has_working_dir() else self._script.directory
        path = None if self._script is None else self._script.command[0]
        assert task.spec is not None
        environment = self._environment(task.name, task.spec)
        return task.actor.start.remote(self._arguments(task.name), environment, directory, path, _grace())

    def _environment(self, task: TaskName, spec: ClusterSpec) -> dict[str, str]:
        """What a task gets beside its node's environment: this process's settings, the key, its place in the cluster."""
        environment = {name: value for name, value in os.environ.items() if name.startswith("HEADRACE_")}
        environment.pop(KEY_FILE, None)
        if task.job == "ps":  # it is stopped when the workers have ended, and not before
            environment["HEADRACE_JOIN_SECONDS"] = FOR_EVER
        else:  # the job ends when they have
            environment.setdefault("HEADRACE_JOIN_SECONDS", JOIN_SECONDS)
        return environment | {KEY: self._key, "TF_CONFIG": tf_config(task, spec), "PYTHONUNBUFFERED": "1"}

    def _arguments(self, task: TaskName) -> list[str]:
        if self._script is None:
            return list(SERVE)
        servers = [t.address for t in self._tasks.values() if t.name.job == "ps"]
        return arguments_for(task, self._script.command, self._script.flags, servers, self._worker_hosts)

    def _await_servers(self, tasks: Sequence[RunningTask]) -> None:
        end = monotonic() + START_SECONDS
        with self._changed:
            while missing := [task for task in tasks if not task.ready]:
                for task in missing:
                    if task.ended is not None:
                        raise RuntimeError(f"{task.name} did not begin to serve; it {task.fate()}")
                if monotonic() > end:
                    names = ", ".join(str(task.name) for task in missing)
                    raise TimeoutError(f"these tasks did not begin to serve in {START_SECONDS:g} s: {names}")
                self._changed.wait(MOMENT)

    # ---- watching

    def _watch_tasks(self) -> None:
        reports: dict[Any, RunningTask] = {}
        while self._watch is not None:
            self._start_again()
            with self._changed:
                unwatched = [
                    t for t in self._tasks.values()
                    if t.ended is None and t.restart_at is None and t not in reports.values()
                ]  # fmt: skip
                if not unwatched and not reports:
                    self._changed.wait(MOMENT)
                    continue
            reports |= {task.actor.report.remote(REPORT_SECONDS): task for task in unwatched}
            for report in ray.wait(list(reports), timeout=MOMENT)[0]:
                self._take(reports.pop(report), *read_report(report))

    def _take(self, task: RunningTask, lines: Sequence[tuple[str, str]], ended: int | str | None) -> None:
        """Notes what an actor has told."""
        ready = False
        for stream, line in lines:
            if self._script is None and line == READY:
                ready = True
            else:
                self._output.show(str(task.name), stream, line)
        said = ""
        with self._changed:
            task.ready |= ready
            task.ended = ended
            if task.failed:
                said = self._settle(task)
            self._changed.notify_all()
        if ended is not None or not lines:
            self._output.flush(str(task.name))
        if said:
            self._output.say(said)

    def _settle(self, task: RunningTask) -> str:
        """Decides what happens after a task has failed, and says it.  The caller holds the lock."""
        assert task.restarts is not None
        at, word = task.restarts.next(task.ended, monotonic())
        said = f"{task.name} {task.fate()}; {word}"
        if at < float("inf") and self._failed is None:
            task.restart_at, task.ended, task.ready = at, None, False
            return said
        if self._failed is None:
            self._failed = task
            return said
        return f"{task.name} {task.fate()}"  # after the first one

    def _start_again(self) -> None:
        """Starts tasks whose time has come.  Their addresses stay: the actors have kept the ports."""
        now = monotonic()
        with self._changed:
            due = [
                t for t in self._tasks.values() if t.restart_at is not None and t.restart_at <= now and not t.stopping
            ]
        for task in due:
            try:
                (problem,) = answers([task], self._begin)
            except (RuntimeError, TimeoutError) as e:
                problem = str(e)
            with self._changed:
                assert task.restarts is not None
                task.restarts.begin(monotonic())
                task.restart_at = None
                if problem:
                    task.ended = f"cannot be started again: {problem}"
                    self._failed = self._failed or task
                    self._output.say(f"{task.name} {task.fate()}")
                self._changed.notify_all()

    # ---- ending

    def _stop(self, tasks: Sequence[RunningTask]) -> None:
        """Ends programs and waits for that, for a while; an interrupt kills them immediately."""
        with self._changed:
            for task in tasks:
                task.stopping = True
                if task.restart_at is not None:  # it has ended, and stays so
                    task.restart_at, task.ended = None, 0
        for task in tasks:
            task.actor.stop.remote()
        try:
            self._await_end(tasks)
        except KeyboardInterrupt:
            for task in tasks:
                task.actor.stop.remote(immediately=True)
            self._await_end(tasks)
            raise

    def _await_end(self, tasks: Sequence[RunningTask]) -> None:
        end = monotonic() + _grace() + KEEPER_SECONDS
        with self._changed:
            while any(task.ended is None for task in tasks) and monotonic() < end:
                self._changed.wait(MOMENT)

    def _drop(self, task: RunningTask) -> None:
        """Forgets a worker; what it has still running ends with its actor."""
        with self._changed:
            task.stopping = True
            self._tasks.pop(task.name, None)
            if self._failed is task:
                self._failed = None
        ray.kill(task.actor)
        self._free_bundles.append(task.bundle)


def _grace() -> float:
    """Seconds between SIGTERM and SIGKILL."""
    return leave_seconds() + END_SECONDS


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _key(own_machine: bool) -> str:
    """The key that the user has chosen for this process, or both if there are two; on a Ray of this process the user's key file.

    With the latter, other programs of the user on this machine reach the job without being told a key.  On a Ray of somebody else
    it is a new one.
    """
    if own_machine or os.environ.get(KEY) or os.environ.get(KEY_FILE):
        return "\n".join(key.secret.decode() for key in cluster_keys())
    return secrets.token_hex(32)
