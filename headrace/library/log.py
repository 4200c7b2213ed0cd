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
    """The logger; the first use gives it a handler on standard error, unless the program set up logging itself.

    Returns:
      A logger of Python's `logging`, with the name "tensorflow".

    >>> tf.get_logger().name
    'tensorflow'
    """
    logger = logging.getLogger("tensorflow")
    with _lock:
        if not logger.handlers and not logging.getLogger().handlers:
            logger.addHandler(_Stderr())
    return logger


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at `level`.

    Args:
      level: The level, such as ``tf.logging.INFO``.
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.log(tf.logging.INFO, "step %d", step)``
    """
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at `level`.

    Args:
      level: The level, such as ``tf.logging.INFO``.
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.vlog(tf.logging.DEBUG, "step %d", step)``
    """
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at DEBUG.

    Args:
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.debug("step %d", step)``
    """
    get_logger().log(DEBUG, msg, *args, stacklevel=2, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at INFO.

    Args:
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.info("step %d", step)``
    """
    get_logger().log(INFO, msg, *args, stacklevel=2, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at WARN.

    Args:
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.warn("no checkpoint in %s", folder)``
    """
    get_logger().log(WARN, msg, *args, stacklevel=2, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at WARN.

    Args:
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.warning("no checkpoint in %s", folder)``
    """
    get_logger().log(WARN, msg, *args, stacklevel=2, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at ERROR.

    Args:
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.error("cannot read %s", path)``
    """
    get_logger().log(ERROR, msg, *args, stacklevel=2, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at FATAL; the program goes on.

    Args:
      msg: The message, with ``%s`` and the like for `args`.
      *args: What goes into the message.
      **kwargs: ``exc_info`` and ``extra``, as Python's `logging` takes them.

    Example: ``tf.logging.fatal("cannot read %s", path)``
    """
    get_logger().log(FATAL, msg, *args, stacklevel=2, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Logs at ERROR.

    Args:
      msg: The message.

    Example: ``tf.logging.TaskLevelStatusMessage("waiting for the chief")``
    """
    error(msg)


def flush() -> None:
    """Nothing is held back; kept for programs that call it.

    >>> tf.logging.flush()
    """
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
    """Logs at the first, the n+1st, ... time this line of the program is reached.

    Args:
      level: The level, such as ``tf.logging.INFO``.
      msg: The message, with ``%s`` and the like for `args`.
      n: One in so many calls is logged.
      *args: What goes into the message.

    Example: ``tf.logging.log_every_n(tf.logging.INFO, "step %d", 100, step)``
    """
    if _count() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs the first `n` times this line of the program is reached.

    Args:
      level: The level, such as ``tf.logging.INFO``.
      msg: The message, with ``%s`` and the like for `args`.
      n: How many calls are logged.
      *args: What goes into the message.

    Example: ``tf.logging.log_first_n(tf.logging.WARN, "no label in %s", 5, path)``
    """
    if _count() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Logs if `condition` holds.

    Args:
      level: The level, such as ``tf.logging.INFO``.
      msg: The message, with ``%s`` and the like for `args`.
      condition: Whether to log.
      *args: What goes into the message.

    Example: ``tf.logging.log_if(tf.logging.WARN, "slow: %d s", seconds > 60, seconds)``
    """
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def get_verbosity() -> int:
    """The lowest level that is shown.

    Returns:
      The level, an integer.

    Example: ``if tf.logging.get_verbosity() <= tf.logging.INFO: ...``
    """
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Shows messages of level `v` and above.

    Args:
      v: The level, such as ``tf.logging.INFO`` or "INFO".

    Example: ``tf.logging.set_verbosity(tf.logging.INFO)``
    """
    get_logger().setLevel(v)
