"""Two plans of one request: they take turns, and the faster one stays."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from headrace.runtime.session import rivals as module
from headrace.runtime.session.contest import AGAIN, PAIRS, WARM
from headrace.runtime.session.rivals import Rivals

RUNS = 2 * (WARM + PAIRS)  # of a trial


def rivals_of(monkeypatch, moved, plain, finish=None):
    """``moved`` and ``plain``: what a run of each plan takes."""
    clock = [0.0]
    monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    runs = []

    def entry(plan):
        def run(feeds):
            runs.append(plan.name)
            clock[0] += plan.seconds
            if feeds == ["bad"]:
                raise ValueError("bad")
            return (plan.name, *feeds)

        return run

    plans = [
        SimpleNamespace(
            name=name, seconds=seconds, graph=SimpleNamespace(nodes=[]), loosen=lambda: runs.append("loose")
        )
        for name, seconds in (("moved", moved), ("plain", plain))
    ]
    rivals = Rivals(*plans, finish)
    rivals.bind(entry)
    return rivals, runs


@pytest.mark.parametrize(
    ("moved", "plain", "kept"), [(1.0, 2.0, "moved"), (2.0, 1.0, "plain"), (0.96, 1.0, "plain"), (0.94, 1.0, "moved")]
)
def test_the_faster_one_stays(monkeypatch, moved, plain, kept):
    rivals, runs = rivals_of(monkeypatch, moved, plain)
    assert rivals.chosen.name == "moved"
    for i in range(RUNS):
        assert rivals.run([i])[1:] == (i,)
    assert runs[:4] == ["moved", "plain", "plain", "moved"]
    assert rivals.chosen.name == kept
    assert rivals.run([0]) == (kept, 0)
    rivals.loosen()
    assert runs[-2:] == ["loose"] * 2


def test_a_step_that_fails_is_not_counted(monkeypatch):
    rivals, runs = rivals_of(monkeypatch, 0.0, 1.0)
    for _ in range(5):
        with pytest.raises(ValueError, match="bad"):
            rivals.run(["bad"])
    assert rivals.times == {True: [], False: []}
    for _ in range(RUNS + 1):
        rivals.run([])
    assert rivals.chosen.name == "moved" and set(rivals.times[True]) == {0.0} and set(rivals.times[False]) == {1.0}


def test_accelerators_are_waited_for(monkeypatch):
    waits = []
    rivals, _ = rivals_of(monkeypatch, 1.0, 2.0, lambda: waits.append(1))
    for _ in range(RUNS + 3):
        rivals.run([])
    assert len(waits) == 2 * RUNS


def test_a_plan_that_has_become_slower_is_left_for_good(monkeypatch):
    rivals, runs = rivals_of(monkeypatch, 1.0, 2.0)
    for _ in range(RUNS):
        rivals.run([])
    rivals._plans[True].seconds = 3.0
    runs.clear()
    for _ in range(AGAIN - 1):
        rivals.run([])
    assert set(runs) == {"moved"}
    for _ in range(2 * PAIRS):
        rivals.run([])
    assert rivals.chosen.name == "plain"
    runs.clear()
    for _ in range(AGAIN + 1):
        rivals.run([])
    assert set(runs) == {"plain"}


def test_many_threads_may_run_both(monkeypatch):
    rivals, runs = rivals_of(monkeypatch, 1.0, 2.0)
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(rivals.run, ([i] for i in range(400))))) == 400
    assert {"moved", "plain"} == set(runs) and len(runs) == 400
