"""Two plans of one request: they take turns, and the faster one stays."""

from types import SimpleNamespace

import pytest

from headrace.runtime.planning.tier import TRIALS
from headrace.runtime.session import rivals as module
from headrace.runtime.session.rivals import Rivals


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
    for i in range(2 * TRIALS):
        assert rivals.run([i])[1:] == (i,)
    assert runs.count("moved") == runs.count("plain") == TRIALS and runs[:4] == ["moved", "plain"] * 2
    assert rivals.chosen.name == kept
    assert rivals.run([0]) == (kept, 0)
    rivals.loosen()
    assert runs[-2:] == ["loose"] * 2


def test_a_step_that_fails_is_not_counted(monkeypatch):
    rivals, runs = rivals_of(monkeypatch, 0.0, 1.0)
    for _ in range(5):
        with pytest.raises(ValueError, match="bad"):
            rivals.run(["bad"])
    for _ in range(2 * TRIALS):
        rivals.run([])
    assert rivals.chosen.name == "moved" and rivals.best == {True: 0.0, False: 1.0}


def test_accelerators_are_waited_for(monkeypatch):
    waits = []
    rivals, _ = rivals_of(monkeypatch, 1.0, 2.0, lambda: waits.append(1))
    for _ in range(2 * TRIALS + 3):
        rivals.run([])
    assert len(waits) == 2 * 2 * TRIALS
