"""Who may connect: answers ZeroMQ's question about each new connection (its ZAP protocol).

The control channel accepts the public keys that derive from the cluster's keys; the bulk channel accepts a secret that the
control channel has told, once.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import zmq

ADDRESS: Final = "inproc://zeromq.zap.01"
CONTROL: Final = b"control"
BULK: Final = b"bulk"


class Authenticator:
    """For one thread."""

    def __init__(self, context: zmq.Context[Any], client_keys: Sequence[bytes], refused: Counter[str]) -> None:
        """``client_keys``: the 32 bytes of each public key that clients may have."""
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind(ADDRESS)
        self._client_keys = client_keys
        self._refused = refused
        self._secrets: dict[bytes, bytes] = {}  # by the name of the connection to come: its identity

    def expect(self, identity: bytes, secret: bytes) -> None:
        """Lets one bulk connection in."""
        self._secrets[identity.hex().encode()] = secret

    def forget(self, identity: bytes) -> None:
        self._secrets.pop(identity.hex().encode(), None)

    def answer(self, frames: list[Any]) -> None:
        """Answers one question."""
        request, domain, _address, _identity, mechanism, *credentials = [frame.bytes for frame in frames[1:]]
        accepted = self._accepts(domain, mechanism, credentials)
        if not accepted:
            self._refused["wrong key"] += 1
        status = (b"200", b"OK") if accepted else (b"400", b"refused")
        self.socket.send_multipart([frames[0], request, *status, b"", b""])

    def _accepts(self, domain: bytes, mechanism: bytes, credentials: list[bytes]) -> bool:
        if domain == CONTROL:
            return mechanism == b"CURVE" and any(secrets.compare_digest(credentials[0], k) for k in self._client_keys)
        if domain == BULK and mechanism == b"PLAIN" and len(credentials) == 2:
            name, secret = credentials
            expected = self._secrets.get(name)
            if expected is not None and secrets.compare_digest(secret, expected):
                del self._secrets[name]  # not twice
                return True
        return False
