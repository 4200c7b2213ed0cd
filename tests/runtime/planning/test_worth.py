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


RUN, SAVED = 5e-3, 2e-3  # seconds of a run of such a step, and what compiled code is taken to save of it


@pytest.mark.parametrize(
    ("idle", "cost"),
    [
        (1.0, LOST * COST),  # on an idle core the program loses little
        (4.0, LOST * COST / 4),  # on four even less
        (0.5, 0.6 * COST),
        (0.2, COST),
        (0.0, COST),  # on busy cores it waits for the compiler
    ],
)
def test_what_is_saved_is_held_against_the_cost(idle, cost):
    assert runs_until(Worth(100, idle_cores=lambda: idle), RUN) == pytest.approx(cost / SAVED, rel=0.2)


@pytest.mark.parametrize(
    ("milliseconds", "seconds_saved_a_run"),
    [(2.0, 1e-3), (8.0, 2e-3), (2000.0, 0.2)],  # half of the run, 20 us a node, a tenth of the run
)
def test_nodes_are_counted(milliseconds, seconds_saved_a_run):
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
        for _ in range(int(LOST * COST / SAVED / 2)):
            assert not worth.soon()
            worth.note(RUN)
        for _ in range(int(LOST * COST / SAVED / 8)):  # cores are looked for now and then
            worth.note(RUN)
        assert worth.soon() is expected and not worth.pays()


def test_where_many_cores_are_idle_the_process_is_prepared_for_a_step_that_recurs():
    worth = Worth(100, lambda: MANY)
    for _ in range(int(LOST * COST / MANY / SAVED / 5)):
        worth.note(RUN)
    assert worth.soon() and not worth.pays()
