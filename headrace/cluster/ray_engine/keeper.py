"""The keeper: a small process that runs one task's program and ends it when the actor that wants it is gone.

Run by its path: ``python -I -S keeper.py STATUS GRACE PROGRAM ARGUMENTS...``.  It uses the standard library only, and starts
quickly.  Its standard input is a pipe from the actor.  A byte on the pipe, or its end, stops the program: SIGTERM to its process
group, SIGKILL after GRACE seconds; the byte ``k`` kills immediately.  The descriptor STATUS gets one line: the exit code, which
is negative for a signal, or why the program could not start.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

LEFTOVER_SECONDS: Final = 1.0  # for what the program has left running, once it is killed
_SET_DEATH_SIGNAL: Final = 1  # of prctl(2): how a process that is started here ends if this process is killed
_SET_CHILD_SUBREAPER: Final = 36  # of prctl(2): orphans of the program become children of this process
_prctl: Final = ctypes.CDLL(None).prctl


def main(arguments: Sequence[str]) -> None:
    """Runs the program to its end.  The caller's child returns immediately: Ray kills the children of an actor that ends."""
    status, grace, command = int(arguments[0]), float(arguments[1]), arguments[2:]
    if os.fork():
        os._exit(0)
    os.setsid()
    adopt_orphans()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL),
        )  # fmt: skip
    except OSError as e:
        os.write(status, f"{command[0]} cannot be run: {e}\n".encode())
        return
    silence = os.open(os.devnull, os.O_WRONLY)  # the pipes end with the program
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    code = _wait(program, grace)
    _signal(program.pid, signal.SIGKILL)
    end_children()
    os.write(status, f"{code}\n".encode())


def _wait(program: subprocess.Popen[bytes], grace: float) -> int:
    """The exit code of the program, which is stopped when the actor says so or is gone."""
    ended = os.pidfd_open(program.pid)
    if ended not in select.select([0, ended], [], [])[0]:
        kill = os.read(0, 1) == b"k"
        _signal(program.pid, signal.SIGKILL if kill else signal.SIGTERM)
        end = time.monotonic() + grace
        watched = [0, ended]
        while (left := end - time.monotonic()) > 0:
            ready = select.select(watched, [], [], left)[0]
            if ended in ready:
                break
            if ready and os.read(0, 1) == b"k":
                break
            if ready:
                watched = [ended]  # the actor is gone as well; the program has its time
        _signal(program.pid, signal.SIGKILL)
    return program.wait()


def adopt_orphans() -> None:
    """From now on, what a process started from here leaves behind becomes a child of this process."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def end_children() -> None:
    """Kills all children of this process, and what becomes one because its parent is killed."""
    end = time.monotonic() + LEFTOVER_SECONDS
    while time.monotonic() < end:
        for pid in _children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """The children of all threads of this process."""
    children = []
    for thread in os.listdir("/proc/self/task"):
        with suppress(FileNotFoundError), open(f"/proc/self/task/{thread}/children") as file:
            children += [int(pid) for pid in file.read().split()]
    return children


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    main(sys.argv[1:])
