"""Who may connect: answers ZeroMQ's question about each new connection (its ZAP protocol).

The control channel accepts the public key that derives from the cluster's key; the bulk channel accepts a secret that the control
channel has told, once.
"""

from __future__ import annotations

import secrets
from collections import Counter
from typing import Any, Final

import zmq

ADDRESS: Final = "inproc://zeromq.zap.01"
CONTROL: Final = b"control"
BULK: Final = b"bulk"


class Authenticator:
    """For one thread."""

    def __init__(self, context: zmq.Context[Any], client_key: bytes, refused: Counter[str]) -> None:
        """``client_key``: the 32 bytes of the public key that clients have."""
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind(ADDRESS)
        self._client_key = client_key
        self._refused = refused
        self._secrets: dict[bytes, bytes] = {}  # by the name of the connection to come: its identity

    def expect(self, identity: bytes, secret: bytes) -> None:
        """Lets one bulk connection in."""
        self._secrets[identity.hex().encode()] = secret

    def forget(self, identity: bytes) -> None:
        self._secrets.pop(identity.hex().encode(), None)

    def answer(self, frames: list[bytes]) -> None:
        """Answers one question."""
        version, request, domain, _address, _identity, mechanism, *credentials = frames
        accepted = self._accepts(domain, mechanism, credentials)
        if not accepted:
            self._refused["wrong key"] += 1
        status = (b"200", b"OK") if accepted else (b"400", b"refused")
        self.socket.send_multipart([version, request, *status, b"", b""])

    def _accepts(self, domain: bytes, mechanism: bytes, credentials: list[bytes]) -> bool:
        if domain == CONTROL:
            return mechanism == b"CURVE" and secrets.compare_digest(credentials[0], self._client_key)
        if domain == BULK and mechanism == b"PLAIN" and len(credentials) == 2:
            name, secret = credentials
            expected = self._secrets.get(name)
            if expected is not None and secrets.compare_digest(secret, expected):
                del self._secrets[name]  # not twice
                return True
        return False
