"""Clusters: their description, the servers that sessions name as their target, their start on Ray, tasks that move."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cluster import ray_engine
from headrace.cluster.transport import need_libraries
from headrace.core.source import at

if TYPE_CHECKING:
    from headrace.cluster.ray_engine.cluster import RayCluster


def ray(
    ps: int = 0,
    workers: int = 1,
    program: Sequence[str] | None = None,
    *,
    chief: bool = False,
    gpus_per_worker: float = 0,
    cpus_per_worker: float = 1,
    cpus_per_ps: float = 1,
    address: str | None = None,
    working_dir: str | None = None,
    flags: bool | None = None,
    wait: float | None = None,
    restarts: int = 3,
    restart_window: float = 600.0,
) -> RayCluster:
    """Starts a cluster on Ray: ``with headrace.cluster.ray(ps=2, workers=4) as c: tf.Session(c.target)``.

    Args:
        ps, workers: How many of each.  Parameter servers are spread over the nodes, workers are kept near each other.
        program: A script and its arguments, which every task runs with ``TF_CONFIG`` set.  None: tasks only serve sessions.
        chief: Whether the first worker is the job "chief", as ``tf.estimator`` wants it.
        gpus_per_worker, cpus_per_worker, cpus_per_ps: What Ray keeps for each task.
        address: Of a Ray cluster, or "auto" for that of this machine.  None: RAY_ADDRESS, or a Ray of this process's own.
        working_dir: A folder that Ray brings to every node; the program runs in it.  None: the present one, on every node.
        flags: Whether the program gets the flags ``--job_name``, ``--task_index``, ``--ps_hosts`` and ``--worker_hosts``.  None:
            those that it defines.
        wait: Seconds to wait for room.  None: a minute, and not at all if the cluster is too small.
        restarts, restart_window: How often a task that fails is started again, at its address, within so many seconds.
    """
    try:
        return ray_engine.start(
            ps=ps, workers=workers, program=program, chief=chief, gpus_per_worker=gpus_per_worker,
            cpus_per_worker=cpus_per_worker, cpus_per_ps=cpus_per_ps, address=address, working_dir=working_dir,
            flags=flags, wait=wait, restarts=restarts, restart_window=restart_window,
        )  # fmt: skip
    except (FileNotFoundError, ValueError) as e:
        raise type(e)(f"{e} {at()}") from None


def move(target: str, task: str, to: str, *, port: int = 0, wait_secs: float = 60.0) -> str:
    """Moves a task of a running cluster, with all its state, to another process; returns the task's new address.

    Args:
        target: "grpc://host:port" of any task of the cluster.
        task: "ps:2" or "/job:ps/task:2".
        to: "host:port" of a server that is to have the task too, as all tasks of the cluster reach it: another one of the job, or
            one that has no task yet (``headrace serve``).
        port: Where the task is to listen on that host; 0: any port that is free.
        wait_secs: How long to wait until steps that are under way have ended.
    """
    need_libraries()
    address: str = importlib.import_module("headrace.cluster.moving").move_task(target, task, to, port, wait_secs)
    return address
