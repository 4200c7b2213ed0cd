"""The I/O thread of an endpoint: sockets that are ready, actions from other threads, timers.

Knows nothing of messages.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import zmq

TURN: Final = 64  # messages of one socket before the others get their turn
log: Final = logging.getLogger("headrace.cluster")


class IOLoop:
    """One thread.  ``submit``, ``submit_later`` and ``stop`` may be called from any; the rest on the thread itself, or before it
    starts."""

    def __init__(self, name: str) -> None:
        self._poller = zmq.Poller()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poller.register(self._wake, zmq.POLLIN)
        self._readers: dict[Any, Callable[[], None]] = {}
        self._actions: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._busy: dict[Any, Callable[[], bool]] = {}
        self._lock = threading.Lock()
        self._asleep = True
        self._stopped = False
        self._at_end: Callable[[], None] = lambda: None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self, at_end: Callable[[], None]) -> None:
        """Starts the thread; it calls ``at_end`` last."""
        self._at_end = at_end
        self.thread.start()

    def submit(self, action: Callable[[], None]) -> bool:
        """Runs the action soon; False after ``stop``."""
        with self._lock:
            if self._stopped:
                return False
            self._actions.append(action)
            if self._asleep:
                self._asleep = False
                os.eventfd_write(self._wake, 1)
        return True

    def stop(self) -> None:
        """Ends the thread after what was submitted, and waits for it unless it is the caller."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                os.eventfd_write(self._wake, 1)
        if threading.current_thread() is not self.thread:
            self.thread.join()

    def discard(self) -> None:
        """Ends a loop that was never started."""
        os.close(self._wake)

    @property
    def stopped(self) -> bool:
        """Whether the thread ends."""
        return self._stopped

    def read(self, socket: zmq.Socket[Any], take: Callable[[], None]) -> None:
        """Calls ``take`` while the socket has something; it raises ``zmq.Again`` when there is no more."""
        self._readers[socket] = take
        self._poller.register(socket, zmq.POLLIN)

    def unread(self, socket: zmq.Socket[Any]) -> None:
        if self._readers.pop(socket, None) is not None:
            self._poller.unregister(socket)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Runs the action after so long."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), action))

    def submit_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Runs the action after so long.  From any thread."""
        self.submit(lambda: self.later(seconds, action))

    def busy(self, key: Any, work: Callable[[], bool]) -> None:
        """Calls ``work`` once in each turn until it returns False."""
        self._busy[key] = work

    def _run(self) -> None:
        try:
            while not self._stopped:
                self._turn()
        except Exception:  # noqa: BLE001 - nobody else would see it
            log.exception("the I/O thread has failed")
        with self._lock:
            self._stopped = True  # nothing is submitted from now on, and nobody wakes the thread
        try:
            self._run_actions()
            self._at_end()
        finally:
            os.close(self._wake)

    def _turn(self) -> None:
        with self._lock:
            self._asleep = not self._actions
        wait = 0 if self._busy or self._actions else self._until_next_timer()
        ready = self._poller.poll(wait)
        self._run_actions()
        for socket, _ in ready:
            if socket == self._wake:
                os.eventfd_read(self._wake)
            else:
                self._take_from(socket)
        for key, work in list(self._busy.items()):
            if not work():
                self._busy.pop(key, None)
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()

    def _until_next_timer(self) -> int | None:
        if not self._timers:
            return None
        return max(0, int((self._timers[0][0] - time.monotonic()) * 1000) + 1)

    def _run_actions(self) -> None:
        for _ in range(len(self._actions)):
            self._actions.popleft()()

    def _take_from(self, socket: Any) -> None:
        for _ in range(TURN):
            take = self._readers.get(socket)
            if take is None:  # closed by what came before
                return
            try:
                take()
            except zmq.Again:
                return
            if socket in self._readers and not socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                return  # a receive that finds nothing would cost much more
