"""When compiling pays, on made-up times."""

import pytest

from headrace.runtime.planning.worth import LOST, MANY, SECONDS, SECONDS_PER_NODE, Worth

COST = SECONDS + 100 * SECONDS_PER_NODE  # of a step of 100 nodes


def runs_until(worth, seconds, most=100_000):
    """How many runs it takes until compiling pays."""
    for _ in range(most):
        worth.note(seconds)
        if worth.pays():
            return worth.runs
    return None


@pytest.mark.parametrize(
    ("idle", "saving", "runs"),
    [
        (1.0, 1e-3, LOST * COST / 1e-3),  # on an idle core the program loses little
        (4.0, 1e-4, LOST * COST / 4 / 1e-4),  # on four even less
        (0.5, 4e-3, 0.6 * COST / 4e-3),
        (0.2, 4e-3, COST / 4e-3),
        (0.0, 1e-3, COST / 1e-3),  # on busy cores it waits for the compiler
        (1.0, 0.0, None),  # convolutions, say
    ],
)
def test_what_the_lines_would_save_is_held_against_the_cost(idle, saving, runs):
    worth = Worth(100, idle_cores=lambda: idle)
    worth.saving = saving
    assert runs_until(worth, 5e-3) == (None if runs is None else pytest.approx(runs, rel=0.2))


@pytest.mark.parametrize(
    ("milliseconds", "seconds_saved_a_run"),
    [(2.0, 1e-3), (8.0, 2e-3), (2000.0, 0.2)],  # half of the run, 20 us a node, a tenth of the run
)
def test_without_times_of_lines_nodes_are_counted(milliseconds, seconds_saved_a_run):
    worth = Worth(100, idle_cores=lambda: 0.0)
    runs = runs_until(worth, milliseconds / 1e3)
    assert runs == pytest.approx(COST / seconds_saved_a_run, rel=0.01, abs=1)


def test_a_machine_that_compiles_slowly_asks_later():
    slow, fast = (Worth(100, lambda: 0.0) for _ in range(2))
    slow.seconds = 2 * slow.reckoned
    assert runs_until(slow, 2e-3) == pytest.approx(2 * runs_until(fast, 2e-3), rel=1e-3)


def test_once_it_pays_it_pays():
    idle = [1.0]
    worth = Worth(100, lambda: idle[0])
    runs_until(worth, 2e-3)
    idle[0] = 0.0
    assert worth.pays()


def test_the_process_is_prepared_at_half_time_on_idle_cores_only():
    for idle, expected in [(1.0, True), (0.0, False)]:
        worth = Worth(100, lambda idle=idle: idle)
        worth.saving = 1e-3
        for _ in range(int(LOST * COST / 1e-3 / 2) + 1):
            assert not worth.soon()
            worth.note(5e-3)
        assert worth.soon() is expected and not worth.pays()


def test_where_many_cores_are_idle_the_process_is_prepared_for_a_step_that_recurs():
    worth = Worth(100, lambda: MANY)
    worth.saving = 1e-3
    for _ in range(int(LOST * COST / MANY / 1e-3 / 5)):
        worth.note(5e-3)
    assert worth.soon() and not worth.pays()
