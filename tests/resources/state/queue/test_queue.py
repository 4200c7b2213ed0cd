"""Queues as tables: who goes on, who waits, what closing and cancelling do.  TensorFlow 2.21 agrees unless said."""

import re
from functools import partial

import pytest
from resources.calls import Call

from headrace.core.errors import AbortedError, CancelledError, OutOfRangeError
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.queue.store import FifoStore, PriorityStore, ShuffleStore


def fifo(capacity, *elements):
    queue = Queue("FIFOQueue", "q", FifoStore(), capacity, (), ())
    enqueue(queue, *elements)
    return queue


def enqueue(queue, *elements):
    if len(elements) == 1:
        return Call(partial(queue.enqueue, (elements[0],)))
    return Call(partial(queue.enqueue_many, [(element,) for element in elements]))


def dequeue(queue):
    return Call(queue.dequeue)


def dequeue_many(queue, n):
    return Call(partial(queue.dequeue_many, n))


def dequeue_up_to(queue, n):
    return Call(partial(queue.dequeue_up_to, n))


def close(queue, cancel_pending=False):
    return Call(partial(queue.close, cancel_pending))


def values(call):
    return [element for (element,) in call.result]


class TestWaiting:
    def test_a_call_that_need_not_wait_has_ended_when_it_returns(self):
        queue = fifo(2)
        assert [enqueue(queue, 1).wait, enqueue(queue, 2).wait, dequeue(queue).wait] == [None, None, None]
        assert dequeue(queue).result == (2,)

    def test_enqueue_waits_for_room(self):
        queue = fifo(1, "a")
        waiting = enqueue(queue, "b")
        assert waiting.waits
        assert dequeue(queue).result == ("a",)
        assert waiting.result is None
        assert dequeue(queue).result == ("b",)

    def test_dequeue_waits_for_an_element(self):
        queue = fifo(1)
        waiting = dequeue(queue)
        assert waiting.waits
        assert enqueue(queue, "a").result is None
        assert waiting.result == ("a",)

    def test_arrival_order(self):
        queue = fifo(1)
        takers = [dequeue(queue) for _ in range(4)]
        enqueue(queue, *range(3))
        assert [taker.result for taker in takers[:3]] == [(0,), (1,), (2,)]
        assert takers[3].waits

    def test_nobody_overtakes_the_first_in_line(self):
        queue = fifo(10, "a")
        first, second = dequeue_many(queue, 3), dequeue(queue)
        assert enqueue(queue, "b") and first.waits and second.waits
        enqueue(queue, "c")
        assert values(first) == ["a", "b", "c"] and second.waits

    def test_more_than_the_room_goes_in_piece_by_piece(self):
        queue = fifo(2)
        producer = enqueue(queue, *range(5))
        behind = enqueue(queue, 9)
        assert (queue.size(), producer.waits) == (2, True)
        assert [dequeue(queue).result[0] for _ in range(3)] == [0, 1, 2]
        assert not producer.waits and behind.waits
        assert values(dequeue_many(queue, 3)) == [3, 4, 9]

    def test_more_than_the_capacity_is_gathered_piece_by_piece(self):
        queue = fifo(2, "a", "b")
        taker = dequeue_many(queue, 5)
        assert (queue.size(), taker.waits) == (0, True)
        producer = enqueue(queue, *"cdefg")
        assert values(taker) == list("abcde")
        assert producer.result is None and queue.size() == 2

    def test_no_elements_are_moved_immediately(self):
        queue = fifo(1, "a")
        enqueue(queue, "b")
        assert enqueue(queue).result is None
        taker = dequeue_many(queue, 5)
        assert taker.waits
        assert dequeue_many(queue, 0).result == dequeue_up_to(queue, 0).result == []

    def test_negative_capacity_is_no_limit(self):
        queue = fifo(-1)
        assert enqueue(queue, *range(1000)).result is None
        assert queue.size() == 1000


