"""Mutexes: as tables, against a plain model, and under eight threads."""

import gc
from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from resources.calls import Call, blocking, run_threads

from headrace.core.errors import AbortedError
from headrace.resources.state.mutex import Mutex

ERROR = AbortedError(None, None, "cancelled")


def acquire(mutex, owner):
    return Call(partial(mutex.acquire, owner))


class TestTable:
    def test_one_owner_after_another(self):
        mutex = Mutex("m")
        first, second, third = (acquire(mutex, owner) for owner in "abc")
        assert first.wait is None and second.waits and third.waits
        first.result.release()
        assert not second.waits and third.waits
        second.result.release()
        assert not third.waits

    def test_the_owner_may_take_it_again(self):
        mutex = Mutex("m")
        first, again, other = (acquire(mutex, owner) for owner in "aab")
        first.result.release()
        assert other.waits
        again.result.release()
        assert not other.waits

    def test_an_owner_that_waits_twice_gets_it_twice(self):
        mutex = Mutex("m")
        held, one, other, two = (acquire(mutex, owner) for owner in "abcb")
        held.result.release()
        assert not one.waits and not two.waits and other.waits
        one.result.release()
        assert other.waits
        two.result.release()
        assert not other.waits

    def test_releasing_twice_does_nothing(self):
        mutex = Mutex("m")
        first, second, third = (acquire(mutex, owner) for owner in "abc")
        first.result.release()
        first.result.release()
        assert not second.waits and third.waits

    def test_what_is_dropped_is_released(self):
        mutex = Mutex("m")
        first, second = acquire(mutex, "a"), acquire(mutex, "b")
        first.outcomes.clear()
        gc.collect()
        assert not second.waits

    def test_dropped_while_the_lock_is_taken(self):
        """Python may collect garbage inside a call of the same mutex: no deadlock, and nothing is forgotten."""
        mutex = Mutex("m")
        first, second = acquire(mutex, "a"), acquire(mutex, "b")
        with mutex._lock:
            first.outcomes.clear()
            gc.collect()
            assert second.waits
        third = acquire(mutex, "c")
        assert not second.waits and third.waits

    def test_cancelling(self):
        mutex = Mutex("m")
        first, second, third = (acquire(mutex, owner) for owner in "abc")
        second.wait.cancel(ERROR)
        assert second.error is ERROR
        first.result.release()
        assert not third.waits
        third.wait.cancel(ERROR)
        third.result.release()
        assert acquire(mutex, "d").wait is None

    def test_descriptions(self):
        mutex = Mutex("m", made_at="train.py:5")
        assert mutex.describe() == "Mutex 'm' is free; 0 wait for it"
        acquired = [acquire(mutex, owner) for owner in "abc"]
        assert acquired[1].wait.describe() == "Mutex 'm' is held by a (made at train.py:5)"
        assert acquired[2].wait.describe() == "Mutex 'm' is held by a, 1 wait before (made at train.py:5)"
        assert mutex.describe() == "Mutex 'm' is held by a; 2 wait for it"


class MutexAgainstModel(RuleBasedStateMachine):
    """The model: the owner of each call that holds, and a list of those that wait."""

    @initialize()
    def make(self):
        self.mutex, self.calls = Mutex("m"), []
        self.holding, self.waiting = {}, []  # call to owner; (call, owner)

    @rule(owner=st.integers(0, 3))
    def acquire(self, owner):
        self.waiting.append((len(self.calls), owner))
        self.calls.append(acquire(self.mutex, owner))
        self._serve()

    @rule(data=st.data())
    def release(self, data):
        if self.holding:
            call = data.draw(st.sampled_from(sorted(self.holding)))
            del self.holding[call]
            self.calls[call].result.release()
            self._serve()

    @rule(data=st.data())
    def cancel(self, data):
        if self.waiting:
            waiting = data.draw(st.sampled_from(self.waiting))
            self.waiting.remove(waiting)
            self.calls[waiting[0]].wait.cancel(ERROR)
            assert self.calls[waiting[0]].error is ERROR

    def _serve(self):
        if not self.holding and self.waiting:
            call, owner = self.waiting.pop(0)
            self.holding[call] = owner
        owners = set(self.holding.values())
        self.holding |= {call: owner for call, owner in self.waiting if owner in owners}
        self.waiting = [(call, owner) for call, owner in self.waiting if owner not in owners]

    @invariant()
    def agrees(self):
        if hasattr(self, "calls"):
            assert {number for number, call in enumerate(self.calls) if call.waits} == {
                number for number, _ in self.waiting
            }
            assert len(set(self.holding.values())) <= 1


TestMutexAgainstModel = MutexAgainstModel.TestCase
TestMutexAgainstModel.settings = settings(max_examples=60, stateful_step_count=30)


def test_threads_exclude_each_other():
    mutex, each = Mutex("m"), 300
    inside, entered = [], []

    def enter(number):
        for _ in range(each):
            held = blocking(partial(mutex.acquire, number))
            inside.append(number)
            assert inside == [number]
            entered.append(number)
            inside.remove(number)
            held.release()

    run_threads(*(partial(enter, number) for number in range(8)))
    assert len(entered) == 8 * each and mutex.describe() == "Mutex 'm' is free; 0 wait for it"
