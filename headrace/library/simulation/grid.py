"""Many clusters for one job: each simulated, and which of them is best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Job
from headrace.library.simulation.outcome import Outcome
from headrace.library.simulation.simulate import EVENTS, run

ENOUGH = 0.95  # of the most: a smaller cluster that gives so much is better


@dataclass(frozen=True, slots=True)
class Row:
    """One cluster and what a job does on it."""

    mode: str
    outcome: Outcome

    @property
    def tasks(self) -> int:
        """Of the cluster."""
        return self.outcome.workers + self.outcome.servers


def explore(
    jobs: Mapping[str, Mapping[int, Job]], workers: Sequence[int], cluster: Cluster, seed: int = 0, events: int = EVENTS
) -> Iterator[Row]:
    """``jobs``: by mode and number of servers.  All else is as in ``cluster``."""
    for mode, by_servers in jobs.items():
        for servers, job in sorted(by_servers.items()):
            for number in workers:
                described = replace(cluster, workers=number, servers=servers)
                yield Row(mode, run(job, described, seed, events=events))


def best_of(rows: Sequence[Row]) -> Row:
    """The fewest tasks that do nearly as much useful work as any."""
    most = max(row.outcome.useful for row in rows)
    enough = [row for row in rows if row.outcome.useful >= ENOUGH * most]
    return min(enough, key=lambda row: (row.tasks, -row.outcome.useful))
