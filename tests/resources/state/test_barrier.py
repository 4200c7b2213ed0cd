"""Barriers: as tables (TensorFlow 2.21 agrees unless said), against a plain model, and under eight threads."""

import random
import threading
from collections import Counter
from functools import partial

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from resources.calls import LIMIT_S, Call, blocking, run_threads

from headrace.core.errors import AbortedError, CancelledError, InvalidArgumentError, OutOfRangeError
from headrace.resources.state.barrier import FIRST_INDEX, Barrier, batch_of


def barrier(components=2):
    return Barrier("b", [None] * components, [()] * components)


def insert(target, component, **values):
    keys = [key.encode() for key in values]
    return Call(partial(target.insert_many, component, keys, list(values.values())))


def take(b, n, small=False, wait=False):
    return Call(lambda done: b.take_many(n, done, small, wait))


def close(b, cancel_pending=False):
    return Call(partial(b.close, cancel_pending))


def sizes(b):
    return b.ready_size(), b.incomplete_size()


class TestTable:
    def test_elements_leave_in_the_order_their_keys_came(self):
        b = barrier()
        insert(b, 0, a=1, b=2)
        insert(b, 0, c=3)
        assert sizes(b) == (0, 3)
        insert(b, 1, c=30, b=20)
        insert(b, 1, a=10, d=40)
        assert sizes(b) == (3, 1)
        assert take(b, 3).result == [
            (FIRST_INDEX, b"b", 2, 20), (FIRST_INDEX, b"a", 1, 10), (FIRST_INDEX + 1, b"c", 3, 30),
        ]  # fmt: skip

    def test_take_waits_for_complete_elements(self):
        b = barrier()
        insert(b, 0, a=1, b=2)
        taker = take(b, 2)
        insert(b, 1, a=1)
        assert taker.waits
        insert(b, 1, b=2)
        assert [key for _, key, *_ in taker.result] == [b"a", b"b"]

    def test_a_component_comes_once(self):
        """TensorFlow keeps the keys before the refused one; we keep none."""
        b = barrier()
        insert(b, 0, a=1)
        refused = insert(b, 0, c=1, a=2)
        assert isinstance(refused.error, InvalidArgumentError)
        assert refused.error.message == "Key a already has a value for component 0 in Barrier 'b'"
        assert sizes(b) == (0, 1)
        twice = Call(partial(b.insert_many, 1, [b"x", b"x"], [1, 2]))
        assert isinstance(twice.error, InvalidArgumentError)

    def test_a_key_may_come_again_when_its_element_is_complete(self):
        b = barrier(1)
        assert Call(partial(b.insert_many, 0, [b"x", b"x"], [1, 2])).result is None
        assert take(b, 2).result == [(FIRST_INDEX, b"x", 1), (FIRST_INDEX, b"x", 2)]

    def test_new_keys_are_refused_after_close(self):
        b = barrier()
        insert(b, 0, a=1)
        assert close(b).result is None
        refused = insert(b, 0, new=1)
        assert isinstance(refused.error, CancelledError) and "brand new key: new" in refused.error.message
        assert insert(b, 1, a=1).result is None
        assert isinstance(insert(b, 1, a=1).error, CancelledError)
        assert Call(partial(b.insert_many, 0, [], [])).result is None

    def test_a_second_close_is_refused_unless_it_is_the_first_to_cancel(self):
        b = barrier()
        insert(b, 0, a=1)
        assert close(b).result is None
        assert close(b).error.message == "Barrier 'b' is already closed."
        assert close(b, True).result is None
        assert sizes(b) == (0, 0)
        assert isinstance(close(b, True).error, CancelledError)
        assert isinstance(Call(partial(b.insert_many, 0, [], [])).error, CancelledError)

    def test_taking_from_a_closed_one(self):
        b = barrier()
        insert(b, 0, a=1, b=2)
        insert(b, 1, a=1)
        close(b)
        refused = take(b, 3)
        assert isinstance(refused.error, OutOfRangeError)
        assert (
            refused.error.message == "Barrier 'b' is closed and has insufficient elements (requested 3, total size 2)"
        )
        assert len(take(b, 3, small=True).result) == 1
        assert isinstance(take(b, 3, small=True).error, OutOfRangeError)  # though b may become complete
        waiting = take(b, 3, small=True, wait=True)
        insert(b, 1, b=2)
        assert [key for _, key, *_ in waiting.result] == [b"b"]

    def test_closing_ends_who_waits_when_no_key_is_incomplete(self):
        """TensorFlow lets these two wait for ever."""
        b = barrier()
        insert(b, 0, a=1, b=2)
        insert(b, 1, a=1)
        whole, small = take(b, 5), take(b, 5, small=True)
        close(b)
        assert whole.waits and small.waits
        insert(b, 1, b=2)
        assert isinstance(whole.error, OutOfRangeError)
        assert [key for _, key, *_ in small.result] == [b"a", b"b"]

    def test_closing_gives_what_is_there_to_who_may_take_fewer(self):
        """What is missing may depend on what is done with it.  TensorFlow lets them wait for ever."""
        b = barrier()
        insert(b, 0, a=1, b=2)
        insert(b, 1, a=1)
        small, other = take(b, 5, small=True), take(b, 5, small=True)
        close(b)
        assert [key for _, key, *_ in small.result] == [b"a"] and other.waits
        insert(b, 1, b=2)
        assert [key for _, key, *_ in other.result] == [b"b"]

    def test_who_waits_for_incomplete_ones_waits_on(self):
        b = barrier()
        insert(b, 0, a=1, b=2)
        insert(b, 1, a=1)
        small = take(b, 5, small=True, wait=True)
        close(b)
        assert small.waits
        insert(b, 1, b=2)
        assert [key for _, key, *_ in small.result] == [b"a", b"b"]

    def test_cancelled_takes_give_back(self):
        b = barrier(1)
        insert(b, 0, a=1, b=2)
        taker = take(b, 3)
        error = AbortedError(None, None, "cancelled")
        assert taker.wait.describe() == (
            "Barrier 'b' has 0 complete and 0 incomplete elements, 3 are asked for and 2 of them gathered"
        )
        taker.wait.cancel(error)
        assert taker.error is error
        assert [key for _, key, *_ in take(b, 2).result] == [b"a", b"b"]

    def test_descriptions(self):
        b = Barrier("b", [None] * 2, [()] * 2, made_at="train.py:3")
        insert(b, 0, a=1)
        wish = take(b, 1).wait.describe()
        assert wish == "Barrier 'b' has 0 complete and 1 incomplete elements, 1 is asked for (made at train.py:3)"
        close(b)
        assert b.describe() == "Barrier 'b' has 0 complete and 1 incomplete elements and is closed; 1 wait to take"

    def test_batches(self):
        indices, keys, values, names = batch_of([
            (FIRST_INDEX, b"a", torch.ones(2), np.array(b"x", object)),
            (FIRST_INDEX + 1, b"b", torch.zeros(2), np.array(b"y", object)),
        ])  # fmt: skip
        assert indices.tolist() == [FIRST_INDEX, FIRST_INDEX + 1] and indices.dtype == torch.int64
        assert (keys.tolist(), values.tolist(), names.tolist()) == ([b"a", b"b"], [[1, 1], [0, 0]], [b"x", b"y"])


