"""The two kinds of connections of an endpoint: those it made, and those others made to it.

Everything but the methods of ``Peer`` runs on the I/O thread.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import zmq

from headrace.cluster.transport import message as wire
from headrace.cluster.transport import sockets
from headrace.cluster.transport.bulk import BulkReceiver, BulkSender
from headrace.cluster.transport.codec import Buffer, MalformedError
from headrace.cluster.transport.end import CallingEnd, End
from headrace.cluster.transport.interface import CLOSED
from headrace.cluster.transport.keys import split_address, url
from headrace.cluster.transport.link import log
from headrace.cluster.transport.segments import HEADER, IncomingSegments, OutgoingSegments, shares_memory
from headrace.core.errors import CancelledError, OpError, UnauthenticatedError, UnavailableError

if TYPE_CHECKING:
    from headrace.cluster.transport.endpoint import Endpoint

LINGER_MS: Final = 500  # for the last messages of a connection that is closed
TRIES: Final = 3  # handshakes that may fail: a server that is just starting or ending also breaks them off
BULK_RETRY_S: Final = 0.005
UNANSWERED: Final = 0.8  # of the time that a handshake may take: who refuses one does so sooner

_numbers = itertools.count(1)


class Connection(End):
    """What both kinds have: two channels, and how they are used."""

    def __init__(self, endpoint: Endpoint, name: str) -> None:
        super().__init__(endpoint, name)
        self._stuck: list[bytes] | None = None  # a chunk for a channel that is not open yet

    def receive(self, frames: list[bytes]) -> None:
        """Takes a message of the control channel; ends the connection if it is not one."""
        try:
            if len(frames) != 2:
                raise MalformedError(f"a message has two frames: received {len(frames)}")
            self.take(wire.decode_head(frames[0]), frames[1])
        except MalformedError as e:
            self.refuse("malformed", e)
        except Exception as e:  # noqa: BLE001 - one peer must not end the I/O thread
            log.exception("a message of %s could not be taken", self.link.name)
            self.refuse("malformed", e)

    def take(self, head: wire.Head, body: Buffer) -> None:
        if isinstance(head, wire.Goodbye):
            self.end(UnavailableError(None, None, f"{self.link.name} {CLOSED}"))
        else:
            self.link.receive(head, body)

    def chunk(self, frames: list[Any]) -> None:
        """Takes a chunk of the bulk channel."""
        try:
            self.link.chunk(frames)
        except MalformedError as e:
            self.refuse("bad chunk", e)

    def refuse(self, reason: str, error: Exception) -> None:
        self.endpoint.refusals[reason] += 1
        log.warning("the connection with %s is closed: %s", self.link.name, error)
        self.end(
            UnavailableError(None, None, f"the connection with {self.link.name} was closed: {error}"), goodbye=True
        )

    def share(self, outgoing: bool, incoming: wire.Probe | None) -> None:
        """Uses shared memory in the directions that work."""
        limits = self.endpoint.limits
        if outgoing:
            self.link.outgoing = OutgoingSegments(limits.pool)
        if incoming is not None:
            self.link.incoming = IncomingSegments(incoming.process, 2 * limits.message + HEADER)

    def encrypt(self, sending: bytes, receiving: bytes) -> None:
        """Uses the keys of the bulk channel."""
        limits = self.endpoint.limits
        if len(sending) != 32 or len(receiving) != 32:
            raise MalformedError("the keys of the bulk channel have 32 bytes")
        self.link.sender = BulkSender(sending, limits.chunk)
        self.link.receiver = BulkReceiver(receiving, limits.chunk, limits.waiting)

    # ---- sending

    def transmit(self, frames: list[bytes]) -> None:
        try:
            self.send_control(frames)
        except zmq.ZMQError as e:
            problem = "does not take its messages" if isinstance(e, zmq.Again) else f"cannot be reached: {e}"
            error = UnavailableError(None, None, f"{self.link.name} {problem}")
            self.submit(lambda: self.end(error))

    def pump(self) -> None:
        self.endpoint.loop.busy(self, self._pump)

    def _pump(self) -> bool:
        """Sends a chunk; returns whether there are more."""
        sender = self.link.sender
        if self.over or sender is None or not (self._stuck or sender.ready):
            return False
        frames = self._stuck or sender.next()
        self._stuck = None
        try:
            self.send_bulk(frames)
        except zmq.ZMQError:  # not open yet, or full
            self._stuck = frames
            self.endpoint.loop.later(BULK_RETRY_S, self.pump)
            return False
        return sender.ready

    def send_control(self, frames: list[bytes]) -> None:
        raise NotImplementedError

    def send_bulk(self, frames: list[bytes]) -> None:
        raise NotImplementedError

    def end(self, error: OpError, goodbye: bool = False) -> None:
        """Ends the connection, once."""
        with self.lock:
            if self.over is not None:
                return
            self.over = error
        if goodbye and self.ready:
            with suppress(zmq.ZMQError):
                self.send_control([wire.encode_head(wire.Goodbye()), b""])
        self.link.end(error)
        self.dispose()

    def dispose(self) -> None:
        raise NotImplementedError


class ServerConnection(Connection):
    """A connection that another endpoint made to this one."""

    def __init__(self, endpoint: Endpoint, identity: bytes, hello: wire.Hello) -> None:
        super().__init__(endpoint, f"{hello.name}#{next(_numbers)}")
        self.lock = endpoint.control_lock
        self.identity = identity
        self.bulk_identity, self._secret, *keys = endpoint.new_bulk()
        self._keys = (keys[0], keys[1])
        self.encrypt(keys[1], keys[0])

    def greet(self, probe: wire.Probe | None) -> None:
        """Answers the client's first message.  It may be gone already: the endpoint must know the connection by now."""
        mine = self.endpoint.probe
        shares = mine is not None and shares_memory(probe)
        self.share(False, probe if shares else None)
        self.link.tell(
            wire.Welcome(
                wire.VERSION,
                mine.message if mine is not None else None,
                shares,
                self.endpoint.bulk_address or "",
                self.bulk_identity,
                self._secret,
                self._keys,
            )
        )

    def take(self, head: wire.Head, body: Buffer) -> None:
        if not self.ready and isinstance(head, wire.Ready):
            self.ready = True
            self.share(head.shares and self.endpoint.probe is not None, None)
        elif self.ready or isinstance(head, wire.Goodbye):
            super().take(head, body)
        else:
            raise MalformedError(f"{type(head).__name__} came before the connection was ready")

    def open_bulk(self) -> None:
        self.link.tell(wire.OpenBulk())

    def send_control(self, frames: list[bytes]) -> None:
        self.endpoint.send_control([self.identity, *frames])

    def send_bulk(self, frames: list[bytes]) -> None:
        assert self.endpoint.bulk is not None
        sockets.send(self.endpoint.bulk, [self.bulk_identity, *frames])
        self.endpoint.loop.sent(self.endpoint.bulk)

    def dispose(self) -> None:
        assert self.over is not None
        self.endpoint.forget(self)
        self.endpoint.tell_lost(self.link.name, self.over)


