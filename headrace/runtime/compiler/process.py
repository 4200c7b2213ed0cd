"""The handle of the process that compiles in the background, so that the compiler never holds this interpreter.

Starts ``server`` on the first request, once for the whole program, in a process group of its own: Ctrl-C on the terminal does
not reach it, and one signal ends it with all that it has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from headrace.runtime.compiler import own_folder
from headrace.runtime.host.threads import default_threads

MOST_DEATHS = 2  # of the process; after that something is wrong with the machine, and nothing more is compiled

MOST_COMPILERS = 8

PATIENCE = 2.0  # seconds to end when asked to


def _spare_cores() -> int:
    """The cores that this process may use and that nobody used in the last minute: other programs may compile beside this one."""
    return min(max(int(default_threads() - os.getloadavg()[0]), 1), MOST_COMPILERS)


class Died(Exception):
    """The process ended without an answer, or cannot be started."""


class CompileProcess:
    """``ask`` and ``close`` are for one thread at a time; ``stop`` may be called from any."""

    def __init__(self) -> None:
        self.compilers = 0  # of kernels for a GPU, side by side; 0: as many as there are cores to spare
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = 0  # requests whose answers have not been read
        self._deaths = 0
        self._stopped = False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @staticmethod
    def can_run() -> bool:
        """Whether this program can start another Python; a frozen one would start itself."""
        return bool(sys.executable) and not getattr(sys, "frozen", False)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request.  Waits for it without the interpreter."""
        process = self._living()
        self._send(process, request)
        answer: dict[str, Any] = {}
        while self._unread:
            answer = self._receive(process)
        if answer.get("ends"):
            self.close()
        return answer

    def prepare(self) -> None:
        """Starts the process and has it import the compiler.  Does not wait for that."""
        with contextlib.suppress(Died):  # who asks for something to be compiled gets to know
            self._send(self._living(), {})

    def _living(self) -> subprocess.Popen[bytes]:
        """The process; another one if it ended while nobody waited for it."""
        if self._process is not None and not self.running:
            self._deaths += 1
            self.close()
        return self._process or self._start()

    def _send(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
        line = json.dumps(request).encode("ascii") + b"\n"
        self._unread += 1
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # no answer will come
                process.stdin.write(line)
                process.stdin.flush()

    def _receive(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """The next answer."""
        line = b"" if process.stdout is None else process.stdout.readline()
        if not line.endswith(b"\n"):
            self.close()
            if self._stopped:
                raise SystemExit
            self._deaths += 1
            raise Died(f"the compiling process ended with code {process.returncode}")
        self._unread -= 1
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise SystemExit
        if self._deaths >= MOST_DEATHS:
            raise Died(f"the compiling process ended {self._deaths} times; nothing more is compiled in the background")
        try:
            cache = own_folder.folder()
        except own_folder.UnsafeFolder as e:
            raise Died(str(e)) from e
        path = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[3])])
        environment = {
            **os.environ, "PYTHONPATH": path, "TORCHINDUCTOR_COMPILE_THREADS": str(self.compilers or _spare_cores()),
            own_folder.VARIABLE: str(cache),  # this process may have one that goes when it ends
            "TORCHINDUCTOR_WORKER_START": "fork",  # as copies of the process, at once: others import torch first
        }  # fmt: skip
        command = [sys.executable, "-P", "-m", "headrace.runtime.compiler.server", str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                process_group=0,
            )  # fmt: skip
        except OSError as e:
            self._deaths += 1
            raise Died(f"the compiling process cannot be started: {e}") from e
        if self._stopped:  # meanwhile
            self._end(signal.SIGTERM)
        return self._process

    def stop(self) -> None:
        """Ends the process for good; the thread of an ``ask`` under way ends too."""
        self._stopped = True
        self._end(signal.SIGTERM)

    def _end(self, how: int) -> None:
        """Sends a signal to the process and the compilers it has started."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)

    def close(self) -> None:
        """Ends the process and forgets it."""
        process = self._process
        if process is None:
            return
        self._end(signal.SIGTERM)  # a C++ compiler removes its temporary files
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._end(signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process, self._unread = None, 0
