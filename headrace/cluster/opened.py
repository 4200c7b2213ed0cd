"""Opened: the sessions of this process on servers, until each server has said that they are over.

A server may be stopped or cut off when a session on it ends, and hears nothing of the end.  So whoever begins the next session
there says which ones are over.  It names them: others of the same process may go on.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading

from headrace.cluster.admission import SESSIONS
from headrace.cluster.request import Introduction
from headrace.cluster.transport.interface import Peer


class Opened:
    """Thread-safe."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[str, Peer | None]] = {}  # by address and name; None: it is over
        self._lock = threading.Lock()

    def add(self, address: str, session: str, peer: Peer) -> None:
        """A server is going to be asked to begin a session, over this connection."""
        with self._lock:
            there = self._sessions.setdefault(address, {})
            there[session] = peer
            if len(there) > SESSIONS:  # a server has no more
                del there[next(iter(there))]

    def over(self, address: str) -> list[str]:
        """The sessions there that are over, or whose connection is: nothing of them may be done any more."""
        with self._lock:
            there = self._sessions.get(address, {})
            return [name for name, peer in there.items() if peer is None or peer.lost is not None]

    def give_up(self, address: str, session: str) -> None:
        """A session is over, unless the server knows that."""
        with self._lock:
            if session in self._sessions.get(address, ()):
                self._sessions[address][session] = None

    def forget(self, address: str, sessions: list[str]) -> None:
        """The server knows that these are over."""
        with self._lock:
            there = self._sessions.get(address, {})
            for name in sessions:
                there.pop(name, None)
            if not there:
                self._sessions.pop(address, None)


_number = secrets.randbits(53)


def introduction_of_process() -> Introduction:
    """What this process says of itself where it is no task."""
    return Introduction("", _number, f"{socket.gethostname()}:{os.getpid()}")
