"""The ZeroMQ sockets of an endpoint, with their options: mechanisms, limits, heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import zmq
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

from headrace.cluster.transport.authenticator import BULK, CONTROL
from headrace.cluster.transport.bulk import TAG
from headrace.cluster.transport.interface import Limits
from headrace.cluster.transport.keys import ClusterKey

RETRY_MS: Final = 50
MAX_RETRY_MS: Final = 1000
BULK_HEADER: Final = 64
FAILED_HANDSHAKES: Final = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
WATCHED: Final = FAILED_HANDSHAKES | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED

Socket = zmq.Socket[Any]

# As plain numbers: operators of pyzmq's enumerations take longer than a send.
_LAST: Final = int(zmq.NOBLOCK)
_MORE: Final = int(zmq.NOBLOCK | zmq.SNDMORE)
_READABLE: Final = int(zmq.POLLIN)


def send(socket: Socket, frames: Sequence[bytes]) -> None:
    """Sends a message; ``zmq.Again`` where there is no room."""
    for frame in frames[:-1]:
        socket.send(frame, _MORE)
    socket.send(frames[-1], _LAST)


def receive(socket: Socket) -> list[bytes]:
    """The frames of a message that is there."""
    frames: list[bytes] = []
    more = True
    while more:
        frame = socket.recv(_LAST, copy=False)
        frames.append(frame.bytes)
        more = frame.more
    return frames


def readable(socket: Socket) -> bool:
    """Whether a message is there."""
    return bool(zmq.zmq_poll([(socket, _READABLE)], 0))  # half the time of asking the socket for its events


class CurveKeys:
    """The key pairs of a cluster's servers and clients, which derive from its key."""

    def __init__(self, key: ClusterKey) -> None:
        self.server = _pair(key.derive("curve server"))
        self.client = _pair(key.derive("curve client"))

    @property
    def client_public(self) -> bytes:
        """The 32 bytes that the authenticator compares."""
        decoded: bytes = z85.decode(self.client[0])
        return decoded


def _pair(secret: bytes) -> tuple[bytes, bytes]:
    text = z85.encode(secret)
    return zmq.curve_public(text), text


def control_server(context: zmq.Context[Any], keys: CurveKeys, limits: Limits) -> Socket:
    socket = _socket(context, zmq.ROUTER, limits, limits.frame)
    socket.router_mandatory = 1
    socket.zap_domain = CONTROL
    socket.curve_server = 1
    socket.curve_secretkey = keys.server[1]
    return socket


def control_client(context: zmq.Context[Any], keys: CurveKeys, limits: Limits) -> Socket:
    socket = _socket(context, zmq.DEALER, limits, limits.frame)
    socket.curve_serverkey = keys.server[0]
    socket.curve_publickey, socket.curve_secretkey = keys.client
    return socket


def bulk_server(context: zmq.Context[Any], limits: Limits) -> Socket:
    socket = _socket(context, zmq.ROUTER, limits, limits.chunk + TAG + BULK_HEADER)
    socket.router_mandatory = 1
    socket.zap_domain = BULK
    socket.plain_server = 1
    return socket


def bulk_client(context: zmq.Context[Any], limits: Limits, identity: bytes, secret: str) -> Socket:
    socket = _socket(context, zmq.DEALER, limits, limits.chunk + TAG + BULK_HEADER)
    socket.routing_id = identity
    socket.plain_username = identity.hex().encode()
    socket.plain_password = secret.encode()
    return socket


def _socket(context: zmq.Context[Any], kind: int, limits: Limits, max_frame: int) -> Socket:
    socket: Socket = context.socket(kind)
    socket.ipv6 = True
    socket.linger = 0
    socket.maxmsgsize = max_frame
    socket.sndhwm = limits.backlog
    socket.handshake_ivl = int(limits.handshake * 1000)
    socket.connect_timeout = int(limits.handshake * 1000)
    socket.heartbeat_ivl = max(1, int(limits.silence * 250))
    socket.heartbeat_timeout = max(1, int(limits.silence * 750))  # after a ping: together they are the silence
    socket.reconnect_ivl = RETRY_MS
    socket.reconnect_ivl_max = MAX_RETRY_MS
    return socket


def monitor(socket: Socket) -> Socket:
    """A socket that tells what happens to the other's connections."""
    watch: Socket = socket.get_monitor_socket(WATCHED)
    watch.linger = 0
    return watch


def event_of(frames: list[bytes]) -> int:
    """What happened, as a monitor told it."""
    return int(parse_monitor_message(frames)["event"])


def close(socket: Socket, watch: Socket | None, linger: int = 0) -> None:
    """Closes a socket and its monitor; ``linger``: milliseconds for what is still to be sent."""
    if watch is not None:
        socket.disable_monitor()
        watch.close(0)
    socket.close(linger)
