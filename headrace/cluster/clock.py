"""Clock: how another task's clock differs from this one's, from questions and their answers.  A machine without threads.

A question is asked at some time of this clock and answered at another; the other clock says what time it was between.  So each
answer bounds the difference.  Two clocks also drift apart: the bounds of an answer widen with its age, and what the answers of
some time say of the drift is taken out first.

Nobody's clock is set: the difference is added to the times of traces.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

SAMPLES: Final = 128  # that are remembered: two minutes of heartbeats
SPAN: Final = 5_000_000_000  # nanoseconds that answers must span to tell of a drift
MOST_DRIFT: Final = 5e-4  # the worst that NTP corrects
UNKNOWN_DRIFT: Final = 2e-5  # of an ordinary clock, once its own drift is taken out


class Sample(NamedTuple):
    """Nanoseconds: when a question was asked here, what the other clock said, when the answer was here."""

    asked: int
    there: int
    answered: int

    @property
    def middle(self) -> float:
        """The difference, this clock less the other, if both ways take the same time."""
        return (self.asked + self.answered) / 2 - self.there


class Clock:
    """Of one other task.  Not thread-safe."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=SAMPLES)

    def note(self, asked: int, there: int, answered: int) -> None:
        """Takes an answer.  One that came before its question was asked shows that this clock was set back; it says nothing."""
        if answered >= asked:
            self._samples.append(Sample(asked, there, answered))

    def difference(self, there: int) -> int:
        """What to add to a time of the other clock: 0 if the clocks may well be the same.  0 if nothing is known."""
        if not self._samples:
            return 0
        drift = self.drift()
        low, high = self._bounds(there, drift)
        if low <= 0 <= high:
            return 0
        return round((low + high) / 2)

    def drift(self) -> float:
        """Nanoseconds that the difference grows in each nanosecond; 0 while the answers do not tell."""
        if not self._spans():
            return 0.0
        first = self._samples[0]
        weights = [1.0 / max(s.answered - s.asked, 1) ** 2 for s in self._samples]
        times = [float(s.there - first.there) for s in self._samples]
        middles = [s.middle - first.middle for s in self._samples]
        total = sum(weights)
        time = sum(w * t for w, t in zip(weights, times, strict=True)) / total
        middle = sum(w * m for w, m in zip(weights, middles, strict=True)) / total
        spread = sum(w * (t - time) ** 2 for w, t in zip(weights, times, strict=True))
        slope = sum(w * (t - time) * (m - middle) for w, t, m in zip(weights, times, middles, strict=True)) / spread
        return max(-MOST_DRIFT, min(MOST_DRIFT, slope))

    def _spans(self) -> bool:
        """Whether the answers tell of a drift."""
        return len(self._samples) > 2 and self._samples[-1].there - self._samples[0].there >= SPAN

    def _bounds(self, there: int, drift: float) -> tuple[float, float]:
        """Of the difference at a time of the other clock: what all answers allow, the newest if they contradict each other."""
        low, high = float("-inf"), float("inf")
        doubt = UNKNOWN_DRIFT if self._spans() else MOST_DRIFT
        for sample in reversed(self._samples):
            age = there - sample.there
            slack = doubt * abs(age)
            least = sample.asked - sample.there + drift * age - slack
            most = sample.answered - sample.there + drift * age + slack
            if least > high or most < low:
                break  # a clock was set: what was before says nothing
            low, high = max(low, least), min(high, most)
        return low, high
