"""Admission: how much one client, and all together, may ask of a task before it has answered.

A member of the cluster may ask for anything, but not for everything at the same time: each call under way may hold a thread.
"""

from __future__ import annotations

import threading
from typing import Final

CALLS_OF_ONE: Final = 1024
CALLS_OF_ALL: Final = 8192
SESSIONS: Final = 4096  # a worker has two: the one that trains, and one that stands in line for the chief's lease


class Admission:
    """Counts the calls under way by connection.  Thread-safe."""

    def __init__(self, of_one: int = CALLS_OF_ONE, of_all: int = CALLS_OF_ALL) -> None:
        self.of_one = of_one
        self.of_all = of_all
        self.refused = 0
        self._under_way: dict[str, int] = {}
        self._all = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The calls under way."""
        return self._all

    def admit(self, peer: str) -> str:
        """Notes a call of a connection, until `leave`; or says in words why it is refused."""
        with self._lock:
            under_way = self._under_way.get(peer, 0)
            if under_way >= self.of_one:
                self.refused += 1
                return f"{self.of_one} calls of {peer} are under way, and more of one client are not accepted"
            if self._all >= self.of_all:
                self.refused += 1
                return f"{self.of_all} calls are under way, and more are not accepted"
            self._under_way[peer] = under_way + 1
            self._all += 1
        return ""

    def leave(self, peer: str) -> None:
        """A call of the connection was answered."""
        with self._lock:
            self._all -= 1
            self._under_way[peer] -= 1
            if not self._under_way[peer]:
                del self._under_way[peer]
