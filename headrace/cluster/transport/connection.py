"""The two kinds of connections of an endpoint: those it made, and those others made to it.

Everything but the methods of ``Peer`` runs on the I/O thread.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import zmq

from headrace.cluster.transport import message as wire
from headrace.cluster.transport import sockets
from headrace.cluster.transport.bulk import BulkReceiver, BulkSender
from headrace.cluster.transport.channel import Dial
from headrace.cluster.transport.codec import Buffer, MalformedError
from headrace.cluster.transport.interface import CLOSED
from headrace.cluster.transport.keys import split_address
from headrace.cluster.transport.link import LOADED, Link, log
from headrace.cluster.transport.lookups import address_of, is_server
from headrace.cluster.transport.segments import HEADER, IncomingSegments, OutgoingSegments, shares_memory
from headrace.core import errors
from headrace.core.errors import UnavailableError, make_error

if TYPE_CHECKING:
    from headrace.cluster.transport.endpoint import Endpoint

LINGER_MS: Final = 500  # for the last messages of a connection that is closed
TRIES: Final = 3  # handshakes with each key that may fail: one with a server that is starting or ending breaks off too
PAUSES_S: Final = (0.05, 1.0)  # between two tries to connect: the first, and the longest
OVER: Final = (zmq.EVENT_CLOSED, zmq.EVENT_DISCONNECTED)
BULK_RETRY_S: Final = 0.005
UNANSWERED: Final = 0.8  # of the time that a handshake may take: who refuses one does so sooner
FINAL: Final = (
    errors.AlreadyExistsError,
    errors.ResourceExhaustedError,
)  # why this end closed it, which the other is told

_numbers = itertools.count(1)


def new_identity() -> bytes:
    """A name for a connection that nobody else can take: ZeroMQ does not survive two of one name."""
    return secrets.token_hex(16).encode()


class Connection(Link):
    """What both kinds have: two channels, and how they are used."""

    def __init__(self, endpoint: Endpoint, name: str, address: str, identity: bytes) -> None:
        super().__init__(endpoint, name, address)
        self.lock = endpoint.control.lock
        self.identity = identity
        self.bulk_identity = new_identity()
        self.bulk_open = False
        self._by_control = False  # the bulk channel cannot be opened
        self._pumping = False
        self._stuck: list[bytes] | None = None  # a chunk for a channel that is full
        endpoint.control.connections[identity] = endpoint.bulk.connections[self.bulk_identity] = self

    def refuse(self, reason: str, error: Exception) -> None:
        """Something has come that cannot be taken: ends the connection.  In an ``except`` clause."""
        if not isinstance(error, MalformedError):
            log.exception("a message of %s could not be taken", self.name)
        self.endpoint.refusals[reason] += 1
        log.warning("the connection with %s is closed: %s", self.name, error)
        why = f"the connection with {self.name} was closed: {error}"
        self.end(UnavailableError(None, None, why), goodbye=True)

    def take_control(self, frames: list[Any]) -> None:
        """Takes a message of the control channel, with who sent it as the first frame."""
        self.hear()
        head, body = wire.decode_frames(frames)
        if self.ready and isinstance(head, LOADED):
            self.receive_loaded(head, body)
        else:
            self.take(head, body)

    def take(self, head: wire.Head, body: Buffer) -> None:
        """Takes a message.  Each kind of connection takes by itself what makes it ready."""
        if isinstance(head, wire.Goodbye):
            why = f"{self.address} refuses this process: {head.message}" if head.code else f"{self.name} {CLOSED}"
            self.end(make_error(None, None, why, head.code or errors.UNAVAILABLE))
        elif not self.ready:
            raise MalformedError(f"{type(head).__name__} came before the connection was ready")
        elif isinstance(head, wire.Chunk):
            self.chunk([head.header, body])
        elif isinstance(head, wire.NoBulk):
            self.use_control()
        else:
            self.receive(head, body)

    def take_bulk(self, frames: list[bytes]) -> None:
        """Takes a message of the bulk channel: an empty one, which is the first, or a chunk."""
        self.hear()
        if frames != [b""]:
            self.chunk(frames)
        elif not self.bulk_open:
            self.bulk_open = True
            self.pump()

    def reads_memory_of(self, probe: wire.Probe | None) -> bool:
        """Whether this process can read the other's shared memory; it does from now on."""
        if self.endpoint.probe is None or probe is None or not shares_memory(probe):
            return False
        self.incoming = IncomingSegments(probe.process, 2 * self.endpoint.limits.message + HEADER)
        return True

    def write_memory(self, shares: bool) -> None:
        """Uses shared memory for what is sent, if the other process can read it."""
        if shares and self.endpoint.probe is not None:
            self.outgoing = OutgoingSegments(self.endpoint.limits.pool)

    def encrypt(self, sending: bytes, receiving: bytes) -> None:
        """Uses the keys of the bulk channel."""
        limits = self.endpoint.limits
        if len(sending) != 32 or len(receiving) != 32:
            raise MalformedError("the keys of the bulk channel have 32 bytes")
        self.sender = BulkSender(sending, limits.chunk)
        self.receiver = BulkReceiver(receiving, limits.chunk, limits.waiting)

    # ---- sending

    def transmit(self, head: bytes, body: bytes) -> None:
        try:
            self.endpoint.control.send(wire.frames_of(self.identity, head, body))
        except zmq.ZMQError as e:
            if not self.ready:  # ZeroMQ tells of a try that fails
                return
            problem = "does not take its messages" if isinstance(e, zmq.Again) else f"cannot be reached: {e}"
            error = UnavailableError(None, None, f"{self.name} {problem}")
            self.submit(lambda: self.end(error))

    def use_control(self) -> None:
        """Sends chunks over the control channel from now on."""
        self._by_control = True
        self.pump()

    def pump(self, pause: float = 0.0) -> None:
        if not self._pumping:
            self._pumping = True
            self.endpoint.loop.later(pause, partial(self.act, self._pump))

    def _pump(self) -> None:
        """Sends a chunk, and sees to the next."""
        self._pumping = False
        sender = self.sender
        if sender is None or not (self._stuck or sender.ready):
            return
        if not self.bulk_open and not self._by_control:
            return  # whoever opens it pumps
        frames = self._stuck or sender.next()
        self._stuck = None
        try:
            if self._by_control:
                self.endpoint.control.send([self.identity, wire.encode_head(wire.Chunk(frames[0])), frames[1]])
            else:
                self.endpoint.bulk.send([self.bulk_identity, *frames])
        except zmq.ZMQError:  # full
            self._stuck = frames
            self.pump(BULK_RETRY_S)
        else:
            if sender.ready:
                self.pump()

    def lose(self, channel: str) -> None:
        """ZeroMQ says that the connection has ended."""
        self.end(UnavailableError(None, None, f"the {channel} {self.name} is lost"))

    def dispose(self, goodbye: bool) -> None:
        if goodbye and self.ready:
            with suppress(zmq.ZMQError):
                why = self.lost if isinstance(self.lost, FINAL) else None
                head = wire.Goodbye() if why is None else wire.Goodbye(why.error_code, why.message)
                self.endpoint.control.send([self.identity, wire.encode_head(head), b""])
        self.endpoint.forget(self)


