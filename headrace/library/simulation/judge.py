"""What a policy is worth for a job on a cluster: asked of the simulator, once for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from headrace.core.policy import TOGETHER, Policy
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Job
from headrace.library.simulation.outcome import Outcome
from headrace.library.simulation.policy import rules_of_policy
from headrace.library.simulation.simulate import run

Jobs = Callable[[str, int, bool, int], Job]
"""The job of a mode ("sync" stands for all of TOGETHER), a number of servers, with 16-bit transfers, in so many slices."""
EVENTS: Final = 40_000  # of one cluster; settings that are so near that more would tell them apart are worth the same
RANDOM: Final = 60  # steps of each worker at least, where their times vary: one slow step is not the rule


@dataclass
class Simulated:
    """A `Judge` by simulation; deterministic."""

    jobs: Jobs
    cluster: Cluster
    seed: int = 0
    events: int = EVENTS
    _jobs: dict[tuple[str, int, bool, int], Job] = field(default_factory=dict)
    _known: dict[Policy, Outcome] = field(default_factory=dict)

    def __call__(self, policy: Policy) -> Outcome:
        if policy not in self._known:
            family = "sync" if policy.mode in TOGETHER else policy.mode
            key = (family, policy.servers, policy.lossy, policy.slices)
            if key not in self._jobs:
                self._jobs[key] = self.jobs(*key)
            job = self._jobs[key].with_rules(rules_of_policy(policy))
            if policy.steps is not None:
                job = replace(job, every=policy.steps)
            where = replace(self.cluster, servers=policy.servers)
            least = RANDOM * job.every if where.slow.law in ("pareto", "lognormal") else 0
            self._known[policy] = run(job, where, self.seed, least, self.events)
        return self._known[policy]
