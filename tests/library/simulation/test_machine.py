"""The machine of a simulated job, on jobs whose times are worked out by hand."""

from dataclasses import replace

import pytest

from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Job, Rules
from headrace.library.simulation.law import Failures, Slow
from headrace.library.simulation.machine import Simulation, rule_of
from headrace.library.simulation.outcome import CAUSES, Counts
from headrace.passes.cost.rates import Link
from tests.library.simulation.jobs import FREE, plain, together

FAST = Link(0.0, 1e30)


COSTS = replace(FREE, message=1e-6, partition=1e-5, step=1e-4, resume=2e-7)


def carrying(values: int) -> Job:
    """Each message has so many values and a megabyte."""
    job = plain(size=1e6)
    messages = tuple(replace(message, values=values) for message in job.step.messages)
    return replace(job, step=replace(job.step, messages=messages))


def run(job: Job, cluster: Cluster, rounds: int = 20, **options: object) -> Counts:
    return Simulation(job, cluster).run(rounds, **options)  # type: ignore[arg-type]


def rate(counts: Counts) -> float:
    return len(counts.times) / counts.seconds


@pytest.mark.parametrize(
    ("job", "cluster", "seconds"),
    [
        # the worker computes 10 ms, the server 0.1 ms, nothing else costs anything
        (plain(), Cluster(1, 1, FAST, tolls=FREE), 0.0101),
        # two servers work at the same time
        (plain(servers=2), Cluster(1, 2, FAST, tolls=FREE), 0.0101),
        # a worker that computes twice as fast
        (plain(), Cluster(1, 1, FAST, tolls=FREE, speed=2.0), 0.0051),
        # four ways of 1 ms: begin, values, gradients, the answer
        (plain(), Cluster(1, 1, Link(1e-3, 1e30), tolls=FREE), 0.0141),
        # and 1 MB there and back, 1 ms each
        (plain(size=1e6), Cluster(1, 1, Link(1e-3, 1e9), tolls=FREE), 0.0161),
        # two servers send 1 MB each through the worker's one link, both ways
        (plain(servers=2, size=1e6), Cluster(1, 2, Link(0.0, 1e9), tolls=FREE), 0.0141),
        # a step, 2 messages sent and 2 taken by the worker, as many by the server, a partition, one that goes on at each
        (plain(), Cluster(1, 1, FAST, tolls=COSTS), 0.0101 + 8e-6 + 1e-5 + 1e-4 + 4e-7),
        # a program that does something else for 1 ms: both have rested, the server again while the worker computes; the worker
        # rests while the server wakes, a fifth of what counts, and while it wakes and computes, two fifths
        (replace(plain(), outside=1e-3), Cluster(1, 1, FAST, tolls=replace(FREE, wake=1e-4)), 0.0111 + 3e-4 + 2e-5 + 4e-5),
        # and a value in 2 of them, which has memory of its own
        (carrying(2), Cluster(1, 1, FAST, tolls=replace(FREE, value=1e-3, block=1e-2), together=True), 0.0101 + 4 * 12e-3),
    ],
)  # fmt: skip
def test_the_time_of_a_step(job: Job, cluster: Cluster, seconds: float) -> None:
    counts = run(job, cluster)
    assert counts.times == pytest.approx([seconds] * len(counts.times))
    assert sum(counts.causes) == pytest.approx(sum(counts.times))


@pytest.mark.parametrize(("workers", "least", "most"), [(1, 90, 91), (3, 265, 273), (10, 700, 909), (40, 990, 1001)])
def test_a_server_is_the_limit(workers: int, least: float, most: float) -> None:
    """Its interpreter gives 1 / 1 ms steps, however many workers ask.  Near the limit they wait for each other."""
    assert least < rate(run(plain(serves=1e-3), Cluster(workers, 1, FAST, tolls=FREE))) < most


def test_long_kernels_of_a_server_run_beside_each_other() -> None:
    job = plain(computes=0.001)
    partitions = list(job.step.partitions)
    server = partitions[1]
    long = replace(server.strands[2], pieces=(replace(server.strands[2].pieces[0], interpreter=0.0, kernels=0.01),))
    partitions[1] = replace(server, strands=(*server.strands[:2], long))
    job = replace(job, step=replace(job.step, partitions=tuple(partitions)))
    assert rate(run(job, Cluster(8, 1, FAST, tolls=FREE))) == pytest.approx(8 / 0.011, rel=0.03)
    assert rate(run(job, Cluster(8, 1, FAST, tolls=FREE, cores=2))) == pytest.approx(200, rel=0.05)


