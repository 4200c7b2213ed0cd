"""A cluster whose servers are in this process and speak over sockets, and what travels between its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint


class LocalCluster:
    """Parameter servers, workers and data tasks."""

    def __init__(self, ps: int, workers: int, data: int = 0) -> None:
        addresses = free_addresses(ps + workers + data)
        jobs = {"ps": addresses[:ps], "worker": addresses[ps : ps + workers], "data": addresses[ps + workers :]}
        self.spec = tf.train.ClusterSpec({job: tasks for job, tasks in jobs.items() if tasks})
        self._servers = {
            (job, index): self._started(job, index) for job in self.spec.jobs for index in self.spec.task_indices(job)
        }

    def _started(self, job: str, index: int) -> tf.train.Server:
        return tf.train.Server(self.spec, job, index, config=tf.ConfigProto(compile="off"))

    def restart(self, job: str, index: int) -> None:
        """Ends a task, and starts it again.  To others it is as if it had been killed: its connections end first."""
        server = self._servers[job, index]
        server._service.endpoint.close()
        server._stop()
        self._servers[job, index] = self._started(job, index)

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
def local_cluster(ps: int, workers: int, data: int = 0) -> Iterator[LocalCluster]:
    """A cluster that ends with the block."""
    cluster = LocalCluster(ps, workers, data)
    try:
        yield cluster
    finally:
        cluster.stop()
        close_client_endpoint()
