"""tf.train.LooperThread: a thread that repeats one call until its coordinator says stop."""

from __future__ import annotations

import numbers
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.library.train.coordinator import Coordinator


class LooperThread(threading.Thread):
    """Calls ``target(*args, **kwargs)`` every ``timer_interval_secs`` until ``coord`` stops; with None, without a pause.

    A call that took too long is made up for by calls without a pause, so that their number stays that of the schedule.  An error
    stops the coordinator.  A subclass may override `run_loop` instead of passing ``target``, and `start_loop` and `stop_loop`,
    which run once, before and after.  The thread is a daemon, and registered with the coordinator.

    Args:
      coord: The `tf.train.Coordinator` that stops the thread, and that an error stops.
      timer_interval_secs: Seconds from the start of one call to that of the next; None for no pause.
      target: The function to call; None to call the method `run_loop`.
      args, kwargs: The arguments of `target`; only with `target`.

    >>> coord = tf.train.Coordinator()
    >>> calls = []
    >>> def count():
    ...     calls.append(len(calls))
    ...     if len(calls) == 3:
    ...         coord.request_stop()
    >>> looper = tf.train.LooperThread.loop(coord, 0.01, count)
    >>> coord.join()
    >>> calls
    [0, 1, 2]
    """

    def __init__(
        self, coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r} {at()}")
        if timer_interval_secs is not None and not isinstance(timer_interval_secs, numbers.Real):
            raise TypeError(
                f"timer_interval_secs must be a number of seconds or None, got {timer_interval_secs!r} {at()}"
            )
        if target is not None and not callable(target):
            raise TypeError(f"target must be something to call, got {target!r} {at()}")
        if target is None and (args or kwargs):
            raise ValueError(f"'args' and 'kwargs' argument require that you also pass 'target' {at()}")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._call = target
        self._call_args = tuple(args or ())
        self._call_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any],
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:  # fmt: skip
        """Makes a LooperThread and starts it."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            interval = self._timer_interval_secs
            if interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(due - time.monotonic()):
                    due += interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once when the thread starts; does nothing."""

    def stop_loop(self) -> None:
        """Called once after the last call, unless one raised an error; does nothing."""

    def run_loop(self) -> None:
        """Called at every beat; calls the target."""
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
