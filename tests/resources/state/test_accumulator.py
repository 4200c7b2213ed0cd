"""Conditional accumulators: as tables (TensorFlow 2.21 agrees unless said), against a plain model, under eight threads."""

import logging
import threading
from functools import partial

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from resources.calls import LIMIT_S, Call, blocking, run_threads

from headrace.core import dtypes
from headrace.core.errors import AbortedError, InvalidArgumentError
from headrace.resources.state.accumulator import ConditionalAccumulator, SparseConditionalAccumulator


def dense(shape=(2,), reduction="MEAN"):
    return ConditionalAccumulator("a", dtypes.float32, shape, reduction)


def sparse(shape=None, reduction="MEAN"):
    return SparseConditionalAccumulator("s", dtypes.float32, shape, reduction)


def take(accumulator, count):
    return Call(partial(accumulator.take_grad, count))


def rows(indices, values, shape=None, step=0):
    return torch.tensor(indices, dtype=torch.int64), torch.tensor(values, dtype=torch.float32), shape, step


class TestSteps:
    def test_mean_and_sum(self):
        for reduction, expected in (("MEAN", [2.0, 3.5]), ("SUM", [4.0, 7.0])):
            a = dense(reduction=reduction)
            a.apply_grad(torch.tensor([1.0, 2.0]), 0)
            a.apply_grad(torch.tensor([3.0, 5.0]), 0)
            assert a.num_accumulated() == 2
            assert take(a, 1).result.tolist() == expected
            assert a.num_accumulated() == 0

    def test_late_gradients_are_dropped_unseen(self):
        a = dense()
        a.apply_grad(torch.ones(2), 0)
        take(a, 1)
        a.apply_grad(torch.ones(2), 0)
        a.apply_grad(torch.ones(3), 0)  # late: its shape is not looked at
        assert a.num_accumulated() == 0
        a.apply_grad(torch.ones(2), 1)
        assert a.num_accumulated() == 1

    def test_takers_are_served_in_order_and_each_begins_a_step(self):
        a = dense()
        first, second = take(a, 2), take(a, 1)
        a.apply_grad(torch.ones(2), 0)
        assert first.waits and second.waits
        a.apply_grad(torch.ones(2), 0)
        assert not first.waits and second.waits
        a.apply_grad(torch.ones(2), 0)  # late
        assert second.waits
        a.apply_grad(torch.ones(2), 1)
        assert not second.waits

    def test_global_step(self, caplog):
        a = dense()
        a.set_global_step(5)
        a.apply_grad(torch.ones(2), 4)
        assert a.num_accumulated() == 0
        with caplog.at_level(logging.WARNING, "headrace"):
            a.set_global_step(3)
        assert "ConditionalAccumulator 'a' goes back from step 5 to step 3" in caplog.text
        a.apply_grad(torch.ones(2), 3)
        assert a.num_accumulated() == 1

    @pytest.mark.parametrize("count", [0, -1])
    def test_count_must_be_positive(self, count):
        call = take(dense(), count)
        assert isinstance(call.error, InvalidArgumentError)
        assert call.error.message == f"Argument num_required must be positive, but was {count}"

    def test_cancelled_takes_take_nothing(self):
        a = dense()
        first, second = take(a, 3), take(a, 1)
        a.apply_grad(torch.ones(2), 0)
        error = AbortedError(None, None, "cancelled")
        first.wait.cancel(error)
        assert first.error is error and second.result.tolist() == [1, 1]
        first.wait.cancel(error)

    def test_descriptions(self):
        a = ConditionalAccumulator("a", dtypes.float32, None, made_at="train.py:4")
        waiting = take(a, 2)
        a.apply_grad(torch.ones(2), 0)
        assert waiting.wait.describe() == (
            "ConditionalAccumulator 'a' has 1 gradient at step 0, 2 are asked for (made at train.py:4)"
        )
        assert a.describe() == "ConditionalAccumulator 'a' has 1 gradient at step 0; 1 wait to take"


