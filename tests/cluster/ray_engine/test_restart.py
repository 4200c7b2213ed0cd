"""Which tasks are started again, when, and what is said of it."""

import pytest

from headrace.cluster.ray_engine.options import Options
from headrace.cluster.ray_engine.restart import Restarts

NEVER = float("inf")


def test_a_killed_task_is_started_again_after_longer_and_longer_pauses() -> None:
    restarts = Restarts(3, 600.0, began=0.0)
    now = 1.0
    for number, pause in enumerate((1.0, 2.0, 4.0), 1):
        at, word = restarts.next(-9, now)
        assert (at, word) == (now + pause, f"it is started again ({number} of 3)")
        restarts.begin(at)
        now = at + 5.0
    assert restarts.next(-9, now) == (NEVER, "it was started again 3 times in 600 s (--restarts), so the job ends")


def test_what_was_long_ago_does_not_count() -> None:
    restarts = Restarts(1, 600.0, began=0.0)
    restarts.begin(10.0)
    assert restarts.next(-9, 609.0) == (NEVER, "it was started again once in 600 s (--restarts), so the job ends")
    assert restarts.next(-9, 611.0) == (612.0, "it is started again (1 of 1)")
    restarts.begin(612.0)
    assert restarts.again == [612.0]


def test_a_program_that_gives_up_at_its_first_start_is_left() -> None:
    assert Restarts(3, 600.0, began=100.0).next(1, 109.0) == (
        NEVER, "that was within 10 s of its first start, so the job ends",
    )  # fmt: skip
    assert Restarts(3, 600.0, began=100.0).next(1, 111.0)[0] == 112.0
    for killed in (-11, 143):  # and not given up
        assert Restarts(3, 600.0, began=100.0).next(killed, 101.0)[0] == 102.0
    again = Restarts(3, 600.0, began=100.0)
    again.begin(120.0)
    assert again.next(1, 121.0)[0] == 123.0  # it has worked before


def test_a_lost_actor_and_no_restarts() -> None:
    assert Restarts(3, 600.0, 0.0).next("is lost", 99.0) == (NEVER, "its address is gone with it, so the job ends")
    assert Restarts(0, 600.0, 0.0).next(-9, 99.0) == (NEVER, "the job ends")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restarts": -1}, "restarts, of each task, must be 0 or more: received -1"),
        ({"restart_window": 0.0}, "restart_window must be more than 0 seconds: received 0"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options(**options).check()  # type: ignore[arg-type]
