"""Finds what a test leaves behind: Python threads, child processes and file descriptors.

What the libraries below us keep for the life of the process is named here, and nothing else is allowed. The fixture
that fails the test is in conftest.py. Processes and descriptors are read from /proc; without it they go unchecked.
"""

import os
import threading
from dataclasses import dataclass
from pathlib import Path

KEPT_THREADS = ("pytest_timeout", "execnet", "tqdm_monitor")
"""Names, or beginnings of names, of threads that the test tools keep."""

KEPT_PROCESSES = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "multiprocessing-fork")
"""Parts of the command lines of processes that the standard library starts once and keeps."""

KEPT_DESCRIPTORS = ("/dev/", "/sys/devices/", f"/tmp/perf-{os.getpid()}.map")
"""Beginnings of what torch and the standard library open once: devices, what describes them, the profiler's map of
kernels that were assembled at run time."""


@dataclass(frozen=True, slots=True)
class Running:
    """What the process has running or open at one moment."""

    threads: frozenset[threading.Thread]
    processes: dict[int, str]
    descriptors: frozenset[tuple[int, str]]

    def beyond(self, before: "Running") -> list[str]:
        """Says what is there now and was not `before`."""
        return [
            *(f"thread {thread.name!r}" for thread in sorted(self.threads - before.threads, key=lambda t: t.name)),
            *(f"process {pid}: {line}" for pid, line in sorted(self.processes.items()) if pid not in before.processes),
            *(f"descriptor {number}: {target}" for number, target in sorted(self.descriptors - before.descriptors)),
        ]


def look() -> Running:
    """Returns what is running now, less what is kept for good."""
    return Running(_threads(), _processes(), _descriptors())


def _threads() -> frozenset[threading.Thread]:
    # Threads that C++ libraries start (OpenMP's, autograd's) do not show here unless they run Python.
    return frozenset(t for t in threading.enumerate() if t.is_alive() and not t.name.startswith(KEPT_THREADS))


def _processes() -> dict[int, str]:
    pids = (int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in _text(path).split())
    named = {
        pid: _text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip() or "ended, not waited for" for pid in pids
    }
    return {pid: line for pid, line in named.items() if not any(kept in line for kept in KEPT_PROCESSES)}


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the thread or process has just ended
        return ""


def _descriptors() -> frozenset[tuple[int, str]]:
    found = set()
    for link in Path("/proc/self/fd").glob("*"):
        try:
            target = os.readlink(link)
        except OSError:  # the descriptor of this very listing
            continue
        if not target.startswith(KEPT_DESCRIPTORS):
            found.add((int(link.name), target.removesuffix(" (deleted)")))
    return frozenset(found)
