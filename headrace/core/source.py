"""Where in the user's program something happened: the nearest stack frame outside this package, found cheaply."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import NamedTuple

from headrace.core.traceback_filter import file_name

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_USER_PARTS = (_PACKAGE + "models" + os.sep, _PACKAGE + "tools" + os.sep)
_WATCHERS = tuple(
    f"{_PACKAGE}tools{os.sep}{name}.py" for name in ("explain", "trace", "train", "watch")
)  # around user code
_THREADS = threading.Thread.run.__code__.co_filename
_warned: dict[tuple[object, ...], object] = {}  # so that a warning of a line is shown once
_internal: dict[str, bool] = {}  # by file: the hash of a code object is computed again each time


class Source(NamedTuple):
    """A place in the user's program."""

    filename: str
    lineno: int
    function: str

    def __str__(self) -> str:
        file = file_name(self.filename)
        return f"{file}:{self.lineno}" if self.lineno else file


UNKNOWN = Source("<unknown>", 0, "<unknown>")


def is_internal(code: CodeType) -> bool:
    """Whether the code belongs to Headrace itself.

    Models and tools are written like user code, and count as such, apart from the tools that run a program of the user's.
    """
    name = code.co_filename
    answer = _internal.get(name)
    if answer is None:
        internal = name.startswith(_PACKAGE) and (not name.startswith(_USER_PARTS) or name in _WATCHERS)
        generated = name.startswith("<headrace ") or f"{os.sep}site-packages{os.sep}numpy{os.sep}" in name
        python = name == _THREADS or name.endswith((f"{os.sep}contextlib.py", "<string>"))
        answer = _internal[name] = internal or generated or python
    return answer


def at() -> str:
    """``(at file:line)`` of the user's call, for the end of a message.

    Returns:
      A string.

    >>> from headrace.core.source import at
    >>> at()
    '(at ...)'
    """
    return f"(at {user_source(2)})"


def warn(message: str) -> None:
    """Warns, once for each line of the user's program, and names that line."""
    place = user_source(2)
    warnings.warn_explicit(message, UserWarning, place.filename, place.lineno, registry=_warned)  # type: ignore[arg-type]


def user_source(depth: int = 1) -> Source:
    """The innermost frame outside Headrace; if all are inside, the outermost one, or the name of a thread of Headrace's own.

    Args:
      depth: How many frames to leave out: 1 begins with the caller.

    Returns:
      A named tuple with the file, the line and the function.

    >>> tf.errors.user_source().function
    '<module>'
    """
    frame: FrameType | None = sys._getframe(depth)
    last = frame
    while frame is not None:
        code = frame.f_code
        if not is_internal(code):
            return Source(code.co_filename, frame.f_lineno, code.co_name)
        last, frame = frame, frame.f_back
    if last is not None and last.f_code.co_filename == _THREADS:
        return Source(f"thread {threading.current_thread().name}", 0, last.f_code.co_name)
    return Source(last.f_code.co_filename, last.f_lineno, last.f_code.co_name) if last else UNKNOWN
