"""What a transport is: endpoints that answer calls, peers to call, and what passes between them.

A message has a method, a payload and tensors.  The payload is plain data: None, bool, int, float, str, bytes, and lists and
dicts (with str or int keys) of those.  Tensors are torch tensors on the host, numpy arrays, arrays of bytes (strings) or None.

**Copies.**  ``call``, ``push`` and ``reply`` have taken their copy of the tensors when they return: the caller may change them.
What is received belongs to the receiver, who may change it.

**Threads.**  ``call``, ``push``, ``reply``, ``fail`` and ``close`` may be called from any thread and do not wait for the far
side.  Handlers, ``done`` and callbacks of loss run on the endpoint's one I/O thread: they must not block, and hand longer work
to a thread of their own.

**Order.**  Pushes to one peer with the same ``order`` arrive in the order in which they were pushed.  Other messages may overtake
one that carries many bytes.

**A peer is one connection, and serves both ways**: who was connected to may call and push too (`Transport.peer`).  It is not
connected anew: when it is lost, all calls under way end with UnavailableError, and later ones too; ``Transport.connect`` gives a
new one.  A process that has restarted is therefore never taken for the one before.

**Nothing is handled that was given up.**  Calls and pushes that come after a silence in which the peer may have ended the
connection wait until the peer has answered that it has not; if the connection ends first, they are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add
from typing import Any, Final, Protocol

from headrace.core.errors import OpError

CLOSED: Final = "has closed the connection"  # what the error of a peer that has said goodbye ends with
DATA_PORT: Final = 10_000  # how far the port for large tensors is from the declared one
NO_ANSWER: Final = "has not answered"  # what the error of a call that took too long says
Payload = Any  # a dict of plain data by name, or one of msgspec's structs with such fields
Tensors = Sequence[Any]
Done = Callable[[dict[str, Any], list[Any], OpError | None], None]
Reply = Callable[[Payload, Tensors], None]
Fail = Callable[[int, str, str], None]
Decode = Callable[[Any, str], Any]
"""decode(data, peer): the payload of a method from its bytes; what is wrong with it is an OpError, which answers the call."""
NO_DECODERS: Final[Mapping[str, Decode]] = {}
Handler = Callable[[str, str, Any, list[Any], Reply, Fail], None]
"""handler(peer, method, payload, tensors, reply, fail): answers once, by ``reply(payload, tensors)`` or by
``fail(code, message, node)``, now or later.  What answers a push goes nowhere.  ``peer`` names the connection."""
Failed = Callable[[OpError], None]
"""failed(error): the endpoint has ended, and not because it was closed."""
Lost = Callable[[str, OpError], None]
"""lost(peer, error): a connection that others made to this endpoint has ended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an endpoint accepts, and how long it waits.  Sizes in bytes, times in seconds."""

    frame: int = 4 << 20  # one frame of the control channel
    inline: int = 64 << 10  # a message larger than this goes by shared memory or over the bulk channel
    shared: int = 16 << 10  # the same where there is shared memory
    message: int = 1 << 36  # one message, tensors and all
    waiting: int = 1 << 36  # messages of one peer that are partly here
    tensors: int = 65_536  # of one message
    backlog: int = 100_000  # messages that one peer does not take
    peers: int = 16_384  # connections that others have made
    strangers: int = 4096  # that have not said who they are; at most a quarter of the process's descriptors
    handshake: float = 5.0
    silence: float = 5.0  # a peer that does not answer the heartbeat for so long is lost
    chunk: int = 1 << 20
    pool: int = 1 << 30  # shared memory kept for the next message to a peer

    @property
    def doubt(self) -> float:
        """Silence after which a peer may have given the connection up: it waits for three quarters of ``silence`` at least."""
        return self.silence / 2


DEFAULT_LIMITS: Final = Limits()


def data_port_of(port: int) -> int:
    """The port for large tensors of a server that is declared at a port."""
    return port + DATA_PORT if port + DATA_PORT < 1 << 16 else port - DATA_PORT


@dataclass(slots=True)
class LinkStatistics:
    """What has passed over one connection so far, payloads and tensors.  ``shared`` of the bytes went through shared memory."""

    sent_messages: int = 0
    sent_bytes: int = 0
    received_messages: int = 0
    received_bytes: int = 0
    shared_bytes: int = 0

    def __add__(self, other: LinkStatistics) -> LinkStatistics:
        """Both connections together."""
        return LinkStatistics(*map(add, astuple(self), astuple(other)))


def total(links: Iterable[Peer]) -> dict[str, LinkStatistics]:
    """The sum for each name: a process may have several connections to one address."""
    sums: dict[str, LinkStatistics] = {}
    for one in list(links):
        sums[one.name] = sums.get(one.name, LinkStatistics()) + one.statistics
    return sums


@dataclass(frozen=True, slots=True)
class RemoteNode:
    """The node of another task that an error names: the ``op`` of the error."""

    name: str


class Peer(Protocol):
    """A connection to another endpoint."""

    name: str  # as handlers hear it
    address: str
    lost: OpError | None  # why the connection has ended
    statistics: LinkStatistics

    def call(self, method: str, payload: Payload, tensors: Tensors, done: Done, timeout: float | None = None) -> None:
        """Asks, and tells ``done(payload, tensors, error)`` the answer, exactly once.

        ``error`` is that of the far handler (by its code), or UnavailableError with the address when the peer is lost or does
        not answer within ``timeout`` seconds.
        """

    def push(self, method: str, payload: Payload, tensors: Tensors, order: str = "") -> None:
        """Sends one way.  What is pushed to a lost peer is dropped: ``on_lost`` tells."""

    def silent_for(self) -> float:
        """Seconds since something last came from there."""

    def on_lost(self, callback: Callable[[OpError], None]) -> None:
        """Calls back once when the connection ends, now if it has ended.  Not after ``close``."""

    def close(self, error: OpError | None = None) -> None:
        """Ends the connection; calls under way end with CancelledError, or with ``error``."""


class Transport(Protocol):
    """A process's end of all its connections: an endpoint."""

    address: str | None

    def connect(self, address: str, timeout: float | None = None) -> Peer:
        """Begins to connect, and goes on trying for ``timeout`` seconds (None: until it is closed)."""

    def peer(self, name: str) -> Peer | None:
        """The connection that another made to this endpoint, by its name as handlers hear it; None if it has ended."""

    def links(self) -> dict[str, LinkStatistics]:
        """What has passed over what is connected now: by the address of each peer, by the name of each who connected here."""

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Runs the action on the I/O thread after so long, unless the endpoint is closed by then."""

    def refused(self) -> dict[str, int]:
        """How much was refused so far, by reason."""

    def close(self) -> None:
        """Ends all connections, answers all calls under way with CancelledError, waits for the I/O thread to end."""
