"""The I/O thread of an endpoint: sockets that are ready, actions from other threads, timers.

Knows nothing of messages.  What an action raises is logged, and the thread goes on; if the thread itself cannot go on, ``at_end``
is told why.  Other threads may send on a socket under the lock that it is read with, and say so by `sent`:
ZeroMQ's descriptor of a socket tells of a message once, and whatever uses the socket next, a send too, may use up what it tells.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import zmq

from headrace.cluster.transport import sockets
from headrace.runtime.host.turn import turn

TURN: Final = 64  # messages of one socket before the others get their turn
LONGEST_S: Final = 3600.0  # of one wait: a timer may be set for ever, which the system does not take
Take = Callable[[list[Any]], None]  # see `sockets.receive`
log: Final = logging.getLogger("headrace.cluster")


class IOLoop:
    """One thread.  ``submit`` and ``stop`` may be called from any; the rest on the thread itself, or before it starts."""

    def __init__(self, name: str, at_end: Callable[[BaseException | None], None]) -> None:
        """``at_end`` is called last, with what has ended the thread unless that was `stop`."""
        self._epoll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._wake, select.EPOLLIN)
        self._readers: dict[Any, tuple[Take, AbstractContextManager[Any]]] = {}
        self._by_descriptor: dict[int, Any] = {}
        self._unseen: dict[Any, bool] = {}  # sockets that may have something of which their descriptors do not tell
        self._used: set[Any] = set()  # sockets on which this thread has sent or received in this turn
        self._early: dict[Any, list[list[Any]]] = {}  # messages that were received before their turn
        self._actions: deque[Callable[[], None]] = deque()
        self._calls: deque[Callable[[], Any]] = deque()  # short work that messages of this turn have brought
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._asleep = True
        self.stopped = False  # whether the thread ends
        self._at_end = at_end
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def submit(self, action: Callable[[], None]) -> bool:
        """Runs the action soon; False after ``stop``."""
        with self._lock:
            if self.stopped:
                return False
            self._actions.append(action)
            if self._asleep:
                self._rouse()
        return True

    def sent(self, socket: zmq.Socket[Any]) -> None:
        """Something was sent on a socket, whose lock the caller holds: has something come meanwhile?"""
        if threading.get_ident() == self.thread.ident:  # this thread looks once, at the end of its turn
            self._used.add(socket)
        elif sockets.readable(socket):
            with self._lock:
                self._unseen[socket] = False
                if self._asleep:
                    self._rouse()

    def _rouse(self) -> None:
        if not self.stopped:
            self._asleep = False
            os.eventfd_write(self._wake, 1)

    def stop(self) -> None:
        """Ends the thread after what was submitted, and waits for it unless it is the caller."""
        with self._lock:
            if not self.stopped:
                self.stopped = True
                os.eventfd_write(self._wake, 1)
        if threading.current_thread() is not self.thread:
            self.thread.join()

    def discard(self) -> None:
        """Ends a loop that was never started."""
        self._epoll.close()
        os.close(self._wake)

    def read(self, socket: zmq.Socket[Any], take: Take, lock: AbstractContextManager[Any] | None = None) -> None:
        """Calls ``take`` with the frames of each message that comes.  ``lock``: of a socket on which other threads send."""
        self._readers[socket] = (take, lock or nullcontext())
        descriptor: int = socket.getsockopt(zmq.FD)  # type: ignore[assignment]
        self._by_descriptor[descriptor] = socket
        self._epoll.register(descriptor, select.EPOLLIN)
        with self._lock:
            self._unseen[socket] = False

    def empty(self, socket: zmq.Socket[Any]) -> None:
        """Receives all that has come, for the next turn.  ZeroMQ ends the process if a connection of a socket is closed while it
        is in the middle of a message from there."""
        early = self._early.setdefault(socket, [])
        try:
            while True:
                early.append(sockets.receive(socket))
        except zmq.Again:
            pass
        with self._lock:
            self._unseen[socket] = False

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Runs the action after so long."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), action))

    def _run(self) -> None:
        failure: BaseException | None = None
        turn.calls = self._calls
        try:
            while not self.stopped:
                self._turn()
        except BaseException as e:  # noqa: BLE001 - nobody else would see it
            log.exception("the I/O thread has failed")
            failure = e
        with self._lock:
            self.stopped = True  # nothing is submitted from now on, and nobody wakes the thread
        try:
            if failure is None:
                self._run_actions()
            self._at_end(failure)
            self._run_actions()  # what a thread that failed did not come to: it finds its connection over
        finally:
            self._epoll.close()
            os.close(self._wake)

    def _turn(self) -> None:
        with self._lock:
            self._asleep = not (self._actions or self._unseen)
        wait: float | None = 0.0
        if self._asleep:
            wait = min(max(0.0, self._timers[0][0] - time.monotonic()), LONGEST_S) if self._timers else None
        ready = self._epoll.poll(wait)
        self._run_actions()
        with self._lock:
            unseen, self._unseen = self._unseen, {}
        for descriptor, _ in ready:
            if descriptor == self._wake:
                os.eventfd_read(self._wake)
            else:
                unseen[self._by_descriptor[descriptor]] = True
        for socket, told in unseen.items():
            self.take_from(socket, told)
        if self._timers:
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                _guarded(heapq.heappop(self._timers)[2])
        while self._calls:
            _guarded(self._calls.popleft())
        while self._used:
            socket = self._used.pop()
            with self._readers[socket][1]:
                if sockets.readable(socket):
                    self._unseen[socket] = False

    def _run_actions(self) -> None:
        for _ in range(len(self._actions)):
            _guarded(self._actions.popleft())

    def take_from(self, socket: Any, told: bool = False) -> bool:
        """Takes what has come; False if nothing had.  ``told``: the descriptor says that something has, seldom wrongly.

        All messages are received before the first is taken: who waits for it needs the interpreter from then on.
        """
        take, lock = self._readers[socket]
        messages = self._early.pop(socket, [])
        with lock:
            try:
                while (told or sockets.readable(socket)) and len(messages) < TURN:
                    messages.append(sockets.receive(socket))
                    told = False
            except zmq.Again:
                pass
        if messages:  # there may be more; and an answer that `take` sends may use up what the descriptor tells
            self._used.add(socket)
        for frames in messages:
            _guarded(take, frames)
        return bool(messages)


def _guarded(work: Callable[..., None], *arguments: Any) -> None:
    """Does one thing of many: what it raises must not end the others."""
    try:
        work(*arguments)
    except Exception:  # noqa: BLE001 - who asked for it is told by the one who submitted it
        log.exception("an action of the I/O thread has failed")
