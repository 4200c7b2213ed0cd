"""Addresses: where each task of a cluster is: where the cluster spec says, or where it has moved since."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

Moves = dict[str, tuple[int, str]]  # by task: how often it has moved, and its address now


class Addresses(Mapping[str, str]):
    """The addresses by task.  Thread-safe.  What is known of moves is passed on with every greeting."""

    def __init__(self, declared: Mapping[str, str], moves: Mapping[str, tuple[int, str]] | None = None) -> None:
        self._declared = dict(declared)
        self._moves: Moves = {}
        self._lock = threading.Lock()
        self.learn(moves or {})

    def __getitem__(self, task: str) -> str:
        moved = self._moves.get(task)
        return self._declared[task] if moved is None else moved[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    @property
    def moves(self) -> Moves:
        with self._lock:
            return dict(self._moves)

    def times_moved(self, task: str) -> int:
        moved = self._moves.get(task)
        return 0 if moved is None else moved[0]

    def learn(self, moves: Mapping[str, tuple[int, str]]) -> list[str]:
        """Takes over what is newer than what is known, and returns the tasks that are elsewhere now."""
        changed = []
        with self._lock:
            for task, (number, address) in moves.items():
                if task in self._declared and number > self.times_moved(task):
                    if self[task] != address:
                        changed.append(task)
                    self._moves[task] = (number, address)
        return changed
