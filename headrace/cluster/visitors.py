"""Visitors: who has connected to a task, as which process, from where, and when it was last heard.

Of two processes that say that they are the same task the one that came later is, for good: clocks of hosts differ, so
incarnations are random numbers, and the newest is the one that came last.  A client that is no task has no successor.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from headrace.cluster.admission import SESSIONS
from headrace.cluster.request import Introduction
from headrace.cluster.transport.interface import Peer
from headrace.cluster.transport.keys import is_loopback, split_address
from headrace.core import errors

GONE: Final = SESSIONS  # that have no connection any more, and processes of tasks that another has followed


@dataclass(slots=True)
class Visitor:
    """One process, and its connections by name."""

    who: Introduction
    peers: dict[str, Peer | None] = field(default_factory=dict)
    heard_at: float = 0.0  # when the last of them ended

    @property
    def can_be_dialed(self) -> bool:
        """Whether its address means the same here as there."""
        host = split_address(self.who.address)[0]
        return host not in ("*", "0.0.0.0", "::") and not is_loopback(host)

    def silent_for(self) -> float:
        """Seconds since it was last heard."""
        silences = [peer.silent_for() for peer in self.peers.values() if peer is not None]
        return min(silences, default=monotonic() - self.heard_at)


class Visitors:
    """Thread-safe."""

    def __init__(self) -> None:
        self._visitors: dict[str, Visitor] = {}  # by task; of a client that is none by its address and incarnation
        self._by_peer: dict[str, Visitor] = {}
        self._gone: dict[str, None] = {}  # those without a connection, the oldest first
        self._replaced: deque[int] = deque(maxlen=GONE)
        self._lock = threading.Lock()

    def meet(self, who: Introduction, name: str, peer: Peer | None) -> Visitor | None:
        """Somebody has connected, or asks again: returns the process that it has followed, if any.

        ``name``: of the connection, ``peer``.  AlreadyExistsError: another process has followed this one.
        """
        key = _key(who)
        with self._lock:
            before = self._visitors.get(key)
            replaces = before is not None and before.who.incarnation != who.incarnation
            if before is not None and who.incarnation in self._replaced:
                raise errors.AlreadyExistsError(None, None, followed(before.who, who))
            if before is None or replaces:
                self._visitors[key] = Visitor(who)
            visitor = self._visitors[key]
            visitor.who = who
            visitor.heard_at = monotonic()
            visitor.peers[name] = peer
            self._gone.pop(key, None)
            self._by_peer[name] = visitor
            if before is None or not replaces:
                return None
            self._replaced.append(before.who.incarnation)
            return before

    def leave(self, name: str) -> None:
        """A connection has ended."""
        with self._lock:
            visitor = self._by_peer.pop(name, None)
            if visitor is None:
                return
            peer = visitor.peers.pop(name)
            if peer is not None:
                visitor.heard_at = max(visitor.heard_at, monotonic() - peer.silent_for())
            key = _key(visitor.who)
            if not visitor.peers and self._visitors.get(key) is visitor:
                self._gone[key] = None
            if len(self._gone) > GONE:
                oldest = next(iter(self._gone))
                del self._gone[oldest], self._visitors[oldest]

    def of_task(self, task: str) -> Visitor | None:
        return self._visitors.get(task)

    def client(self, name: str) -> Introduction | None:
        """Who is at the other end of a connection; None if it has not said so."""
        visitor = self._by_peer.get(name)
        return None if visitor is None else visitor.who

    def status(self, sessions: Callable[[str], int]) -> list[dict[str, Any]]:
        """All of them, for people to read.  ``sessions(connection)``: how many it has."""
        with self._lock:
            return [
                {
                    "task": visitor.who.task, "address": visitor.who.address, "incarnation": visitor.who.incarnation,
                    "silent_seconds": visitor.silent_for(), "connections": len(visitor.peers),
                    "sessions": sum(map(sessions, visitor.peers)),
                }
                for visitor in self._visitors.values()
            ]  # fmt: skip


def _key(who: Introduction) -> str:
    return who.task or f"{who.address} {who.incarnation}"


def followed(now: Introduction, before: Introduction) -> str:
    """That a process is a task in place of another, in words."""
    return f"{now.task} is the process at {now.address} now, which came after the one at {before.address}"