class BarrierAgainstModel(RuleBasedStateMachine):
    """The model: a table of keys, a sorted list of elements, and a list of those that wait."""

    @initialize(components=st.integers(1, 3))
    def make(self, components):
        self.components = components
        self.barrier = barrier(components)
        self.table, self.ready, self.takers = {}, [], []
        self.closed = self.cancelled = False
        self.calls, self.outcomes = [], {}
        self.index, self.count = FIRST_INDEX, 0

    def _call(self, begin, outcome="waits"):
        if outcome != "waits":
            self.outcomes[len(self.calls)] = outcome
        self.calls.append(Call(begin))

    @rule(component=st.integers(0, 2), keys=st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=3))
    def insert(self, component, keys):
        component %= self.components
        values = [(component, i) for i in range(self.count, self.count + len(keys))]
        self.count += len(keys)
        table = {key: (index, dict(parts)) for key, (index, parts) in self.table.items()}
        ready = []
        outcome = "CancelledError" if self.cancelled else None
        for key, value in zip(keys, values, strict=True):
            if outcome:
                break
            if self.closed and key not in table:
                outcome = "CancelledError"
                break
            _, parts = table.setdefault(key, (self.index, {}))
            if component in parts:
                outcome = "InvalidArgumentError"
                break
            parts[component] = value
            if len(parts) == self.components:
                index, parts = table.pop(key)
                ready.append((index, key, *(parts[i] for i in range(self.components))))
        if outcome is None:
            self.index += any(key not in self.table for key in keys) or len(set(keys)) < len(keys)
            self.table = table
            self.ready += ready
        self._call(partial(self.barrier.insert_many, component, keys, values), outcome)
        self._serve()

    @rule(n=st.integers(1, 4), small=st.booleans(), wait=st.booleans())
    def take(self, n, small, wait):
        outcome = "waits"
        if self.closed:
            possible = len(self.ready) + (0 if small and not wait else len(self.table))
            if small:
                n_now = min(n, possible)
                outcome = "waits" if n_now else "OutOfRangeError"
            else:
                n_now = n
                outcome = "waits" if n <= possible else "OutOfRangeError"
        else:
            n_now = n
        if outcome == "waits":
            self.takers.append({"call": len(self.calls), "count": n_now, "small": small, "wait": wait, "got": []})
        self._call(lambda done: self.barrier.take_many(n, done, small, wait), outcome)
        self._serve()

    @rule(which=st.integers(0, 9))
    def close(self, which):
        if which > 1:
            return
        cancel = which == 1
        if self.closed and (self.cancelled or not cancel):
            outcome = "CancelledError"
        else:
            outcome = None
            self.closed, self.cancelled = True, cancel
            if cancel:
                self.table = {}
            first = self.takers[0] if self.takers and self.table else None
            if first and first["small"] and not first["wait"] and first["got"]:
                first["count"] = len(first["got"])
        self._call(partial(self.barrier.close, cancel), outcome)
        self._serve()

    @rule(data=st.data())
    def cancel(self, data):
        if self.takers:
            taker = data.draw(st.sampled_from(self.takers))
            self.takers.remove(taker)
            self.ready = taker["got"] + self.ready
            self.outcomes[taker["call"]] = "AbortedError"
            self.calls[taker["call"]].wait.cancel(AbortedError(None, None, "cancelled"))
            self._serve()

    def _serve(self):
        while self.takers:
            first = self.takers[0]
            if self.closed and not self.table and len(first["got"]) + len(self.ready) < first["count"]:
                self.ready, first["got"] = first["got"] + self.ready, []
                if not (first["small"] and self.ready):
                    self.outcomes[first["call"]] = "OutOfRangeError"
                    self.takers.pop(0)
                    continue
                first["count"] = len(self.ready)
            self.ready.sort(key=lambda element: element[0])  # stable
            wanted = first["count"] - len(first["got"])
            first["got"] += self.ready[:wanted]
            del self.ready[:wanted]
            if len(first["got"]) < first["count"]:
                return
            self.outcomes[first["call"]] = first["got"]
            self.takers.pop(0)

    @invariant()
    def agrees(self):
        if hasattr(self, "barrier"):
            for number, call in enumerate(self.calls):
                outcomes = [type(o).__name__ if isinstance(o, Exception) else o for o in call.outcomes]
                assert outcomes == ([self.outcomes[number]] if number in self.outcomes else [])
            assert sizes(self.barrier) == (len(self.ready), len(self.table))


