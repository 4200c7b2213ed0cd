"""How many threads a step's kernels use: one for small work, several where measuring shows that they help.

Kernels that split their work wait for one another at every barrier; on cores shared with other processes that wait can cost
far more than the split gains.  So each request tries one thread and all threads in turn, keeps the faster (one, if more hardly
help), and looks again from time to time, because the machine's load changes.  Steps that run at the same time share the cores
between them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import torch

from headrace.core import process

SMALL: Final = 3e-4  # seconds: a step this short never gains from a second thread
GAIN: Final = 0.95  # of the time on one thread: a smaller gain is lost again as soon as another process wants a core
TRIALS: Final = 4  # runs of each choice before deciding
AGAIN: Final = 20.0  # seconds of running after which to look again


def default_threads(sharing: int = 1) -> int:
    """``HEADRACE_THREADS``, or the share of one of so many processes of the cores this process may use: at least one."""
    setting = os.environ.get("HEADRACE_THREADS")
    if setting is not None:
        if not setting.isdigit() or int(setting) < 1:
            raise ValueError(f"HEADRACE_THREADS must be a positive integer, got {setting!r}")
        return int(setting)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // sharing)


def divide_threads(budgets: Sequence[int], threads: int) -> list[int]:
    """How many threads each CPU of a step has.  A budget of 0 stands for a fair share of what the others leave, at least 1.

    >>> divide_threads([0, 0], 3), divide_threads([1, 0, 0], 9), divide_threads([4, 0], 4)
    ([2, 1], [1, 4, 4], [4, 1])
    """
    sharing = sum(not b for b in budgets)
    if not sharing:
        return list(budgets)
    share, more = divmod(max(threads - sum(budgets), sharing), sharing)
    shares = iter([share + (i < more) for i in range(sharing)])
    return [b or next(shares) for b in budgets]


class ThreadChoice:
    """The choice for one plan: a machine without clock or threads of its own.  Races only cost a worse guess."""

    __slots__ = ("_best", "_fixed", "_left", "_limit", "_skip", "_spent", "_turn", "cores", "settled")

    def __init__(self, limit: int, fixed: bool = False, cores: int = 0) -> None:
        """``fixed``: always ``limit``, because sums come out differently in other splits.

        ``cores``: what the session's concurrent steps share; 0: ``limit``.
        """
        self.cores = max(cores, limit)
        self._limit = limit
        self._fixed = fixed
        self.settled = limit == 1  # on one thread, for good
        self._turn = 0
        self._skip = 2  # first runs: caches are cold, plans are made
        self._best = {1: float("inf"), limit: float("inf")}
        self._left = 0 if limit == 1 else 2 * TRIALS
        self._spent = 0.0

    @property
    def limit(self) -> int:
        """The most threads that a run may be given; fewer once the work has proved small."""
        return self._limit

    def pick(self) -> int:
        """The number of threads for the next run."""
        if self._limit == 1 or self._fixed:
            return self._limit
        if self._left:
            return 1 if self._turn else self._limit
        return self._limit if self._best[self._limit] < GAIN * self._best[1] else 1

    def note(self, threads: int, seconds: float) -> None:
        """Notes how long a run took."""
        if self._limit == 1 or self._fixed:
            return
        if self._left:
            if self._skip:
                self._skip -= 1
                return
            if threads in self._best:
                self._best[threads] = min(self._best[threads], seconds)
            self._turn ^= 1
            self._left -= 1
            if not self._left and self._best[1] < SMALL:
                self._limit = 1
                self.settled = True
            return
        self._spent += seconds
        if self._spent > AGAIN:
            self._spent, self._left = 0.0, 2 * TRIALS
            self._best = {1: float("inf"), self._limit: float("inf")}


class _Current(threading.local):
    threads = 0


_current = _Current()
_asked = [0]  # by the runs under way
_lock = threading.Lock()


def one_thread() -> None:
    """Runs the kernels of this OS thread on one core, without taking a share of the cores."""
    if _current.threads != 1:
        process.set_threads(torch, 1)
        _current.threads = 1


@contextmanager
def having_threads(threads: int) -> Iterator[None]:
    """Sets the thread count of this OS thread for a while.  Torch gives a new OS thread the count that was set last."""
    before = torch.get_num_threads()
    process.set_threads(torch, threads)
    try:
        yield
    finally:
        process.set_threads(torch, before)


class use_threads:  # noqa: N801 - used as a function in a with statement
    """Sets the thread count of this OS thread's kernels for one run.

    A run gets the threads that it asks for as long as all runs together ask for no more than there are ``cores``; beyond that,
    as large a part of the cores as its part of what is asked for.
    """

    __slots__ = ("cores", "threads")

    def __init__(self, threads: int, cores: int = 0) -> None:
        self.threads = threads
        self.cores = max(cores, threads)

    def __enter__(self) -> int:
        with _lock:
            _asked[0] += self.threads
            asked = _asked[0]
        threads = self.threads if asked <= self.cores else max(1, self.threads * self.cores // asked)
        if _current.threads != threads:
            process.set_threads(torch, threads)
            _current.threads = threads
        return threads

    def __exit__(self, *error: object) -> None:
        with _lock:
            _asked[0] -= self.threads
