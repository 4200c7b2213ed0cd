"""Finding what repeats in a sequence: stretches in which the same items come again after a fixed number of them.

Knows nothing of what the items are; they are numbers, equal where two items are of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stretch:
    """Items ``start`` to ``stop``, each equal to the one ``period`` items further on, as far as that is inside."""

    start: int
    stop: int
    period: int

    @property
    def count(self) -> int:
        """How often the period fits."""
        return (self.stop - self.start) // self.period

    @property
    def saved(self) -> int:
        """Items that need not be looked at again once one period is known."""
        return (self.count - 1) * self.period


def stretches(items: Sequence[int], shortest: int, fewest: int) -> list[Stretch]:
    """Stretches that do not overlap, in order: periods of at least ``shortest`` items, each at least ``fewest`` times.

    Those that save most come first; a stretch that overlaps one of them keeps what is left of it.
    """
    waiting = list(_all(np.asarray(items), shortest, fewest))
    chosen: list[Stretch] = []
    while waiting:
        best = max(waiting, key=lambda s: (s.saved, -s.period, -s.start))
        chosen.append(best)
        waiting = [part for s in waiting for part in _without(s, best) if part.count >= fewest]
    return sorted(chosen, key=lambda s: s.start)


def _all(items: np.ndarray, shortest: int, fewest: int) -> Iterator[Stretch]:
    """Every longest stretch of every period."""
    for period in range(shortest, len(items) // fewest + 1):
        same = np.zeros(len(items) - period + 2, bool)
        same[1:-1] = items[:-period] == items[period:]
        edges = np.flatnonzero(same[1:] != same[:-1])
        starts, stops = edges[::2], edges[1::2] + period
        often = stops - starts >= fewest * period
        for start, stop in zip(starts[often].tolist(), stops[often].tolist(), strict=True):
            yield Stretch(start, stop, period)


def _without(stretch: Stretch, taken: Stretch) -> Iterator[Stretch]:
    """What is left of a stretch, before and after one that is taken."""
    if stretch.stop <= taken.start or taken.stop <= stretch.start:
        yield stretch
        return
    if stretch.start < taken.start:
        yield Stretch(stretch.start, taken.start, stretch.period)
    if taken.stop < stretch.stop:
        yield Stretch(taken.stop, stretch.stop, stretch.period)
