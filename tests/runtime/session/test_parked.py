"""Runs that hold no thread while they wait: what the clock that wakes them keeps."""

from math import inf
from time import monotonic
from typing import Any

import pytest

from headrace.resources.stepping.step import Step
from headrace.runtime.session import parked


class Clock(dict[Any, float]):
    """Keeps what the clock would wake."""

    def add(self, mailbox: Any, due: float) -> None:
        self[mailbox] = due

    def remove(self, mailbox: Any) -> None:
        self.pop(mailbox, None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(parked, "_clock", one)
    return one


def run_of(step: Step) -> parked.ParkedRun:
    """A run that has nothing to do yet."""
    run = parked.ParkedRun.__new__(parked.ParkedRun)
    run.mailbox, run._step, run._since = parked._Mailbox(), step, monotonic()
    return run


def test_a_run_is_woken_when_its_time_is_over(clock: Clock) -> None:
    run = run_of(Step(until=monotonic() + 5.0))
    assert run._park()
    assert clock == {run.mailbox: run._step.until}


def test_a_run_that_goes_on_leaves_nothing_with_the_clock(clock: Clock) -> None:
    run = run_of(Step())
    run.mailbox.put((1, None, None))  # it has come while the thread was about to leave
    assert not run._park()
    assert not clock


def test_the_clock_does_not_know_a_run_that_may_wait_for_ever(clock: Clock) -> None:
    assert run_of(Step(until=inf))._park()
    assert not clock
