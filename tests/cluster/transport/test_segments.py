"""Shared memory for what is sent: nothing is lent twice."""

from typing import Any

import pytest

from headrace.cluster.transport.segments import FREE, USED, OutgoingSegments


class LetGo:
    """The memory of a segment that the receiver lets go of right after somebody has looked at it."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __getitem__(self, place: int) -> int:
        before, self._memory[place] = self._memory[place], FREE
        return before

    def __setitem__(self, place: int, value: int) -> None:
        self._memory[place] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)


@pytest.fixture
def segments() -> Any:
    made = OutgoingSegments(1 << 20)
    yield made
    made.close()


def test_a_segment_that_is_let_go_while_it_is_looked_at_is_lent_once(segments: Any) -> None:
    assert None not in (segments.place([b"first"]), segments.place([b"second"]))
    first, second = segments._used
    first.memory, second.memory[0] = LetGo(first.memory), FREE
    others = [segments.place([b"next"]), segments.place([b"last"])]
    assert all(one is not None for one in others)
    lent = [segment.message.number for segment in segments._used + segments._free]
    assert len(lent) == len(set(lent)), "a segment that is in two places is lent to two messages at the same time"


def test_a_segment_is_lent_again_when_it_is_let_go(segments: Any) -> None:
    first = segments.place([b"first"])
    assert segments._used[0].memory[0] == USED
    assert segments.place([b"second"]).number != first.number
    segments._used[0].memory[0] = FREE
    assert segments.place([b"third"]).number == first.number
