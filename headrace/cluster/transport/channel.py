"""Channel: the one ZeroMQ socket by which an endpoint reaches all others.  It listens, dials, and tells which connection ended.

ZeroMQ names a connection that has ended by its descriptor, and one that is being made by its address.  So a channel keeps the
descriptors of its connections, and writes every address that it dials in another way: "127.0.0.1:002222" is the second to
127.0.0.1:2222.  Who connects and does not say who it is, is a stranger: there are few, the newest in place of the oldest.
"""

from __future__ import annotations

import itertools
import resource
import socket as system_socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import zmq

from headrace.cluster.transport import sockets
from headrace.cluster.transport.io_loop import Take

if TYPE_CHECKING:
    from headrace.cluster.transport.connection import Connection
    from headrace.cluster.transport.endpoint import Endpoint

TURNS: Final = 100  # in which what a connection that has ended sent last is taken
WAYS: Final = 64  # to write an address, before there are as many connections to it


@dataclass(slots=True)
class Dial:
    """A connection that is being made.  ``told`` hears what happens to it: events of ZeroMQ."""

    identity: bytes
    told: Callable[[int], None]
    descriptor: int = -1


class Channel:
    """Everything but `send` is for the I/O thread, or for the time before it starts."""

    def __init__(self, endpoint: Endpoint, name: str, max_frame: int, take: Take) -> None:
        """``name``: what a connection loses that loses this channel."""
        self.socket = sockets.router(endpoint.context, endpoint.limits, max_frame)
        self.lock = threading.RLock()
        self.connections: dict[bytes, Connection] = {}  # by identity
        self.port = 0
        self._name = name
        self._loop = endpoint.loop
        self._refusals = endpoint.refusals
        self._most = min(endpoint.limits.strangers, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
        self._strangers: dict[int, None] = {}  # by descriptor, the oldest first
        self._identities: dict[int, bytes] = {}  # by descriptor
        self._dials: dict[str, Dial] = {}
        self._ways = itertools.count()
        self._watch = self.socket.get_monitor_socket(sockets.WATCHED)
        self._loop.read(self.socket, take, self.lock)
        self._loop.read(self._watch, self._note)

    def listen(self, host: str, port: int, options: Mapping[int, Any]) -> None:
        """Listens; ``options`` are those of the connections that others make."""
        self._set(options)
        self.socket.bind(sockets.url(host, str(port) if port else "*"))
        self.port = int(self.socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])

    def dial(self, ip: str, port: int, dial: Dial, options: Mapping[int, Any]) -> str:
        """Tries to connect, once; returns what `hang_up` takes.  Messages for it are kept until then."""
        zeros = 1 + next(self._ways) % WAYS  # not as the last time: ZeroMQ may still be about to end that one
        while (where := sockets.url(ip, "0" * zeros + str(port))) in self._dials:
            zeros += 1
        with self.lock:
            self._set({zmq.CONNECT_ROUTING_ID: dial.identity, **options})
            self.socket.connect(where)
        self._dials[where] = dial
        return where

    def _set(self, options: Mapping[int, Any]) -> None:
        for option, value in options.items():
            self.socket.setsockopt(option, value)

    def hang_up(self, where: str, linger: int = 0) -> None:
        """Ends a connection that was dialed; ``linger``: milliseconds for what is still to be sent.  Nothing for ""."""
        dial = self._dials.pop(where, None)
        if dial is None:
            return
        self._identities.pop(dial.descriptor, None)
        with self.lock, suppress(zmq.ZMQError):
            self._loop.empty(self.socket)
            self.socket.linger = linger
            self.socket.disconnect(where)
            self._loop.sent(self.socket)

    def send(self, frames: Sequence[bytes]) -> None:
        """Sends to the connection whose identity comes first; ZMQError if it is gone or takes nothing.  From any thread."""
        with self.lock:
            sockets.send(self.socket, frames)
            self._loop.sent(self.socket)

    def know(self, identity: bytes, frame: Any) -> bool:
        """Who sent the frame is no stranger any more; False if it is gone already."""
        while self._loop.take_from(self._watch):  # that it was accepted, and who had its descriptor before, comes first
            pass
        descriptor = int(frame.get(zmq.SRCFD))
        before = self._identities.get(descriptor)
        if before is None and descriptor not in self._strangers:
            return False
        if before is not None and before != identity:
            self._loop.later(0.0, partial(self._end, before))
        self._strangers.pop(descriptor, None)
        self._identities[descriptor] = identity
        return True

    def _note(self, frames: list[Any]) -> None:
        """Something has happened to a connection."""
        event, value, where = sockets.event_of(frames)
        dial = self._dials.get(where)
        if event == zmq.EVENT_ACCEPTED:
            self._strangers[value] = None
            if len(self._strangers) > self._most:
                self._cut("too many strangers")
        elif event == zmq.EVENT_ACCEPT_FAILED:
            self._cut("no descriptor")
        elif event == zmq.EVENT_DISCONNECTED:
            self._strangers.pop(value, None)
            identity = self._identities.pop(value, None)
            if identity is not None:
                self._loop.later(0.0, partial(self._end, identity))
            elif dial is not None:
                dial.told(event)
        elif dial is None:
            if event & sockets.FAILED_HANDSHAKES:
                self._refusals["handshake"] += 1
        else:
            if event == zmq.EVENT_CONNECTED:
                dial.descriptor = value
            elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._identities[dial.descriptor] = dial.identity
            dial.told(event)

    def _end(self, identity: bytes) -> None:
        """A connection has ended: what it sent last is taken first."""
        for _ in range(TURNS):
            if not self._loop.take_from(self.socket):
                break
        if identity in self.connections:
            self.connections[identity].lose(self._name)

    def _cut(self, reason: str) -> None:
        """Breaks the connection of the oldest stranger."""
        self._refusals[reason] += 1
        if self._strangers:
            descriptor = next(iter(self._strangers))
            del self._strangers[descriptor]
            with suppress(OSError):
                one = system_socket.socket(fileno=descriptor)
                try:
                    if one.getsockname()[1] == self.port:  # its descriptor may be another's by now
                        one.shutdown(system_socket.SHUT_RDWR)
                finally:
                    one.detach()  # ZeroMQ closes it

    def close(self, linger: int) -> None:
        """Ends all connections; ``linger``: milliseconds for what is still to be sent."""
        with self.lock:
            self.socket.disable_monitor()
            self._watch.close(0)
            self.socket.close(linger)
