"""How far another clock is away, from answers that were made up."""

import random

import pytest

from headrace.cluster.clock import MOST_DRIFT, Clock

MS, SECOND = 1_000_000, 1_000_000_000


def asked(clock: Clock, here: int, ahead: float, drift: float = 0.0, out: int = MS, back: int = MS) -> int:
    """A question at a time of this clock; the other is ``ahead`` by so much at 0, and more each second.  What it says."""
    at = here + out
    there = round(at + ahead + drift * at)
    clock.note(here, there, at + back)
    return there


def test_without_answers_clocks_count_as_the_same() -> None:
    assert Clock().difference(5 * SECOND) == 0


@pytest.mark.parametrize("ahead", [0, MS // 2, -MS // 2])
def test_clocks_that_may_be_the_same_count_as_the_same(ahead: int) -> None:
    clock = Clock()
    there = asked(clock, SECOND, ahead)
    assert clock.difference(there) == 0


def test_another_clock_is_found_within_half_of_a_round_trip() -> None:
    clock = Clock()
    there = asked(clock, SECOND, 40 * SECOND, out=3 * MS, back=MS)
    assert abs(clock.difference(there) + 40 * SECOND) <= 2 * MS


def test_a_quick_answer_says_more_than_slow_ones() -> None:
    clock = Clock()
    for second in range(1, 4):
        asked(clock, second * SECOND, 40 * SECOND, out=80 * MS, back=MS)
    there = asked(clock, 4 * SECOND, 40 * SECOND, out=MS // 10, back=MS // 10)
    asked(clock, 4 * SECOND + MS, 40 * SECOND, out=80 * MS, back=MS)
    assert abs(clock.difference(there) + 40 * SECOND) <= MS // 10


@pytest.mark.parametrize("drift", [3e-5, -2e-4, 0.0])
def test_a_drift_is_found_and_taken_out(drift: float) -> None:
    clock, source, there = Clock(), random.Random(1), 0
    for second in range(1, 61):
        out, back = source.randint(MS // 10, MS), source.randint(MS // 10, MS)
        there = asked(clock, second * SECOND, 7 * SECOND, drift, out, back)
    assert clock.drift() == pytest.approx(-drift, abs=1e-5)
    truth = round((there - 7 * SECOND) / (1 + drift)) - there
    assert abs(clock.difference(there) - truth) <= MS // 5


def test_a_drift_that_no_clock_has_is_not_believed() -> None:
    clock = Clock()
    for second in range(1, 21):
        asked(clock, second * SECOND, 0, 0.5)
    assert abs(clock.drift()) <= MOST_DRIFT


def test_after_a_clock_was_set_only_what_came_later_counts() -> None:
    clock = Clock()
    for second in range(1, 4):
        asked(clock, second * SECOND, 7 * SECOND)
    there = asked(clock, 4 * SECOND, -3600 * SECOND)
    assert abs(clock.difference(there) - 3600 * SECOND) <= MS


def test_an_answer_from_before_its_question_says_nothing() -> None:
    clock = Clock()
    clock.note(5 * SECOND, 9 * SECOND, 4 * SECOND)
    assert clock.difference(9 * SECOND) == 0