class ServerConnection(Connection):
    """A connection that another endpoint made to this one."""

    def __init__(self, endpoint: Endpoint, identity: bytes, hello: wire.Hello) -> None:
        super().__init__(endpoint, f"{hello.name}#{next(_numbers)}", hello.name, identity)
        self.expect_to_hear()
        theirs, mine = secrets.token_bytes(32), secrets.token_bytes(32)
        self.encrypt(mine, theirs)
        probe, shares = endpoint.probe, self.reads_memory_of(hello.probe)
        self.tell(
            wire.Welcome(
                wire.VERSION, None if probe is None else probe.message, shares, endpoint.bulk_address or "",
                self.bulk_identity, (theirs, mine),
            )
        )  # fmt: skip

    def take(self, head: wire.Head, body: Buffer) -> None:
        if not self.ready and isinstance(head, wire.Ready):
            self.write_memory(head.shares)
            self.become_ready()
        else:
            super().take(head, body)


class ClientConnection(Connection):
    """A connection that this endpoint made."""

    def __init__(self, endpoint: Endpoint, address: str, timeout: float | None) -> None:
        super().__init__(endpoint, address, address, new_identity())
        self._timeout = timeout
        self._host, self._port = split_address(address)
        self._ip = ""
        self._where = ""  # on the control channel, while it is dialed
        self._bulk_where = ""
        self._pause = PAUSES_S[0]
        self._told = False  # that the host is not known
        self._failures = 0
        self._dialed_at = 0.0
        self._shook_hands = False
        self._welcome: wire.Welcome | None = None

    # ---- dialing

    def begin(self) -> None:
        """Starts to connect."""
        if self._timeout is not None:
            self.endpoint.loop.later(self._timeout, self._give_up)
        self._look_up()

    def _give_up(self) -> None:
        if not self.ready:
            self.end(UnavailableError(None, None, f"{self.address} could not be reached within {self._timeout} s"))

    def _ask(self, question: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        """Asks the network something on another thread, and tells the answer on the I/O thread."""

        def ask() -> None:
            found = question()
            self.submit(lambda: answer(found))

        self.endpoint.lookups.submit(ask)

    def _look_up(self) -> None:
        """Asks for the host's address, before each try: it may have moved."""
        self._ask(partial(address_of, self._host), self._dial)

    def _dial(self, ip: str | None) -> None:
        if ip is None:
            if not self._told:
                log.warning("%s cannot be reached so far: the host %r is not known", self.address, self._host)
            self._told = True
            self._try_again()
            return
        endpoint, self._ip, self._dialed_at = self.endpoint, ip, monotonic()
        del endpoint.control.connections[self.identity]
        self.identity = new_identity()  # ZeroMQ may not have forgotten the one before
        endpoint.control.connections[self.identity] = self
        options = sockets.as_control_client(endpoint.keys[self._failures % len(endpoint.keys)])
        self._where = endpoint.control.dial(ip, self._port, Dial(self.identity, self._note), options)
        probe = endpoint.probe.message if endpoint.probe is not None else None
        self.tell(wire.Hello(wire.VERSION, endpoint.name, probe))
        late = partial(self._try_again, self._where)  # ZeroMQ does not tell of a try that found no descriptor
        endpoint.loop.later(2 * endpoint.limits.handshake, partial(self.act, late))

    def lose(self, channel: str) -> None:
        if self.ready:
            super().lose(channel)
        else:  # nothing was asked of it so far
            self._try_again()

    def _try_again(self, where: str = "") -> None:
        """Tries once more after a while, unless another try than that ``where`` is under way."""
        if self.ready or (where and where != self._where):
            return
        self._hang_up()
        self.endpoint.loop.later(self._pause, partial(self.act, self._look_up))
        self._pause = min(2 * self._pause, PAUSES_S[1])

    def _hang_up(self, linger: int = 0) -> None:
        self.endpoint.control.hang_up(self._where, linger)
        self._where = ""

    def _note(self, event: int) -> None:
        """Something has happened to the connection that is dialed."""
        limits = self.endpoint.limits
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._shook_hands = True
        elif event == zmq.EVENT_CONNECTED:
            self._dialed_at = monotonic()
        elif event in OVER:
            if event == zmq.EVENT_DISCONNECTED and monotonic() - self._dialed_at <= UNANSWERED * limits.handshake:
                # The handshake was broken off.  One that nobody answers tells nothing of keys: the process may be stopped.
                self._failures += 1
                if self._failures % (TRIES * len(self.endpoint.keys)) == 0:
                    self._ask(partial(is_server, self._ip, self._port, limits.handshake), self._judge)
            self._try_again()

    def _judge(self, somebody_is_there: bool) -> None:
        """Handshakes have failed: because of the key, or because only a proxy is there so far?"""
        if somebody_is_there and not self._shook_hands:
            why = f"{self.address} refuses this process: it has another cluster key, or is no Headrace server"
            self.end(errors.UnauthenticatedError(None, None, why))

    def take(self, head: wire.Head, body: Buffer) -> None:
        if self.ready or not isinstance(head, wire.Welcome):
            super().take(head, body)
            return
        self._welcome = head
        self.encrypt(*head.keys)
        self.write_memory(head.shares)
        self.tell(wire.Ready(self.reads_memory_of(head.probe)))
        self.become_ready()

    # ---- the bulk channel

    def open_bulk(self) -> None:
        welcome, endpoint = self._welcome, self.endpoint
        if self._bulk_where or self._by_control or welcome is None:
            return
        port = split_address(welcome.bulk_address)[1]
        options = sockets.as_bulk_client(welcome.bulk_identity)
        self._bulk_where = endpoint.bulk.dial(self._ip, port, Dial(self.bulk_identity, self._note_bulk), options)
        endpoint.bulk.send([self.bulk_identity, b""])
        endpoint.loop.later(endpoint.limits.silence, partial(self.act, self._give_up_bulk))

    def _note_bulk(self, event: int) -> None:
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self.take_bulk([b""])
        elif event in OVER:
            self._give_up_bulk()

    def _give_up_bulk(self) -> None:
        if not self.bulk_open and self._bulk_where and self._welcome is not None:
            log.warning(
                "port %d of %s cannot be reached: large tensors take the slower way over port %d",
                split_address(self._welcome.bulk_address)[1], self._host, self._port,
            )  # fmt: skip
            self.endpoint.bulk.hang_up(self._bulk_where)
            self._bulk_where = ""
            self.tell(wire.NoBulk())
            self.use_control()

    def dispose(self, goodbye: bool) -> None:
        super().dispose(goodbye)
        self._hang_up(LINGER_MS if self.ready and goodbye else 0)
        self.endpoint.bulk.hang_up(self._bulk_where)