class TestDense:
    def test_the_gradient_may_change_afterwards(self):
        a = dense()
        gradient = torch.ones(2)
        a.apply_grad(gradient, 0)
        a.apply_grad(gradient, 0)
        gradient.fill_(9)
        assert take(a, 1).result.tolist() == [1, 1]

    @pytest.mark.parametrize(
        ("shape", "first", "second", "message"),
        [
            ((2,), None, (3,), "Shape mismatch: expected [2], got [3]"),
            ((2,), None, (1, 2), "Shape mismatch: expected [2], got [1,2]"),
            ((None, 2), None, (4, 3), "Shape mismatch: expected [?,2], got [4,3]"),
            (None, (2,), (1,), "Shape mismatch: expected [2], got [1]"),
        ],
    )
    def test_shapes(self, shape, first, second, message):
        a = dense(shape)
        if first:
            a.apply_grad(torch.ones(first), 0)
        with pytest.raises(InvalidArgumentError) as raised:
            a.apply_grad(torch.ones(second), 0)
        assert raised.value.message == message
        assert a.num_accumulated() == bool(first)

    def test_an_open_shape_is_fixed_until_it_is_taken(self):
        a = dense(None, "SUM")
        a.apply_grad(torch.ones(2), 0)
        take(a, 1)
        a.apply_grad(torch.ones(1, 1), 1)
        assert take(a, 1).result.tolist() == [[1]]


class TestSparse:
    def test_each_row_has_its_own_mean(self):
        a = sparse((4, 2))
        a.apply_grad(*rows([0, 2], [[1, 1], [2, 2]]))
        a.apply_grad(*rows([2, 3], [[1, 1], [2, 2]], (4, 2)))
        indices, values, shape = take(a, 1).result
        assert (indices.tolist(), values.tolist()) == ([0, 2, 3], [[1, 1], [1.5, 1.5], [2, 2]])
        assert shape.tolist() == [4, 2] and indices.dtype == shape.dtype == torch.int64

    def test_rows_that_come_twice_are_one(self):
        """TensorFlow keeps them apart, in the order they came."""
        a = sparse()
        a.apply_grad(*rows([3, 1, 1], [1, 2, 3]))
        a.apply_grad(*rows([1], [1]))
        indices, values, shape = take(a, 1).result
        assert (indices.tolist(), values.tolist(), shape.tolist()) == ([1, 3], [3, 1], [-1])

    def test_sum(self):
        a = sparse((None, 1), "SUM")
        a.apply_grad(*rows([1], [[1]]))
        a.apply_grad(*rows([1, 0], [[2], [5]]))
        indices, values, shape = take(a, 1).result
        assert (indices.tolist(), values.tolist(), shape.tolist()) == ([0, 1], [[5], [3]], [-1, 1])

    def test_no_rows(self):
        a = sparse()
        a.apply_grad(torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3), None, 0)
        assert a.num_accumulated() == 1
        indices, values, shape = take(a, 1).result
        assert (indices.shape, values.shape, shape.tolist()) == ((0,), (0, 3), [-1, 3])

    def test_the_gradient_may_change_afterwards(self):
        a = sparse()
        gradient = rows([0], [[1.0]])
        a.apply_grad(*gradient)
        gradient[0].fill_(7)
        gradient[1].fill_(7)
        indices, values, _ = take(a, 1).result
        assert (indices.tolist(), values.tolist()) == ([0], [[1]])

    @pytest.mark.parametrize(
        ("gradient", "message"),
        [
            (rows([4], [[1, 1]]), "index 4 is outside the 4 rows"),
            (rows([1], [[1, 1, 1]]), "expected values dim 1 to be 2, got 3"),
            (rows([1], [1]), "expected values rank at least 2, got 1"),
            (rows([1], [[1, 1]], (4,)), "expected shape rank at least 2, got 1"),
            (rows([1], [[1, 1]], (5, 2)), "expected shape dim 0 to be 4, got 5"),
            (rows([1, 2], [[1, 1]]), "expected 2 values, one for each index, got 1"),
            (rows([[1]], [[1, 1]]), "indices should be a vector but have shape [1,1]"),
            (rows([1], 1), "values cannot be 0-dimensional"),
        ],
    )
    def test_shapes(self, gradient, message):
        a = sparse((4, 2))
        with pytest.raises(InvalidArgumentError) as raised:
            a.apply_grad(*gradient)
        assert raised.value.message == f"Shape mismatch: {message}"
        assert a.num_accumulated() == 0

    def test_gradients_must_fit_each_other(self):
        a = sparse()
        a.apply_grad(*rows([1], [[1]]))
        for values, message in (([[1, 1]], "values dim 1 to be 1, got 2"), ([1], "values rank 2, got 1")):
            with pytest.raises(InvalidArgumentError, match=message):
                a.apply_grad(*rows([1], values))


