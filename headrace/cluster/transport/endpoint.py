"""Endpoint: a process's end of all its connections, over ZeroMQ.

It owns the sockets, the I/O thread, the keys and who is connected.  Two channels lead to a server: control (CURVE, keys derived
from the cluster's key) for messages, and bulk (chunks under AES-GCM) for what is too large for it and cannot go through shared
memory.
"""

from __future__ import annotations

import os
import socket as system_socket
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import zmq

from headrace.cluster.transport import message as wire
from headrace.cluster.transport import sockets
from headrace.cluster.transport.authenticator import Authenticator
from headrace.cluster.transport.bulk import MOST_AROUND
from headrace.cluster.transport.channel import Channel
from headrace.cluster.transport.codec import MalformedError
from headrace.cluster.transport.connection import LINGER_MS, ClientConnection, Connection, ServerConnection
from headrace.cluster.transport.interface import (
    DEFAULT_LIMITS,
    NO_DECODERS,
    Decode,
    Fail,
    Failed,
    Handler,
    Limits,
    LinkStatistics,
    Lost,
    Peer,
    Reply,
    data_port_of,
    total,
)
from headrace.cluster.transport.io_loop import IOLoop
from headrace.cluster.transport.keys import check_key_for, cluster_keys, numeric, split_address
from headrace.cluster.transport.link import call_back, log
from headrace.cluster.transport.lookups import THREADS
from headrace.cluster.transport.segments import HostProbe
from headrace.core import errors
from headrace.core.errors import OpError
from headrace.runtime.host.pool import Pool


