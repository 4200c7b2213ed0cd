"""Whether compiling a step pays by now: what it would have saved so far, against what it costs.

Knows neither plans nor clocks.  The cost is what the program loses of the compiling process's processor time: little where a
whole core is idle, all of it where none is, for a step that uses every core waits for the one that the compiler has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# The processor time of a compilation, importing torch's compiler included.
SECONDS = 6.0
SECONDS_PER_NODE = 0.04
# The part of that time that the program loses if one core is idle (a step of word2vec takes a quarter longer); less if more are.
LOST: Final = 0.3
IDLE: Final = 0.2  # cores: enough to finish on
SPARE: Final = 0.9  # cores: as good as a whole one
MANY: Final = 2.0  # cores: the program does without them
SHORTLY: Final = 10.0  # seconds of runs
# What is saved: an amount per node, at least a tenth of the step, at most half.
SAVED_PER_NODE: Final = 20e-6
LEAST_SAVED, MOST_SAVED = 0.1, 0.5


class Worth:
    """The account of one step.  Rough sums: races between threads only cost a worse guess."""

    def __init__(self, nodes: int, idle_cores: Callable[[], float]) -> None:
        """``idle_cores``: how many there are."""
        self.spent = 0.0  # seconds of interpreted runs
        self.runs = 0
        self.reckoned = SECONDS + SECONDS_PER_NODE * nodes
        self.seconds = self.reckoned  # what a compilation is expected to take, with what was learnt on this machine
        self._nodes = nodes
        self.idle_cores = idle_cores
        self._idle = 0.0  # cores, when they were last looked for
        self._next_look = 0.01  # what must have been saved before they are looked for again
        self._pays = False

    def note(self, seconds: float) -> None:
        """One more interpreted run."""
        self.spent += seconds
        self.runs += 1

    @property
    def saved(self) -> float:
        """The seconds that compiled code would have saved by now."""
        return min(max(self.runs * self._nodes * SAVED_PER_NODE, self.spent * LEAST_SAVED), self.spent * MOST_SAVED)

    def pays(self) -> bool:
        """Whether compiling would have paid for itself by now.  The rest of the program is likely to last as long again."""
        if not self._pays:
            self._look()
            self._pays = self.saved > self.seconds * self._lost
        return self._pays

    def soon(self) -> bool:
        """Whether compiling will pay shortly: many cores are idle, or one is and half of what is needed was saved soon."""
        self._look()
        if self.spent >= SHORTLY or self._idle < SPARE:
            return False
        return self._idle >= MANY or self.saved > self.seconds * self._lost / 2

    @property
    def _lost(self) -> float:
        """The share of the compiling process's time that the program loses."""
        return max(LOST / self._idle, 1.0 - self._idle) if self._idle > LOST else 1.0

    def _look(self) -> None:
        """Looks for idle cores whenever a fifth more would have been saved."""
        saved = self.saved
        if saved > self._next_look:
            self._next_look = 1.2 * saved
            self._idle = self.idle_cores()
