"""An endpoint whose connections stay in this process: the messages of the others, without sockets.  For tests.

Payloads and tensors pass through the encoder, so that nothing works here that would not between processes.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.codec import MalformedError
from headrace.cluster.transport.end import End
from headrace.cluster.transport.endpoint import no_handler
from headrace.cluster.transport.interface import (
    CLOSED,
    DEFAULT_LIMITS,
    Handler,
    Limits,
    LinkStatistics,
    Lost,
    Peer,
    total,
)
from headrace.cluster.transport.io_loop import IOLoop
from headrace.cluster.transport.keys import split_address
from headrace.cluster.transport.link import call_back
from headrace.core.errors import AlreadyExistsError, CancelledError, UnavailableError

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
        self.loop.start(lambda failure: self._end())

    def connect(self, address: str, timeout: float | None = None) -> Peer:
        split_address(address)
        end = _ClientEnd(self, address, address)

        def begin() -> None:
            self.ends[end] = None
            end.look(timeout)

        if not self.loop.submit(begin):
            raise CancelledError(None, None, f"{address} cannot be reached: this endpoint is closed")
        return end

    def peer(self, name: str) -> Peer | None:
        return next((end for end in list(self.ends) if end.link.name == name), None)

    def links(self) -> dict[str, LinkStatistics]:
        return total((end.link.name, end.link.statistics) for end in list(self.ends))

    def refused(self) -> dict[str, int]:
        return dict(self.refusals)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.loop.submit_later(seconds, action)

    def close(self) -> None:
        if self.address is not None:
            self.network.remove(self.address)
        self.loop.stop()

    def _end(self) -> None:
        for end in list(self.ends):
            end.end(CancelledError(None, None, f"the endpoint was closed: {end.link.name}"))


class _End(End):
    """One end of a connection.  ``other`` is the far one, once there is one."""

    other: _End | None = None

    def transmit(self, head: bytes, body: bytes) -> None:
        assert self.other is not None
        self.other.endpoint.loop.submit(partial(self.other.receive, head, body))

    def receive(self, head: bytes, body: bytes) -> None:
        if self.over is not None:
            return
        try:
            self.link.receive(wire.decode_head(head), body)
        except MalformedError as e:
            self.endpoint.refusals["malformed"] = self.endpoint.refusals.get("malformed", 0) + 1
            self.end(UnavailableError(None, None, f"the connection with {self.link.name} was closed: {e}"))

    def dispose(self, goodbye: bool) -> None:
        """Ends the other end too."""
        assert self.over is not None
        self.endpoint.ends.pop(self, None)
        if self.other is not None:
            other = self.other
            other.submit(lambda: other.end(UnavailableError(None, None, f"{other.link.name} {CLOSED}")))
        if self.endpoint.lost is not None and not isinstance(self, _ClientEnd) and not self.endpoint.loop.stopped:
            call_back(self.endpoint.lost, self.link.name, self.over)


class _ClientEnd(_End):
    """The end that connected."""

    _names = itertools.count(1)

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
        name = self.endpoint.address or "client"
        other = _End(far, f"{name}#{next(self._names)}", name)
        other.other = self
        other.ready = True

        def accept() -> None:
            far.ends[other] = None

        if not far.loop.submit(accept):
            self.end(UnavailableError(None, None, f"the connection with {self.address} is lost"))
            return
        self.other = other
        self.become_ready()
