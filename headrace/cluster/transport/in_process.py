"""An endpoint whose connections stay in this process: the messages of the others, without sockets.  For tests.

Payloads and tensors pass through the encoder, so that nothing works here that would not between processes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.codec import MalformedError
from headrace.cluster.transport.endpoint import no_handler
from headrace.cluster.transport.interface import (
    CLOSED,
    DEFAULT_LIMITS,
    NO_DECODERS,
    Decode,
    Handler,
    Limits,
    LinkStatistics,
    Lost,
    Peer,
    total,
)
from headrace.cluster.transport.io_loop import IOLoop
from headrace.cluster.transport.keys import split_address
from headrace.cluster.transport.link import Link, call_back
from headrace.core.errors import AlreadyExistsError, CancelledError, UnavailableError

RETRY_S = 0.01
_ports = itertools.count(1)
_names = itertools.count(1)


class InProcessEndpoint:
    """See ``interface.Transport``.  ``network``: those that can reach each other, by address."""

    def __init__(
        self,
        handler: Handler | None,
        network: dict[str, InProcessEndpoint],
        address: str | None = None,
        lost: Lost | None = None,
        limits: Limits = DEFAULT_LIMITS,
        decoders: Mapping[str, Decode] = NO_DECODERS,
    ) -> None:
        self.handler: Handler = handler or no_handler
        self.decoders = decoders
        self.limits = replace(limits, inline=limits.message)
        self.network = network
        self.told = lost
        self.ends: set[_End] = set()
        self.refusals: Counter[str] = Counter()
        self.address: str | None = None
        if address is not None:
            host, port = split_address(address)
            self.address = f"{host}:{port or next(_ports)}"
        self.loop = IOLoop("headrace-in-process", self._end)
        self.loop.thread.start()
        if (
            self.address is not None and network.setdefault(self.address, self) is not self
        ):  # from now on others find it
            taken, self.address = self.address, None
            self.loop.stop()
            raise AlreadyExistsError(None, None, f"{taken} cannot be bound: it is in use")

    def connect(self, address: str, timeout: float | None = None) -> Peer:
        split_address(address)
        end = _ClientEnd(self, address, address)
        if not self.loop.submit(partial(end.look, timeout)):
            raise CancelledError(None, None, f"{address} cannot be reached: this endpoint is closed")
        return end

    def peer(self, name: str) -> Peer | None:
        return next((end for end in list(self.ends) if end.name == name), None)

    def links(self) -> dict[str, LinkStatistics]:
        return total(self.ends)

    def refused(self) -> dict[str, int]:
        return dict(self.refusals)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.loop.submit(partial(self.loop.later, seconds, action))

    def close(self) -> None:
        self.network.pop(self.address or "", None)
        self.loop.stop()

    def _end(self, failure: BaseException | None) -> None:
        for end in list(self.ends):
            end.end(CancelledError(None, None, f"the endpoint was closed: {end.name}"))


class _End(Link):
    """One end of a connection.  ``other`` is the far one, once there is one."""

    other: _End | None = None

    def transmit(self, head: bytes, body: bytes) -> None:
        assert self.other is not None
        self.other.submit(partial(self.other.take, head, body))

    def take(self, head: bytes, body: bytes) -> None:
        self.hear()
        try:
            self.receive(wire.decode_head(head), body)
        except MalformedError as e:
            self.endpoint.refusals["malformed"] += 1
            self.end(UnavailableError(None, None, f"the connection with {self.name} was closed: {e}"))

    def dispose(self, goodbye: bool) -> None:
        """Ends the other end too."""
        self.endpoint.ends.discard(self)
        if self.other is not None:
            self.other.submit(partial(self.other.end, UnavailableError(None, None, f"{self.other.name} {CLOSED}")))
        if self.endpoint.told is not None and not isinstance(self, _ClientEnd) and not self.endpoint.loop.stopped:
            call_back(self.endpoint.told, self.name, self.lost)


class _ClientEnd(_End):
    """The end that connected."""

    def look(self, left: float | None) -> None:
        """Connects if the far endpoint is there, and looks again later if not."""
        if self.lost is not None:
            return
        self.endpoint.ends.add(self)
        far = self.endpoint.network.get(self.address)
        if far is not None:
            self._join(far)
        elif left is not None and left <= 0:
            self.end(UnavailableError(None, None, f"{self.address} could not be reached in time"))
        else:
            self.endpoint.loop.later(RETRY_S, lambda: self.look(None if left is None else left - RETRY_S))

    def _join(self, far: InProcessEndpoint) -> None:
        name = self.endpoint.address or "client"
        other = _End(far, f"{name}#{next(_names)}", name)
        other.other = self
        other.become_ready()
        if not far.loop.submit(partial(far.ends.add, other)):
            self.end(UnavailableError(None, None, f"the connection with {self.address} is lost"))
            return
        self.other = other
        self.become_ready()
