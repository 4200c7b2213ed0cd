"""What holds for every job on every cluster, however they are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.library.simulation.cluster import SMALL, WARM, Cluster, Tolls
from headrace.library.simulation.job import Job, Rules
from headrace.library.simulation.law import Slow
from headrace.library.simulation.machine import Simulation
from headrace.library.simulation.outcome import Counts
from headrace.passes.cost.rates import Link
from tests.library.simulation.jobs import FREE, plain, together

seconds = st.sampled_from([0.0, 1e-5, 2e-4, 1e-3, 7e-3])
sizes = st.sampled_from([0.0, 100.0, 1e5, 3e6])
links = st.sampled_from([Link(1e-4, 1e9), Link(1e-3, 1e8), Link(0.0, 1e30)])
tolls = st.sampled_from([FREE, Tolls(), Tolls(message=1e-6, partition=0.0, step=1e-5, wake=1e-3, cold=2.0)])
slows = st.sampled_from([Slow(), Slow("pareto", 1.5), Slow("lognormal", 0.3), Slow("one", 4.0)])


@st.composite
def jobs(draw: Any) -> Job:
    """Where each steps alone, and where all wait for each other."""
    if draw(st.booleans()):
        servers = draw(st.integers(1, 3))
        return plain(servers, draw(seconds), draw(seconds), draw(sizes), draw(seconds))
    rules = [
        Rules("sync"),
        Rules("backup", backups=1),
        Rules("quorum", quorum=0.5, grace=1e-3),
        Rules("stale", staleness=2),
    ]
    return together(draw(st.sampled_from(rules)), draw(seconds))


@st.composite
def clusters(draw: Any, job: Job) -> Cluster:
    """Of one host or of many."""
    return Cluster(
        draw(st.integers(1, 6)), job.servers, draw(links), cores=draw(st.sampled_from([0, 1, 3])),
        together=draw(st.booleans()), movers=draw(st.sampled_from([0.0, 2.0])), slow=draw(slows), tolls=draw(tolls),
    )  # fmt: skip


class _Watched(Simulation):
    """Looks at every event that is put down."""

    def _at(self, time: float, action: Callable[..., None], *arguments: Any) -> None:
        assert time >= self.now
        super()._at(time, action, *arguments)

    def on_the_way(self) -> float:
        """Bytes of large messages that have left and whose first byte is not there."""
        return sum(event[3][2] for event in self._events if event[2] == self._arrive)

    def ports(self) -> list[Any]:
        return [task.port for task in (*self.servers, *(worker.task for worker in self.workers))]


class _Adding(Counts):
    def note(self, seconds: float, path: Sequence[float]) -> None:
        assert min(path) >= 0
        assert sum(path) == pytest.approx(seconds, rel=1e-6, abs=1e-12)
        super().note(seconds, path)


@given(st.data())
def test_time_goes_on_causes_add_up_and_bytes_arrive(data: Any) -> None:
    job = data.draw(jobs())
    cluster = data.draw(clusters(job))
    simulation = _Watched(job, cluster, 3)
    simulation.counts = _Adding(cluster.workers)
    simulation.run(6)
    sent, received = (sum(getattr(port, name) for port in simulation.ports()) for name in ("sent", "received"))
    assert sent == pytest.approx(received + simulation.on_the_way())
    assert all(task.bytes >= 0 for task in simulation.servers)


@given(st.data())
def test_the_same_seed_gives_the_same(data: Any) -> None:
    job = data.draw(jobs())
    cluster = data.draw(clusters(job))
    one, other = (Simulation(job, cluster, 7).run(5) for _ in range(2))
    assert one.times == other.times and one.causes == other.causes and one.events == other.events


@given(st.data())
def test_more_makes_nothing_slower(data: Any) -> None:
    """One worker is not slower.  Of several, what comes first is served first: more may change an order, and half with it.

    A task that is through sooner sleeps, and wakes again: that is left out.
    """
    job = data.draw(jobs())
    drawn = data.draw(clusters(job))
    cluster = replace(drawn, slow=Slow(), tolls=replace(drawn.tolls, wake=0.0))
    rounds = 12
    usual = Simulation(job, cluster, 1).run(rounds)
    link = replace(cluster.link, bandwidth=10 * cluster.link.bandwidth, latency=cluster.link.latency / 10)
    for more in (
        replace(cluster, cores=0),
        replace(cluster, movers=0.0),
        replace(cluster, link=link),
        replace(cluster, speed=4.0),
    ):
        assert (
            Simulation(job, more, 1).run(rounds).seconds
            <= usual.seconds * (1.0 if cluster.workers == 1 else 1.5) + 1e-9
        )


@given(computes=seconds, serves=seconds, size=sizes, interpreter=seconds, link=links, costs=tolls)
def test_one_worker_takes_the_sum(
    computes: float, serves: float, size: float, interpreter: float, link: Link, costs: Tolls
) -> None:
    """Nothing happens at the same time: four ways, twice the bytes, eight ends of messages."""
    costs = replace(costs, wake=0.0)
    counts = Simulation(plain(1, computes, serves, size, interpreter), Cluster(1, 1, link, tolls=costs)).run(4)
    cold = (costs.cold - 1) * (min(interpreter, WARM) + min(serves, WARM))
    bytes_ = 2 * size * (1 / link.bandwidth + 1 / costs.copy + 2 / costs.cipher)
    blocks = 4 * costs.block if size > SMALL else 0.0
    asked = costs.step + 8 * costs.message + costs.partition + 2 * costs.resume + blocks
    total = asked + computes + serves + interpreter + cold + bytes_ + 4 * link.latency
    assert counts.times == pytest.approx([total] * len(counts.times), rel=1e-6)


@given(workers=st.integers(2, 6), times=st.sampled_from([1.0, 2.0, 8.0]), computes=st.sampled_from([1e-3, 1e-2, 0.1]))
def test_synchronous_steps_are_as_slow_as_the_slowest(workers: int, times: float, computes: float) -> None:
    cluster = Cluster(workers, 1, Link(0.0, 1e30), tolls=FREE, slow=Slow("one", times))
    counts = Simulation(together(Rules("sync"), computes), cluster).run(10)
    update = workers * 1e-4  # the mean of so many gradients
    assert counts.seconds / counts.more("updates") == pytest.approx(times * computes + update, rel=0.02)