class ClientConnection(Connection, CallingEnd):
    """A connection that this endpoint made: a ``Peer``."""

    def __init__(self, endpoint: Endpoint, address: str, timeout: float | None) -> None:
        super().__init__(endpoint, address)
        self._failures = 0
        self._tried_at = monotonic()
        self._shook_hands = False
        self._socket: sockets.Socket | None = None
        self._watch: sockets.Socket | None = None
        self._bulk: sockets.Socket | None = None
        self._bulk_watch: sockets.Socket | None = None
        self._welcome: wire.Welcome | None = None
        self._timeout = timeout

    def close(self, error: OpError | None = None) -> None:
        self.submit(lambda: self.end(error or self.closed(), goodbye=True))

    # ---- on the I/O thread

    def begin(self) -> None:
        """Starts to connect."""
        endpoint = self.endpoint
        self._socket = sockets.control_client(endpoint.context, endpoint.curve, endpoint.limits)
        self._watch = sockets.monitor(self._socket)
        endpoint.loop.read(self._socket, self.receive, self.lock)
        endpoint.loop.read(self._watch, self._note)
        self._socket.connect(url(*split_address(self.address)))
        probe = endpoint.probe.message if endpoint.probe is not None else None
        self.link.tell(wire.Hello(wire.VERSION, endpoint.name, probe))
        if self._timeout is not None:
            endpoint.loop.later(self._timeout, self._give_up)

    def _give_up(self) -> None:
        if not self.ready:
            self.end(UnavailableError(None, None, f"{self.address} could not be reached within {self._timeout} s"))

    def _note(self, frames: list[bytes]) -> None:
        """Something has happened to the connection."""
        event = sockets.event_of(frames)
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._shook_hands = True
        elif event & sockets.FAILED_HANDSHAKES:
            # A handshake that nobody answers tells nothing of keys: the process may be stopped, and go on later.
            unanswered = monotonic() - self._tried_at > UNANSWERED * self.endpoint.limits.handshake
            self._tried_at = monotonic()
            self._failures += not unanswered
            if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH or self._failures >= TRIES:
                self.end(UnauthenticatedError(
                    None, None, f"{self.address} refuses this process: it has another cluster key, or is no Headrace server"
                ))  # fmt: skip
        elif event == zmq.EVENT_DISCONNECTED and self._shook_hands:
            self.end(UnavailableError(None, None, f"the connection with {self.address} is lost"))

    def _note_bulk(self, frames: list[bytes]) -> None:
        if sockets.event_of(frames) & (sockets.FAILED_HANDSHAKES | zmq.EVENT_DISCONNECTED):
            self.end(UnavailableError(None, None, f"the bulk channel of {self.address} is lost"), goodbye=True)

    def take(self, head: wire.Head, body: Buffer) -> None:
        if self.ready or isinstance(head, wire.Goodbye):
            super().take(head, body)
        elif isinstance(head, wire.Welcome):
            self._begin_with(head)
        elif not isinstance(head, wire.Alive):
            raise MalformedError(f"{type(head).__name__} came before the welcome")

    def _begin_with(self, welcome: wire.Welcome) -> None:
        if welcome.version != wire.VERSION:
            raise MalformedError(
                f"{self.address} speaks version {welcome.version} of the protocol, this is {wire.VERSION}"
            )
        self._welcome = welcome
        self.encrypt(*welcome.keys)
        mine = self.endpoint.probe is not None
        shares = mine and shares_memory(welcome.probe)
        self.share(mine and welcome.shares, welcome.probe if shares else None)
        self.link.tell(wire.Ready(shares))
        self.become_ready()

    def open_bulk(self) -> None:
        welcome, endpoint = self._welcome, self.endpoint
        if self._bulk is not None or welcome is None:
            return
        host = split_address(self.address)[0]
        port = split_address(welcome.bulk_address)[1]
        self._bulk = sockets.bulk_client(endpoint.context, endpoint.limits, welcome.bulk_identity, welcome.bulk_secret)
        self._bulk_watch = sockets.monitor(self._bulk)
        endpoint.loop.read(self._bulk, self.chunk)
        endpoint.loop.read(self._bulk_watch, self._note_bulk)
        self._bulk.connect(url(host, port))

    def send_control(self, frames: list[bytes]) -> None:
        assert self._socket is not None
        with self.lock:
            sockets.send(self._socket, frames)
            self.endpoint.loop.sent(self._socket)

    def send_bulk(self, frames: list[bytes]) -> None:
        assert self._bulk is not None
        sockets.send(self._bulk, frames)
        self.endpoint.loop.sent(self._bulk)

    def dispose(self) -> None:
        assert self.over is not None
        linger = LINGER_MS if self.ready and isinstance(self.over, CancelledError) else 0
        for socket, watch in ((self._socket, self._watch), (self._bulk, self._bulk_watch)):
            if socket is not None and watch is not None:
                with self.lock:
                    self.endpoint.loop.unread(socket)
                    self.endpoint.loop.unread(watch)
                    sockets.close(socket, watch, linger)
        self.endpoint.forget(self)
        self.tell_lost()
