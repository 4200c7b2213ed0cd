"""Real TensorFlow in a process of its own, asked over pipes.

The interpreter is the one named by HEADRACE_TF_PYTHON; `make conformance` installs one.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from conformance.wire import receive, send

WORKER = Path(__file__).with_name("worker.py")
VARIABLE = "HEADRACE_TF_PYTHON"


class Oracle:
    """Answers calls one after another.  Not thread-safe; a context manager that ends its process.

    A call that brings TensorFlow's process down, or takes more than ``limit`` seconds, is answered with ``{"crash": ...}``, and a
    new process is started.
    """

    def __init__(self, python: str | None = None, limit: float | None = None) -> None:
        chosen = python or os.environ.get(VARIABLE)
        if not chosen:
            raise RuntimeError(f"set {VARIABLE} to an interpreter that has tensorflow, or run `make conformance`")
        self._python = chosen
        self._limit = limit
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory()  # some calls write files
        self.version = ""
        self.crashes = 0

    def __enter__(self) -> Oracle:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._folder.cleanup()

    def _start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
        self._process = subprocess.Popen(
            [self._python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, cwd=self._folder.name,
        )  # fmt: skip
        try:
            self.version = receive(self._pipes()[1])["version"]
        except EOFError:
            self._stop()
            raise RuntimeError(f"{self._python} {WORKER} does not start; does it have tensorflow?") from None

    def _pipes(self) -> tuple[Any, Any]:
        if self._process is None:
            raise RuntimeError("the oracle is used as a context manager")
        return self._process.stdin, self._process.stdout

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def ask(self, message: dict[str, Any]) -> Any:
        inlet, outlet = self._pipes()
        try:
            send(inlet, message)
            if self._limit is not None and not select.select([outlet], [], [], self._limit)[0]:
                self._kill()
            return receive(outlet)
        except (EOFError, BrokenPipeError):
            code = self._process.wait() if self._process else None
            self._stop()
            self.crashes += 1
            print(f"TensorFlow's process ended ({code}) on {message.get('op')}; starting another", file=sys.stderr)
            self._start()
            return {"crash": code}
