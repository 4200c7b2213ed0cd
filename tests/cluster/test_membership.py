"""The membership machine: what follows from answers, broken connections and time.  Tables: (time, event, instructions)."""

from typing import Any

import pytest

from headrace.cluster.membership import (
    Broken,
    Expected,
    Heard,
    Joined,
    Lost,
    Membership,
    Ping,
    Tick,
)
from headrace.core.errors import ABORTED, UNAVAILABLE

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def lost(reason: str, code: int = UNAVAILABLE, task: str = PS) -> Lost:
    return Lost(task, code, f"{task} {reason}")


TABLES: dict[str, list[tuple[float, Any, list[Any]]]] = {
    "a task joins, is asked when it has been silent for a while, and stays": [
        (0.0, Expected(PS), []),
        (0.1, Heard(PS, 7), [Joined(PS, 7, restarted=False)]),
        (0.9, Tick(), []),
        (1.2, Tick(), [Ping(PS)]),
        (2.2, Tick(), []),  # an answer is due: it is not asked again
        (2.3, Heard(PS, 7), []),
        (3.0, Tick(), []),
        (3.4, Tick(), [Ping(PS)]),
    ],
    "any answer counts as one": [
        (0.0, Expected(PS), []),
        (0.0, Heard(PS, 7), [Joined(PS, 7, False)]),
        (0.9, Heard(PS, 7), []),
        (1.8, Tick(), []),
    ],
    "a task that may take any time to come is waited for": [
        (0.0, Expected(PS), []),
        (1000.0, Tick(), []),
        (1001.0, Heard(PS, 7), [Joined(PS, 7, False)]),
    ],
    "a task that must come is lost when it does not": [
        (0.0, Expected(PS, within=5.0), []),
        (4.9, Tick(), []),
        (5.0, Tick(), [lost("could not be reached within 5 s")]),
        (6.0, Tick(), []),
    ],
    "a broken connection loses the task, once": [
        (0.0, Expected(PS), []),
        (0.1, Heard(PS, 7), [Joined(PS, 7, False)]),
        (0.2, Broken(PS, "reset"), [lost("cannot be reached: reset")]),
        (0.3, Broken(PS, "reset"), []),
        (0.4, Heard(PS, 7), []),
        (9.9, Tick(), []),
    ],
    "a connection may break before anything was heard": [
        (0.0, Expected(PS), []),
        (0.2, Broken(PS, "refused"), [lost("cannot be reached: refused")]),
    ],
    "a task that is connected and does not answer is lost": [
        (0.0, Expected(PS), []),
        (0.0, Heard(PS, 7), [Joined(PS, 7, False)]),
        (1.0, Tick(), [Ping(PS)]),
        (10.9, Tick(), []),
        (11.0, Tick(), [lost("is connected, but has not answered for 10 s")]),
    ],
    "a late answer is in time": [
        (0.0, Expected(PS), []),
        (0.0, Heard(PS, 7), [Joined(PS, 7, False)]),
        (1.0, Tick(), [Ping(PS)]),
        (10.9, Heard(PS, 7), []),
        (11.0, Tick(), []),
    ],
    "another incarnation is not the task that was expected": [
        (0.0, Expected(PS), []),
        (0.0, Heard(PS, 7), [Joined(PS, 7, False)]),
        (0.5, Heard(PS, 8), [lost("was started again: what the session had there is gone", ABORTED)]),
        (0.6, Heard(PS, 8), []),
    ],
    "a task that comes back is told from its successor": [
        (0.0, Expected(PS, before=7), []),
        (0.1, Heard(PS, 7), [Joined(PS, 7, restarted=False)]),
        (0.2, Broken(PS, "silent"), [lost("cannot be reached: silent")]),
        (0.3, Expected(PS, before=7), []),
        (0.4, Heard(PS, 8), [Joined(PS, 8, restarted=True)]),
        (0.5, Heard(PS, 8), []),
    ],
    "each task for itself": [
        (0.0, Expected(PS), []),
        (0.0, Expected(WORKER), []),
        (0.0, Heard(PS, 7), [Joined(PS, 7, False)]),
        (0.5, Heard(WORKER, 9), [Joined(WORKER, 9, False)]),
        (0.6, Broken(PS, "reset"), [lost("cannot be reached: reset")]),
        (1.5, Tick(), [Ping(WORKER)]),
    ],
    "nobody wants to know": [
        (0.0, Heard(PS, 7), []),
        (0.0, Broken(PS, "reset"), []),
        (99.0, Tick(), []),
    ],
}


@pytest.mark.parametrize("name", TABLES)
def test_table(name: str) -> None:
    machine = Membership(answer_seconds=10.0, ping_seconds=1.0)
    for now, event, expected in TABLES[name]:
        assert list(machine.take(event, now)) == expected, (now, event)
