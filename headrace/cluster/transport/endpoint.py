"""Endpoint: a process's end of all its connections, over ZeroMQ.

It owns the sockets, the I/O thread, the keys and who is connected.  Two channels lead to a server: control (CURVE, keys derived
from the cluster's key) for messages, and bulk (chunks under AES-GCM) for what is too large for it and cannot go through shared
memory.
"""

from __future__ import annotations

import os
import secrets
import socket as system_socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import zmq

from headrace.cluster.transport import message as wire
from headrace.cluster.transport import sockets
from headrace.cluster.transport.authenticator import Authenticator
from headrace.cluster.transport.codec import MalformedError
from headrace.cluster.transport.connection import LINGER_MS, ClientConnection, Connection, ServerConnection
from headrace.cluster.transport.interface import (
    DEFAULT_LIMITS,
    Fail,
    Handler,
    Limits,
    LinkStatistics,
    Lost,
    Peer,
    Reply,
    total,
)
from headrace.cluster.transport.io_loop import IOLoop
from headrace.cluster.transport.keys import check_key_for, cluster_key, numeric, split_address, url
from headrace.cluster.transport.link import call_back
from headrace.cluster.transport.segments import HostProbe
from headrace.core.errors import (
    UNIMPLEMENTED,
    AlreadyExistsError,
    CancelledError,
    InvalidArgumentError,
    OpError,
    UnknownError,
)

HEARTBEAT_S: Final = 1.0
LOOK_AGAIN_S: Final = (0.0, 0.05, 0.25)  # after a connection broke: ZeroMQ does not say whose


def no_handler(peer: str, method: str, payload: dict[str, Any], tensors: list[Any], reply: Reply, fail: Fail) -> None:
    """Refuses every call: the handler of an endpoint that only calls others."""
    fail(UNIMPLEMENTED, f"this process answers no calls: received {method!r}", "")


