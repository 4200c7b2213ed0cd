"""End: one end of a connection, a ``Peer``; what does not depend on how its messages travel."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.interface import NO_ANSWER, Done, LinkStatistics, Payload, Tensors
from headrace.cluster.transport.link import Build, Link, Outlet, Packed, call_back, log
from headrace.core.errors import CancelledError, InternalError, OpError, UnavailableError


class End(Outlet):
    """What is asked of it before it is ready waits until then."""

    def __init__(self, endpoint: Any, name: str, address: str) -> None:
        self.endpoint = endpoint
        self.address = address  # of the other end
        self.link = Link(name, endpoint.handler, endpoint.limits, self)
        self.lock = threading.RLock()  # of the socket
        self.ready = False  # whether messages can travel
        self.over: OpError | None = None
        self._queued = 0  # messages that the I/O thread is still to send
        self._calls = itertools.count(1)
        self._waiting: list[Callable[[], None]] = []
        self._on_lost: list[Callable[[OpError], None]] = []

    # ---- from any thread

    def submit(self, action: Callable[[], None]) -> None:
        """Runs the action on the I/O thread, unless the connection is over by then; what it raises ends the connection."""
        self.endpoint.loop.submit(partial(self.act, action))

    def send(self, build: Build, packed: Packed) -> None:
        if not self.send_now(build, packed):
            self.send_later(build, packed)

    def send_now(self, build: Build, packed: Packed, before: Callable[[], None] | None = None) -> bool:
        """Sends on this thread, if nothing must go first: waking the I/O thread would cost more than the message."""
        if packed.aside or not self.ready:
            return False
        with self.lock:
            if self._queued or self.over is not None:
                return False
            if before is not None:
                before()
            self.link.send(build, packed)
        return True

    def send_later(self, build: Build, packed: Packed) -> None:
        """Sends on the I/O thread, after what was given to it before."""
        with self.lock:
            self._queued += 1

        def send() -> None:
            with self.lock:
                self._queued -= 1
                self.link.send(build, packed)

        self.submit(lambda: self.when_ready(send))

    def call(self, method: str, payload: Payload, tensors: Tensors, done: Done, timeout: float | None = None) -> None:
        number = next(self._calls)
        packed = self.link.pack(payload, tensors)

        def build(cargo: wire.Cargo) -> wire.Call:
            return wire.Call(number, method, cargo)

        if timeout is None and self.send_now(build, packed, lambda: self.link.expect(number, done)):
            return

        def begin() -> None:
            if self.over is not None:
                call_back(done, {}, [], self.over)
                return
            if timeout is not None:
                late = UnavailableError(None, None, f"{self.address} {NO_ANSWER} {method!r} within {timeout} s")
                self.endpoint.loop.later(timeout, lambda: self.link.give_up(number, late))
            self.link.expect(number, done)
            self.send_later(build, packed)

        if not self.endpoint.loop.submit(begin):
            call_back(done, {}, [], self.over or self.closed())

    def push(self, method: str, payload: Payload, tensors: Tensors, order: str = "") -> None:
        self.send(lambda cargo: wire.Push(method, order, cargo), self.link.pack(payload, tensors))

    def on_lost(self, callback: Callable[[OpError], None]) -> None:
        def add() -> None:
            if self.over is None:
                self._on_lost.append(callback)
            elif not isinstance(self.over, CancelledError):
                call_back(callback, self.over)

        self.endpoint.loop.submit(add)

    def close(self, error: OpError | None = None) -> None:
        self.submit(lambda: self.end(error or self.closed(), goodbye=True))

    @property
    def lost(self) -> OpError | None:
        return self.over

    @property
    def statistics(self) -> LinkStatistics:
        return self.link.statistics

    # ---- on the I/O thread

    def act(self, action: Callable[[], None]) -> None:
        """Acts unless the connection is over.  An exception is told to all who asked something of the connection."""
        if self.over is None:
            try:
                action()
            except Exception as e:  # noqa: BLE001 - one connection must not end the I/O thread
                log.exception("the connection with %s has failed", self.link.name)
                why = f"the connection with {self.link.name} has failed here: {type(e).__name__}: {e}"
                self.end(InternalError(None, None, why))

    def closed(self) -> CancelledError:
        """The error of an end that its own side has closed."""
        return CancelledError(None, None, f"the connection with {self.address} was closed")

    def become_ready(self) -> None:
        """Does what has waited for the connection."""
        self.ready = True
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    def when_ready(self, action: Callable[[], None]) -> None:
        """Acts when messages can travel."""
        if self.ready:
            action()
        else:
            self._waiting.append(action)

    def end(self, error: OpError, goodbye: bool = False) -> None:
        """Ends the connection, once, and tells who wants to know unless it was closed here."""
        with self.lock:
            if self.over is not None:
                return
            self.over = error
        self.link.end(error)
        try:
            self.dispose(goodbye)
        finally:
            self._waiting.clear()
            callbacks, self._on_lost = self._on_lost, []
            if not isinstance(error, CancelledError):
                for callback in callbacks:
                    call_back(callback, error)

    def dispose(self, goodbye: bool) -> None:
        """Lets go of the connection; ``goodbye``: and says so to the other end."""
        raise NotImplementedError