class TestShuffling:
    def test_some_elements_stay(self):
        queue = Queue("RandomShuffleQueue", "q", ShuffleStore(3, 1, 2), 100, (), ())
        enqueue(queue, *range(5))
        many = dequeue_many(queue, 3)
        assert (queue.size(), many.waits) == (3, True)
        enqueue(queue, 5)
        assert (queue.size(), many.waits) == (3, False)
        single = dequeue(queue)
        assert single.waits
        close(queue)
        rest = dequeue_many(queue, 2)
        assert sorted([*values(many), single.result[0], *values(rest)]) == list(range(6))


class TestPriorities:
    def test_a_waiting_producer_adds_before_the_next_is_taken(self):
        queue = Queue("PriorityQueue", "q", PriorityStore(), 2, (), ())
        for priority in (5, 6, 1, 2):
            Call(partial(queue.enqueue, (priority,)))
        assert [dequeue(queue).result[0] for _ in range(4)] == [5, 1, 2, 6]


class TestClosing:
    def test_later_enqueues_are_refused(self):
        queue = fifo(5, "a")
        assert close(queue).result is None and queue.is_closed
        for refused in (enqueue(queue, 1), enqueue(queue, 1, 2)):
            assert isinstance(refused.error, CancelledError)
            assert refused.error.message == "FIFOQueue 'q' is closed."
        assert enqueue(queue).result is None  # nothing to add

    def test_a_second_close_is_refused_unless_it_cancels(self):
        queue = fifo(5)
        close(queue)
        second = close(queue)
        assert isinstance(second.error, CancelledError)
        assert second.error.message == "FIFOQueue 'q' is already closed."
        assert close(queue, cancel_pending=True).result is None

    def test_close_waits_for_the_enqueues_before_it(self):
        queue = fifo(1, "a")
        before, closing, behind = enqueue(queue, "b"), close(queue), enqueue(queue, "c")
        assert before.waits and closing.waits and behind.waits and not queue.is_closed
        assert dequeue(queue).result == ("a",)
        assert before.result is None and closing.result is None and queue.is_closed
        assert isinstance(behind.error, CancelledError)
        assert dequeue(queue).result == ("b",)

    def test_close_with_cancel_refuses_who_waits(self):
        queue = fifo(2)
        piecewise, closing, behind = enqueue(queue, *"abcd"), close(queue), enqueue(queue, "e")
        assert close(queue, cancel_pending=True).result is None
        assert [type(call.error) for call in (piecewise, closing, behind)] == [CancelledError] * 3
        assert values(dequeue_many(queue, 2)) == ["a", "b"]  # what was in stays

    @pytest.mark.parametrize(
        ("wanted", "before", "message"),
        [
            ("dequeue", 0, "requested 1, current size 0"),
            ("many", 2, "requested 3, current size 2"),
            ("up_to", 0, "requested 3, current size 0"),
        ],
    )
    @pytest.mark.parametrize("waits_first", [False, True])
    def test_too_few_elements_are_out_of_range(self, wanted, before, message, waits_first):
        """TensorFlow counts what a waiting call had gathered as gone; we say what was asked for and what there is."""
        queue = fifo(5, *range(before))
        begin = {
            "dequeue": queue.dequeue,
            "many": partial(queue.dequeue_many, 3),
            "up_to": partial(queue.dequeue_up_to, 3),
        }
        if waits_first:
            call = Call(begin[wanted])
            close(queue)
        else:
            close(queue)
            call = Call(begin[wanted])
        assert isinstance(call.error, OutOfRangeError)
        assert call.error.message == f"FIFOQueue 'q' is closed and has insufficient elements ({message})"
        assert queue.size() == before

    def test_up_to_takes_what_is_left(self):
        queue = fifo(5, *range(3))
        early = dequeue_up_to(queue, 4)
        assert early.waits
        close(queue)
        assert values(early) == [0, 1, 2]

    def test_what_a_failed_call_had_gathered_is_for_the_next_in_line(self):
        queue = fifo(5, *range(3))
        many, single, rest = dequeue_many(queue, 4), dequeue(queue), dequeue_up_to(queue, 9)
        close(queue)
        assert isinstance(many.error, OutOfRangeError)
        assert single.result == (0,) and values(rest) == [1, 2]

    def test_pending_enqueues_still_serve_those_that_wait(self):
        queue = fifo(1)
        producer, closing = enqueue(queue, *"abc"), close(queue)
        assert values(dequeue_many(queue, 3)) == ["a", "b", "c"]
        assert producer.result is None and closing.result is None
        assert isinstance(dequeue(queue).error, OutOfRangeError)


