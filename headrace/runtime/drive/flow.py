"""The state of one step as a machine without threads: what is ready at the start, what becomes ready when something is done."""

from __future__ import annotations

from collections.abc import Sequence


class Flow:
    """Strands as a graph of counters (OSDI 5).  Not thread-safe: its driver serialises the calls."""

    __slots__ = ("_after", "_waiting")

    def __init__(self, after: Sequence[Sequence[int]], waiting: Sequence[int]) -> None:
        self._after = after
        self._waiting = list(waiting)

    @classmethod
    def of(cls, before: Sequence[set[int]]) -> Flow:
        """``before[i]`` are the strands that strand i waits for."""
        after: list[list[int]] = [[] for _ in before]
        for i, needed in enumerate(before):
            for j in needed:
                after[j].append(i)
        return cls(after, [len(b) for b in before])

    def copy(self) -> Flow:
        return Flow(self._after, self._waiting)

    def start(self) -> list[int]:
        return [i for i, n in enumerate(self._waiting) if n == 0]

    def done(self, index: int) -> list[int]:
        ready = []
        for i in self._after[index]:
            self._waiting[i] -= 1
            if self._waiting[i] == 0:
                ready.append(i)
        return ready

    def pending(self) -> list[int]:
        return [i for i, n in enumerate(self._waiting) if n > 0]
