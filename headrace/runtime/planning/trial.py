"""Decides which of two plans of one step is faster.  It owns neither the clock nor the plans.

Both plans run in turn, on the program's own data, and the best time of each counts: other work on the machine only ever adds
to a time, and it adds to both.
"""

from __future__ import annotations

from typing import Final

RUNS: Final = 12  # of each plan; a new plan chooses its number of threads in the first ten


class Trial:
    """The comparison of a compiled plan with the interpreted one.  Races between threads only cost a worse guess."""

    __slots__ = ("_left", "best")

    def __init__(self, runs: int = RUNS) -> None:
        self._left = {True: runs, False: runs}
        self.best = {True: float("inf"), False: float("inf")}

    def compiled_next(self) -> bool:
        """Whether the next run is the compiled plan's turn."""
        return self._left[True] >= self._left[False]

    def note(self, compiled: bool, seconds: float) -> bool:
        """Notes how long a run of one plan took; returns whether the comparison is over."""
        self._left[compiled] -= 1
        self.best[compiled] = min(self.best[compiled], seconds)
        return max(self._left.values()) <= 0

    @property
    def compiled_is_faster(self) -> bool:
        return self.best[True] < self.best[False]