class TestCancelling:
    error = AbortedError(None, None, "the step ends")

    def test_a_cancelled_dequeue_takes_nothing(self):
        queue = fifo(5)
        first, second = dequeue(queue), dequeue(queue)
        first.wait.cancel(self.error)
        assert first.error is self.error
        enqueue(queue, "a")
        assert second.result == ("a",)

    def test_gathered_elements_go_back_to_the_front(self):
        """TensorFlow loses them."""
        queue = fifo(3, *"abc")
        many, single = dequeue_many(queue, 5), dequeue(queue)
        enqueue(queue, "d")
        assert queue.size() == 0
        many.wait.cancel(self.error)
        assert single.result == ("a",)
        assert values(dequeue_many(queue, 3)) == ["b", "c", "d"]

    def test_elements_above_capacity_let_nothing_in(self):
        queue = fifo(2, *"ab")
        many = dequeue_many(queue, 5)
        enqueue(queue, *"cd")
        many.wait.cancel(self.error)
        assert queue.size() == 4
        late = enqueue(queue, "e")
        taken = [dequeue(queue).result[0], dequeue(queue).result[0]]
        assert taken == ["a", "b"] and late.waits
        dequeue(queue)
        assert late.result is None

    def test_what_a_cancelled_enqueue_has_added_stays(self):
        queue = fifo(2)
        many, behind = enqueue(queue, *"abcd"), enqueue(queue, "e")
        many.wait.cancel(self.error)
        assert many.error is self.error and behind.waits
        assert [dequeue(queue).result[0] for _ in range(3)] == ["a", "b", "e"]

    def test_a_cancelled_close_closes_nothing(self):
        queue = fifo(1, "a")
        enqueue(queue, "b")
        closing, behind = close(queue), enqueue(queue, "c")
        closing.wait.cancel(self.error)
        assert closing.error is self.error
        assert [dequeue(queue).result[0] for _ in range(3)] == ["a", "b", "c"]
        assert behind.result is None and not queue.is_closed

    def test_cancelling_what_has_ended_does_nothing(self):
        queue = fifo(1)
        call = dequeue(queue)
        enqueue(queue, "a")
        call.wait.cancel(self.error)
        call.wait.cancel(self.error)
        assert call.result == ("a",)

    def test_a_callback_may_call_the_queue(self):
        queue = fifo(1)
        chained = []

        def again(result, error):
            chained.append(result)
            queue.enqueue(("second",), lambda result, error: None)

        queue.dequeue(again)
        enqueue(queue, "first")
        assert chained == [("first",)] and dequeue(queue).result == ("second",)


class TestDescriptions:
    def test_waits(self):
        queue = Queue("FIFOQueue", "q", FifoStore(), 2, (), (), made_at="train.py:12")
        assert (
            dequeue(queue).wait.describe() == "FIFOQueue 'q' has 0 of 2 elements, 1 is asked for (made at train.py:12)"
        )
        many = dequeue_many(queue, 3)
        enqueue(queue, 1, 2)
        assert re.search("3 are asked for and 1 of them gathered", many.wait.describe())
        enqueue(queue, 3, 4, 5, 6)
        assert re.search("has 2 of 2 elements, 2 wait to be added", enqueue(queue, 6, 7).wait.describe())
        assert re.search("closing it waits for those that add before", close(queue).wait.describe())
        assert queue.describe() == "FIFOQueue 'q' has 2 of 2 elements; 2 wait to add, 0 wait to take"

    def test_limits(self):
        assert fifo(-1, "a").describe().startswith("FIFOQueue 'q' has 1 element;")
        queue = Queue("RandomShuffleQueue", "r", ShuffleStore(3, 1, 1), 10, (), ())
        assert "has 0 of 10 elements, of which 3 must stay, 1 is asked for" in dequeue(queue).wait.describe()
        close(queue, cancel_pending=True)
        assert queue.describe().startswith("RandomShuffleQueue 'r' has 0 of 10 elements and is closed;")
