"""Which of two plans stays, as a table of what their runs take."""

from random import Random

import pytest

from headrace.runtime.session.contest import MARGIN, PAIRS, WARM, WINS, Contest


def held(contest, new, old):
    """Runs both in turn until there is a verdict; ``new`` and ``old``: seconds of a run by its number.  Returns the runs."""
    count = {True: 0, False: 0}
    while contest.new_stays is None:
        turn = contest.new_next()
        contest.note(turn, (new if turn else old)(count[turn]))
        count[turn] += 1
    return count


@pytest.mark.parametrize(
    ("new", "stays"), [(0.5, True), (1 - 1.1 * MARGIN, True), (1 - 0.9 * MARGIN, False), (2.0, False)]
)
def test_the_default_stays_unless_the_other_is_faster_by_the_margin(new, stays):
    contest = Contest()
    count = held(contest, lambda i: new, lambda i: 1.0)
    assert contest.new_stays is stays
    assert max(count.values()) <= WARM + PAIRS


def test_a_lucky_run_does_not_decide():
    """The best time of the new plan is half of the default's; what it usually takes is longer."""
    contest = Contest()
    held(contest, lambda i: 0.5 if i % 4 == 0 else 1.2, lambda i: 1.0)
    assert contest.new_stays is False


def test_an_outlier_does_not_decide():
    contest = Contest()
    held(contest, lambda i: 100.0 if i == WARM + 3 else 0.8, lambda i: 0.1 if i == WARM + 5 else 1.0)
    assert contest.new_stays is True


def test_first_runs_do_not_count():
    contest = Contest()
    held(contest, lambda i: 50.0 if i < WARM else 0.5, lambda i: 1.0)
    assert contest.new_stays is True


def test_one_that_cannot_win_any_more_is_given_up():
    contest = Contest()
    assert held(contest, lambda i: 2.0, lambda i: 1.0)[True] == WARM + PAIRS - WINS + 1


def test_a_load_that_grows_hits_both():
    """Each run takes longer than the one before it; the plans are equal."""
    for first in (0, 1):
        contest, clock = Contest(), iter(range(first, 10_000))
        held(contest, lambda i: 1.0 + 0.2 * next(clock), lambda i: 1.0 + 0.2 * next(clock))  # noqa: B023
        assert contest.new_stays is False


def test_equal_plans_under_load_seldom_look_different():
    wrong = 0
    for seed in range(200):
        draw, contest = Random(seed), Contest()
        held(contest, lambda i: draw.lognormvariate(0, 0.5), lambda i: draw.lognormvariate(0, 0.5))  # noqa: B023
        wrong += contest.new_stays
    assert wrong <= 8


@pytest.mark.parametrize(("later", "stays"), [(0.98, True), (1.1, False)])
def test_one_that_has_won_stays_until_it_is_slower(later, stays):
    contest = Contest()
    held(contest, lambda i: 0.5, lambda i: 1.0)
    contest.look_again()
    count = held(contest, lambda i: later, lambda i: 1.0)
    assert contest.new_stays is stays and count == {True: PAIRS, False: PAIRS}


def test_what_is_told_after_the_verdict_changes_nothing():
    contest = Contest()
    held(contest, lambda i: 0.5, lambda i: 1.0)
    for _ in range(PAIRS):
        contest.note(True, 9.0)
    assert contest.new_stays is True and contest.medians == (0.5, 1.0)
