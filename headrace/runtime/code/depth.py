"""Room for functions that call themselves: while one runs, Python's recursion limit is higher.

A level of recursion is three calls of Python (the function, the conditional, the branch): the usual thousand are soon used up.
Each takes some 300 bytes of the thread's stack; the new limit leaves most of the stack free.
"""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from headrace.core import errors, process

_BYTES = 800  # of stack for each call
_UNLIMITED = 2**21  # what threads get where the stack has no limit


def _frames() -> int:
    size = threading.stack_size()  # asking for it also resets it
    threading.stack_size(size)
    size = size or resource.getrlimit(resource.RLIMIT_STACK)[0]
    return max(1000, min(10_000, (size if size > 0 else _UNLIMITED) // _BYTES))


class _Room:
    """Raises the limit while any thread is inside.  Thread-safe; a limit that is higher already is left alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._usual = 0
        self.frames = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._usual = sys.getrecursionlimit()
                self.frames = max(self._usual, _frames())
                process.set_recursion_limit(self.frames)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and sys.getrecursionlimit() == self.frames:  # else the program has set another limit
                process.set_recursion_limit(self._usual)


_room = _Room()


def deep(body: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function of a recursive body for callers outside it; ``name`` says which function it is and where it is defined."""

    def call(*arguments: Any) -> Any:
        with _room:
            try:
                return body(*arguments)
            except RecursionError as e:
                calls = _calls(e.__traceback__, body)
        raise errors.ResourceExhaustedError(
            None, None,
            f"{name} called itself {calls} times without coming to an end, and there is no room for more ({_room.frames} calls "
            "of Python). Its base case must be reached earlier; what repeats more often than that is a tf.while_loop",
        )  # fmt: skip

    return call


def _calls(traceback: TracebackType | None, body: Callable[..., Any]) -> int:
    calls = 0
    while traceback is not None:
        calls += traceback.tb_frame.f_code is body.__code__
        traceback = traceback.tb_next
    return calls
