"""Staging areas: as tables (TensorFlow 2.21 agrees unless said), against a plain model, and under eight threads."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from resources.calls import Call, blocking, run_threads

from headrace.core.errors import AbortedError, InvalidArgumentError, ResourceExhaustedError
from headrace.resources.state.shelf import byte_size
from headrace.resources.state.staging import MapStagingArea, StagingArea

ERROR = AbortedError(None, None, "cancelled")


def floats(count):
    """A value of `count` times four bytes."""
    return torch.full((count,), float(count))


def put(area, *values):
    return Call(partial(area.put, values))


def get(area):
    return Call(area.get)


def peek(area, index):
    return Call(partial(area.peek, index))


def lengths(call):
    return [len(value) for value in call.result]


class TestRow:
    def test_first_in_first_out(self):
        area = StagingArea("s")
        put(area, floats(1), floats(2))
        put(area, floats(3), floats(4))
        assert (area.size(), lengths(get(area)), lengths(get(area))) == (2, [1, 2], [3, 4])

    def test_get_waits(self):
        area = StagingArea("s")
        first, second = get(area), get(area)
        put(area, floats(1))
        assert lengths(first) == [1] and second.waits

    def test_peek_waits_for_its_index_and_leaves_the_element(self):
        area = StagingArea("s")
        second = peek(area, 1)
        put(area, floats(1))
        assert lengths(peek(area, 0)) == [1] and second.waits
        put(area, floats(2))
        assert lengths(second) == [2] and area.size() == 2
        assert isinstance(peek(area, -1).error, InvalidArgumentError)

    def test_capacity(self):
        area = StagingArea("s", capacity=1)
        put(area, floats(1))
        waiting = put(area, floats(2))
        assert waiting.waits
        get(area)
        assert waiting.result is None and lengths(get(area)) == [2]

    def test_memory_limit(self):
        area = StagingArea("s", memory_limit=20)
        refused = put(area, floats(3), floats(3))
        assert isinstance(refused.error, ResourceExhaustedError) and "24 bytes" in refused.error.message
        assert put(area, floats(5)).result is None
        large, small = put(area, floats(4)), put(area, floats(1))
        assert large.waits and small.waits
        get(area)
        assert not large.waits and not small.waits
        behind, tiny = put(area, floats(2)), put(area, floats(0))
        assert behind.waits and tiny.waits  # nobody overtakes
        get(area)
        assert not behind.waits and not tiny.waits

    def test_clear_lets_puts_in(self):
        area = StagingArea("s", capacity=1)
        put(area, floats(1))
        waiting = put(area, floats(2))
        area.clear()
        assert not waiting.waits and area.size() == 1

    def test_cancelling(self):
        area = StagingArea("s", capacity=1)
        getter = get(area)
        getter.wait.cancel(ERROR)
        put(area, floats(1))
        large, behind = put(area, floats(2)), put(area, floats(3))
        large.wait.cancel(ERROR)
        assert getter.error is ERROR and large.error is ERROR
        assert lengths(get(area)) == [1] and lengths(get(area)) == [3] and behind.result is None
        behind.wait.cancel(ERROR)  # too late
        assert behind.result is None

    def test_descriptions(self):
        area = StagingArea("s", capacity=1, made_at="train.py:6")
        getter = get(area)
        assert (
            getter.wait.describe()
            == "StagingArea 's' has 0 of 1 elements and 0 bytes, one is asked for (first used at train.py:6)"
        )
        assert "number 3 is asked for" in peek(area, 3).wait.describe()
        getter.wait.cancel(ERROR)
        put(area, floats(2))
        assert "has 1 of 1 elements and 8 bytes, 4 bytes wait to be put" in put(area, floats(1)).wait.describe()
        assert area.describe() == "StagingArea 's' has 1 of 1 elements and 8 bytes; 1 wait to put, 1 wait to get"

    def test_bytes_of_strings(self):
        assert byte_size(np.array([b"abc", b""], object)) == 16 + 3
        assert byte_size(np.array(b"abc", object)) == 8 + 3


def map_put(area, key, **values):
    """Values by index: ``_0=1``."""
    indices = [int(name[1:]) for name in values]
    return Call(partial(area.put, key, indices, [torch.tensor(float(value)) for value in values.values()]))


def map_get(area, key=None, indices=(0, 1), keep=False):
    return Call(partial(area.peek if keep else area.get, key, indices))


def numbers(call):
    return [value.item() for value in call.result]


@pytest.mark.parametrize("ordered", [False, True])
class TestMap:
    def test_by_key(self, ordered):
        area = MapStagingArea("m", 2, ordered=ordered)
        waiting = map_get(area, 1)
        map_put(area, 3, _0=30, _1=31)
        assert waiting.waits and numbers(map_get(area, 3, keep=True)) == [30, 31]
        map_put(area, 1, _0=10, _1=11)
        assert numbers(waiting) == [10, 11] and area.size() == 1

    def test_without_a_key(self, ordered):
        area = MapStagingArea("m", 1, ordered=ordered)
        for key in (3, 1, 2):
            map_put(area, key, _0=key)
        keys = [map_get(area, indices=[0]).result[0] for _ in range(3)]
        assert keys == ([1, 2, 3] if ordered else [3, 1, 2])
        waiting = map_get(area, indices=[0])
        map_put(area, 7, _0=70)
        key, (value,) = waiting.result
        assert (key, value.item()) == (7, 70)

    def test_values_come_one_by_one(self, ordered):
        area = MapStagingArea("m", 2, ordered=ordered)
        map_put(area, 1, _0=10)
        assert (area.size(), area.incomplete_size()) == (0, 1)
        again = map_put(area, 1, _0=12)
        assert (
            isinstance(again.error, InvalidArgumentError) and "Value 0 for key 1 was put already" in again.error.message
        )
        map_put(area, 1, _1=11)
        assert (area.size(), area.incomplete_size()) == (1, 0)
        assert numbers(map_get(area, 1)) == [10, 11]

    def test_values_go_one_by_one(self, ordered):
        area = MapStagingArea("m", 2, ordered=ordered)
        map_put(area, 1, _0=10, _1=11)
        assert numbers(map_get(area, 1, [1])) == [11] and area.size() == 1
        gone = map_get(area, 1, [1])
        assert isinstance(gone.error, InvalidArgumentError) and "has been removed already" in gone.error.message
        assert numbers(map_get(area, 1, [0])) == [10] and area.size() == 0

    def test_a_key_that_is_there_is_refused(self, ordered):
        """TensorFlow drops the second element without a word."""
        area = MapStagingArea("m", 2, ordered=ordered)
        map_put(area, 1, _0=10, _1=11)
        whole = map_put(area, 1, _0=20, _1=21)
        map_put(area, 1, _0=30)
        last = map_put(area, 1, _1=31)
        for refused in (whole, last):
            assert refused.error.message == "Key 1 is there already"
        assert numbers(map_get(area, 1)) == [10, 11]
        map_put(area, 1, _1=32)
        assert numbers(map_get(area, 1)) == [30, 32]

    def test_indices(self, ordered):
        area = MapStagingArea("m", 2, ordered=ordered)
        assert "not strictly ordered" in map_put(area, 1, _1=1, _0=2).error.message
        assert "not strictly ordered" in map_get(area, 1, [0, 0]).error.message
        assert "Index 5 for key 1 is outside the 2 values" in map_put(area, 1, _5=1).error.message

    def test_limits(self, ordered):
        area = MapStagingArea("m", 2, capacity=2, memory_limit=20, ordered=ordered)
        map_put(area, 1, _0=1, _1=1)
        partial_put = map_put(area, 2, _0=1)
        assert not partial_put.waits
        waiting = map_put(area, 3, _0=1, _1=1)  # 12 bytes are used and would be 20
        assert not waiting.waits
        full = map_put(area, 4, _0=1, _1=1)
        assert full.waits
        assert not map_put(area, 2, _1=1).waits  # never waits: only it can free the bytes of its element
        map_get(area, 1)
        assert full.waits  # three elements were there, two are
        map_get(area, 2)
        assert not full.waits

    def test_a_put_that_fits_overtakes(self, ordered):
        area = MapStagingArea("m", 2, capacity=1, ordered=ordered)
        map_put(area, 1, _0=1, _1=1)
        wanted, full = map_get(area, 3), map_put(area, 2, _0=1, _1=1)
        map_put(area, 3, _0=30)
        map_put(area, 3, _1=31)
        assert numbers(wanted) == [30, 31] and full.waits

    def test_clear(self, ordered):
        area = MapStagingArea("m", 2, capacity=1, memory_limit=12, ordered=ordered)
        map_put(area, 1, _0=1, _1=1)
        map_put(area, 2, _0=1)
        waiting = map_put(area, 3, _0=1, _1=1)
        area.clear()
        assert (waiting.waits, area.size(), area.incomplete_size()) == (False, 1, 0)


class StagingAgainstModel(RuleBasedStateMachine):
    """The model: a dict of whole elements, lists of those that wait, and a scan after every call."""

    @initialize(
        capacity=st.integers(0, 3), limit=st.sampled_from([0, 24]), area=st.sampled_from(["row", "map", "ordered"])
    )
    def make(self, capacity, limit, area):
        self.shelf, self.capacity, self.limit = area, capacity, limit
        self.area = StagingArea("s", capacity, limit)
        if area != "row":
            self.area = MapStagingArea("m", 1, capacity, limit, ordered=area == "ordered")
        self.content, self.putters, self.getters = {}, [], []
        self.calls, self.outcomes = [], {}

    def _call(self, begin, line, **wish):
        line.append({"call": len(self.calls), **wish})
        self.calls.append(Call(begin))
        self._serve()

    @rule(count=st.integers(1, 4), key=st.integers(0, 3))
    def put(self, count, key):
        value = floats(count)
        if self.shelf == "row":
            self._call(partial(self.area.put, [value]), self.putters, key=len(self.calls), value=value)
        else:
            self._call(partial(self.area.put, key, [0], [value]), self.putters, key=key, value=value)

    @rule(key=st.none() | st.integers(0, 3), keep=st.booleans())
    def get(self, key, keep):
        if self.shelf == "row":
            begin = partial(self.area.peek, key or 0) if keep else self.area.get
            self._call(begin, self.getters, place=(key or 0) if keep else 0, keep=keep)
        else:
            keep = keep and key is not None
            begin = partial(self.area.peek if keep else self.area.get, key, [0])
            self._call(begin, self.getters, key=key, keep=keep)

    @rule()
    def clear(self):
        self.content = {}
        self.area.clear()
        self._serve()

    @rule(data=st.data())
    def cancel(self, data):
        waiting = self.putters + self.getters
        if waiting:
            wish = data.draw(st.sampled_from(waiting))
            self.putters = [other for other in self.putters if other is not wish]
            self.getters = [other for other in self.getters if other is not wish]
            self.outcomes[wish["call"]] = "AbortedError"
            self.calls[wish["call"]].wait.cancel(ERROR)
            self._serve()

    def _serve(self):
        changed = True
        while changed:
            changed = False
            left = []
            for wish in self.putters:
                size = sum(4 * len(value) for value in self.content.values()) + 4 * len(wish["value"])
                fits = not (self.capacity and len(self.content) >= self.capacity) and not (
                    self.limit and size > self.limit
                )
                if not fits or (left and self.shelf == "row"):
                    left.append(wish)
                    continue
                changed = True
                if wish["key"] in self.content:
                    self.outcomes[wish["call"]] = "InvalidArgumentError"
                else:
                    self.outcomes[wish["call"]] = None
                    self.content[wish["key"]] = wish["value"]
            self.putters, left = left, []
            for wish in self.getters:
                key = self._key(wish)
                if key not in self.content:
                    left.append(wish)
                    continue
                changed = True
                value = self.content[key] if wish["keep"] else self.content.pop(key)
                any_key = self.shelf != "row" and wish["key"] is None
                self.outcomes[wish["call"]] = (key, [len(value)]) if any_key else [len(value)]
            self.getters = left

    def _key(self, wish):
        if "place" in wish:
            return dict(enumerate(self.content)).get(wish["place"], "nothing")
        if wish["key"] is not None or not self.content:
            return wish["key"]
        return min(self.content) if self.shelf == "ordered" else next(iter(self.content))

    @invariant()
    def agrees(self):
        for number, call in enumerate(getattr(self, "calls", ())):
            assert call.waits == (number not in self.outcomes)
            if not call.waits:
                (outcome,) = call.outcomes
                if isinstance(outcome, Exception):
                    outcome = type(outcome).__name__
                elif outcome and isinstance(outcome[0], int):
                    outcome = outcome[0], [len(value) for value in outcome[1]]
                elif outcome:
                    outcome = [len(value) for value in outcome]
                assert outcome == self.outcomes[number]
        if hasattr(self, "area"):
            assert self.area.size() == len(self.content)
            assert self.area._machine.shelf.used == sum(4 * len(value) for value in self.content.values())


TestStagingAgainstModel = StagingAgainstModel.TestCase
TestStagingAgainstModel.settings = settings(max_examples=50, stateful_step_count=30)


@pytest.mark.parametrize("by_key", [False, True])
def test_threads_lose_and_double_nothing(by_key):
    area = MapStagingArea("m", 1, capacity=3, ordered=True) if by_key else StagingArea("s", capacity=3)
    each, taken = 300, [[] for _ in range(4)]
    value = torch.zeros(1)

    def produce(number):
        for key in range(number * each, (number + 1) * each):
            if by_key:
                blocking(partial(area.put, key, [0], [value]))
            else:
                blocking(partial(area.put, [torch.tensor([key])]))

    def consume(number):
        for key in range(number * each, (number + 1) * each):
            if by_key:
                blocking(partial(area.get, key, [0]))
                taken[number].append(key)
            else:
                taken[number].append(blocking(area.get)[0].item())

    run_threads(*(partial(f, number) for f in (produce, consume) for number in range(4)))
    assert Counter(key for part in taken for key in part) == Counter(range(4 * each)) and area.size() == 0
