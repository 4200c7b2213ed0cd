"""Numbers of steps over several partitions, and which of them are under way."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from typing import Final


class StepNumbers:
    """Steps of all masters in a cluster have numbers of their own: a random part for the process, and a count.  Thread-safe."""

    def __init__(self) -> None:
        self.begin()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        self._count = itertools.count(secrets.randbits(38) << 24)
        self._under_way: set[int] = set()
        self._lock = threading.Lock()

    def next(self) -> int:
        """The number of a step that begins."""
        with self._lock:
            number = next(self._count)
            self._under_way.add(number)
            return number

    def end(self, number: int) -> None:
        """The step is over everywhere."""
        with self._lock:
            self._under_way.discard(number)

    def is_over(self, number: int) -> bool:
        """Whether a step of this process is over."""
        return number not in self._under_way

    def oldest(self) -> int:
        """The oldest step under way, of which there must be one: all that have smaller numbers are over."""
        with self._lock:
            return min(self._under_way)


step_numbers: Final = StepNumbers()
