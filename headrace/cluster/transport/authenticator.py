"""Who may connect: answers ZeroMQ's question about each new connection (its ZAP protocol).

The control channel accepts the public keys that derive from the cluster's keys; the bulk channel accepts an identity that the
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
        self.expected: set[bytes] = set()  # identities of bulk connections to come, each good for one

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
        if domain != BULK or mechanism != b"PLAIN" or credentials[0] not in self.expected:
            return False
        self.expected.remove(credentials[0])
        return True
