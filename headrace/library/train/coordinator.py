"""tf.train.Coordinator: several threads that end together, and whose first error reaches the thread that waits for them.

Does not know what the threads do: that is in `looper_thread`, `queue_runner` and the user's program.
"""

from __future__ import annotations

import contextlib
import numbers
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from headrace.core.errors import AbortedError, OpError, OutOfRangeError, UnavailableError
from headrace.core.source import at, is_internal
from headrace.library import log

_POLL_SECS = 0.05  # how soon `join` notices that threads ended of their own accord: that is no event one can wait for


class Coordinator:
    """Tells threads when to stop, and waits for them.

    A thread works ``while not coord.should_stop()``; any thread may call ``request_stop``, with the error that made it give up
    or without.  ``join`` waits for all threads and raises the first error that was reported, with its traceback.  An error
    of ``clean_stop_exception_types`` (OutOfRangeError: the input has ended) stops the threads and is not raised.

    Thread-safe.  Only `join` and `wait_for_stop` block.

    Args:
      clean_stop_exception_types: A tuple of classes of exceptions that end the work and are not raised; None for OutOfRangeError.

    >>> coord = tf.train.Coordinator()
    >>> def work():
    ...     with coord.stop_on_exception():
    ...         while not coord.should_stop():
    ...             raise ValueError('the disk is full')
    >>> worker = threading.Thread(target=work)
    >>> worker.start()
    >>> coord.join([worker])
    Traceback (most recent call last):
    ValueError: the disk is full
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        types = (OutOfRangeError,) if clean_stop_exception_types is None else clean_stop_exception_types
        if not isinstance(types, (list, tuple)) or not all(_is_error_class(t) for t in types):
            raise TypeError(
                f"clean_stop_exception_types must be a tuple of classes of exceptions, got {types!r} {at()}"
            )
        self._clean_stop_exception_types = tuple(types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._error: tuple[BaseException, TracebackType | None] | None = None
        self._joined = False
        self._session_lost = False
        self._registered_threads: dict[Any, None] = {}  # an ordered set

    # ---- stopping

    @property
    def _exc_info_to_raise(self) -> tuple[type[BaseException], BaseException, TracebackType | None] | None:
        """TensorFlow's form of the error that `join` raises, which subclasses look at."""
        return None if self._error is None else (type(self._error[0]), *self._error)

    @_exc_info_to_raise.setter
    def _exc_info_to_raise(self, info: Any) -> None:
        self._error = None if info is None else _checked_error(info)

    def _filter_exception(self, ex: Any) -> Any:
        """None for an error that is a clean end, which is not raised; a subclass may let others pass."""
        error = None if ex is None else _checked_error(ex)[0]
        return None if isinstance(error, self._clean_stop_exception_types) else ex

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop.  ``ex``, an exception or what ``sys.exc_info()`` gives, is raised by `join`.

        The first request decides: an error that comes later is logged only.  After `join` nobody waits for an error any more, so
        it is raised here.
        """
        ex = self._filter_exception(ex)
        error = None if ex is None else _checked_error(ex)
        with self._lock:
            if not self._joined:
                self._set_stop(error)
                return
        if error is not None:
            raise error[0].with_traceback(error[1])

    def _set_stop(self, error: tuple[BaseException, TracebackType | None] | None) -> None:
        if error is not None:
            late = " after the stop was requested, and not raised" if self._stop_event.is_set() else ""
            log.info("Error reported to Coordinator%s: %s, %s", late, type(error[0]), error[0])
        if not self._stop_event.is_set():
            self._error = error
            self._stop_event.set()

    def note_lost_session(self) -> None:
        """The threads stop because a task of their session was lost: a new session goes on with what is on the others."""
        self._session_lost = True

    @property
    def session_lost(self) -> bool:
        """Whether the threads stop because a task was lost: what they share with other sessions is to stay as it is."""
        return self._session_lost or self.loss is not None

    @property
    def loss(self) -> OpError | None:
        """The error by which a thread has told that a task was lost; None if none has."""
        error = None if self._error is None else self._error[0]
        return error if isinstance(error, (AbortedError, UnavailableError)) else None

    def clear_stop(self) -> None:
        """Makes the coordinator new again: no stop was requested, no error reported, nothing joined."""
        with self._lock:
            self._joined = False
            self._session_lost = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Reports what is raised inside the ``with`` block to `request_stop`, and swallows it: `join` raises it.

        >>> coord = tf.train.Coordinator()
        >>> with coord.stop_on_exception():
        ...     raise KeyError('label')
        >>> coord.should_stop()
        True
        """
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested, ``timeout`` seconds at most; returns whether it was."""
        return self._stop_event.wait(timeout)

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported first, if there is one."""
        with self._lock:
            reported = self._error
        if reported is not None:
            raise reported[0].with_traceback(reported[1])

    # ---- the threads

    def register_thread(self, thread: Any) -> None:
        """Adds a thread to those that `join` waits for."""
        _check_thread(thread)
        with self._lock:
            self._registered_threads[thread] = None

    @property
    def joined(self) -> bool:
        """Whether `join` has waited for the threads."""
        return self._joined

    def join(
        self,
        threads: Iterable[Any] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the registered threads and ``threads``; raises the error that was reported first.

        It waits until all have ended or a stop is requested, then ``stop_grace_period_secs`` at most.  Threads that still run
        are a RuntimeError with their names, or one logged line with ``ignore_live_threads``.
        """
        more = _checked_threads(threads)
        if not isinstance(stop_grace_period_secs, numbers.Real):
            raise TypeError(
                f"stop_grace_period_secs must be a number of seconds, got {stop_grace_period_secs!r} {at()}"
            )
        while self._live(more) and not self._stop_event.wait(_POLL_SECS):
            pass
        self._wait_for_threads(more, time.monotonic() + float(stop_grace_period_secs))
        live = self._live(more)
        with self._lock:
            self._joined = True
            self._registered_threads.clear()
        self.raise_requested_exception()
        if live:
            message = _still_running(live, stop_grace_period_secs)
            if not ignore_live_threads:
                raise RuntimeError(f"{message} {at()}")
            log.info("%s", message)

    def _live(self, more: list[Any]) -> list[Any]:
        """The threads that run now, among them those that were registered since `join` was called."""
        with self._lock:
            threads = dict.fromkeys([*self._registered_threads, *more])
        return [t for t in threads if t.is_alive()]

    def _wait_for_threads(self, more: list[Any], end: float) -> None:
        while others := [t for t in self._live(more) if t is not threading.current_thread()]:
            left = end - time.monotonic()
            if left <= 0:
                return
            others[0].join(min(left, _POLL_SECS))


def _still_running(live: list[Any], grace: float) -> str:
    """What to say of threads that do not end: their names, and which lines of the program they are at."""
    frames = sys._current_frames()
    places = [f"{t.name} is at {place}" for t in live if (place := _place(frames.get(getattr(t, "ident", 0))))]
    return (
        f"Coordinator stopped with threads still running: {' '.join(t.name for t in live)}. After the stop they had {grace} "
        f"seconds to end (stop_grace_period_secs){'; '.join(['', *places])}."
    )


def _place(frame: Any) -> str | None:
    """The innermost line of a thread that is neither Headrace's nor that of a lock it waits for; None if there is none."""
    while frame is not None:
        code = frame.f_code
        if not is_internal(code) and code.co_filename != threading.__file__:
            return f"{code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


# ---- checks


def _is_error_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _checked_error(ex: Any) -> tuple[BaseException, TracebackType | None]:
    """The exception and its traceback."""
    if isinstance(ex, BaseException):
        return ex, ex.__traceback__
    if isinstance(ex, tuple) and len(ex) == 3 and isinstance(ex[1], BaseException):
        if ex[2] is None or isinstance(ex[2], TracebackType):
            return ex[1], ex[2] or ex[1].__traceback__
    raise TypeError(
        "ex must be an exception, or a tuple (class, exception, traceback) as sys.exc_info() gives inside an `except` block; "
        f"got {ex!r} {at()}"
    )


def _check_thread(thread: Any) -> None:
    if not callable(getattr(thread, "is_alive", None)):
        raise TypeError(f"a coordinator waits for objects of threading.Thread, got {thread!r} {at()}")


def _checked_threads(threads: Any) -> list[Any]:
    if threads is None:
        return []
    if not isinstance(threads, Iterable):
        raise TypeError(f"threads must be a list of threads, got {threads!r} {at()}")
    checked = list(threads)
    for thread in checked:
        _check_thread(thread)
    return checked
