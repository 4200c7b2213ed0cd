"""The chooser, by tables: what it takes of what a setting is said to be worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.core.policy import Policy
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Rules
from headrace.library.simulation.judge import Simulated
from headrace.library.simulation.law import Slow
from headrace.library.simulation.outcome import Outcome
from headrace.library.simulation.policy import FOLLOW, Question, choose, of_rules, policies, rules_of_policy
from headrace.library.simulation.reasons import in_words, limit

from .jobs import FREE, plain, together


def outcome(rate: float, servers: int = 1, **more: Any) -> Outcome:
    times = {f"p{n}": 0.01 for n in (10, 50, 90, 99)} | {"mean": 0.01}
    causes = {"worker": 0.004, "server": 0.0, "queue": 0.0, "network": 0.006, "others": 0.0}
    return replace(
        Outcome(8, servers, rate, rate, rate, times, causes, {"server": 0.2, "in": 0.97, "out": 0.1}), **more
    )


def judged(worth: Callable[[Policy], float], **more: Any) -> Callable[[Policy], Outcome]:
    return lambda policy: outcome(worth(policy), policy.servers, **more)


QUESTION = Question(8, (1, 2, 4, 8), step=0.01, slow_is_known=True)


@pytest.mark.parametrize(
    ("worth", "chosen"),
    [
        (lambda p: 100.0, (1, "sync")),
        (lambda p: 100.0 * min(p.servers, 2), (2, "sync")),
        (lambda p: {1: 100, 2: 104, 4: 90, 8: 90}[p.servers], (1, "sync")),  # 4 % are not worth a server
        (lambda p: {1: 100, 2: 70, 4: 80, 8: 120}[p.servers], (8, "sync")),  # a hole in between
        (lambda p: 100.0 if p.mode == "sync" else 104.0, (1, "sync")),
        (lambda p: 100.0 + 20 * (p.mode == "quorum"), (1, "quorum")),
        (lambda p: 100.0 + 20 * (p.backups == 2), (1, "backup")),
    ],
)  # fmt: skip
def test_servers_and_modes(worth: Callable[[Policy], float], chosen: tuple[int, str]) -> None:
    best = choose(QUESTION, judged(worth)).best.policy
    assert (best.servers, best.mode) == chosen


def test_nobody_knows_how_steps_vary_so_backups_follow() -> None:
    best = choose(replace(QUESTION, slow_is_known=False), judged(lambda p: 100.0)).best.policy
    assert (best.mode, best.backups) == ("backup", FOLLOW)


def test_what_changes_the_meaning_is_not_even_tried_unless_it_may() -> None:
    tried = []

    def judge(policy: Policy) -> Outcome:
        tried.append(policy)
        return outcome(1000.0 if policy.mode == "async" else 100.0)

    assert choose(QUESTION, judge).best.policy.mode == "sync"
    assert {policy.mode for policy in tried} == {"sync", "backup", "quorum"}
    assert not any(policy.lossy or policy.slices > 1 for policy in tried)
    allowed = replace(QUESTION, modes=(*QUESTION.modes, "async"), lossy=True, partition=True, allow=("async", "lossy"))
    best = choose(allowed, judge).best.policy
    assert best.mode == "async" and not best.lossy and best.allow == ("async", "lossy")  # one change is enough


def test_bits_and_slices_where_the_network_is_the_limit() -> None:
    allowed = replace(QUESTION, lossy=True, partition=True)
    worth = lambda p: 100.0 * (1 + p.lossy) * (p.servers if p.slices > 1 else 1)  # noqa: E731
    best = choose(allowed, judged(worth)).best.policy
    assert best.lossy and (best.slices, best.servers) == (8, 8)
    computes = {"worker": 0.0098, "server": 0.0, "queue": 0.0, "network": 0.0001, "others": 0.0001}
    idle = choose(allowed, judged(worth, causes=computes))
    assert not any(one.policy.lossy or one.policy.slices > 1 for one in idle.seen)  # fewer bytes cannot help


def test_what_was_asked_for_stays() -> None:
    own = replace(QUESTION, servers=(3,), own=Rules("quorum", quorum=0.5, grace=0.002))
    best = choose(own, judged(lambda p: 100.0 * p.servers)).best.policy
    assert (best.servers, best.mode, best.quorum, best.grace_ms) == (3, "quorum", 0.5, 2.0)
    given = replace(QUESTION, modes=("backup", "stale", "quorum", "local"), given={
        "backups": 3, "staleness": 7, "quorum": 4, "grace_ms": 1.5, "steps": 20,
    })  # fmt: skip
    assert policies(given) == [
        Policy(mode="backup", backups=3), Policy(mode="stale", staleness=7), Policy(mode="quorum", quorum=0.5, grace_ms=1.5),
        Policy(mode="local", steps=20),
    ]  # fmt: skip
    assert [p.backups for p in policies(replace(given, given={"backups": "auto"})) if p.mode == "backup"] == [FOLLOW]


def test_few_workers_have_no_backups_to_spare() -> None:
    assert [p.backups for p in policies(replace(QUESTION, workers=1, modes=("backup",)))] == [FOLLOW]
    assert [p.backups for p in policies(replace(QUESTION, workers=3, modes=("backup",)))] == [FOLLOW, 1, 2]
    assert policies(replace(QUESTION, workers=3, modes=("quorum",))) == [Policy()]


@pytest.mark.parametrize(
    "rules", [Rules("sync"), Rules("backup", backups=-1), Rules("stale", staleness=3), Rules("async")]
)
def test_rules_and_policies(rules: Rules) -> None:
    assert rules_of_policy(of_rules(rules)) == rules


def test_with_the_real_aggregator_and_deterministic() -> None:
    job = together(Rules("sync"))
    where = Cluster(8, 1, tolls=FREE, slow=Slow("one", 4.0))
    question = replace(QUESTION, servers=(1,))
    first, second = (choose(question, Simulated(lambda *key: job, where, events=4000)) for _ in range(2))
    assert first == second
    assert first.best.policy.mode in ("backup", "quorum")  # one worker is four times as slow
    equal = choose(question, Simulated(lambda *key: job, replace(where, slow=Slow()), events=4000))
    assert equal.best.policy.mode == "sync"


def test_servers_with_the_real_simulator() -> None:
    """Each server takes 1 ms for a step of one worker: eight workers keep eight busy."""
    jobs = {n: plain(n, computes=0.001, serves=0.008 / n, interpreter=0.0) for n in (1, 2, 4)}
    own = replace(QUESTION, own=Rules("async"), servers=(1, 2, 4))
    choice = choose(own, Simulated(lambda mode, n, *more: jobs[n], Cluster(8, 1, cores=1, tolls=FREE), events=4000))
    assert choice.best.policy.servers == 4
    text = in_words(choice)
    assert "4 servers, mode 'async'" in text and "  1 server: " in text and "as the program says" in text


def test_the_explanation() -> None:
    choice = choose(
        QUESTION, judged(lambda p: {1: 100, 2: 200, 4: 204, 8: 150}[p.servers] * (1 + 0.1 * (p.backups == 1)))
    )
    lines = in_words(choice).splitlines()
    assert lines[0] == "chosen for 8 workers: 2 servers, mode 'backup', backups=1"
    assert (
        lines[1]
        == "  220 steps a second count; one takes 10 ms: the network of the busiest server is busy 97% of the time"
    )
    servers = lines[lines.index("other servers:") + 1 :]
    assert servers[0] == "  1 server: 110 (-50%): the network of the busiest server is busy 97% of the time"
    assert servers[1] == "  4 servers: 224.4 (+2%): no reason for 2 more servers"
    assert "  mode 'sync': 200 (-9%): the network of the busiest server is busy 97% of the time" in lines
    assert lines[-1].endswith("--allow async,stale,local,lossy,partition allows them")
    quiet = outcome(10.0, busy={}, steps=12.5, staleness=2.0)
    assert limit(quiet) == (
        "of a step goes 60% into the network, 40% into the worker's own work; 20% of the gradients come too late; a gradient "
        "is 2.0 updates old"
    )


def test_backups_that_follow_are_judged_after_they_have_followed() -> None:
    job, where = together(Rules("sync")), Cluster(8, 1, tolls=FREE, slow=Slow("one", 4.0))
    judge = Simulated(lambda *key: job, where, events=1)  # as few steps as there are
    follows, waits = (judge(Policy(mode="backup", backups=n)).useful for n in (FOLLOW, 0))
    assert follows > 2 * waits
