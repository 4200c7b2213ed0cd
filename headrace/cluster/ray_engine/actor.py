"""TaskActor: starts one task's program on its node, and tells what it writes and how it ends.

The class travels to the node as a value, so that the actor's process imports neither Headrace nor torch.  This file uses ray and
the standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

import ray.util

MAX_LINES = 10_000  # kept for the launcher; a program that writes more waits
MAX_LINE = 65_536  # characters; longer lines are cut in pieces


class TaskActor:
    """One task.  Ray calls its methods from several threads."""

    def __init__(self) -> None:
        self._port = socket.socket()
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the program may listen while this keeps it
        self._port.bind(("", 0))
        self._tasks = os.memfd_create(
            "headrace-tasks"
        )  # what a program notes for the next start; it ends with this process
        self._lines: deque[tuple[str, str]] = deque()
        self._changed = threading.Condition()
        self._open_streams = 0
        self._lifeline: IO[bytes] | None = None
        self._ended: int | str | None = None

    def place(self) -> tuple[str, int]:
        """The node's IP address, and a port that is kept free for the task."""
        return ray.util.get_node_ip_address(), self._port.getsockname()[1]

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], directory: str | None, script: str | None, grace: float
    ) -> str:  # fmt: skip
        """Starts ``python ARGUMENTS``, maybe again; returns why that is impossible, or "".  ``directory``: None for our own."""
        self._ended = None  # it may be the second time
        keeper = _keeper()
        if keeper is None:
            return f"headrace is not installed for {sys.executable}"
        if directory is not None and not os.path.isdir(directory):
            return f"there is no folder {directory}; a working_dir is brought to all nodes"
        if script is not None and not os.path.isfile(os.path.join(directory or os.getcwd(), script)):
            return f"there is no file {script} in {directory or os.getcwd()}; a working_dir is brought to all nodes"
        status, status_writer = os.pipe()
        starting = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper, str(status_writer), str(grace), sys.executable, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[status_writer], cwd=directory,
            env={**os.environ, "HEADRACE_TASKS_FILE": f"/proc/{os.getpid()}/fd/{self._tasks}", **environment},
        )  # fmt: skip
        os.close(status_writer)
        assert starting.stdin is not None and starting.stdout is not None and starting.stderr is not None
        self._lifeline = starting.stdin
        self._open_streams = 2
        for name, stream in (("out", starting.stdout), ("err", starting.stderr)):
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()
        threading.Thread(target=self._await_end, args=(status,), daemon=True).start()
        starting.wait()
        return ""

    def _read(self, name: str, stream: IO[bytes]) -> None:
        with open(stream.fileno(), encoding="utf-8", errors="replace", closefd=False) as text:
            while line := text.readline(MAX_LINE):
                with self._changed:
                    self._changed.wait_for(lambda: len(self._lines) < MAX_LINES)
                    self._lines.append((name, line.rstrip("\n")))
                    self._changed.notify_all()
        with self._changed:
            self._open_streams -= 1
            self._changed.notify_all()

    def _await_end(self, status: int) -> None:
        with open(status, encoding="utf-8") as file:
            text = file.readline().strip()
        with self._changed:
            self._changed.wait_for(lambda: not self._open_streams)
            try:
                self._ended = int(text)
            except ValueError:
                self._ended = text or "its keeper was killed"
            self._changed.notify_all()

    def report(self, seconds: float) -> tuple[list[tuple[str, str]], int | str | None]:
        """The lines since the last report, and how the program ended, with the last lines; waits for news."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._ended is not None, seconds)
            lines = list(self._lines)
            self._lines.clear()
            self._changed.notify_all()
            return lines, self._ended

    def stop(self, immediately: bool = False) -> None:
        """Ends the program: SIGTERM and some time, or SIGKILL."""
        if self._lifeline is not None:
            try:
                self._lifeline.write(b"k" if immediately else b"t")
                self._lifeline.flush()
            except BrokenPipeError:  # the program has ended
                pass


def _keeper() -> str | None:
    """The path of the keeper on this node, without importing Headrace."""
    spec = importlib.util.find_spec("headrace")
    if spec is None or not spec.submodule_search_locations:
        return None
    return os.path.join(spec.submodule_search_locations[0], "cluster", "ray_engine", "keeper.py")
