"""Ctrl-C is kept back from the code of a step that waits, and let through where the step can stop."""

import signal
import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from headrace.core import errors
from headrace.core.registry import REGISTRY
from headrace.resources.stepping.interrupt import Shield, shield
from headrace.resources.stepping.step import Step


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def same_handler_after() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before and shield() is None


def test_an_interrupt_comes_when_the_step_is_over():
    passed = []
    with pytest.raises(KeyboardInterrupt), Shield():
        ctrl_c()
        passed.append(1)
    assert passed == [1]


def test_an_interrupt_gets_through_to_what_computes():
    with Shield() as guard:
        with pytest.raises(KeyboardInterrupt):
            guard.through(ctrl_c)
        assert guard.through(lambda x: x + 1, 2) == 3
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):  # before the call
            guard.through(lambda: pytest.fail("called"))


def test_an_inner_shield_tells_the_outer_one():
    passed = []
    with pytest.raises(KeyboardInterrupt), Shield():
        with Shield() as inner:
            assert shield() is inner
            ctrl_c()
        passed.append(1)
    assert passed == [1]
    with Shield() as outer, pytest.raises(KeyboardInterrupt):
        outer.through(_shielded_ctrl_c)


def _shielded_ctrl_c():
    with Shield():
        ctrl_c()


def test_a_waiting_step_is_woken():
    events = SimpleQueue()
    step = Step()
    with Shield(), pytest.raises(KeyboardInterrupt):
        timer = threading.Timer(0.05, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
        timer.start()
        step.next(events)
    timer.join()


def test_a_handler_that_does_not_raise_does_not_end_the_wait():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *arguments: calls.append(arguments))
    try:
        events = SimpleQueue()
        with Shield() as guard:
            ctrl_c()
            guard.wake(events)
            ctrl_c()
            events.put((1, "result", None))
            assert Step().next(events) == (1, "result", None)
            assert len(calls) == 2
        assert len(calls) == 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_and_other_handlers_are_left_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def elsewhere():
        with Shield():
            seen.extend([signal.getsignal(signal.SIGINT), shield()])

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before, None]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Shield():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
            ctrl_c()
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_was_taken_before_the_step_ended_is_not_lost():
    """The step is cancelled after its op is over and before its thread has heard of that."""

    def begin(*, done, step):
        done("element", None)
        step.cancel(errors.CancelledError(None, None, "too late"))

    step = Step()
    with step.entered():
        assert REGISTRY.wait(begin, None, True, (), {}) == "element"
