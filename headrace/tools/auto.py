"""Chooses how `headrace launch --auto` runs a program: profiles its step, simulates what may be chosen, prints why.

    headrace launch --auto --workers 8 train.py

The program is run up to the step of its loop, in processes that start no server, once for each number of servers and each kind
of mode; the step is timed here.  What decides is `headrace.library.simulation.policy`; all tasks are told by HEADRACE_POLICY.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from headrace.core.policy import Policy
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Job, Rules, computing
from headrace.library.simulation.judge import Simulated
from headrace.library.simulation.law import counts_of, link_of, slow_of
from headrace.library.simulation.machines import machine
from headrace.library.simulation.measure import measure, moving
from headrace.library.simulation.policy import Choice, Question, choose
from headrace.library.simulation.reasons import in_words
from headrace.library.train.replica.auto import checked_allow
from headrace.passes.cost.rates import Link
from headrace.tools.simulate_program import Plans, Wish, plan_elsewhere

MOST_SERVERS: Final = 16
MEASURED_S: Final = 3.0  # seconds for what messages cost here


@dataclass(frozen=True, slots=True)
class Told:
    """What the user has said.  ``ps``: None where that is to be chosen.  ``slow``, ``link``: as of `headrace simulate`."""

    workers: int
    ps: int | None = None
    allow: str = ""
    slow: str | None = None
    link: str | None = None
    here: bool = True  # all tasks are on this machine
    measures: bool = True


class Profile:
    """A program's jobs; each is planned by a run of the program when it is first asked for."""

    def __init__(self, program: Sequence[str], told: Told) -> None:
        self._program = list(program)
        self._wish = Wish((told.ps or 1,), told.workers)
        self.plans = plan_elsewhere(program, replace(self._wish, times=True))
        self._wish = replace(self._wish, scale=self.plans.scale)
        self.allow = checked_allow([*_words(told.allow), *(self.plans.auto.allow if self.plans.auto else ())])

    def job(self, mode: str, servers: int, lossy: bool, slices: int) -> Job:
        """A `Jobs`."""
        plain = not lossy and slices == 1
        if plain and servers in self.plans.jobs and self.plans.auto is None:
            return self.plans.jobs[servers]
        policy = Policy(servers, lossy=lossy, slices=slices, allow=self.allow)
        family = mode if self.plans.auto is not None else ""
        plans = plan_elsewhere(self._program, replace(self._wish, mode=family, servers=(servers,)), policy)
        return plans.jobs[servers]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def question_of(plans: Plans, told: Told, allow: tuple[str, ...]) -> Question:
    """What may be chosen for a program.  SystemExit says why nothing can be."""
    if not plans.clustered:
        raise SystemExit(
            "headrace launch --auto: the program trains on one machine; one for a cluster starts a tf.train.Server with what "
            "--ps_hosts and --worker_hosts, or TF_CONFIG, say"
        )
    auto = plans.auto
    servers = (told.ps,) if told.ps is not None else tuple(counts_of(f"1:{max(1, min(told.workers, MOST_SERVERS))}"))
    step = computing(next(iter(plans.jobs.values())).step)
    if auto is None:  # the program says who waits for whom, and for what is not its own there is no optimizer to tell
        return Question(
            told.workers, servers, own=plans.own or Rules(), step=step, partition="partition" in allow, allow=allow,
            slow_is_known=told.slow is not None,
        )  # fmt: skip
    return Question(
        told.workers, servers, auto.modes(allow), given=dict(auto.given), step=step, allow=allow,
        slow_is_known=told.slow is not None, lossy="lossy" in allow, partition="partition" in allow,
    )  # fmt: skip


def cluster_of(told: Told) -> Cluster:
    """Where the job will run."""
    described = Cluster(told.workers, 1)
    if told.link is not None:
        described = replace(described, link=Link(*link_of(told.link)))
    if told.slow is not None:
        described = replace(described, slow=slow_of(told.slow))
    if told.measures:
        described = replace(described, tolls=measure(MEASURED_S, machine()))
    if told.here:
        _, movers = moving() if told.measures else (0.0, 0.0)
        described = replace(described, together=True, cores=len(os.sched_getaffinity(0)), movers=movers)
    return described


def choose_for(program: Sequence[str], told: Told) -> Choice:
    """Profiles the program and chooses.  ValueError and SystemExit say what is wrong."""
    checked_allow(_words(told.allow))
    if told.ps is not None and told.ps < 1:
        raise ValueError("--auto is for parameter servers: leave --ps out, or give 1 or more")
    cluster = cluster_of(told)
    profile = Profile(program, told)
    question = question_of(profile.plans, told, profile.allow)
    return choose(question, Simulated(profile.job, cluster))


def policy_for(program: Sequence[str], told: Told, path: str | None = None) -> Policy:
    """Chooses, says so on stderr, and keeps the policy in a file if there is a ``path``."""
    print("headrace launch --auto: profiling a step", file=sys.stderr, flush=True)
    choice = choose_for(program, told)
    print(in_words(choice), file=sys.stderr, flush=True)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(choice.best.policy.to_json() + "\n")
    return choice.best.policy
