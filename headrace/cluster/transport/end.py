"""One end of a connection: what does not depend on how its messages travel.

`End` has the link and says whether it is over.  `CallingEnd` is the end of the side that connected: a ``Peer``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.interface import Done, LinkStatistics, Payload, Tensors
from headrace.cluster.transport.link import Link, Outlet, call_back, tell_done
from headrace.core.errors import CancelledError, OpError, UnavailableError


class End(Outlet):
    """Used on the I/O thread of its endpoint, apart from `submit`."""

    def __init__(self, endpoint: Any, name: str) -> None:
        self.endpoint = endpoint
        self.link = Link(name, endpoint.handler, endpoint.limits, self)
        self.ready = False  # whether messages can travel
        self.over: OpError | None = None

    def submit(self, action: Callable[[], None]) -> None:
        """Runs the action on the I/O thread, unless the connection is over by then."""
        self.endpoint.loop.submit(lambda: None if self.over else action())


class CallingEnd(End):
    """A ``Peer``: what is asked of it before it is ready waits until then."""

    def __init__(self, endpoint: Any, address: str) -> None:
        super().__init__(endpoint, address)
        self.address = address
        self._calls = itertools.count(1)
        self._waiting: list[Callable[[], None]] = []
        self._on_lost: list[Callable[[OpError], None]] = []

    # ---- from any thread

    def call(self, method: str, payload: Payload, tensors: Tensors, done: Done, timeout: float | None = None) -> None:
        number = next(self._calls)
        packed = self.link.pack(payload, tensors)

        def begin() -> None:
            if self.over is not None:
                tell_done(done, {}, [], self.over)
                return
            if timeout is not None:
                late = UnavailableError(None, None, f"{self.address} has not answered {method!r} within {timeout} s")
                self.endpoint.loop.later(timeout, lambda: self.link.give_up(number, late))
            self.link.expect(number, done)
            self._when_ready(lambda: self.link.call(number, method, packed))

        if not self.endpoint.loop.submit(begin):
            tell_done(done, {}, [], self.over or self.closed())

    def push(self, method: str, payload: Payload, tensors: Tensors, order: str = "") -> None:
        packed = self.link.pack(payload, tensors)
        self.submit(
            lambda: self._when_ready(lambda: self.link.send(lambda cargo: wire.Push(method, order, cargo), packed))
        )

    def on_lost(self, callback: Callable[[OpError], None]) -> None:
        def add() -> None:
            if self.over is None:
                self._on_lost.append(callback)
            elif not isinstance(self.over, CancelledError):
                call_back(callback, self.over)

        self.endpoint.loop.submit(add)

    @property
    def lost(self) -> OpError | None:
        return self.over

    @property
    def statistics(self) -> LinkStatistics:
        return self.link.statistics

    # ---- on the I/O thread

    def closed(self) -> CancelledError:
        """The error of an end that its own side has closed."""
        return CancelledError(None, None, f"the connection with {self.address} was closed")

    def become_ready(self) -> None:
        """Does what has waited for the connection."""
        self.ready = True
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    def tell_lost(self) -> None:
        """Tells who wants to know that the connection is over, unless it was closed here."""
        self._waiting.clear()
        if self.over is not None and not isinstance(self.over, CancelledError):
            for callback in self._on_lost:
                call_back(callback, self.over)
        self._on_lost.clear()

    def _when_ready(self, action: Callable[[], None]) -> None:
        if self.ready:
            action()
        else:
            self._waiting.append(action)