TestBarrierAgainstModel = BarrierAgainstModel.TestCase
TestBarrierAgainstModel.settings = settings(max_examples=50, stateful_step_count=30)


def test_threads_lose_and_double_nothing():
    """Four threads bring a component each of the same keys, four take elements."""
    b = barrier(4)
    count, size = 800, 4
    taken = [[] for _ in range(4)]
    finished = threading.Semaphore(0)

    def produce(component):
        chance = random.Random(component)
        keys = list(range(count))
        chance.shuffle(keys)
        while keys:
            piece, keys = keys[:size], keys[size:]
            values = [(component, key) for key in piece]
            blocking(partial(b.insert_many, component, [b"%d" % key for key in piece], values))
        finished.release()
        if component == 0:
            for _ in range(4):
                assert finished.acquire(timeout=LIMIT_S)
            blocking(partial(b.close, False))

    def consume(number):
        try:
            while True:
                taken[number] += blocking(lambda done: b.take_many(3, done, allow_small_batch=True))
        except OutOfRangeError:
            pass

    run_threads(*(partial(f, number) for f in (produce, consume) for number in range(4)))
    elements = [element for part in taken for element in part]
    assert Counter(key for _, key, *_ in elements) == Counter(b"%d" % key for key in range(count))
    assert all(
        values == tuple((i, int(key)) for i in range(4)) for _, key, *values in elements for values in [tuple(values)]
    )
