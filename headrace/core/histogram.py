"""TensorFlow's histograms for summaries: fixed buckets, each ten per cent wider than the one before it."""

from __future__ import annotations

from functools import cache
from sys import float_info
from typing import Any

import numpy as np

from headrace.core import event


@cache
def bucket_limits() -> np.ndarray[Any, Any]:
    """The upper limits of the buckets, from the most negative number to the greatest."""
    limit, positive = 1e-12, []
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(float_info.max)
    return np.array([*(-v for v in reversed(positive)), 0.0, *positive])


def statistics(values: np.ndarray[Any, Any]) -> tuple[float, float, float, float, float]:
    """(min, max, num, sum, sum of squares) of finite doubles, added one after another."""
    if not values.size:
        return float_info.max, -float_info.max, 0.0, 0.0, 0.0
    with np.errstate(over="ignore"):
        total, squares = (float(np.add.accumulate(v)[-1]) for v in (values, values * values))
    return float(values[values.argmin()]), float(values[values.argmax()]), float(values.size), total, squares


def buckets(values: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The limits of the buckets that hold finite doubles, and how many are in each; a run of empty buckets is one."""
    limits = bucket_limits()
    below = np.searchsorted(np.sort(values), limits, "left")  # how many values are below each limit
    below[-1] = values.size  # the greatest number itself
    return _joined(np.diff(below, prepend=0))


def _joined(counts: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    filled = counts > 0
    before = filled.copy()
    before[:-1] |= filled[1:]  # the last of a run of empty ones
    before[-1] = True
    return bucket_limits()[before], counts[before].astype(np.float64)


class Histogram:
    """Finite doubles that come one by one."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(bucket_limits()), np.int64)
        self._statistics = (float_info.max, -float_info.max, 0.0, 0.0, 0.0)

    def add(self, value: float) -> None:
        last = len(self._counts) - 1
        self._counts[min(int(np.searchsorted(bucket_limits(), value, "right")), last)] += 1
        least, most, number, total, squares = self._statistics
        self._statistics = (min(least, value), max(most, value), number + 1, total + value, squares + value * value)

    def encoded(self, tag: bytes) -> bytes:
        """A summary of the numbers so far."""
        limits, counts = _joined(self._counts)
        return event.histogram(tag, self._statistics, limits.astype("<f8").tobytes(), counts.astype("<f8").tobytes())
