"""Idle cores, counted from made-up counters of the system."""

import os

import pytest

from headrace.runtime.compiler import idle_cores
from headrace.runtime.compiler.idle_cores import IdleCores

TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Two cores of ours and one of others: sets their idle seconds, the time, and a container's limit and use."""
    clock = [0.0]
    monkeypatch.setattr(idle_cores, "_COUNTERS", tmp_path / "stat")
    monkeypatch.setattr(idle_cores, "_GROUP", tmp_path)
    monkeypatch.setattr(idle_cores.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})

    def set_to(now, idle, used=0.0, limit="max 100000"):
        clock[0] = now
        lines = [f"cpu{i} 0 0 0 {int(s * TICKS)} 0 0 0 0 0 0" for i, s in enumerate([*idle, 10 * now])]
        (tmp_path / "stat").write_text("\n".join(["cpu 1 2 3 4 5", *lines, "intr 1"]))
        (tmp_path / "cpu.max").write_text(limit + "\n")
        (tmp_path / "cpu.stat").write_text(f"usage_usec {int(used * 1e6)}\nuser_usec 5\n")

    return set_to


def test_idle_time_of_our_cores_since_the_beginning(machine):
    machine(100.0, [50.0, 60.0])
    cores = IdleCores()
    machine(110.0, [51.0, 67.0])
    assert cores.average() == pytest.approx(0.8)


def test_a_container_may_use_less_than_is_idle(machine):
    machine(100.0, [50.0, 60.0], used=5.0)
    cores = IdleCores()
    machine(110.0, [60.0, 70.0], used=12.0, limit="100000 100000")
    assert cores.average() == pytest.approx(0.3)


def test_a_moment_is_too_short_to_tell(machine):
    machine(100.0, [50.0, 60.0])
    cores = IdleCores()
    machine(100.1, [50.1, 60.1])
    assert cores.average() == 0.0


def test_where_nothing_is_counted_nothing_is_idle(machine, monkeypatch, tmp_path):
    machine(100.0, [50.0, 60.0])
    monkeypatch.setattr(idle_cores, "_COUNTERS", tmp_path / "no such file")
    cores = IdleCores()
    machine(110.0, [51.0, 67.0])
    assert cores.average() == 0.0
