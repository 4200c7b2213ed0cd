"""A cluster whose servers are in this process and speak over sockets, and what travels between its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint


class LocalCluster:
    """Parameter servers and workers."""

    def __init__(self, ps: int, workers: int) -> None:
        addresses = free_addresses(ps + workers)
        self.spec = tf.train.ClusterSpec({"ps": addresses[:ps], "worker": addresses[ps:]})
        config = tf.ConfigProto(compile="off")
        self._servers = {
            (job, index): tf.train.Server(self.spec, job, index, config=config)
            for job in self.spec.jobs
            for index in self.spec.task_indices(job)
        }

    def server(self, job: str, index: int) -> tf.train.Server:
        return self._servers[job, index]

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
