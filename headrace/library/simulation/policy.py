"""Chooses how a job trains: servers, mode, backups or bound, 16-bit transfers, slices; and says why, in words.

Pure: what a setting is worth is asked of a function that is handed down (`judge`), and the same answers give the same choice.
What asks is `headrace.tools.auto`; what follows are `tf.train.replicas` and `tf.get_variable` (`core/policy.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final

from headrace.core.policy import CHANGES, TOGETHER, Policy
from headrace.library.simulation.grid import ENOUGH
from headrace.library.simulation.job import Rules
from headrace.library.simulation.modes import EVERY
from headrace.library.simulation.outcome import Outcome

Judge = Callable[[Policy], Outcome]

FOLLOW: Final = -1  # backups: as the times of workers say
BOUNDS: Final = (2, 8)  # of staleness
SHARES: Final = (0.75, 0.9)  # of the workers: a quorum
GRACE: Final = 0.1  # of a step
IDLE: Final = 0.05  # of a step: what waits less for the network gains nothing by fewer bytes


@dataclass(frozen=True, slots=True)
class Question:
    """What may be chosen.  Of what the user has said there is one answer.

    ``servers``: the numbers to try, the smallest first.  ``modes``: that may be chosen.  ``own``: the rules that the program
    has itself, in place of modes.  ``given``: arguments that stay as they are.  ``step``: seconds that a worker computes.
    ``slow_is_known``: whether somebody has said how the times of steps vary.  ``lossy``, ``partition``: may be tried.
    ``allow``: goes into the policy.
    """

    workers: int
    servers: tuple[int, ...] = (1,)
    modes: tuple[str, ...] = TOGETHER
    own: Rules | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    step: float = 0.0
    slow_is_known: bool = False
    lossy: bool = False
    partition: bool = False
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A setting and what it would do."""

    policy: Policy
    outcome: Outcome

    @property
    def rate(self) -> float:
        """Steps a second whose gradients count."""
        return self.outcome.useful


@dataclass(frozen=True, slots=True)
class Choice:
    """``best``: what was chosen of all that was ``seen``."""

    question: Question
    best: Seen
    seen: tuple[Seen, ...]


def choose(question: Question, judge: Judge) -> Choice:
    """The plainest setting that is worth nearly as much as the best: few changes of what is computed, then few servers."""
    seen: list[Seen] = list(_servers(question, Policy(allow=question.allow), judge))
    best = _plainest(seen, question)
    for change in _changes(question, best):
        seen += _servers(question, replace(best.policy, **change), judge)
    return Choice(question, _plainest(seen, question), tuple(seen))


def _servers(question: Question, like: Policy, judge: Judge) -> Iterator[Seen]:
    """All rules with all numbers of servers: one more may be worse, and many better.  ``like``: its transfers and slices."""
    for servers in question.servers:
        if like.slices > 1 and servers == 1:
            continue
        slices = servers if like.slices > 1 else 1
        for policy in policies(question):
            one = replace(policy, servers=servers, lossy=like.lossy, slices=slices, allow=question.allow)
            yield Seen(one, judge(one))


def _changes(question: Question, best: Seen) -> list[dict[str, Any]]:
    """What else to try: nothing where a step hardly waits for the network and the servers."""
    causes = best.outcome.causes
    if sum(causes.get(name, 0.0) for name in ("network", "queue", "server")) < IDLE * best.outcome.times["mean"]:
        return []
    changes: list[dict[str, Any]] = [{"lossy": True}] if question.lossy else []
    if question.partition and question.servers[-1] > 1:
        changes += [{**change, "slices": 2} for change in ({}, *changes)]
    return changes


def policies(question: Question) -> list[Policy]:
    """The rules to try; the rest of each policy is as usual."""
    if question.own is not None:
        return [of_rules(question.own)]
    found = [policy for mode in question.modes for policy in _of_mode(mode, question)]
    return found or [Policy()]


def _of_mode(mode: str, question: Question) -> list[Policy]:
    given, workers = question.given, question.workers
    if mode == "backup":
        if "backups" in given:
            numbers = [FOLLOW if given["backups"] == "auto" else given["backups"]]
        else:
            some = {1, 2, ceil(0.05 * workers), ceil(0.1 * workers)} if workers > 2 else set()
            numbers = [FOLLOW, *sorted(n for n in some if n < workers)]
        return [Policy(mode=mode, backups=n) for n in numbers]
    if mode == "quorum":
        shares = [given["quorum"] / workers] if "quorum" in given else SHARES if workers > 3 else ()
        grace = given.get("grace_ms", round(1000 * GRACE * question.step, 3))
        return [Policy(mode=mode, quorum=share, grace_ms=grace) for share in shares]
    if mode == "stale":
        return [Policy(mode=mode, staleness=n) for n in ([given["staleness"]] if "staleness" in given else BOUNDS)]
    if mode == "local":
        return [Policy(mode=mode, steps=given.get("steps", EVERY))]
    return [Policy(mode=mode)]


def of_rules(rules: Rules) -> Policy:
    """How a program that says it itself trains."""
    return Policy(
        mode=rules.mode, backups=rules.backups, staleness=None if rules.staleness < 0 else rules.staleness,
        quorum=rules.quorum or None, grace_ms=1000 * rules.grace or None,
    )  # fmt: skip


def rules_of_policy(policy: Policy) -> Rules:
    """Who waits for whom, for the simulator."""
    return Rules(
        policy.mode, policy.backups, policy.quorum or 0.0, (policy.grace_ms or 0.0) / 1000,
        -1 if policy.staleness is None else policy.staleness,
    )  # fmt: skip


def _plainest(seen: Sequence[Seen], question: Question) -> Seen:
    most = max(one.rate for one in seen)
    return min(
        (one for one in seen if one.rate >= ENOUGH * most), key=lambda one: (_cost(one.policy, question), -one.rate)
    )


def _cost(policy: Policy, question: Question) -> tuple[Any, ...]:
    """What a setting asks of people and machines: the smaller, the plainer."""
    changes = (policy.mode not in TOGETHER) + policy.lossy + (policy.slices > 1)
    follows = policy.mode == "backup" and policy.backups == FOLLOW
    if not question.slow_is_known and question.workers > 1 and follows:
        order = -1  # it will find out
    else:
        order = (*TOGETHER, *CHANGES).index(policy.mode)
    return changes, policy.servers, order, policy.backups or 0
