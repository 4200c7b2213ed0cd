"""The state of a StatsAggregator: a histogram of what was measured under each tag."""

from __future__ import annotations

import threading

from headrace.core.histogram import Histogram


class StatsAggregator:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histograms: dict[bytes, Histogram] = {}

    def add(self, tag: bytes, value: float) -> None:
        with self._lock:
            histogram = self._histograms.get(tag)
            if histogram is None:
                histogram = self._histograms[tag] = Histogram()
            histogram.add(value)

    def summary(self) -> bytes:
        """An encoded Summary of all so far."""
        with self._lock:
            return b"".join(histogram.encoded(tag) for tag, histogram in self._histograms.items())