def no_handler(peer: str, method: str, payload: dict[str, Any], tensors: list[Any], reply: Reply, fail: Fail) -> None:
    """Refuses every call: the handler of an endpoint that only calls others."""
    fail(errors.UNIMPLEMENTED, f"this process answers no calls: received {method!r}", "")


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
        data_port: int | None = None,
        failed: Failed | None = None,
        decoders: Mapping[str, Decode] = NO_DECODERS,
    ) -> None:
        """``data_port``: that of the bulk channel; None: `data_port_of` the address, or a free one if that is taken.

        ``decoders``: what the handler gets of the payloads of a method, if not a dict.
        """
        self.handler: Handler = handler or no_handler
        self.decoders = decoders
        self.limits = limits
        self._lost = lost
        self._failed = failed
        self._keys = cluster_keys(key)
        if address is not None:
            check_key_for(address, self._keys[0], "listen at")
        self.keys = [sockets.CurveKeys(one) for one in self._keys]
        self.refusals: Counter[str] = Counter()
        self.context: zmq.Context[Any] = zmq.Context()
        self.loop = IOLoop("headrace-transport", self._end)
        self.control = Channel(self, "connection with", limits.frame, self._take_control)
        self.bulk = Channel(self, "bulk channel of", limits.chunk + MOST_AROUND, self._take_bulk)
        self.bulk_address: str | None = None
        self.address: str | None = None
        self.probe = HostProbe() if shared_memory and hasattr(os, "memfd_create") else None
        self.lookups = Pool("headrace-lookup-", THREADS)
        self._by_name: dict[str, ServerConnection] = {}
        self._authenticator: Authenticator | None = None
        try:
            if address is not None:
                self._bind(address, data_port)
        except BaseException:
            self._dispose()
            self.loop.discard()
            raise
        self.name = self.address or f"{system_socket.gethostname()}:{os.getpid()}"
        self.loop.thread.start()

    # ---- from any thread

    def connect(self, address: str, timeout: float | None = None) -> Peer:
        check_key_for(address, self._keys[0], "connect to")
        connection = ClientConnection(self, address, timeout)
        if not self.loop.submit(partial(connection.act, connection.begin)):
            raise errors.CancelledError(None, None, f"{address} cannot be reached: this endpoint is closed")
        return connection

    def peer(self, name: str) -> Peer | None:
        return self._by_name.get(name)

    def links(self) -> dict[str, LinkStatistics]:
        return total(self.control.connections.values())

    def refused(self) -> dict[str, int]:
        return dict(self.refusals)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.loop.submit(partial(self.loop.later, seconds, action))

    def close(self) -> None:
        self.loop.stop()

    # ---- on the I/O thread

    def _bind(self, address: str, data_port: int | None) -> None:
        host, port = split_address(address)
        ip = numeric(host)  # an error names the host
        clients = [keys.client_public for keys in self.keys]
        self._authenticator = Authenticator(self.context, clients, self.refusals)
        try:
            self.control.listen(ip, port, sockets.as_control_server(self.keys[0]))
        except zmq.ZMQError as e:
            raise _unbound(address, e) from None
        self.address = f"{host}:{self.control.port}"
        derived = data_port_of(port) if port else 0
        try:
            self.bulk.listen(ip, derived if data_port is None else data_port, sockets.as_bulk_server())
        except zmq.ZMQError as e:
            if data_port is not None:
                raise _unbound(f"{host}:{data_port}", e) from None
            self.bulk.listen(ip, 0, sockets.as_bulk_server())
            log.warning("port %d, for large tensors to %s, is taken: it is %d now", derived, address, self.bulk.port)
        self.bulk_address = f"{host}:{self.bulk.port}"
        self.loop.read(self._authenticator.socket, self._authenticator.answer)

    def _take_control(self, frames: list[Any]) -> None:
        connection = self.control.connections.get(frames[0])
        if connection is None:
            self._greet(frames[0], frames)
        else:
            try:
                connection.take_control(frames)
            except Exception as e:  # noqa: BLE001 - one peer must not end the I/O thread
                connection.refuse("malformed", e)

    def _greet(self, identity: bytes, frames: list[Any]) -> None:
        """Takes the first message of a connection."""
        first = frames[1].bytes if len(frames) == 3 else b""
        try:
            head = wire.decode_head(first)
        except MalformedError:
            head = None
        version = wire.version_of(first)
        if version is not None and version != wire.VERSION:
            why = f"it speaks version {version} of the protocol, and this is version {wire.VERSION}"
            goodbye = wire.Goodbye(errors.FAILED_PRECONDITION, f"{why}: all tasks of a cluster need the same Headrace")
            self.refusals["other version"] += 1
        elif not isinstance(head, wire.Hello) or not _is_name(head.name):
            self.refusals["no hello"] += not isinstance(head, wire.Goodbye)
            goodbye = wire.Goodbye()
        elif len(self._by_name) >= self.limits.peers:
            self.refusals["too many peers"] += 1
            why = f"it has {self.limits.peers} connections, and more are not accepted"
            goodbye = wire.Goodbye(errors.RESOURCE_EXHAUSTED, why)
        elif not self.control.know(identity, frames[1]):
            return
        else:
            connection = ServerConnection(self, identity, head)
            self._by_name[connection.name] = connection
            if self._authenticator is not None:
                self._authenticator.expected.add(connection.bulk_identity)
            return
        with suppress(zmq.ZMQError):
            self.control.send([identity, wire.encode_head(goodbye), b""])

    def _take_bulk(self, frames: list[Any]) -> None:
        connection = self.bulk.connections.get(frames[0])
        if connection is None:
            self.refusals["bad chunk"] += 1
        elif not connection.bulk_open and not self.bulk.know(frames[0], frames[1]):
            connection.lose("bulk channel of")
        else:
            try:
                connection.take_bulk([frames[1].bytes, *(frame.buffer for frame in frames[2:])])
            except Exception as e:  # noqa: BLE001 - as above
                connection.refuse("bad chunk", e)

    # ---- ends

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self.control.connections.pop(connection.identity, None)
        self.bulk.connections.pop(connection.bulk_identity, None)
        if self._by_name.pop(connection.name, None) is not None:
            if self._authenticator is not None:
                self._authenticator.expected.discard(connection.bulk_identity)
            if self._lost is not None and not self.loop.stopped:
                call_back(self._lost, connection.name, connection.lost)

    def _end(self, failure: BaseException | None) -> None:
        error: OpError | None = None
        if failure is not None:
            why = f"the I/O thread of this process has ended: {type(failure).__name__}: {failure}"
            error = errors.UnavailableError(None, None, why)
        for connection in list(self.control.connections.values()):
            closed = errors.CancelledError(None, None, f"the endpoint was closed: {connection.name}")
            with suppress(Exception):  # of a thread that has failed
                connection.end(error or closed, goodbye=True)
        self._dispose()
        if error is not None and self._failed is not None:
            call_back(self._failed, error)

    def _dispose(self) -> None:
        self.lookups.close()
        self.control.close(LINGER_MS)
        self.bulk.close(LINGER_MS)
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
        return errors.InvalidArgumentError(None, None, f"{address} cannot be bound: {why}")
    if error.errno == zmq.EADDRINUSE:
        return errors.AlreadyExistsError(None, None, f"{address} cannot be bound: another process listens there")
    return errors.UnknownError(None, None, f"{address} cannot be bound: {error}")
