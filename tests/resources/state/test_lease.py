"""Leases: as tables, against a plain model, and under eight threads."""

from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from resources.calls import Call, blocking, run_threads

from headrace.core.errors import AbortedError
from headrace.resources.state.lease import Lease, Seat

ERROR = AbortedError(None, None, "cancelled")


def change(seat, seen):
    return Call(partial(seat.lease.change, seat, seen))


def seats(*names):
    lease = Lease("chief", "train.py:5")
    return (lease, *(Seat(lease, name) for name in names))


class TestTable:
    def test_the_first_holds_it_and_the_next_in_line_follows(self):
        lease, a, b, c = seats("a", "b", "c")
        assert lease.join(a, True, True) == (1, True, False, "a", 0)
        assert lease.join(b, True, False) == (1, False, False, "a", 1)
        lease.join(c, True, False)
        told = change(c, 1)
        assert told.waits
        a.end()
        assert told.result == (3, False, True, "b", 1)
        b.end()
        assert lease.join(c, True, False) == (5, True, True, "c", 0)

    def test_workers_that_come_early_wait_for_whoever_begins(self):
        lease, worker, chief = seats("worker", "chief")
        assert lease.join(worker, True, False) == (0, False, False, "", 1)
        assert lease.join(chief, True, True) == (1, True, False, "chief", 1)

    def test_who_does_not_stand_keeps_the_job_going(self):
        lease, chief, worker, chief2, chief3 = seats("chief", "worker", "chief 2", "chief 3")
        lease.join(chief, True, True)
        lease.join(worker, False, False)
        told = change(worker, 1)
        chief.end()
        assert told.result == (2, False, False, "", 0)
        assert lease.join(chief2, True, True).went_on
        worker.end()
        chief2.end()
        assert not lease.join(chief3, True, True).went_on

    def test_a_job_that_is_over_begins_with_its_chief(self):
        """The lease outlives jobs: the early worker of the next one must not take it for the job before."""
        lease, chief, worker, chief2 = seats("chief", "worker", "chief 2")
        lease.join(chief, True, True)
        chief.end()
        assert not lease.join(worker, True, False).mine
        assert lease.join(chief2, True, True).mine

    def test_a_worker_may_be_told_later_that_it_may_begin(self):
        lease, a, b = seats("a", "b")
        lease.join(a, True, False)
        lease.join(b, True, False)
        assert lease.join(b, True, True) == (1, True, False, "b", 1)

    def test_checks(self):
        lease, a, b = seats("a", "b")
        lease.join(a, True, True)
        lease.join(b, True, False)
        lease.check(a, 1)
        for seat, number in ((a, 2), (b, 1)):
            with pytest.raises(AbortedError, match="a holds it under number 1"):
                lease.check(seat, number)
        a.end()
        with pytest.raises(AbortedError, match="no longer held by a under number 1: b holds it under number 3"):
            lease.check(a, 1)
        b.end()
        with pytest.raises(AbortedError, match="nobody holds it under number 4"):
            lease.check(b, 3)

    def test_cancelling_and_descriptions(self):
        lease, a, b = seats("a", "b")
        call = change(a, 0)
        assert call.wait.describe().startswith("Lease 'chief' is free, 0 stand in line")
        lease.join(a, True, True)
        assert call.result.mine
        call = change(b, 1)
        assert call.wait.describe().endswith("held by a, 0 stand in line; it waits for a change (made at train.py:5)")
        call.wait.cancel(ERROR)
        call.wait.cancel(ERROR)
        assert call.error is ERROR


class LeaseAgainstModel(RuleBasedStateMachine):
    """The model: who is there, the line, the holder, and what each has last been told."""

    @initialize()
    def make(self):
        self.lease, self.present, self.line, self.holder, self.goes_on = Lease("m"), [], [], None, False
        self.begins, self.numbers, self.calls, self.count = set(), [0], {}, 0

    @rule(stands=st.booleans(), begins=st.booleans())
    def join(self, stands, begins):
        self.count += 1
        seat = Seat(self.lease, str(self.count))
        self.present.append(seat)
        self._join(seat, stands, begins)

    @rule(data=st.data(), stands=st.booleans(), begins=st.booleans())
    def join_again(self, data, stands, begins):
        if self.present:
            self._join(data.draw(st.sampled_from(self.present)), stands, begins)

    def _join(self, seat, stands, begins):
        if stands and seat not in self.line and seat is not self.holder:
            self.line.append(seat)
        if begins:
            self.begins.add(seat)
        expected_to_go_on = self.goes_on
        held = self.holder
        self._serve()
        standing = self.lease.join(seat, stands, begins)
        assert standing.mine == (seat is self.holder)
        if self.holder is not held:
            assert standing.went_on == expected_to_go_on
        self._watch(seat)

    @rule(data=st.data())
    def end(self, data):
        if self.present:
            seat = data.draw(st.sampled_from(self.present))
            self.present.remove(seat)
            if seat in self.line:
                self.line.remove(seat)
            if seat is self.holder:
                self.holder = None
            self.goes_on = self.goes_on and bool(self.present)
            self._serve()
            call = self.calls.pop(seat)
            if call.waits:
                call.wait.cancel(ERROR)  # as the steps of a session end before its seat does
            seat.end()

    def _serve(self):
        if self.holder is None:
            able = [seat for seat in self.line if self.goes_on or seat in self.begins]
            if able:
                self.holder, self.goes_on = able[0], True
                self.line.remove(able[0])

    def _watch(self, seat):
        """Waits for a change as a session does: again and again, from the number that it has seen."""
        call = self.calls.get(seat)
        if call is None or not call.waits:
            self.calls[seat] = change(seat, self.numbers[-1])

    @invariant()
    def holds(self):
        for seat in self.present:
            standing = self.lease._machine.standing(seat)
            assert standing.mine == (seat is self.holder)
            assert standing.holder == (self.holder.who if self.holder else "")
            assert standing.in_line == len(self.line)
            if standing.mine:
                self.lease.check(seat, standing.number)
            else:
                with pytest.raises(AbortedError):
                    self.lease.check(seat, standing.number)
        self._numbers_grow()

    def _numbers_grow(self):
        """Whoever watched was told of each change, and of nothing else."""
        number = self.lease._machine.number
        assert number >= self.numbers[-1]
        if number != self.numbers[-1]:
            self.numbers.append(number)
        for seat, call in self.calls.items():
            if not call.waits:
                assert call.result.number <= number
                self.calls[seat] = change(seat, number)
        assert all(call.waits for call in self.calls.values())


TestAgainstModel = LeaseAgainstModel.TestCase
TestAgainstModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_eight_threads_hold_it_one_at_a_time():
    lease = Lease("m")
    holding, numbers = [], []

    def work(name):
        for _ in range(25):
            seat = Seat(lease, name)
            standing = lease.join(seat, True, True)
            while not standing.mine:
                standing = blocking(partial(lease.change, seat, standing.number))
            holding.append(name)
            numbers.append(standing.number)
            assert len(holding) == 1
            holding.pop()
            seat.end()

    run_threads(*(partial(work, str(i)) for i in range(8)))
    assert numbers == sorted(set(numbers)) and len(numbers) == 200
