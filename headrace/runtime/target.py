"""Targets: the workers that sessions can name, ``tf.Session(target)``.  The empty target is a worker of the session's own."""

from __future__ import annotations

import threading

from headrace.runtime.worker import LocalWorker

_workers: dict[str, LocalWorker] = {}
_lock = threading.Lock()


def offer(target: str, worker: LocalWorker) -> None:
    """Makes the worker known under the name."""
    with _lock:
        if target in _workers:
            raise ValueError(f"{target!r} is the name of another worker")
        _workers[target] = worker


def withdraw(target: str) -> None:
    with _lock:
        _workers.pop(target, None)


def find(target: str) -> LocalWorker | None:
    with _lock:
        return _workers.get(target)


def targets() -> list[str]:
    with _lock:
        return sorted(_workers)
