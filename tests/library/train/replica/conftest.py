"""A server with a device for each replica: what a replica keeps for itself is on its own device."""

from collections.abc import Callable, Iterator

import pytest

import headrace as tf
from headrace.runtime.session import target


@pytest.fixture
def make_server() -> Iterator[Callable[[int], tf.train.Server]]:
    """Makes a server for a number of replicas; it ends with the test."""
    servers = []

    def make(replicas: int) -> tf.train.Server:
        config = tf.ConfigProto(device_count={"CPU": 1 + replicas})
        servers.append(tf.train.Server.create_local_server(config))
        return servers[-1]

    yield make
    for server in servers:
        target.withdraw(server.target)
        server._worker.close()
