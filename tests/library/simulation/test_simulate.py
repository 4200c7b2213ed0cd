"""Jobs on clusters, what failures leave of them, and which cluster is best."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from headrace.library.simulation.cluster import Cluster, Tolls
from headrace.library.simulation.grid import best_of, explore
from headrace.library.simulation.job import Rules
from headrace.library.simulation.law import Failures, Slow
from headrace.library.simulation.outcome import CAUSES, quantile
from headrace.library.simulation.simulate import goodput_of, memory_of, run, stops
from tests.library.simulation.jobs import FREE, plain, together


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Cluster(0, 1), "workers must be a whole number of at least 1; got 0"),
        (lambda: Cluster("2", 1), "workers must be a whole number of at least 1; got '2'"),  # type: ignore[arg-type]
        (lambda: Cluster(1, 1, cores=-1), "cores must be a whole number of at least 0; got -1"),
        (lambda: Cluster(1, 1, speed=0.0), "speed must be a number above 0; got 0.0"),
        (lambda: Cluster(1, 1, tolls=None), "tolls must be a Tolls; got None"),  # type: ignore[arg-type]
        (lambda: Tolls(message=-1e-6), "message must be a number of at least 0; got -1e-06"),
        (lambda: Tolls(crowded=0.5), "crowded must be a number of at least 1; got 0.5"),
        (lambda: Tolls(copy=0.0), "copy must be a number above 0; got 0.0"),
        (lambda: Failures(rate=float("nan")), "rate must be a number of at least 0; got nan"),
        (lambda: Slow("paretto", 1.5), "the law of slow steps is one of none, pareto, lognormal, one; got 'paretto'"),
        (lambda: Slow("pareto", -1.0), "the number of the law must be a number above 0; got -1.0"),
    ],
)
def test_what_no_cluster_is_like(make: Callable[[], object], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(said)):
        make()


def test_an_outcome() -> None:
    outcome = run(plain(size=1e6), Cluster(4, 1, tolls=FREE))
    assert (outcome.workers, outcome.servers) == (4, 1)
    assert outcome.steps == outcome.counted == outcome.useful == pytest.approx(outcome.updates)
    assert outcome.steps == pytest.approx(4 / outcome.times["mean"], rel=0.05)
    assert tuple(outcome.causes) == CAUSES
    assert sum(outcome.causes.values()) == pytest.approx(outcome.times["mean"])
    assert outcome.bytes["in"] == outcome.bytes["out"] == pytest.approx(1e6, rel=0.1)
    assert 0 < outcome.busy["server"] < 1 and 0 < outcome.busy["in"] < 1
    assert outcome.to_dict()["useful"] == outcome.useful


def test_late_gradients_do_not_count() -> None:
    cluster = Cluster(4, 1, tolls=FREE, slow=Slow("one", 4.0))
    outcome = run(together(Rules("backup", backups=1)), cluster, rounds=40)
    assert outcome.counted == pytest.approx(3 * outcome.updates, rel=0.05)
    assert outcome.counted < outcome.steps


def test_quantiles() -> None:
    assert [quantile(range(100), share) for share in (0.0, 0.5, 0.99, 1.0)] == [0, 50, 99, 99]


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        (Rules("async"), False), (Rules("stale", staleness=2), True), (Rules("sync"), True), (Rules("backup", backups=1), False),
        (Rules("quorum", quorum=0.5), False),
    ],
)  # fmt: skip
def test_who_stops_when_a_worker_is_lost(rules: Rules, answer: bool) -> None:
    assert stops(together(rules), Cluster(4, 1, tolls=FREE)) is answer


def test_goodput() -> None:
    """A worker is missing for its restart; all stop until they know, if they wait for it; all wait for a server."""
    failures = Failures(1e-5, noticed=5.0, restart=35.0, save=600.0)
    cluster = Cluster(10, 1, tolls=FREE, failures=failures)
    server = 1e-5 * (35 + 300)
    assert goodput_of(together(Rules("async")), cluster) == pytest.approx(1 / (1 + 10e-5 * 35 / 10 + server))
    assert goodput_of(together(Rules("sync")), cluster) == pytest.approx(1 / (1 + 10e-5 * (5 + 30 / 10) + server))
    assert goodput_of(together(Rules("sync")), replace(cluster, failures=Failures())) == 1.0


def test_memory() -> None:
    job = replace(together(Rules("sync")), state=(1000.0,), gradients=(10.0,))
    assert memory_of(job, Cluster(50, 1), [7.0])["server"] == 1000 + 50 * 10 + 7
    assert memory_of(job.with_rules(Rules("async")), Cluster(50, 1), [7.0])["server"] == 1000 + 7


def test_memory_of_steps_that_a_server_is_at() -> None:
    """Twenty workers at a busy server: nearly all of their steps are under way there."""
    job = plain(serves=1e-3)
    first, server = job.step.partitions
    job = replace(
        job, step=replace(job.step, partitions=(first, replace(server, live=100.0))), state=(1e4,), gradients=(0.0,)
    )
    assert run(job, Cluster(1, 1, tolls=FREE)).memory["server"] == 1e4 + 100
    assert 1e4 + 1000 <= run(job, Cluster(20, 1, tolls=FREE)).memory["server"] <= 1e4 + 2000


@pytest.mark.parametrize(
    ("rules", "failures", "lost"),
    [
        (Rules("async"), Failures(1e-5, restart=20.0), 300 / 4), (Rules("sync"), Failures(1e-5, restart=20.0), 300),
        (Rules("async"), Failures(1e-5, restart=20.0, copies=40.0), 20 / 4),
        (Rules("sync"), Failures(1e-5, restart=20.0, copies=40.0), 20),
    ],
)  # fmt: skip
def test_what_the_loss_of_a_server_costs(rules: Rules, failures: Failures, lost: float) -> None:
    """Its variables go back to the last copy or checkpoint; where gradients are gathered, those of all four servers do."""
    job = plain(4).with_rules(rules)
    servers = 1e-5 * 4 * (20 + lost)
    workers = 1e-5 * 20  # one missing of one
    assert goodput_of(job, Cluster(1, 4, tolls=FREE, failures=failures)) == pytest.approx(1 / (1 + servers + workers))


def test_the_best_is_the_smallest_that_does_nearly_as_much() -> None:
    jobs = {"async": {1: plain(serves=1e-3), 2: plain(2, serves=1e-3)}}
    rows = list(explore(jobs, [1, 5, 20, 80], Cluster(1, 1, tolls=FREE)))
    assert [(row.outcome.workers, row.outcome.servers) for row in rows] == [
        (n, s) for s in (1, 2) for n in (1, 5, 20, 80)
    ]
    best = best_of(rows)
    assert (best.outcome.workers, best.tasks) == (20, 21)
