"""Targets: what sessions can name, ``tf.Session(target)``.  The empty target is a worker of the session's own.

A server of this process offers its worker, and the way to the other tasks of its cluster.  A target of another process is reached
by the cluster's own module, which is imported when it is first needed.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.config import ConfigProto
from headrace.core.errors import UnimplementedError
from headrace.core.source import at
from headrace.runtime.host.worker import LocalWorker

SCHEME = "grpc://"
Connect = Callable[[ConfigProto], Any]  # to the other tasks of the cluster


@dataclass(frozen=True, slots=True)
class Offer:
    """A server of this process.  ``connect`` is None where the cluster has no other task."""

    worker: LocalWorker
    connect: Connect | None = None


_offers: dict[str, Offer] = {}
_lock = threading.Lock()


def offer(target: str, worker: LocalWorker, connect: Connect | None = None) -> None:
    """Makes the worker known under the name."""
    with _lock:
        if target in _offers:
            raise ValueError(f"{target!r} is the name of another worker")
        _offers[target] = Offer(worker, connect)


def withdraw(target: str) -> None:
    with _lock:
        _offers.pop(target, None)


def find(target: str) -> Offer | None:
    with _lock:
        return _offers.get(target)


def targets() -> list[str]:
    with _lock:
        return sorted(_offers)


def check_config(target: str, config: ConfigProto) -> None:
    """Raises if the configuration asks for another cluster than that of the target."""
    jobs = getattr(config.cluster_def, "job", config.cluster_def)
    if target and jobs:
        raise UnimplementedError(
            None, None,
            f"ConfigProto(cluster_def=...) is not supported: the cluster of {target} is the one its servers were made with, "
            f"tf.train.Server(cluster, ...). Received {config.cluster_def!r} {at()}",
        )  # fmt: skip


def connect_elsewhere(target: str, config: ConfigProto) -> Any:
    """The connection to the cluster of a server in another process."""
    importlib.import_module("headrace.cluster.transport").need_libraries()
    return importlib.import_module("headrace.cluster.connection").connect(target, config)


def reset_elsewhere(target: str, containers: Sequence[str], config: ConfigProto) -> None:
    """Empties containers on all tasks of a cluster of other processes."""
    connection = connect_elsewhere(target, config)
    try:
        connection.reset(containers)
    finally:
        connection.close()
