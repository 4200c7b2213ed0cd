"""What is counted while a simulated job runs, and what that says: rates, times of steps, what they wait for, what is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

CAUSES: Final = ("worker", "server", "queue", "network", "others")
"""What the time of a step goes into: the worker's own work, that of servers, waiting in their lines, the way, other workers."""


class Counts:
    """What a simulated job has done.  Counting begins when `start` is called."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.ended = 0  # steps, of all workers
        self.since: float | None = None
        self.until = 0.0
        self.times: list[float] = []
        self.causes = [0.0] * len(CAUSES)
        self.events = 0
        self.most: list[float] = []  # bytes of values of steps under way, of each server
        self._before: Mapping[str, Any] = {}
        self._after: Mapping[str, Any] = {}

    def note(self, seconds: float, path: Sequence[float]) -> None:
        """A step of a worker is over."""
        self.ended += 1
        if self.since is not None:
            self.times.append(seconds)
            self.causes = [a + b for a, b in zip(self.causes, path, strict=True)]

    def start(self, now: float, used: Mapping[str, Any]) -> None:
        """Counting begins: ``used`` is what was used until then."""
        self.since, self._before = now, used

    def finish(self, now: float, used: Mapping[str, Any]) -> None:
        """The job is looked at for the last time."""
        self.until, self._after = now, used

    @property
    def seconds(self) -> float:
        """For how long was counted."""
        return 0.0 if self.since is None else self.until - self.since

    def more(self, name: str) -> int:
        """How many were added: updates, gradients counted or late."""
        return int(self._after[name]) - int(self._before[name]) if self._before else 0

    def staleness(self) -> float:
        """The mean staleness of gradients that counted."""
        if not self._before:
            return 0.0
        before = self._before["staleness"]
        added = {steps: n - before.get(steps, 0) for steps, n in self._after["staleness"].items()}
        total = sum(added.values())
        return sum(steps * n for steps, n in added.items()) / total if total else 0.0

    def used(self, job: str) -> list[tuple[float, ...]]:
        """Of each task: seconds of the interpreter, bytes sent and received, seconds of its link in both directions."""
        if not self._before:
            return []
        pairs = zip(self._before[job], self._after[job], strict=True)
        return [tuple(b - a for a, b in zip(one, other, strict=True)) for one, other in pairs]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the sorted values is."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job does on a cluster, once it runs evenly.

    ``steps``: of all workers, a second.  ``counted``: of these, those whose gradients count.  ``updates``: a second.
    ``times``: seconds of a step, at 10, 50, 90 and 99 %.  ``causes``: mean seconds of a step by what they go into.
    ``busy``: share of the time that is used: of ``server``, the busiest one's interpreter, its link ``in`` and ``out``, and
    the ``worker``'s computing.  ``bytes``: of a step, in and out of the busiest server and of a worker.
    ``memory``: bytes on the fullest server and on a worker.  ``goodput``: share of the work that is left when tasks fail.
    """

    workers: int
    servers: int
    steps: float
    counted: float
    updates: float
    times: Mapping[str, float]
    causes: Mapping[str, float]
    busy: Mapping[str, float] = field(default_factory=dict)
    bytes: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    staleness: float = 0.0
    goodput: float = 1.0
    events: int = 0

    @property
    def useful(self) -> float:
        """Steps a second whose gradients count, failures taken off."""
        return self.counted * self.goodput

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data, for JSON."""
        names = (
            "workers", "servers", "steps", "counted", "updates", "times", "causes", "busy", "bytes", "memory", "staleness",
            "goodput", "useful", "events",
        )  # fmt: skip
        plain = {name: getattr(self, name) for name in names}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in plain.items()}


def outcome_of(counts: Counts, memory: Mapping[str, float], goodput: float, gathers: bool) -> Outcome:
    """What the counts say."""
    seconds, times = counts.seconds, sorted(counts.times)
    ended = len(times)
    if not ended or seconds <= 0:
        raise ValueError("no step has ended: the job waits for ever, or was looked at for too short")
    late = counts.more("late") if gathers else 0
    taken = max(counts.more("counted") + late, 1)
    servers, workers = counts.used("servers"), counts.used("workers")
    steps = ended / seconds
    causes = dict(zip(CAUSES, (one / ended for one in counts.causes), strict=True))
    middle = fmean(times)

    def most(column: int) -> float:
        return max((one[column] for one in servers), default=0.0)

    return Outcome(
        counts.workers, len(servers), steps, steps * (1 - late / taken),
        counts.more("updates") / seconds if gathers else steps,
        {f"p{share}": quantile(times, share / 100) for share in (10, 50, 90, 99)} | {"mean": middle},
        causes,
        {
            "server": most(0) / seconds, "in": most(4) / seconds, "out": most(3) / seconds,
            "worker": causes["worker"] / middle,
        },
        {
            "in": most(2) / ended, "out": most(1) / ended,
            "worker in": fmean(one[2] for one in workers) * len(workers) / ended,
            "worker out": fmean(one[1] for one in workers) * len(workers) / ended,
        },
        memory, counts.staleness(), goodput, counts.events,
    )  # fmt: skip
