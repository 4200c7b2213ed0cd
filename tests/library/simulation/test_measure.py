"""What messages cost, from samples of null steps."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from typing import Any

import pytest

import headrace as tf
from headrace.library.simulation import measure, null_steps
from headrace.library.simulation.cluster import LULL, WARM, Tolls
from headrace.library.simulation.measure import LARGE, crowding, tolls_of
from headrace.library.simulation.null_steps import MANY, ROUNDS


def samples(tolls: Tolls, launch: float = 2e-6, bandwidth: float = 1e10) -> dict[str, Any]:
    """What null steps would take where messages cost that."""
    inside = 4 * tolls.message + 2 * tolls.value + tolls.resume
    worker = tolls.step + inside + launch
    server = tolls.partition + inside + 2 * launch
    rested = (worker + server + 2 * tolls.wake) / (1 - 3 * tolls.wake / 4 / LULL)  # quarters that are shorter than that
    moved = 5 * LARGE / bandwidth + 2 * LARGE / tolls.copy + 4 * tolls.block
    answers = (ROUNDS - 1) * (2 * (tolls.message + tolls.value) + tolls.resume + launch)
    found = {
        "one": (0.0, worker, server), "two": (0.0, worker + 4 * tolls.message, 0.0),
        "many": (0.0, 0.0, server + (MANY - 1) * 2 * (tolls.value + launch)), "chain": (0.0, 0.0, server + answers),
        "block": (0.0, 0.0, server + 2 * tolls.block), "one, rested": (rested, 0.0, 0.0),
        "large, rested": (rested + moved, 0.0, 0.0),
    }  # fmt: skip
    return {
        name: {"step": whole, "worker": own, "server": other, "sockets": 0.0}
        for name, (whole, own, other) in found.items()
    }


def test_tolls_of_samples() -> None:
    tolls = Tolls(30e-6, 120e-6, 300e-6, 50e-6, 4e9, resume=20e-6, value=5e-6, block=40e-6)
    assert astuple(tolls_of(samples(tolls))) == pytest.approx(astuple(tolls))


def test_tolls_of_a_cluster_that_ran_fewer_cases() -> None:
    """What the others would tell is in what a message and a partition cost."""
    tolls = Tolls(30e-6, 120e-6, 300e-6, 50e-6, 4e9, resume=0.0, value=0.0, block=0.0)
    found = {name: samples(tolls)[name] for name in ("one", "two", "one, rested", "large, rested")}
    assert astuple(tolls_of(found)) == pytest.approx(astuple(tolls))


@pytest.mark.parametrize(
    ("cores", "worker", "crowded"),
    [
        (2, 450e-6, 1.6), (2, 950e-6, 1.0),  # of two cores 1.25 were used, though nobody waited for one interpreter
        (2, 1e-6, 2e-3 / 801e-6), (16, 450e-6, 1.0),
    ],
)  # fmt: skip
def test_crowded_cores(cores: int, worker: float, crowded: float) -> None:
    busy = {"step": 3e-3, "worker": worker, "server": 600e-6, "sockets": 200e-6}
    assert crowding(busy, range(cores)) == pytest.approx(crowded)


def test_kernels_of_another_step_are_taken_off() -> None:
    tolls = Tolls(30e-6, 120e-6, 300e-6, 50e-6, 4e9)
    found = tolls_of(samples(tolls), kernels=(14e-6, 12e-6), cold=4.0)
    assert found.partition == pytest.approx(tolls.partition - 4 * 14e-6 + 4e-6)  # in place of two of 2 us
    assert found.step == pytest.approx(tolls.step - 4 * 12e-6 + 2e-6)


def test_a_noisy_sample_gives_no_nonsense() -> None:
    found = samples(Tolls())
    found["two"]["worker"] = 1.0
    found["large, rested"]["step"] = 0.0
    tolls = tolls_of(found)
    assert 0 < tolls.message <= found["one"]["server"] / 6
    assert tolls.partition > 0 and tolls.step > 0 and tolls.wake >= 0 and tolls.copy == Tolls().copy


@pytest.mark.parametrize(
    ("warm", "cold", "more"), [(80e-6, 4.0, 320e-6), (300e-6, 2.0, 300e-6 + WARM), (50e-6, 1.0, 0.0)]
)
def test_coldness(warm: float, cold: float, more: float) -> None:
    """Of nodes that take longer only the first are cold."""
    found = {"one, rested": {"server": 400e-6}, "nodes, rested": {"server": 400e-6 + more}, "warm": warm}
    assert measure.coldness(found) == pytest.approx(cold)


def test_nodes_of_a_loop() -> None:
    assert null_steps.warm_nodes(20) > 1e-6


def test_the_memory() -> None:
    bandwidth, movers = measure.moving(2, 1 << 16)
    assert bandwidth > 0 and 1.0 <= movers <= 2.0


@pytest.fixture
def tasks() -> Iterator[list[tf.train.Server]]:
    """Two servers and a worker in this process."""
    ports = [f"127.0.0.1:{port}" for port in measure._free_ports(3)]
    hosts = {"ps": ports[:2], "worker": ports[2:]}
    made = [tf.train.Server(hosts, job, index) for job, index in (("ps", 0), ("ps", 1), ("worker", 0))]
    yield made
    for one in made:
        one._stop()


def test_null_steps(tasks: list[tf.train.Server]) -> None:
    found = null_steps.measure(tasks[-1].target, 0.12, [os.getpid()] * 2)
    check(found)


@pytest.mark.usefixtures("full_length")
def test_null_steps_of_processes() -> None:
    found = measure.null_steps(0.6)
    check(found)
    assert found["two"]["worker"] > 0.5 * found["one"]["worker"]


def check(found: Mapping[str, Any]) -> None:
    """All was measured, and says something."""
    assert found["warm"] > 0 and found.keys() == {*null_steps.BUSY, *null_steps.RESTED, "warm"}
    assert all(number > 0 for name, sample in found.items() if name != "warm" for number in sample.values())
