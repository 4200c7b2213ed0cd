"""Messages of a program (``tf.logging``), through Python's logger named ``tensorflow``.

The name is TF1's, so that a program which adjusts that logger itself adjusts this one.  Nothing is shown below WARN until
the program asks: ``tf.logging.set_verbosity(tf.logging.INFO)``.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from typing import Any

DEBUG = logging.DEBUG
INFO = logging.INFO
WARN = logging.WARNING
ERROR = logging.ERROR
FATAL = logging.CRITICAL

_lock = threading.Lock()
_counts: Counter[tuple[str, int]] = Counter()


class _Stderr(logging.StreamHandler):
    """Writes to what sys.stderr is at the time of the message, not at the time of the import."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(logging.BASIC_FORMAT))

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass


def get_logger() -> logging.Logger:
    """The logger; the first use gives it a handler on standard error, unless the program set up logging itself."""
    logger = logging.getLogger("tensorflow")
    with _lock:
        if not logger.handlers and not logging.getLogger().handlers:
            logger.addHandler(_Stderr())
    return logger


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at `level`."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at `level`."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at DEBUG."""
    get_logger().log(DEBUG, msg, *args, stacklevel=2, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at INFO."""
    get_logger().log(INFO, msg, *args, stacklevel=2, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at WARN."""
    get_logger().log(WARN, msg, *args, stacklevel=2, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at WARN."""
    get_logger().log(WARN, msg, *args, stacklevel=2, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at ERROR."""
    get_logger().log(ERROR, msg, *args, stacklevel=2, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at FATAL; the program goes on."""
    get_logger().log(FATAL, msg, *args, stacklevel=2, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Logs at ERROR."""
    error(msg)


def flush() -> None:
    """Nothing is held back; kept for programs that call it."""
    for handler in get_logger().handlers:
        handler.flush()


def _count() -> int:
    """How often the caller's caller has called before."""
    frame = sys._getframe(2)
    place = (frame.f_code.co_filename, frame.f_lineno)
    with _lock:
        _counts[place] += 1
        return _counts[place] - 1


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs at the first, the n+1st, ... time this line of the program is reached."""
    if _count() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs the first `n` times this line of the program is reached."""
    if _count() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Logs if `condition` holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def get_verbosity() -> int:
    """The lowest level that is shown."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Shows messages of level `v` and above."""
    get_logger().setLevel(v)