class AccumulatorAgainstModel(RuleBasedStateMachine):
    """The model: lists of gradients and of those that wait, dense and sparse at the same time."""

    @initialize(reduction=st.sampled_from(["MEAN", "SUM"]))
    def make(self, reduction):
        self.dense, self.sparse = dense((4,), reduction), sparse((4,), reduction)
        self.mean = reduction == "MEAN"
        self.step, self.gradients, self.takers, self.outcomes = 0, [], [], {}
        self.calls = []

    @rule(row=st.integers(0, 3), value=st.integers(-3, 3), late=st.integers(-1, 1))
    def apply(self, row, value, late):
        step = self.step - late
        whole = torch.zeros(4)
        whole[row] = value
        self.dense.apply_grad(whole, step)
        self.sparse.apply_grad(*rows([row], [value], (4,), step))
        if late <= 0:
            self.gradients.append((row, value))
        self._serve()

    @rule(count=st.integers(1, 4))
    def take(self, count):
        self.takers.append((len(self.calls), count))
        self.calls.append((take(self.dense, count), take(self.sparse, count)))
        self._serve()

    @rule(data=st.data())
    def cancel(self, data):
        if self.takers:
            taker = data.draw(st.sampled_from(self.takers))
            self.takers.remove(taker)
            self.outcomes[taker[0]] = None
            for call in self.calls[taker[0]]:
                call.wait.cancel(AbortedError(None, None, "cancelled"))
            self._serve()

    @rule(forward=st.integers(0, 2))
    def set_step(self, forward):
        self.step += forward
        self.dense.set_global_step(self.step)
        self.sparse.set_global_step(self.step)

    def _serve(self):
        while self.takers and len(self.gradients) >= self.takers[0][1]:
            sums = {row: [v for r, v in self.gradients if r == row] for row, _ in sorted(self.gradients)}
            whole = [sum(sums.get(row, [])) / (len(self.gradients) if self.mean else 1) for row in range(4)]
            by_row = {row: sum(v) / (len(v) if self.mean else 1) for row, v in sums.items()}
            self.outcomes[self.takers.pop(0)[0]] = whole, by_row
            self.gradients = []
            self.step += 1

    @invariant()
    def agrees(self):
        for number, (whole, parts) in enumerate(getattr(self, "calls", ())):
            assert whole.waits == parts.waits == (number not in self.outcomes)
            if self.outcomes.get(number):
                expected, by_row = self.outcomes[number]
                assert whole.result.tolist() == pytest.approx(expected)
                indices, values, _ = parts.result
                assert indices.tolist() == list(by_row) and values.tolist() == pytest.approx(list(by_row.values()))
        if hasattr(self, "dense"):
            assert self.dense.num_accumulated() == self.sparse.num_accumulated() == len(self.gradients)


TestAccumulatorAgainstModel = AccumulatorAgainstModel.TestCase
TestAccumulatorAgainstModel.settings = settings(max_examples=60, stateful_step_count=25)


def test_threads_lose_and_double_nothing():
    """Four threads apply, four take: every gradient is in exactly one sum."""
    a = dense((), "SUM")
    each, sums = 400, [[] for _ in range(4)]
    applied, ended = threading.Semaphore(0), threading.Semaphore(0)

    def apply(number):
        for _ in range(each):
            a.apply_grad(torch.tensor(1.0), 10**6)  # never late
        applied.release()
        if number == 0:
            for _ in range(4):
                assert applied.acquire(timeout=LIMIT_S)
            left, tries = 4, iter(range(1000))
            while left and next(tries) >= 0:  # a sum of 0 ends who takes it
                a.apply_grad(torch.tensor(0.0), 10**6)
                left -= ended.acquire(timeout=0.02)

    def consume(number):
        while total := int(blocking(partial(a.take_grad, 1)).item()):
            sums[number].append(total)
        ended.release()

    run_threads(*(partial(f, number) for f in (apply, consume) for number in range(4)))
    assert sum(map(sum, sums)) == 4 * each
