"""Questions to the network whose answers may take long.  They are asked on threads of their own, at most ``THREADS``."""

from __future__ import annotations

import socket
from typing import Final

from headrace.cluster.transport.keys import numeric
from headrace.core.errors import InvalidArgumentError

THREADS: Final = 4
_GREETING: Final = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32)  # of ZeroMQ, version 3


def address_of(host: str) -> str | None:
    """The numeric address of a host; None if its name is not known."""
    try:
        return numeric(host)
    except InvalidArgumentError:
        return None


def is_server(ip: str, port: int, seconds: float) -> bool:
    """Whether somebody listens there and says something; a proxy without its server only hangs up."""
    try:
        with socket.create_connection((ip, port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(_GREETING)
            return bool(connection.recv(1))
    except OSError:
        return False
