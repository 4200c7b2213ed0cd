"""What the nodes of observed steps gave, until their step hands it to the client."""

from __future__ import annotations

import threading
from typing import Any

_kept: dict[str, tuple[str, list[tuple[Any, ...]]]] = {}  # by request: the run, and what it gave so far
_lock = threading.Lock()


def keep(key: str, row: tuple[Any, ...]) -> None:
    """Keeps a row of a run.  ``key``: the request and the run; what an earlier run of the request has left is dropped."""
    request, _, run = key.rpartition("/")
    with _lock:
        before, rows = _kept.get(request, ("", []))
        if before != run:
            _kept[request] = run, (rows := [])
        rows.append(row)


def take(key: str) -> list[tuple[Any, ...]]:
    """The rows of a run, which are kept no longer."""
    request, _, run = key.rpartition("/")
    with _lock:
        before, rows = _kept.get(request, ("", []))
        if before != run:
            return []
        del _kept[request]
        return rows
