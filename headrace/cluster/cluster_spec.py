"""ClusterSpec: the jobs of a cluster and the addresses of their tasks.  A description only: it starts and reaches nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.server_def import ClusterDef, JobDef
from headrace.core.source import at

Tasks = dict[int, str]


class ClusterSpec:
    """The tasks of a cluster by job: ``{"ps": ["host0:2222"], "worker": ["host1:2222", "host2:2222"]}``.

    The tasks of a job are a list of addresses, or a dictionary from their numbers if only some are to be named.  Also made
    from a ``ClusterDef`` or another ``ClusterSpec``.  Not changed after it is made.

    Args:
      cluster: A dict from jobs to lists of addresses or to dicts from numbers of tasks; a ClusterDef, or a `ClusterSpec`.

    >>> cluster = tf.train.ClusterSpec({"ps": ["host0:2222"], "worker": {1: "host2:2222"}})
    >>> print(cluster.jobs, cluster.num_tasks("worker"), cluster.task_address("worker", 1))
    ['ps', 'worker'] 1 host2:2222
    """

    def __init__(self, cluster: Any) -> None:
        self._jobs = _jobs(cluster)

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is a spec, or a dictionary of dictionaries, with the same tasks."""
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = self.as_dict()
        return f"ClusterSpec({{{', '.join(f'{job!r}: {jobs[job]!r}' for job in sorted(jobs))}}})"

    def as_dict(self) -> dict[str, list[str] | Tasks]:
        """The addresses by job: a list if the tasks are numbered from 0 without gaps, else a dictionary."""
        return {
            job: [tasks[i] for i in range(len(tasks))] if tasks and tasks.keys() == set(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }  # fmt: skip

    def as_cluster_def(self) -> ClusterDef:
        """The cluster as a message, with jobs and tasks in order."""
        jobs = sorted(self._jobs.items())
        return ClusterDef(job=[JobDef(name=job, tasks=dict(sorted(tasks.items()))) for job, tasks in jobs])

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks of the job are named."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of the job's tasks, in order."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The network address of one task."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(
                f"No task with index {task_index!r} in job {job_name!r}; its tasks are {sorted(tasks)} {at()}"
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of the job's tasks, each in the place of its number; None for those that are not named."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> Tasks:
        tasks = self._jobs.get(name)
        if tasks is None:
            raise ValueError(f"No such job in cluster: {name!r}; the jobs are {self.jobs} {at()}")
        return tasks


def _jobs(cluster: Any) -> dict[str, Tasks]:
    if isinstance(cluster, ClusterSpec):
        return {job: dict(tasks) for job, tasks in cluster._jobs.items()}
    if isinstance(cluster, ClusterDef):
        return {job.name: dict(job.tasks) for job in cluster.job}
    if isinstance(cluster, dict):
        return {_text(job, "Job name"): _tasks(job, tasks) for job, tasks in cluster.items()}
    raise TypeError(
        "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
        f"`ClusterDef` protocol buffer; received {cluster!r} {at()}"
    )


def _tasks(job: Any, tasks: Any) -> Tasks:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    elif not isinstance(tasks, Mapping):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings; received {tasks!r} {at()}"
        )
    return {_index(job, i): _text(address, "Task address") for i, address in tasks.items()}


def _index(job: Any, index: Any) -> int:
    try:
        number = int(index)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise ValueError(f"A task of job {job!r} must have a number from 0; received {index!r} {at()}")
    return number


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode {at()}")
    return value
