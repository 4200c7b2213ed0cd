"""tf.test.create_local_cluster: the servers of a cluster in this process."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.server import Server
from headrace.core.source import at


def create_local_cluster(
    num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: Any = None, ps_config: Any = None
) -> tuple[list[Server], list[Server]]:
    """Starts the servers of a cluster in this process, on free ports of this machine.

    Args:
      num_workers: How many workers there are.
      num_ps: How many parameter servers there are.
      protocol: "grpc", the only one.
      worker_config: A `tf.ConfigProto` for the workers; None for the default.
      ps_config: A `tf.ConfigProto` for the parameter servers; None for the default.

    Returns:
      The list of the workers' servers and the list of the parameter servers'; they live as long as the process.

    Example: ``workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=1)``
    """
    for name, count in (("num_workers", num_workers), ("num_ps", num_ps)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"{name} must be a number of servers, got {count!r} {at()}")
    addresses = [f"localhost:{port}" for port in _free_ports(num_workers + num_ps)]
    jobs = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    cluster = ClusterSpec({job: tasks for job, tasks in jobs.items() if tasks})
    workers = [Server(cluster, "worker", i, protocol, worker_config) for i in range(num_workers)]
    return workers, [Server(cluster, "ps", i, protocol, ps_config) for i in range(num_ps)]


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has, each another one: all are held until the last is chosen."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]
