"""What messages cost, from samples of null steps."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import astuple

import pytest

import headrace as tf
from headrace.library.simulation import measure, null_steps
from headrace.library.simulation.cluster import Tolls
from headrace.library.simulation.measure import LARGE, crowding, tolls_of
from headrace.library.simulation.null_steps import MANY, ROUNDS


def samples(tolls: Tolls, launch: float = 2e-6, bandwidth: float = 1e10) -> dict[str, dict[str, float]]:
    """What null steps would take where messages cost that."""
    inside = 4 * tolls.message + 2 * tolls.value + tolls.resume
    worker = tolls.step + inside + 2 * tolls.wake + tolls.cold * launch
    server = tolls.partition + inside + 2 * tolls.cold * launch
    step = worker + server + 2 * tolls.wake
    moved = 5 * LARGE / bandwidth + 2 * LARGE / tolls.copy + 4 * tolls.block
    served = server + 2 * tolls.wake
    answers = (ROUNDS - 1) * (2 * (tolls.message + tolls.value) + tolls.resume + tolls.cold * launch)
    found = {
        "one": (step, worker, served), "two": (0.0, worker + 4 * tolls.message, 0.0), "busy": (0.0, 0.0, server),
        "large": (step + moved, 0.0, 0.0), "block": (0.0, 0.0, served + 2 * tolls.block),
        "many": (0.0, 0.0, served + (MANY - 1) * 2 * (tolls.value + launch)), "chain": (0.0, 0.0, served + answers),
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
    found = {name: samples(tolls)[name] for name in ("one", "two", "busy", "large")}
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
    found = tolls_of(samples(tolls), kernels=(14e-6, 12e-6))
    assert (found.partition, found.step) == pytest.approx(
        (tolls.partition - 40e-6, tolls.step - 40e-6)
    )  # four times that: caches are cold


def test_a_noisy_sample_gives_no_nonsense() -> None:
    found = samples(Tolls())
    found["two"]["worker"] = 1.0
    found["large"]["step"] = 0.0
    tolls = tolls_of(found)
    assert 0 < tolls.message <= found["busy"]["server"] / 6
    assert tolls.partition > 0 and tolls.step > 0 and tolls.wake >= 0 and tolls.copy == Tolls().copy


def test_cold_nodes_take_longer() -> None:
    tolls = Tolls(30e-6, 120e-6, 300e-6, 50e-6, 4e9, cold=3.0)
    found = tolls_of(samples(tolls), cold=3.0)
    assert (found.partition, found.step, found.cold) == pytest.approx((tolls.partition, tolls.step, 3.0))
    assert measure.coldness(20) >= 1.0


def test_the_memory() -> None:
    assert 1.0 <= measure.movers(2, 1 << 16) <= 2.0
    assert measure.bandwidth_of_copies(1 << 16) > 0


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


def check(found: Mapping[str, Mapping[str, float]]) -> None:
    """All was measured, and says something."""
    assert found.keys() == {*null_steps.CASES, "busy"}
    assert all(number > 0 for sample in found.values() for number in sample.values())
