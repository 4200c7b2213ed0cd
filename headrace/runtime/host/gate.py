"""How many threads compute for a session at a time: ``ConfigProto(inter_op_parallelism_threads=...)``.

A strand runs on the thread that called ``run``, so a session with many callers computes on as many threads.  A gate lets so
many through and makes the others wait; what blocks (a queue, a Python function) waits outside it.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from time import monotonic

from headrace.core.errors import DeadlineExceededError
from headrace.core.source import at
from headrace.resources.stepping.step import current


class _Passed(threading.local):
    depth = 0


class Gate:
    """A context manager; a thread that is inside may enter again."""

    def __init__(self, width: int) -> None:
        self._width = width
        # One token for each place.  Python's semaphore takes ten times as long.
        self._places: SimpleQueue[None] = SimpleQueue()
        for _ in range(width):
            self._places.put(None)
        self._passed = _Passed()

    @property
    def passed(self) -> bool:
        """Whether this thread is inside."""
        return self._passed.depth > 0

    def __enter__(self) -> None:
        passed = self._passed
        if not passed.depth:
            until = current.until
            left = None if until is None else max(until - monotonic(), 0.0)
            try:
                self._places.get(True, left)
            except Empty:
                raise DeadlineExceededError(
                    None, None,
                    "Timed out waiting for notification: the step ran out of time (RunOptions.timeout_in_ms) waiting for the "
                    f"steps of other threads: this session computes on {self._width} at a time, as "
                    f"ConfigProto.inter_op_parallelism_threads says {at()}",
                ) from None  # fmt: skip
        passed.depth += 1

    def __exit__(self, *error: object) -> None:
        passed = self._passed
        passed.depth -= 1
        if not passed.depth:
            self._places.put(None)
