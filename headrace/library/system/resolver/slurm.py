"""``SlurmClusterResolver``: the tasks of a Slurm job step, from the variables that ``srun`` sets."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.core.source import at
from headrace.library.system.resolver.resolver import ClusterResolver

_HOSTS = re.compile(r"([^,\[\]]+)(?:\[([^\[\]]+)\])?(?:,|$)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?$")
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?$")
_MOST_HOSTS = 1_000_000


class SlurmClusterResolver(ClusterResolver):
    """Makes a cluster of the tasks of a Slurm job step, each on a port of its own, and shares the GPUs of a node among them.

    Tasks are put on nodes in the order of the nodes' names, and jobs get them in the order of the jobs' names.  ``cluster_spec``
    finds out which task this process is, and shows it only its own GPUs by ``CUDA_VISIBLE_DEVICES``.

    Args:
      jobs: A dict from jobs to numbers of tasks; None for all tasks in a job "worker".
      port_base: The port of the first task of each node.
      gpus_per_node: How many GPUs each node has; None for what ``CUDA_VISIBLE_DEVICES`` or ``nvidia-smi`` shows here.
      gpus_per_task: How many GPUs each task gets; None for an equal share.
      tasks_per_node: How many tasks run on each node: a number, or a dict from hosts to numbers; None for what Slurm says.
      auto_set_gpu: Whether ``cluster_spec`` sets ``CUDA_VISIBLE_DEVICES``.
      rpc_layer: The protocol that goes before addresses.

    >>> import os
    >>> os.environ.update(SLURM_PROCID="1", SLURM_STEP_NODELIST="n[1-2]")
    >>> resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
    ...     {"ps": 1, "worker": 1}, gpus_per_node=0, gpus_per_task=0, tasks_per_node=1, auto_set_gpu=False)
    >>> print(resolver.cluster_spec(), resolver.get_task_info())
    ClusterSpec({'ps': ['n1:8888'], 'worker': ['n2:8888']}) ('worker', 0)
    >>> del os.environ["SLURM_PROCID"], os.environ["SLURM_STEP_NODELIST"]
    """

    def __init__(
        self, jobs: Mapping[str, int] | None, port_base: int = 8888, gpus_per_node: int | None = 1,
        gpus_per_task: int | None = 1, tasks_per_node: Any = None, auto_set_gpu: bool = True, rpc_layer: str = "grpc",
    ) -> None:  # fmt: skip
        self._rank = int(_variable("PROCID"))
        self._jobs = {"worker": int(_variable("STEP_NUM_TASKS"))} if jobs is None else dict(jobs)
        self._hosts = _tasks_of_hosts(tasks_per_node)
        self._port_base, self._auto_set_gpu, self.rpc_layer = port_base, auto_set_gpu, rpc_layer
        most = max(self._hosts.values(), default=0)
        self._gpus_per_node = _visible_gpus() if gpus_per_node is None else gpus_per_node
        self._gpus_per_task = self._gpus_per_node // max(most, 1) if gpus_per_task is None else gpus_per_task
        if most * self._gpus_per_task > self._gpus_per_node:
            raise RuntimeError(
                f"Requested more GPUs per node than available: {most} tasks with {self._gpus_per_task} each, of "
                f"{self._gpus_per_node} {at()}"
            )
        asked, assigned = sum(self._jobs.values()), sum(self._hosts.values())
        if asked != assigned:
            raise RuntimeError(f"Requested {asked} tasks ({self._jobs}) but {assigned} were assigned {at()}")
        if not 0 <= self._rank < assigned:
            raise RuntimeError(f"SLURM_PROCID is {self._rank}, but there are {assigned} tasks {at()}")

    def cluster_spec(self) -> ClusterSpec:
        """The jobs and their tasks; also finds out which of them this process is."""
        tasks = [(host, i) for host, count in sorted(self._hosts.items()) for i in range(count)]
        cluster: dict[str, list[str]] = {}
        begin = 0
        for job, count in sorted(self._jobs.items()):
            own = tasks[begin : begin + count]
            cluster[job] = [f"{host}:{self._port_base + i}" for host, i in own]
            if begin <= self._rank < begin + count:
                self.task_type, self.task_id = job, self._rank - begin
            begin += count
        if self._auto_set_gpu:
            first = tasks[self._rank][1] * self._gpus_per_task
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(first, first + self._gpus_per_task)))
        return ClusterSpec(cluster)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """The job of this process and its number there, which ``cluster_spec`` finds out: before, both are None."""
        return self.task_type, self.task_id

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of the task, or of this process; "" before ``cluster_spec`` is asked."""
        return self._master_of(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """The GPUs of a task, the same for each."""
        return {"GPU": self._gpus_per_task}


def _variable(name: str) -> str:
    try:
        return os.environ[f"SLURM_{name}"]
    except KeyError:
        raise RuntimeError(f"SLURM_{name} is not set. Does the program run in a Slurm step, by srun? {at()}") from None


def _tasks_of_hosts(tasks_per_node: Any) -> dict[str, int]:
    """How many tasks run on each host."""
    if isinstance(tasks_per_node, Mapping):
        return {str(host): int(count) for host, count in tasks_per_node.items()}
    hosts = expanded_hosts(_variable("STEP_NODELIST"))
    if tasks_per_node is not None:
        return dict.fromkeys(hosts, int(tasks_per_node))
    counts = expanded_counts(_variable("STEP_TASKS_PER_NODE"))
    if len(counts) != len(hosts):
        raise RuntimeError(f"Slurm names {len(hosts)} nodes and the tasks of {len(counts)}: {hosts}, {counts} {at()}")
    return dict(zip(hosts, counts, strict=True))


def expanded_hosts(text: str) -> list[str]:
    """Slurm's short form of a list of hosts, written out: ``n[1-2],m5`` is n1, n2 and m5."""
    hosts: list[str] = []
    position = 0
    while position < len(text):
        match = _HOSTS.match(text, position)
        if match is None:
            raise ValueError(f"Invalid list of hosts {text!r}: expected names such as n[1-3,7],m5 {at()}")
        position = match.end()
        hosts += [match[1]] if match[2] is None else [match[1] + number for number in _numbers(match[2], text)]
        if len(hosts) > _MOST_HOSTS:
            raise ValueError(f"Invalid list of hosts {text!r}: more than {_MOST_HOSTS} {at()}")
    return hosts


def _numbers(ranges: str, text: str) -> Iterator[str]:
    """The numbers of ``1-3,07``, with the zeros that they begin with."""
    for part in ranges.split(","):
        match = _RANGE.match(part)
        if match is None or int(match[2] or match[1]) - int(match[1]) > _MOST_HOSTS:
            raise ValueError(f"Invalid list of hosts {text!r}: {part!r} is no number or range {at()}")
        for number in range(int(match[1]), int(match[2] or match[1]) + 1):
            yield str(number).zfill(len(match[1]))


def expanded_counts(text: str) -> list[int]:
    """Slurm's short form of a list of counts, written out: ``3(x2),1`` is 3, 3 and 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.match(part)
        if match is None or int(match[2] or 1) > _MOST_HOSTS:
            raise ValueError(f"Invalid list of tasks per node {text!r}: {part!r} is not of the form 3 or 3(x2) {at()}")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _visible_gpus() -> int:
    """How many GPUs this process may use."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is not None:
        return len([one for one in shown.split(",") if one])
    try:
        answer = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        raise RuntimeError(f"cannot count the GPUs of this node: {e}. Pass gpus_per_node {at()}") from None
    return sum(line.startswith("GPU ") for line in answer.splitlines())
