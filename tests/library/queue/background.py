"""Runs of a session on threads of their own."""

import threading
import time
from collections.abc import Callable
from typing import Any

import headrace as tf

LIMIT_S = 30.0


class Background(threading.Thread):
    """A call on its own thread; `result` waits for it, and raises what it raised."""

    def __init__(self, call: Callable[..., Any], *args: Any, **keywords: Any) -> None:
        super().__init__(daemon=True)
        self._call, self._arguments, self._keywords = call, args, keywords
        self._result: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._call(*self._arguments, **self._keywords)
        except BaseException as e:
            self._error = e

    def result(self) -> Any:
        self.join(LIMIT_S)
        assert not self.is_alive(), "the call does not end"
        if self._error is not None:
            raise self._error
        return self._result


def wait_until(condition: Callable[[], Any]) -> None:
    """Returns when the condition holds; fails the test if it never does."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "it never happens"
        time.sleep(0.002)


def run_that_waits(sess: tf.Session, fetches: Any, *args: Any) -> Background:
    """Begins a run and returns when it waits."""
    run = Background(sess.run, fetches, *args)
    wait_until(sess.waiting)
    return run
