"""Output: lines of all tasks on one terminal, each with its task's name."""

from __future__ import annotations

import os
import re
import sys
import threading
from typing import Final, TextIO

TRACEBACK: Final = "Traceback (most recent call last):"
# Lines without an indentation that go on with a traceback, or with the message at its end.
_GOES_ON: Final = (TRACEBACK, "Original stack trace", "The above exception", "During handling", "(", "...which was")
_OF_ONE_TASK: Final = re.compile(r"task:\d+|localhost:\d+|0x[0-9a-f]+")
_COLOURS: Final = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # of a terminal; red is left for errors


class Output:
    """Writes whole lines to standard output and standard error, in colour on a terminal unless NO_COLOR is set.

    A traceback waits until it is whole.  The same one of several tasks, or starts, is written once.  A task's lines come from one
    thread; different tasks may have different threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._colours: dict[str, int] = {}
        self._unfinished: dict[str, list[str]] = {}  # by task: a traceback so far
        self._first: dict[str, str] = {}  # by traceback: the task that had it first

    def show(self, task: str, stream: str, line: str) -> None:
        """Writes a line that the task wrote to ``stream``: "out" or "err"."""
        unfinished = self._unfinished.get(task)
        if stream == "err" and unfinished and _goes_on(unfinished, line):
            unfinished.append(line)
        elif stream == "err" and line == TRACEBACK:
            self.flush(task)
            self._unfinished[task] = [line]
        else:
            self.flush(task)
            self._show(task, stream, line)

    def flush(self, task: str) -> None:
        """Writes the traceback that waits: in full, or, if it was written before, its last words."""
        unfinished = self._unfinished.pop(task, None)
        if not unfinished:
            return
        text = _OF_ONE_TASK.sub("", "\n".join(unfinished))
        first = self._first.get(text)
        if first is None:
            self._first[text] = task
            for line in unfinished:
                self._show(task, "err", line)
        else:
            said = next((line for line in unfinished if not line.startswith((" ", TRACEBACK))), "an error")
            self._show(task, "err", f"{said}  (the same traceback as {'before' if first == task else f'in {first}'})")

    def _show(self, task: str, stream: str, line: str) -> None:
        colour = self._colours.setdefault(task, _COLOURS[len(self._colours) % len(_COLOURS)])
        file = sys.stdout if stream == "out" else sys.stderr
        self._write(file, f"{_painted(f'[{task}]', colour, file)} {line}")

    def say(self, text: str) -> None:
        """Writes a line of the launcher's own."""
        self._write(sys.stderr, f"headrace: {text}")

    def _write(self, file: TextIO, line: str) -> None:
        with self._lock:
            print(line, file=file, flush=True)


def _goes_on(unfinished: list[str], line: str) -> bool:
    """Whether a line belongs to a traceback: frames are indented, then comes the exception, then lines of its message."""
    in_frames = all(one.startswith((" ", TRACEBACK)) for one in unfinished)
    return in_frames or not line or line[0].isspace() or line.startswith(_GOES_ON)


def _painted(text: str, colour: int, file: TextIO) -> str:
    if os.environ.get("NO_COLOR") or not file.isatty():
        return text
    return f"\033[{colour}m{text}\033[0m"
