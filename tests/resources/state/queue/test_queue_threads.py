"""Queues under eight threads: nothing is lost or doubled, nobody starves, and cancelling loses nothing."""

import random
import threading
from collections import Counter
from functools import partial

import pytest
from resources.calls import LIMIT_S, blocking, poll, run_threads

from headrace.core.errors import AbortedError, CancelledError, OutOfRangeError
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.queue.store import FifoStore, PriorityStore, ShuffleStore

EACH = 900
STORES = {"fifo": FifoStore, "shuffle": lambda: ShuffleStore(3, 1, 2), "priority": PriorityStore}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("capacity", [4, 50])
def test_nothing_is_lost_or_doubled(store, capacity):
    queue = Queue("FIFOQueue", "q", STORES[store](), capacity, (), ())
    taken = [[] for _ in range(4)]
    left = iter(range(4))
    last = threading.Semaphore(0)

    def produce(number):
        chance = random.Random(number)
        elements = [(chance.randrange(3), number, i) for i in range(EACH)]
        while elements:
            count = chance.choice([1, 1, 1, 5])
            piece, elements = elements[:count], elements[count:]
            begin = partial(queue.enqueue, piece[0]) if len(piece) == 1 else partial(queue.enqueue_many, piece)
            blocking(begin)
        last.release()
        if next(left) == 3:
            for _ in range(4):
                assert last.acquire(timeout=LIMIT_S)
            blocking(partial(queue.close, False))

    def consume(number):
        chance = random.Random(number)
        try:
            while True:
                if chance.random() < 0.7:
                    taken[number].append(blocking(queue.dequeue))
                else:
                    taken[number] += blocking(partial(queue.dequeue_up_to, 3))
        except OutOfRangeError:
            pass

    run_threads(*(partial(f, number) for f in (produce, consume) for number in range(4)))
    elements = [element for part in taken for element in part]
    assert Counter((number, i) for _, number, i in elements) == Counter((n, i) for n in range(4) for i in range(EACH))
    if store == "fifo":  # each consumer sees each producer's elements in order
        for part in taken:
            for number in range(4):
                assert (own := [i for _, n, i in part if n == number]) == sorted(own)


def test_nobody_starves():
    """When all producers wait, none is served twice before the others are served once."""
    queue = Queue("FIFOQueue", "q", FifoStore(), 1, (), ())
    served, finished = [], []  # appending is atomic
    first_served = threading.Event()

    def produce(number):
        try:
            while True:
                blocking(partial(queue.enqueue, (number,)))
        except CancelledError:
            pass

    def consume(number):
        if number == 0:
            poll(lambda: "; 4 wait to add" in queue.describe())
            served.extend(blocking(queue.dequeue)[0] for _ in range(5))
            first_served.set()
        assert first_served.wait(LIMIT_S)
        for _ in range(EACH):
            served.append(blocking(queue.dequeue)[0])
        finished.append(number)
        if len(finished) == 4:
            queue.close(True, lambda result, error: None)

    run_threads(*(partial(f, number) for f in (produce, consume) for number in range(4)))
    assert len(served) == 4 * EACH + 5
    assert set(served[:5]) == {0, 1, 2, 3}  # one element was in the queue, four producers waited


def test_cancelling_loses_nothing():
    """Calls are cancelled at random while others go on; what was added and not taken is still there."""
    queue = Queue("FIFOQueue", "q", FifoStore(), 5, (), ())
    error = AbortedError(None, None, "cancelled")
    added, taken, refused = [[] for _ in range(4)], [[] for _ in range(4)], Counter()

    def churn(begin, end, chance):
        """Begins a call and cancels it after a moment."""
        ended = threading.Event()
        outcomes = []

        def done(result, failure):
            outcomes.append((result, failure))
            ended.set()

        wait = begin(done)
        if wait is not None and not ended.wait(chance.choice([0, 0.001])):
            wait.cancel(error)
        assert ended.wait(LIMIT_S)
        ((result, failure),) = outcomes
        if failure is None:
            end(result)
        else:
            assert failure is error
            refused[threading.get_ident()] += 1

    def produce(number):
        chance = random.Random(number)
        for i in range(EACH):
            churn(partial(queue.enqueue, (number, i)), lambda _, i=i: added[number].append((number, i)), chance)

    def consume(number):
        chance = random.Random(number)
        for _ in range(EACH // 3):
            churn(partial(queue.dequeue_many, 3), taken[number].extend, chance)

    run_threads(*(partial(f, number) for f in (produce, consume) for number in range(4)))
    rest = blocking(partial(queue.dequeue_many, queue.size()))
    flat = [element for part in taken for element in part]
    assert Counter(flat + rest) == Counter(element for part in added for element in part)
    assert refused.total() > 0


def test_a_thousand_waiting_calls_hold_no_thread():
    queue = Queue("FIFOQueue", "q", FifoStore(), 10, (), ())
    before = threading.active_count()
    results = []
    for _ in range(1000):
        queue.dequeue(lambda result, error: results.append(result))
    assert threading.active_count() == before
    queue.enqueue_many([(i,) for i in range(1000)], lambda result, error: None)
    assert results == [(i,) for i in range(1000)]
