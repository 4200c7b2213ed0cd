"""The machine behind RecordInput, without threads or files."""

from collections import Counter

import pytest
from resources.calls import Call

from headrace.core.errors import CancelledError, DataLossError
from headrace.resources.state.record_input import RecordMachine, TakeRecords
from headrace.resources.stepping.attempt import finish

ERROR = CancelledError(None, None, "given up")


class Machine:
    """A machine whose callbacks are called."""

    def __init__(self, capacity: int) -> None:
        self.machine = RecordMachine(capacity, 1, "RecordInput 'r'")

    def add(self, *records: bytes) -> None:
        for record in records:
            finish(self.machine.add(record))

    def take(self, count: int) -> Call:
        def begin(done: object) -> object:
            self.attempt = TakeRecords(count, done)  # type: ignore[arg-type]
            finish(self.machine.take(self.attempt))
            return self.attempt

        return Call(begin)


def test_records_are_ready_when_the_buffer_is_half_full() -> None:
    m = Machine(4)
    first = m.take(1)
    m.add(b"a")
    assert first.waits
    m.add(b"b")
    assert first.result[0] in (b"a", b"b") and m.take(1).waits


def test_a_buffer_of_one() -> None:
    m = Machine(1)
    m.add(b"a")
    assert m.machine.is_full and m.take(1).result == [b"a"] and not m.machine.is_full


def test_all_are_ready_at_the_end_of_an_epoch() -> None:
    m = Machine(100)
    call = m.take(3)
    m.add(b"a", b"b")
    finish(m.machine.end_epoch())
    assert call.waits and m.machine.records == []
    m.machine.epoch_over = False
    m.add(*[b"c"] * 50)
    assert sorted(call.result) == [b"a", b"b", b"c"]


def test_who_comes_first_is_served_first() -> None:
    m = Machine(1)
    first, second = m.take(2), m.take(1)
    m.add(b"a")
    m.add(b"b")
    assert sorted(first.result) == [b"a", b"b"] and second.waits
    m.add(b"c")
    assert second.result == [b"c"]


def test_who_gives_up_gives_back() -> None:
    m = Machine(1)
    first = m.take(3)
    attempt = m.attempt
    m.add(b"a")
    m.add(b"b")
    second = m.take(2)
    assert m.machine.describe(attempt) == "RecordInput 'r' has 0 of 1 records, 1 of 3 are still to come"
    finish(m.machine.cancel(attempt, ERROR))
    finish(m.machine.cancel(attempt, ERROR))  # too late
    assert first.error is ERROR and sorted(second.result) == [b"a", b"b"]


def test_an_error_is_for_all_and_for_those_who_come_later() -> None:
    m = Machine(9)
    calls = [m.take(1), m.take(2)]
    finish(m.machine.fail(DataLossError(None, None, "damaged")))
    finish(m.machine.fail(ERROR))  # the first error stays
    for call in (*calls, m.take(1)):
        assert isinstance(call.error, DataLossError) and call.error.message == "damaged"


@pytest.mark.parametrize("capacity", [2, 8])
def test_the_order_is_random_and_nothing_is_lost(capacity: int) -> None:
    m = Machine(capacity)
    records = [bytes([i]) for i in range(200)]
    taken: list[bytes] = []
    for record in records:
        m.add(record)
        while m.machine.is_full:
            taken += m.take(1).result
    finish(m.machine.end_epoch())
    while m.machine.records:
        taken += m.take(1).result
    assert Counter(taken) == Counter(records) and taken != records
