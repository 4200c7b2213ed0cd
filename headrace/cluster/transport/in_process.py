"""An endpoint whose connections stay in this process: the messages of the others, without sockets.  For tests.

Payloads and tensors pass through the encoder, so that nothing works here that would not between processes.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.codec import MalformedError
from headrace.cluster.transport.endpoint import no_handler
from headrace.cluster.transport.interface import (
    DEFAULT_LIMITS,
    Done,
    Handler,
    Limits,
    LinkStatistics,
    Lost,
    Payload,
    Peer,
    Tensors,
)
from headrace.cluster.transport.io_loop import IOLoop
from headrace.cluster.transport.keys import split_address
from headrace.cluster.transport.link import Link, Outlet, call_back, tell_done
from headrace.core.errors import AlreadyExistsError, CancelledError, OpError, UnavailableError

RETRY_S = 0.01


class Network:
    """The addresses of the endpoints that can reach each other.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._endpoints: dict[str, InProcessEndpoint] = {}
        self._ports = itertools.count(1)

    def add(self, address: str, endpoint: InProcessEndpoint) -> str:
        host, port = split_address(address)
        with self._lock:
            address = f"{host}:{port or next(self._ports)}"
            if address in self._endpoints:
                raise AlreadyExistsError(None, None, f"{address} cannot be bound: it is in use")
            self._endpoints[address] = endpoint
            return address

    def remove(self, address: str) -> None:
        with self._lock:
            self._endpoints.pop(address, None)

    def find(self, address: str) -> InProcessEndpoint | None:
        return self._endpoints.get(address)


class InProcessEndpoint:
    """See ``interface.Transport``."""

    def __init__(
        self,
        handler: Handler | None,
        network: Network,
        address: str | None = None,
        lost: Lost | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.handler: Handler = handler or no_handler
        self.limits = replace(limits, inline=limits.message)
        self.network = network
        self.lost = lost
        self.ends: dict[_End, None] = {}
        self.refusals: dict[str, int] = {}
        self.loop = IOLoop("headrace-in-process")
        self.address: str | None = None
        try:
            self.address = None if address is None else network.add(address, self)
        except BaseException:
            self.loop.discard()
            raise
        self.loop.start(self._end)

    def connect(self, address: str, timeout: float | None = None) -> Peer:
        split_address(address)
        end = _ClientEnd(self, address)

        def begin() -> None:
            self.ends[end] = None
            end.look(timeout)

        if not self.loop.submit(begin):
            raise CancelledError(None, None, f"{address} cannot be reached: this endpoint is closed")
        return end

    def links(self) -> dict[str, LinkStatistics]:
        return {end.link.name: end.link.statistics for end in list(self.ends)}

    def refused(self) -> dict[str, int]:
        return dict(self.refusals)

    def close(self) -> None:
        if self.address is not None:
            self.network.remove(self.address)
        self.loop.stop()

    def _end(self) -> None:
        for end in list(self.ends):
            end.end(CancelledError(None, None, f"the endpoint was closed: {end.link.name}"))


class _End(Outlet):
    """One end of a connection.  ``other`` is the far one, once there is one."""

    def __init__(self, endpoint: InProcessEndpoint, name: str) -> None:
        self.endpoint = endpoint
        self.link = Link(name, endpoint.handler, endpoint.limits, self)
        self.other: _End | None = None
        self.over: OpError | None = None

    def submit(self, action: Callable[[], None]) -> None:
        self.endpoint.loop.submit(lambda: None if self.over else action())

    def transmit(self, frames: list[bytes]) -> None:
        assert self.other is not None
        self.other.submit(partial(self.other.receive, frames))

    def receive(self, frames: list[bytes]) -> None:
        try:
            self.link.receive(wire.decode_head(frames[0]), frames[1])
        except MalformedError as e:
            self.endpoint.refusals["malformed"] = self.endpoint.refusals.get("malformed", 0) + 1
            self.end(UnavailableError(None, None, f"the connection with {self.link.name} was closed: {e}"))

    def end(self, error: OpError) -> None:
        """Ends both ends, once."""
        if self.over is not None:
            return
        self.over = error
        self.endpoint.ends.pop(self, None)
        self.link.end(error)
        if self.other is not None:
            other = self.other
            other.submit(
                lambda: other.end(UnavailableError(None, None, f"{other.link.name} has closed the connection"))
            )
        self.tell()

    def tell(self) -> None:
        """Tells who wants to know that the connection has ended."""
        assert self.over is not None
        if self.endpoint.lost is not None and not self.endpoint.loop.stopped:
            call_back(self.endpoint.lost, self.link.name, self.over)


class _ClientEnd(_End):
    """The end that connected: a ``Peer``."""

    _names = itertools.count(1)

    def __init__(self, endpoint: InProcessEndpoint, address: str) -> None:
        super().__init__(endpoint, address)
        self.address = address
        self._calls = itertools.count(1)
        self._waiting: list[Callable[[], None]] = []
        self._on_lost: list[Callable[[OpError], None]] = []

    def look(self, left: float | None) -> None:
        """Connects if the far endpoint is there, and looks again later if not."""
        if self.over is not None:
            return
        far = self.endpoint.network.find(self.address)
        if far is not None:
            self._join(far)
        elif left is not None and left <= 0:
            self.end(UnavailableError(None, None, f"{self.address} could not be reached in time"))
        else:
            self.endpoint.loop.later(RETRY_S, lambda: self.look(None if left is None else left - RETRY_S))

    def _join(self, far: InProcessEndpoint) -> None:
        other = _End(far, f"{self.endpoint.address or 'client'}#{next(self._names)}")
        other.other = self

        def accept() -> None:
            far.ends[other] = None

        if not far.loop.submit(accept):
            self.end(UnavailableError(None, None, f"the connection with {self.address} is lost"))
            return
        self.other = other
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

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
            tell_done(done, {}, [], self.over or self._closed())

    def push(self, method: str, payload: Payload, tensors: Tensors, order: str = "") -> None:
        packed = self.link.pack(payload, tensors)
        send = partial(self.link.send, lambda cargo: wire.Push(method, order, cargo), packed)
        self.submit(lambda: self._when_ready(send))

    def _when_ready(self, action: Callable[[], Any]) -> None:
        if self.other is not None:
            action()
        else:
            self._waiting.append(action)

    def on_lost(self, callback: Callable[[OpError], None]) -> None:
        def add() -> None:
            if self.over is None:
                self._on_lost.append(callback)
            elif not isinstance(self.over, CancelledError):
                call_back(callback, self.over)

        self.endpoint.loop.submit(add)

    def close(self) -> None:
        self.submit(lambda: self.end(self._closed()))

    @property
    def lost(self) -> OpError | None:
        return self.over

    @property
    def statistics(self) -> LinkStatistics:
        return self.link.statistics

    def _closed(self) -> CancelledError:
        return CancelledError(None, None, f"the connection with {self.address} was closed")

    def tell(self) -> None:
        self._waiting.clear()
        if self.over is not None and not isinstance(self.over, CancelledError):
            for callback in self._on_lost:
                call_back(callback, self.over)
        self._on_lost.clear()