def test_workers_on_one_host_share_its_cores() -> None:
    job = plain(computes=0.01, serves=0.0)
    assert rate(run(job, Cluster(4, 1, tolls=FREE, together=True))) == pytest.approx(400, rel=0.03)
    assert rate(run(job, Cluster(4, 1, tolls=FREE, together=True, cores=2))) == pytest.approx(200, rel=0.05)


def test_the_link_of_a_server_is_the_limit() -> None:
    """1 MB goes out of it and 1 MB in, for each step."""
    counts = run(plain(size=1e6), Cluster(40, 1, Link(0.0, 1e8), tolls=FREE))
    assert rate(counts) == pytest.approx(100, rel=0.05)
    causes = dict(zip(CAUSES, counts.causes, strict=True))
    assert causes["network"] > 0.8 * sum(counts.times)


# ---- who waits for whom


@pytest.mark.parametrize(
    ("rules", "needed"),
    [
        (Rules("sync"), 0), (Rules("backup", backups=2), 8), (Rules("backup", backups=-1), -1), (Rules("quorum", quorum=0.75), 8),
        (Rules("stale", staleness=3), 0),
    ],
)  # fmt: skip
def test_the_rule_of_ten_workers(rules: Rules, needed: int) -> None:
    rule = rule_of(rules, 10)
    assert (rule.workers, rule.needed, rule.gathers) == (10, needed, rules.mode != "stale")


@pytest.mark.parametrize(
    ("rules", "seconds"),
    [
        (Rules("sync"), 0.0404), (Rules("backup", backups=1), 0.0103), (Rules("quorum", quorum=0.5), 0.0102),
    ],
)  # fmt: skip
def test_one_slow_worker(rules: Rules, seconds: float) -> None:
    """Three compute 10 ms, the last 40 ms; each gradient that counts adds 0.1 ms to the update."""
    counts = run(together(rules), Cluster(4, 1, FAST, tolls=FREE, slow=Slow("one", 4.0)), 40)
    assert counts.seconds / counts.more("updates") == pytest.approx(seconds, rel=0.05)
    assert bool(counts.more("late")) == (rules.mode != "sync")
    assert sum(counts.causes) == pytest.approx(sum(counts.times))


def test_a_bound_on_staleness_holds_the_fast_ones_back() -> None:
    cluster = Cluster(4, 1, FAST, tolls=FREE, slow=Slow("one", 4.0))
    free = rate(run(together(Rules("async")), cluster))
    bound = rate(run(together(Rules("stale", staleness=2)), cluster))
    assert free == pytest.approx(3 / 0.01 + 1 / 0.04, rel=0.05)
    assert bound == pytest.approx(4 / 0.04, rel=0.1)


def test_grace_lets_more_count() -> None:
    cluster = Cluster(4, 1, FAST, tolls=FREE, slow=Slow("one", 1.5))
    short, long = (run(together(Rules("quorum", quorum=0.5, grace=grace)), cluster, 40) for grace in (0.0, 0.02))
    assert short.more("late") > 0 == long.more("late")


def test_the_job_goes_on_when_the_leader_is_lost() -> None:
    """Nobody knows for 50 ms; then the next in line makes the updates, and the lost one comes back."""
    failures = Failures(noticed=0.05, restart=0.2)
    cluster = Cluster(3, 1, FAST, tolls=FREE, failures=failures)
    counts = run(together(Rules("sync")), cluster, 60, lose=[(0.1, 0)])
    quiet = run(together(Rules("sync")), cluster, 60)
    assert counts.ended == quiet.ended
    assert counts.seconds > quiet.seconds + 0.05
    assert counts.more("updates") > quiet.more("updates")  # some of two gradients


def test_the_same_seed_gives_the_same() -> None:
    cluster = Cluster(5, 2, slow=Slow("pareto", 1.5), tolls=FREE)
    one, other, third = (Simulation(plain(2), cluster, seed).run(10) for seed in (1, 1, 2))
    assert one.times == other.times != third.times


def test_a_job_planned_for_other_servers_is_refused() -> None:
    with pytest.raises(ValueError, match="planned for 2 servers, and the cluster has 1"):
        Simulation(plain(2), Cluster(1, 1))
