"""Tracebacks without the frames of Headrace: what an uncaught exception shows is the user's own lines.

Frames are dropped when an exception is shown, in scripts, threads and notebooks, so that steps pay nothing and code that looks
at a traceback finds all of it.  ``HEADRACE_TRACEBACK=full`` or `disable_traceback_filtering` shows every frame.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Final

VARIABLE: Final = "HEADRACE_TRACEBACK"
_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OWN: Final = (_PACKAGE, "<headrace ", "<frozen runpy>", "<frozen importlib")
_MODELS: Final = (_PACKAGE + "models" + os.sep, _PACKAGE + "examples" + os.sep)  # written as users' code is
_BELOW: Final = tuple(f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("torch", "numpy"))
_RUNNER: Final = os.path.join(_PACKAGE, "tensorflow", "__main__.py")
_enabled = os.environ.get(VARIABLE, "") != "full"


def is_traceback_filtering_enabled() -> bool:
    """Whether uncaught exceptions are shown without the frames of Headrace.

    Returns:
      True or False.

    >>> tf.debugging.is_traceback_filtering_enabled()
    True
    """
    return _enabled


def enable_traceback_filtering() -> None:
    """Shows uncaught exceptions without the frames of Headrace, which is the default.

    >>> tf.debugging.enable_traceback_filtering()
    """
    global _enabled
    _enabled = True


def disable_traceback_filtering() -> None:
    """Shows every frame of uncaught exceptions.

    >>> tf.debugging.disable_traceback_filtering()
    >>> tf.debugging.is_traceback_filtering_enabled()
    False
    >>> tf.debugging.enable_traceback_filtering()
    """
    global _enabled
    _enabled = False


def _hidden(files: Iterable[str]) -> Iterator[bool]:
    """Which frames are Headrace's, or of what it calls: numpy's and torch's below one of its own."""
    hidden = False
    for file in files:
        own = file.startswith(_OWN) and not file.startswith(_MODELS)
        hidden = own or (hidden and any(part in file for part in _BELOW))
        yield hidden


def hide_frames(error: BaseException | None) -> None:
    """Takes the frames of Headrace out of the tracebacks of an exception and of its causes; leaves one that has no others."""
    for one in _chain(error) if _enabled else ():
        frames = list(_frames(one.__traceback__))
        files = [at.tb_frame.f_code.co_filename for at in frames]
        is_run = _RUNNER in files
        if is_run:  # what is above it, a command line say, is not the program's
            above = len(files) - files[::-1].index(_RUNNER)
            frames, files = frames[above:], files[above:]
        shown_frames = [at for at, hidden in zip(frames, _hidden(files), strict=True) if not hidden]
        if is_run and not shown_frames and isinstance(one, (ImportError, SyntaxError)):
            one.__traceback__ = None  # the program is not Python, or not there: the text says all
        if not shown_frames or len(shown_frames) == len(list(_frames(one.__traceback__))):
            continue
        shown: TracebackType | None = None
        for at in reversed(shown_frames):
            shown = TracebackType(shown, at.tb_frame, at.tb_lasti, at.tb_lineno)
        one.__traceback__ = shown
        count = len(frames) - frames.index(shown_frames[0]) - len(shown_frames)  # without those that ran the program
        if one is error and count:
            frames_are, them = ("frame of Headrace is", "it") if count == 1 else ("frames of Headrace are", "them")
            one.add_note(f"({count} {frames_are} hidden; {VARIABLE}=full shows {them})")


def _frames(at: TracebackType | None) -> Iterator[TracebackType]:
    while at is not None:
        yield at
        at = at.tb_next


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


# ---- where exceptions are shown


def install() -> None:
    """Filters what Python, its threads and a notebook show, unless the program shows exceptions in a way of its own."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _show_in_thread
    shell = notebook()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show_in_cell)


def _show(error_class: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    hide_frames(error)
    sys.__excepthook__(error_class, error, error.__traceback__)


def _show_in_thread(args: Any) -> None:
    hide_frames(args.exc_value)
    traceback = getattr(args.exc_value, "__traceback__", args.exc_traceback)
    threading.__excepthook__(threading.ExceptHookArgs((args.exc_type, args.exc_value, traceback, args.thread)))


def _show_in_cell(shell: Any, error_class: Any, error: BaseException, traceback: Any, tb_offset: Any = None) -> None:
    hide_frames(error)
    shell.showtraceback((error_class, error, error.__traceback__), tb_offset=tb_offset, running_compiled_code=True)


def notebook() -> Any:
    """The IPython shell that runs this program, or None."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def file_name(filename: str) -> str:
    """A file as users know it: a cell of a notebook, which IPython keeps under a name of its own, is ``Cell In[3]``.

    Args:
      filename: The name of a file as Python has it.

    Returns:
      A string.

    >>> tf.errors.file_name('train.py')
    'train.py'
    """
    shell = notebook()
    cell = None if shell is None else getattr(shell.compile, "_filename_map", {}).get(filename)
    return filename if cell is None else f"Cell In[{cell}]"
