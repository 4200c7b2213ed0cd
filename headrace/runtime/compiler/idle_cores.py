"""How many of the cores that this process may use have been idle.

Linux only; elsewhere, and where the counters cannot be read, none is taken to be idle.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

SHORTEST: Final = 0.5  # seconds: the counters have steps of 10 ms
_COUNTERS: Final = Path("/proc/stat")
_GROUP: Final = Path("/sys/fs/cgroup")  # of a container: its limit, and what it has used


class IdleCores:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._idle = _idle_seconds()
        self._used = _group_seconds()

    def average(self) -> float:
        """The idle cores on average; 0 until that can be told.

        Where the process is limited to a share of the machine: what is left of that, if less.
        """
        elapsed = time.monotonic() - self._began
        if elapsed < SHORTEST:
            return 0.0
        idle = (_idle_seconds() - self._idle) / elapsed
        limit = _group_limit()
        if limit is not None:
            idle = min(idle, limit - (_group_seconds() - self._used) / elapsed)
        return max(idle, 0.0)


def _idle_seconds() -> float:
    """The idle time of this process's cores since the machine was started."""
    try:
        mine = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        lines = [line.split() for line in _COUNTERS.read_text().splitlines()]
        return sum(int(words[4]) + int(words[5]) for words in lines if words[0] in mine) / os.sysconf("SC_CLK_TCK")
    except (AttributeError, OSError, IndexError):
        return 0.0


def _group_limit() -> float | None:
    """The cores that a container may use."""
    try:
        quota, period = (_GROUP / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _group_seconds() -> float:
    """The processor time that a container has used."""
    try:
        words = dict(line.split() for line in (_GROUP / "cpu.stat").read_text().splitlines())
        return int(words["usage_usec"]) / 1e6
    except (OSError, ValueError, KeyError):
        return 0.0
