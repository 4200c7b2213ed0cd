"""Contest: which of two plans of a step is faster, by runs of both in turn, so that other work on the machine hits both.

A machine: it says whose turn it is and hears how long a run took.  It has no clock and no threads.  The plan that is there by
default stays unless the other one wins most pairs of runs and is faster by the margin in the median: a best time may be luck, and
what a program feels is the run in the middle.  A plan that has won is looked at again from time to time, because the load of the
machine changes; the default, once it stays, stays for good.
"""

from __future__ import annotations

from statistics import median
from typing import Final

MARGIN: Final = 0.05  # of the time: for less a step is not spread over devices, which others may need
WARM: Final = 10  # runs of either that do not count: a plan chooses its number of threads in them, and caches are cold
PAIRS: Final = 12
WINS: Final = 10  # pairs that the new plan must win; equal plans would by chance in one case of fifty
AGAIN: Final = 1000  # runs after which a plan that has won is looked at again; costs some percent of a percent


class Contest:
    """Of a new plan (True) against the default one (False).  For one thread at a time."""

    __slots__ = ("_asked", "_defends", "_skip", "new_stays", "times")

    def __init__(self) -> None:
        self.new_stays: bool | None = None  # None: nobody knows yet
        self._defends = False  # whether the new plan has won before
        self._skip = WARM
        self._begin()

    def _begin(self) -> None:
        self._asked = 0
        self.times: dict[bool, list[float]] = {True: [], False: []}

    def new_next(self) -> bool:
        """Whether the next run is the new plan's turn.  Who begins a pair changes, so that a load that grows hits both."""
        pair, second = divmod(self._asked, 2)
        self._asked += 1
        return bool(second) == bool(pair % 2)

    def note(self, new: bool, seconds: float) -> None:
        """A run of one plan is over; runs that failed are not told."""
        if self.new_stays is not None:
            return
        self.times[new].append(seconds)
        pairs = list(zip(*(self.times[one][self._skip : self._skip + PAIRS] for one in (True, False)), strict=False))
        wins = sum(a < b for a, b in pairs)
        if not self._defends and len(pairs) - wins > PAIRS - WINS:
            self.new_stays = False  # it cannot win any more
        elif len(pairs) == PAIRS:
            mine, other = self.medians
            self.new_stays = mine <= other if self._defends else mine < other * (1.0 - MARGIN)

    @property
    def medians(self) -> tuple[float, float]:
        """The seconds of the new plan and of the default one, in the pairs that there are."""
        pairs = min(PAIRS, *(len(times) - self._skip for times in self.times.values()))
        mine, other = (median(self.times[new][self._skip : self._skip + pairs]) for new in (True, False))
        return mine, other

    def look_again(self) -> None:
        """Opens the contest once more, of a plan that has won.  It defends itself: it goes only if it has become slower."""
        self._defends, self._skip, self.new_stays = True, 0, None
        self._begin()
