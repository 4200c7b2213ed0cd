"""What messages cost, from samples of null steps."""

import pytest

from headrace.library.simulation import measure
from headrace.library.simulation.cluster import Tolls
from headrace.library.simulation.measure import LARGE, tolls_of


def samples(tolls: Tolls, launch: float = 2e-6, bandwidth: float = 1e10) -> dict[str, dict[str, float]]:
    """What null steps would take where messages cost that."""
    worker = tolls.step + 4 * tolls.message + 2 * tolls.wake + launch
    server = tolls.partition + 4 * tolls.message + 2 * launch
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
    assert (found.partition, found.step) == pytest.approx((tolls.partition - 10e-6, tolls.step - 10e-6))


def test_a_noisy_sample_gives_no_nonsense() -> None:
    found = samples(Tolls())
    found["two"]["worker"] = 1.0
    found["large"]["step"] = 0.0
    tolls = tolls_of(found)
    assert 0 < tolls.message <= found["busy"]["server"] / 6
    assert tolls.partition > 0 and tolls.step > 0 and tolls.wake >= 0 and tolls.copy == Tolls().copy


def test_the_memory() -> None:
    assert 1.0 <= measure.movers(2, 1 << 16) <= 2.0
    assert measure.bandwidth_of_copies(1 << 16) > 0


def test_null_steps_of_processes() -> None:
    found = measure.null_steps(0.6)
    assert found.keys() == {"one", "two", "large", "busy"}
    assert all(number > 0 for sample in found.values() for number in sample.values())
    assert found["two"]["worker"] > 0.5 * found["one"]["worker"]
