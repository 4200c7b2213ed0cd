"""The ZeroMQ sockets of an endpoint, with their options: mechanisms, limits, heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import zmq
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

from headrace.cluster.transport.authenticator import BULK, CONTROL
from headrace.cluster.transport.interface import Limits
from headrace.cluster.transport.keys import ClusterKey

FAILED_HANDSHAKES: Final = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
WATCHED: Final = (
    FAILED_HANDSHAKES | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_CLOSED | zmq.EVENT_CONNECTED | zmq.EVENT_ACCEPTED | zmq.EVENT_ACCEPT_FAILED
)  # fmt: skip

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


def receive(socket: Socket) -> list[Any]:
    """A message that is there: the bytes of its first frame, which is never the only one, and the other frames."""
    frames: list[Any] = [socket.recv(_LAST)]
    while True:
        frames.append(socket.recv(_LAST, copy=False))
        if not frames[-1].more:
            return frames


def readable(socket: Socket) -> bool:
    """Whether a message is there."""
    return bool(zmq.zmq_poll([(socket, _READABLE)], 0))  # half the time of asking the socket for its events


class CurveKeys:
    """The key pairs of a cluster's servers and clients, which derive from its key."""

    def __init__(self, key: ClusterKey) -> None:
        self.server = _pair(key.derive("curve server"))
        self.client = _pair(key.derive("curve client"))
        self.client_public: bytes = z85.decode(self.client[0])  # the 32 bytes that the authenticator compares


def _pair(secret: bytes) -> tuple[bytes, bytes]:
    text = z85.encode(secret)
    return zmq.curve_public(text), text


def as_control_server(keys: CurveKeys) -> dict[int, Any]:
    """The options of connections that others make to the control channel."""
    return {zmq.ZAP_DOMAIN: CONTROL, zmq.CURVE_SERVER: 1, zmq.CURVE_SECRETKEY: keys.server[1]}


def as_control_client(keys: CurveKeys) -> dict[int, Any]:
    """The options of a connection to the control channel of another."""
    public, secret = keys.client
    return {
        zmq.CURVE_SERVER: 0, zmq.CURVE_SERVERKEY: keys.server[0], zmq.CURVE_PUBLICKEY: public, zmq.CURVE_SECRETKEY: secret,
    }  # fmt: skip


def as_bulk_server() -> dict[int, Any]:
    """The options of connections that others make to the bulk channel."""
    return {zmq.ZAP_DOMAIN: BULK, zmq.PLAIN_SERVER: 1}


def as_bulk_client(identity: bytes) -> dict[int, Any]:
    """The options of a connection to the bulk channel of another, which has told the identity."""
    return {zmq.PLAIN_SERVER: 0, zmq.ROUTING_ID: identity, zmq.PLAIN_USERNAME: identity}


def router(context: zmq.Context[Any], limits: Limits, max_frame: int) -> Socket:
    socket: Socket = context.socket(zmq.ROUTER)
    socket.router_mandatory = 1
    socket.ipv6 = True
    socket.linger = 0
    socket.maxmsgsize = max_frame
    socket.sndhwm = limits.backlog
    socket.handshake_ivl = int(limits.handshake * 1000)
    socket.connect_timeout = int(limits.handshake * 1000)
    socket.heartbeat_ivl = max(1, int(limits.silence * 250))
    socket.heartbeat_timeout = max(1, int(limits.silence * 750))  # after a ping: together they are the silence
    socket.reconnect_ivl = -1  # who dials anew asks for the host's address anew
    return socket


def url(ip: str, port: str) -> str:
    """What ZeroMQ binds or connects to."""
    return f"tcp://[{ip}]:{port}" if ":" in ip else f"tcp://{ip}:{port}"


def event_of(frames: list[Any]) -> tuple[int, int, str]:
    """What happened, as a monitor told it: the event, its value, and where."""
    event = parse_monitor_message([frames[0], frames[1].bytes])
    return int(event["event"]), int(event["value"]), event["endpoint"].decode()
