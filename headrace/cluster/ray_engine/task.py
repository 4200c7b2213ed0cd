"""RunningTask: a task with its actor and what is known of its program."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ray
from ray.exceptions import GetTimeoutError, RayError

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.ray_engine import actor, placement
from headrace.cluster.ray_engine.program import TaskName
from headrace.cluster.ray_engine.restart import Restarts

START_SECONDS: Final = 120.0  # for actors, and for servers to answer
REPORT_SECONDS: Final = 5.0  # that an actor waits for news
_METHODS_TOGETHER: Final = 4  # a report waits while the task is stopped


@dataclass(slots=True, eq=False)
class RunningTask:
    """``ended``: the exit code of the program, negative for a signal, or in words why there is none; None while it runs."""

    name: TaskName
    actor: Any
    bundle: placement.Bundle
    host: str = ""
    address: str = ""
    ready: bool = False
    stopping: bool = False
    ended: int | str | None = None
    spec: ClusterSpec | None = None  # what it is told of the cluster
    restarts: Restarts | None = None
    restart_at: float | None = None  # when it will be started again; until then it has not ended

    @property
    def failed(self) -> bool:
        """Whether it ended badly without being told to end."""
        return self.ended not in (None, 0) and not self.stopping

    @property
    def exit_code(self) -> int:
        """The exit code that a shell would show: 128 and the number of a signal that killed the program; 1 for a lost task."""
        if isinstance(self.ended, int):
            return self.ended if self.ended >= 0 else 128 - self.ended
        return 1

    def fate(self) -> str:
        """How it ended, in words that go after its name."""
        if isinstance(self.ended, int):
            code = self.ended
            return f"ended with code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
        return str(self.ended)


def make_tasks(names: Sequence[TaskName], bundles: Sequence[placement.Bundle]) -> list[RunningTask]:
    """An actor for each task in its bundle; their hosts and addresses are known when this returns."""
    # Ray pickles the classes of actors, whatever one does; by value, the actor's process imports neither Headrace nor torch.
    ray.cloudpickle.register_pickle_by_value(actor)
    make_actor = ray.remote(actor.TaskActor).options
    tasks = [
        RunningTask(name, make_actor(max_concurrency=_METHODS_TOGETHER, **placement.in_bundle(bundle)).remote(), bundle)
        for name, bundle in zip(names, bundles, strict=True)
    ]
    for task, (host, port) in zip(tasks, answers(tasks, lambda task: task.actor.place.remote()), strict=True):
        task.host, task.address = host, f"{host}:{port}"
    return tasks


def answers(tasks: Sequence[RunningTask], call: Callable[[RunningTask], Any]) -> list[Any]:
    """What the actors answer to a call each."""
    results = []
    for task, answer in [(task, call(task)) for task in tasks]:
        try:
            results.append(ray.get(answer, timeout=START_SECONDS))
        except GetTimeoutError:
            raise TimeoutError(f"the actor of {task.name} did not begin in {START_SECONDS:g} s") from None
        except RayError as e:
            raise RuntimeError(f"the actor of {task.name} is lost: {_first_line(e)}") from None
    return results


def read_report(report: Any) -> tuple[list[tuple[str, str]], int | str | None]:
    """The lines and the end that an actor has told; the actor may be lost."""
    try:
        lines, ended = ray.get(report)
    except RayError as e:
        return [], f"is lost: its actor or its node has gone ({_first_line(e)})"
    return lines, ended


def spec_of(tasks: Iterable[RunningTask]) -> ClusterSpec:
    """The cluster of these tasks."""
    jobs: dict[str, dict[int, str]] = {}
    for task in tasks:
        jobs.setdefault(task.name.job, {})[task.name.index] = task.address
    return ClusterSpec(jobs)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
