"""The moment by which the step running in this thread must be done, for kernels that may run for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class _Deadline(threading.local):
    def __init__(self) -> None:
        self.at: float | None = None  # on the clock of time.monotonic; None: whenever


current = _Deadline()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Kernels run inside give up ``seconds`` from now."""
    old = current.at
    current.at = time.monotonic() + seconds
    try:
        yield
    finally:
        current.at = old


def expired(at: float) -> bool:
    return time.monotonic() > at
