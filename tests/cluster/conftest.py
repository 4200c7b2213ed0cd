"""Servers that end with their test: their state would otherwise live until the process ends."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace as tf


@pytest.fixture
def make_server() -> Iterator[Callable[..., tf.train.Server]]:
    """Makes a server from the arguments of ``tf.train.Server``, a local one without any."""
    servers = []

    def make(*args: Any, **keywords: Any) -> tf.train.Server:
        make_one = tf.train.Server if args else tf.train.Server.create_local_server
        servers.append(make_one(*args, **keywords))
        return servers[-1]

    yield make
    for server in servers:
        server._stop()


@pytest.fixture
def server(make_server: Callable[..., tf.train.Server]) -> tf.train.Server:
    """A local server."""
    return make_server()
