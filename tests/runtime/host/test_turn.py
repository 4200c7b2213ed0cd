"""What is short enough to stay on the thread of its message."""

from headrace.runtime.host.turn import PER_NODE, SHORT, Pace


def test_what_was_never_measured_is_not_short() -> None:
    assert not Pace().is_short


def test_what_is_short_stays_short_in_spite_of_one_slow_run() -> None:
    pace = Pace()
    for _ in range(10):
        pace.note(SHORT / 10)
    pace.note(SHORT * 4)
    assert pace.is_short


def test_what_becomes_long_leaves_after_one_run_and_must_prove_itself_again() -> None:
    pace = Pace()
    for _ in range(100):
        pace.note(SHORT / 10)
    pace.note(SHORT * 20)
    assert not pace.is_short
    pace.note(SHORT / 10)
    assert not pace.is_short
    for _ in range(20):
        pace.note(SHORT / 10)
    assert pace.is_short


def test_what_is_long_now_and_then_is_long() -> None:
    pace = Pace()
    for i in range(200):
        pace.note(SHORT * 100 if i % 10 == 0 else SHORT / 10)
    assert not pace.is_short


def test_what_many_small_kernels_take_is_the_interpreters() -> None:
    few, many = Pace(nodes=2), Pace(nodes=200)
    assert not many.is_interpreted
    for pace in (few, many):
        pace.note(PER_NODE * 20)
    assert many.is_interpreted and not few.is_interpreted
