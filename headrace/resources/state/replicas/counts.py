"""What the replicas of a job have counted: what is new in a report since another, and both as summaries for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from headrace.core import event
from headrace.core.histogram import buckets, statistics

Report = Mapping[str, Any]
"""As of `Replicas.counts`."""

NOTHING: Final[Report] = {"updates": 0, "staleness": {}, "by_worker": {}}


def total(report: Report, key: str) -> float:
    """The sum of a number over all workers."""
    return sum(tally[key] for tally in report["by_worker"].values())


def is_of_several(report: Report) -> bool:
    """Whether there is anything to say that one worker alone would not know."""
    stale = any(int(steps) for steps in report["staleness"])
    return len(report["by_worker"]) > 1 or stale or total(report, "late") > 0


def since(before: Report, after: Report) -> Report:
    """What was counted between two reports.  Counts that have fallen are those of a server that was started again."""
    if after["updates"] < before["updates"]:
        before = NOTHING
    staleness = {steps: count - before["staleness"].get(steps, 0) for steps, count in after["staleness"].items()}
    by_worker = {
        worker: {key: value - before["by_worker"].get(worker, {}).get(key, 0) for key, value in tally.items()}
        for worker, tally in after["by_worker"].items()
    }
    return {"updates": after["updates"] - before["updates"], "staleness": staleness, "by_worker": by_worker}


def summary(tag: str, report: Report, new: Report) -> bytes:
    """An encoded Summary: numbers as of ``report``, and what is ``new`` since the last one; without shares of nothing.

    ``tag``: what the tags begin with.
    """
    numbers = {"updates": report["updates"], "workers": report["workers"]}
    for name, rest in (("late", "counted"), ("waiting", "working")):
        part, whole = total(new, name), total(new, name) + total(new, rest)
        if whole > 0:
            numbers[name] = part / whole
    parts = [event.scalar(f"{tag}/{name}".encode(), value) for name, value in numbers.items()]
    staleness = np.repeat(
        np.array([int(steps) for steps in new["staleness"]], np.float64), list(new["staleness"].values())
    )
    if staleness.size:
        limits, counts = (each.astype("<f8").tobytes() for each in buckets(staleness))
        parts.append(event.histogram(f"{tag}/staleness".encode(), statistics(staleness), limits, counts))
    return b"".join(parts)
