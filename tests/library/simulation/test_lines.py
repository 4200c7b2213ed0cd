"""Cores, memory and links that tasks wait in line for."""

import pytest

from headrace.library.simulation.lines import Host, Port
from headrace.passes.cost.rates import Link

MB = 1e6


def test_two_cores_for_three_threads() -> None:
    host = Host(cores=2)
    assert [host.compute(0.0, 1.0, 0.0) for _ in range(3)] == [1.0, 1.0, 2.0]
    assert host.used == 3.0


def test_a_thread_goes_on_where_it_was() -> None:
    """It takes the core that was used last, so that the other one is free for what comes earlier."""
    host = Host(cores=2)
    assert host.compute(0.0, 1.0, 0.0) == 1.0
    assert host.compute(1.0, 1.0, 0.0) == 2.0
    assert host.compute(0.5, 1.0, 0.0) == 1.5


def test_as_many_cores_as_are_asked_for() -> None:
    host = Host()
    assert [host.compute(0.0, 1.0, 0.0) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_work_takes_longer_while_all_other_cores_are_busy() -> None:
    host = Host(cores=2, crowded=1.5)
    assert host.compute(0.0, 1.0, 0.0) == 1.0  # alone
    assert host.compute(0.0, 1.0, 0.0) == 1.5
    assert host.compute(1.0, 1.0, 0.0) == 2.5  # until 1.5 beside the one before
    assert host.compute(9.0, 1.0, 0.0) == 10.0


def test_the_memory_is_shared() -> None:
    """Two threads move at full speed; the third and the fourth slower, until the first are over."""
    host = Host(movers=2.0)
    assert [host.compute(0.0, 0.0, 1.0) for _ in range(4)] == [1.0, 1.0, 1.5, 2.0]
    assert host.compute(3.0, 0.5, 1.0) == 4.5


def test_what_is_large_waits_in_line_and_what_is_small_does_not() -> None:
    port = Port(Link(1e-3, 1e9))
    assert port.send(0.0, MB) == pytest.approx((1e-3, 2e-3))
    assert port.send(0.0, MB) == pytest.approx((2e-3, 3e-3))
    assert port.send(0.0, 100.0) == pytest.approx((1e-3, 1e-3 + 1e-7))
    assert (port.sent, port.sending) == pytest.approx((2 * MB + 100, 2e-3 + 1e-7))


def test_one_takes_while_the_other_sends() -> None:
    source, target = Port(Link(1e-3, 1e9)), Port(Link(1e-3, 1e9))
    first, last = source.send(0.0, MB)
    assert target.receive(first, MB, last) == pytest.approx(2e-3)
    first, last = Port(Link(1e-3, 1e9)).send(0.0, MB)  # of another task at the same time
    assert target.receive(first, MB, last) == pytest.approx(3e-3)
    assert target.received == 2 * MB
