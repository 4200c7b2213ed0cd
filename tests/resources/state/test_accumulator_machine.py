"""How replicas train together, decided by the accumulator's machine alone: tables of events, no threads, no tensors.

An event is a gradient ("a0": of replica a, computed in step 0) or a step of the chief ("take").  A row says which gradients
each update is made of, in order, and what is left.
"""

from typing import Any

import pytest

from headrace.core.errors import CancelledError
from headrace.resources.state.accumulator import AccumulatorMachine, TakeGradient


class Names:
    """A sum of names."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def check(self, gradient: Any) -> None: ...

    def add(self, gradient: Any) -> None:
        self.names.append(gradient)

    def take(self, mean: bool) -> Any:
        names, self.names = "".join(self.names), []
        return names


def play(required: int, script: str) -> tuple[list[str], int]:
    """The updates, and how many gradients are left."""
    machine = AccumulatorMachine(Names(), True, "gradients")
    updates: list[str] = []
    for event in script.split():
        if event == "take":
            ended = machine.take(TakeGradient(required, lambda result, error: None))
        elif event == "cancel":
            machine.cancel(machine.takers[0], CancelledError(None, None, ""))
            continue
        else:
            ended = machine.apply(event[0], int(event[1:]))
        updates += [outcome for _, outcome in ended]
    return updates, machine.count


SYNCHRONOUS = [
    (1, "take a0 take a1 take a2", ["a", "a", "a"], 0),
    (2, "take a0", [], 1),
    (2, "take a0 b0", ["ab"], 0),
    (2, "take b0 a0 take a1 b1", ["ba", "ab"], 0),
    (2, "a0 b0 take", ["ab"], 0),
    (2, "a0 b0 take b1 a1 take", ["ab", "ba"], 0),
    (3, "take a0 b0 c0 take c1 a1 b1", ["abc", "cab"], 0),
    (2, "a0 b0 a0 take", ["aba"], 0),  # one batch more before the chief looks: the mean is over all three
]
BACKUP = [  # the first two of three
    (2, "take a0 b0 c0", ["ab"], 0),  # c is late
    (2, "take a0 b0 take c0 a1 b1", ["ab", "ab"], 0),
    (2, "take a0 b0 take c1 a1 b1", ["ab", "ca"], 0),  # b is late in the second
    (2, "take a0 b0 take c0 c1 c0 a1", ["ab", "ca"], 0),
    (2, "take a0 b0 take a1 b1 take c0 c1 c2", ["ab", "ab"], 1),
]
FEW_REPLICAS = [  # more gradients than replicas
    (3, "take a0 a0 a0 take a1 a1 a1", ["aaa", "aaa"], 0),
    (3, "take a0 b0 a0 b0", ["aba"], 0),  # the fourth is late
]
AHEAD = [  # a step of the future is as good as the present one
    (2, "take a5 b0", ["ab"], 0),
]


@pytest.mark.parametrize(("required", "script", "updates", "left"), SYNCHRONOUS + BACKUP + FEW_REPLICAS + AHEAD)
def test_updates(required: int, script: str, updates: list[str], left: int) -> None:
    assert play(required, script) == (updates, left)


def test_a_cancelled_step_leaves_its_gradients() -> None:
    assert play(2, "take a0 cancel") == ([], 1)
    assert play(2, "take a0 cancel take b0") == (["ab"], 0)
