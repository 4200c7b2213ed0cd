"""Output: lines of all tasks on one terminal, each with its task's name."""

from __future__ import annotations

import os
import sys
import threading
from typing import Final, TextIO

_COLOURS: Final = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # of a terminal; red is left for errors


class Output:
    """Writes whole lines to standard output and standard error, in colour on a terminal unless NO_COLOR is set.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._colours: dict[str, int] = {}

    def show(self, task: str, stream: str, line: str) -> None:
        """Writes a line that the task wrote to ``stream``: "out" or "err"."""
        colour = self._colours.setdefault(task, _COLOURS[len(self._colours) % len(_COLOURS)])
        file = sys.stdout if stream == "out" else sys.stderr
        self._write(file, f"{_painted(f'[{task}]', colour, file)} {line}")

    def say(self, text: str) -> None:
        """Writes a line of the launcher's own."""
        self._write(sys.stderr, f"headrace: {text}")

    def _write(self, file: TextIO, line: str) -> None:
        with self._lock:
            print(line, file=file, flush=True)


def _painted(text: str, colour: int, file: TextIO) -> str:
    if os.environ.get("NO_COLOR") or not file.isatty():
        return text
    return f"\033[{colour}m{text}\033[0m"
