"""Threads for what may block: a worker's pool, which grows while all its threads are busy and keeps some idle ones.

Python's own pool waits for its threads when the program ends; a function that never returns would hold the program for ever.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

IDLE_SECONDS: Final = 1.0  # after which a thread without work ends
THREAD_NAME: Final = "headrace-blocking-"  # with a number behind it
_numbers = itertools.count(1)


class Pool:
    """Thread-safe.  Its threads do not keep the program alive."""

    def __init__(self, name: str = THREAD_NAME, most: int | None = None) -> None:
        """``most``: threads; more calls wait for one."""
        self._name = name
        self._most = most
        self._calls: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._idle = 0  # threads without a call; below 0: calls without a thread
        self._threads = 0
        self._lock = threading.Lock()
        self._closed = False

    @property
    def threads(self) -> int:
        """How many there are."""
        return self._threads

    def submit(self, call: Callable[[], Any]) -> None:
        """Runs the call on a thread as soon as possible; it must not raise."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            if self._idle > 0 or self._threads == self._most:
                self._idle -= 1
            else:
                threading.Thread(target=self._work, name=f"{self._name}{next(_numbers)}", daemon=True).start()
                self._threads += 1
        self._calls.put(call)

    def close(self) -> None:
        """Ends idle threads now, and busy ones after their call."""
        with self._lock:
            self._closed = True
            count = self._threads
        for _ in range(count):
            self._calls.put(None)

    def _work(self) -> None:
        while True:
            try:
                call = self._calls.get(True, IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._idle > 0:  # no call is on its way to this thread
                        self._idle -= 1
                        self._threads -= 1
                        return
                continue
            if call is None:
                with self._lock:
                    self._threads -= 1
                return
            call()
            del call
            with self._lock:
                self._idle += 1


class Lanes:
    """Threads of one step, one for each name; what a thread is given it runs in order.  Used in a ``with`` statement."""

    def __init__(self, pool: Pool, names: Iterable[str]) -> None:
        self._calls: dict[str, SimpleQueue[Callable[[], Any] | None]] = {name: SimpleQueue() for name in names}
        self._ended: SimpleQueue[None] = SimpleQueue()
        for calls in self._calls.values():
            pool.submit(partial(self._serve, calls))

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, *error: object) -> None:
        for calls in self._calls.values():
            while not calls.empty():  # what is left of a failed step is not run
                calls.get()
            calls.put(None)
        for _ in self._calls:
            self._ended.get()

    def __getitem__(self, name: str) -> Callable[[Callable[[], Any]], None]:
        """What gives the thread a call."""
        return self._calls[name].put

    def _serve(self, calls: SimpleQueue[Callable[[], Any] | None]) -> None:
        while (call := calls.get()) is not None:
            call()
        self._ended.put(None)
