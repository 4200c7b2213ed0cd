"""What messages cost, from samples of null steps."""

import os
from collections.abc import Iterator, Mapping

import pytest

import headrace as tf
from headrace.library.simulation import measure, null_steps
from headrace.library.simulation.cluster import Tolls
from headrace.library.simulation.measure import LARGE, tolls_of


def samples(tolls: Tolls, launch: float = 2e-6, bandwidth: float = 1e10) -> dict[str, dict[str, float]]:
    """What null steps would take where messages cost that."""
    worker = tolls.step + 4 * tolls.message + 2 * tolls.wake + tolls.cold * launch
    server = tolls.partition + 4 * tolls.message + 2 * tolls.cold * launch
    step = worker + server + 2 * tolls.wake
    moved = 5 * LARGE / bandwidth + 2 * LARGE / tolls.copy
    return {
        "one": {"step": step, "worker": worker, "server": server + 2 * tolls.wake},
        "two": {"step": 0.0, "worker": worker + 4 * tolls.message, "server": 0.0},
        "busy": {"step": 0.0, "worker": 0.0, "server": server}, "large": {"step": step + moved, "worker": 0.0, "server": 0.0},
    }  # fmt: skip


def test_tolls_of_samples() -> None:
    tolls = Tolls(30e-6, 120e-6, 300e-6, 50e-6, 4e9)
    found = tolls_of(samples(tolls))
    assert (found.message, found.partition, found.step, found.wake, found.copy) == pytest.approx(
        (tolls.message, tolls.partition, tolls.step, tolls.wake, tolls.copy)
    )


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
    assert found.keys() == {"one", "two", "large", "busy"}
    assert all(number > 0 for sample in found.values() for number in sample.values())
