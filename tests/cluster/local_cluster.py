"""A cluster whose servers are in this process and speak over sockets, and what travels between its tasks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import headrace as tf
from headrace.cluster.connection import close_client_endpoint


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class LocalCluster:
    """Parameter servers and workers."""

    def __init__(self, ps: int, workers: int) -> None:
        ports = [f"localhost:{port}" for port in free_ports(ps + workers)]
        self.spec = tf.train.ClusterSpec({"ps": ports[:ps], "worker": ports[ps:]})
        config = tf.ConfigProto(compile="off")
        self._servers = {
            (job, index): tf.train.Server(self.spec, job, index, config=config)
            for job in self.spec.jobs
            for index in self.spec.task_indices(job)
        }

    def target(self, job: str, index: int) -> str:
        """What a session on the task names."""
        return self._servers[job, index].target

    def bytes_between(self, sender: tuple[str, int], receiver: tuple[str, int]) -> int:
        """What one task has sent another so far: payloads and tensors."""
        sent = self._servers[sender]._service.endpoint.links().get(self.spec.task_address(*receiver))
        received = self._servers[receiver]._service.endpoint.links().get(self.spec.task_address(*sender))
        return (sent.sent_bytes if sent else 0) + (received.received_bytes if received else 0)

    def stop(self) -> None:
        for server in self._servers.values():
            server._stop()


@contextmanager
def local_cluster(ps: int, workers: int) -> Iterator[LocalCluster]:
    """A cluster that ends with the block."""
    cluster = LocalCluster(ps, workers)
    try:
        yield cluster
    finally:
        cluster.stop()
        close_client_endpoint()