class Endpoint:
    """See ``interface.Transport``.  With an ``address`` ("host:port", port 0: a free one) others can connect."""

    def __init__(
        self,
        handler: Handler | None = None,
        address: str | None = None,
        key: str | bytes | None = None,
        lost: Lost | None = None,
        limits: Limits = DEFAULT_LIMITS,
        shared_memory: bool = True,
    ) -> None:
        self.handler: Handler = handler or no_handler
        self.limits = limits
        self._lost = lost
        self._key = cluster_key(key)
        if address is not None:
            check_key_for(address, self._key, "listen at")
        self.curve = sockets.CurveKeys(self._key)
        self.refusals: Counter[str] = Counter()
        self.context: zmq.Context[Any] = zmq.Context()
        self.control: sockets.Socket | None = None
        self.control_lock = threading.RLock()
        self.bulk: sockets.Socket | None = None
        self.bulk_address: str | None = None
        self.address: str | None = None
        self.probe = HostProbe() if shared_memory and hasattr(os, "memfd_create") else None
        self._watches: list[sockets.Socket] = []
        self._by_identity: dict[bytes, ServerConnection] = {}
        self._by_bulk: dict[bytes, ServerConnection] = {}
        self._clients: dict[ClientConnection, None] = {}
        self._authenticator: Authenticator | None = None
        self.loop = IOLoop("headrace-transport")
        try:
            if address is not None:
                self._bind(address)
        except BaseException:
            self._dispose()
            self.loop.discard()
            raise
        self.name = self.address or f"{system_socket.gethostname()}:{os.getpid()}"
        self.loop.start(self._end)

    # ---- from any thread

    def connect(self, address: str, timeout: float | None = None) -> Peer:
        split_address(address)
        check_key_for(address, self._key, "connect to")
        connection = ClientConnection(self, address, timeout)

        def begin() -> None:
            self._clients[connection] = None
            connection.begin()

        if not self.loop.submit(begin):
            raise CancelledError(None, None, f"{address} cannot be reached: this endpoint is closed")
        return connection

    def links(self) -> dict[str, LinkStatistics]:
        connections: list[Connection] = [*self._clients, *self._by_identity.values()]
        return total((connection.link.name, connection.link.statistics) for connection in connections)

    def refused(self) -> dict[str, int]:
        return dict(self.refusals)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.loop.submit_later(seconds, action)

    def close(self) -> None:
        self.loop.stop()

    # ---- the server's side, on the I/O thread

    def _bind(self, address: str) -> None:
        host, port = split_address(address)
        numeric(host)  # an error names the host
        self._authenticator = Authenticator(self.context, self.curve.client_public, self.refusals)
        self.control = sockets.control_server(self.context, self.curve, self.limits)
        self.bulk = sockets.bulk_server(self.context, self.limits)
        self._watches = [sockets.monitor(self.control), sockets.monitor(self.bulk)]
        try:
            self.control.bind(url(host, port or "*"))
            self.bulk.bind(url(host, "*"))
        except zmq.ZMQError as e:
            raise _unbound(address, e) from None
        self.address = f"{host}:{_port(self.control)}"
        self.bulk_address = f"{host}:{_port(self.bulk)}"
        self.loop.read(self._authenticator.socket, self._authenticator.answer)
        self.loop.read(self.control, self._take_control, self.control_lock)
        self.loop.read(self.bulk, self._take_bulk)
        for watch in self._watches:
            self.loop.read(watch, self._note)
        self.loop.later(HEARTBEAT_S, self._heartbeat)

    def _take_control(self, message: list[bytes]) -> None:
        identity, *frames = message
        connection = self._by_identity.get(identity)
        if connection is not None:
            connection.receive(frames)
        else:
            self._greet(identity, frames)

    def _greet(self, identity: bytes, frames: list[bytes]) -> None:
        """Takes the first message of a connection."""
        try:
            head = wire.decode_head(frames[0]) if len(frames) == 2 else None
        except MalformedError:
            head = None
        if not isinstance(head, wire.Hello) or head.version != wire.VERSION or not _is_name(head.name):
            self.refusals["no hello"] += not isinstance(head, wire.Goodbye | wire.Alive)
        elif len(self._by_identity) >= self.limits.peers:
            self.refusals["too many peers"] += 1
        else:
            connection = self._by_identity[identity] = ServerConnection(self, identity, head)
            self._by_bulk[connection.bulk_identity] = connection
            connection.greet(head.probe)
            return
        with suppress(zmq.ZMQError):
            self.send_control([identity, wire.encode_head(wire.Goodbye()), b""])

    def send_control(self, frames: list[bytes]) -> None:
        """Sends to the connection whose identity comes first.  From any thread."""
        assert self.control is not None
        with self.control_lock:
            sockets.send(self.control, frames)
            self.loop.sent(self.control)

    def new_bulk(self) -> tuple[bytes, str, bytes, bytes]:
        """The identity and the secret of a bulk connection to come, and the keys of both its directions."""
        identity, secret = b"\1" + secrets.token_bytes(16), secrets.token_hex(32)
        assert self._authenticator is not None
        self._authenticator.expect(identity, secret.encode())
        return identity, secret, secrets.token_bytes(32), secrets.token_bytes(32)

    def _take_bulk(self, message: list[bytes]) -> None:
        identity, *frames = message
        connection = self._by_bulk.get(identity)
        if connection is None:
            self.refusals["bad chunk"] += 1
        else:
            connection.chunk(frames)

    def _note(self, frames: list[bytes]) -> None:
        event = sockets.event_of(frames)
        if event & sockets.FAILED_HANDSHAKES:
            self.refusals["handshake"] += 1
        elif event == zmq.EVENT_DISCONNECTED:
            for seconds in LOOK_AGAIN_S:
                self.loop.later(seconds, self._look)

    def _look(self) -> None:
        """Finds the connections that are gone: what is sent to them cannot be delivered."""
        for connection in list(self._by_identity.values()):
            connection.link.tell(wire.Alive())

    def _heartbeat(self) -> None:
        self._look()
        self.loop.later(HEARTBEAT_S, self._heartbeat)

    # ---- ends

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        if isinstance(connection, ClientConnection):
            self._clients.pop(connection, None)
        elif isinstance(connection, ServerConnection):
            self._by_identity.pop(connection.identity, None)
            self._by_bulk.pop(connection.bulk_identity, None)
            if self._authenticator is not None:
                self._authenticator.forget(connection.bulk_identity)

    def tell_lost(self, name: str, error: OpError) -> None:
        """Tells that a connection that another made has ended."""
        if self._lost is not None and not self.loop.stopped:
            call_back(self._lost, name, error)

    def _end(self) -> None:
        for connection in [*self._clients, *self._by_identity.values()]:
            connection.end(CancelledError(None, None, f"the endpoint was closed: {connection.link.name}"), goodbye=True)
        self._dispose()

    def _dispose(self) -> None:
        for socket, watch in zip((self.control, self.bulk), self._watches, strict=False):
            if socket is not None:
                with self.control_lock:
                    sockets.close(socket, watch, LINGER_MS)
        if self._authenticator is not None:
            self._authenticator.socket.close(0)
        self.context.term()
        if self.probe is not None:
            self.probe.close()


def _is_name(name: str) -> bool:
    """Whether a peer may be called so: names are in logs and messages."""
    return 0 < len(name) <= 256 and name.isprintable()


def _unbound(address: str, error: zmq.ZMQError) -> OpError:
    """Why a server cannot listen at its address."""
    if error.errno == zmq.EADDRNOTAVAIL:
        why = f"no network interface of this machine has the address of {split_address(address)[0]}"
        return InvalidArgumentError(None, None, f"{address} cannot be bound: {why}")
    if error.errno == zmq.EADDRINUSE:
        return AlreadyExistsError(None, None, f"{address} cannot be bound: another process listens there")
    return UnknownError(None, None, f"{address} cannot be bound: {error}")


def _port(socket: sockets.Socket) -> int:
    return int(socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
