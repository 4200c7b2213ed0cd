"""Whether compiling a step pays by now: what it would have saved so far, against what it costs.

Knows neither plans nor clocks.  The cost is the compiling process's processor time, of which the program loses little where
cores are idle, and its share where none are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# The processor time of a compilation, importing torch's compiler included.
SECONDS = 6.0
SECONDS_PER_NODE = 0.04
LOST: Final = 0.1  # of that time, on idle cores: a VAE's step beside it takes 12 to 15 % longer
IDLE: Final = 0.2  # cores: enough to finish on
SHORTLY: Final = 10.0  # seconds of runs
# What is saved if the lines of the step have not been timed: an amount per node, at least a tenth of the step, at most half.
SAVED_PER_NODE: Final = 20e-6
LEAST_SAVED, MOST_SAVED = 0.1, 0.5


class Worth:
    """The account of one step.  Rough sums: races between threads only cost a worse guess."""

    def __init__(self, nodes: int, cores: int, idle_cores: Callable[[], float]) -> None:
        """``idle_cores``: how many there are."""
        self.spent = 0.0  # seconds of interpreted runs
        self.runs = 0
        self.saving: float | None = None  # seconds of a run, once its lines have been timed
        self.reckoned = SECONDS + SECONDS_PER_NODE * nodes
        self.seconds = self.reckoned  # what a compilation is expected to take, with what was learnt on this machine
        self._nodes = nodes
        self._cores = cores
        self._idle_cores = idle_cores
        self._look = 0.0  # what must have been saved before idle cores are looked for again
        self._pays = False

    def note(self, seconds: float) -> None:
        """One more interpreted run."""
        self.spent += seconds
        self.runs += 1

    @property
    def saved(self) -> float:
        """The seconds that compiled code would have saved by now."""
        if self.saving is not None:
            return self.runs * self.saving
        return min(max(self.runs * self._nodes * SAVED_PER_NODE, self.spent * LEAST_SAVED), self.spent * MOST_SAVED)

    def pays(self) -> bool:
        """Whether compiling would have paid for itself by now.  The rest of the program is likely to last as long again."""
        if not self._pays:
            saved = self.saved
            self._pays = saved > self.seconds / self._cores or (saved > self.seconds * LOST and self._idle(saved))
        return self._pays

    def soon(self) -> bool:
        """Whether half of what is needed on idle cores has been saved, in a short time, and cores are idle."""
        return self.spent < SHORTLY and self.saved > self.seconds * LOST / 2 and self._idle(self.saved)

    def _idle(self, saved: float) -> bool:
        """Whether cores are idle; looks again only when a fifth more would have been saved."""
        if saved < self._look:
            return False
        self._look = 1.2 * saved
        return self._idle_cores() >= IDLE
