"""Every stage: its elements, and that it goes on exactly from any position."""

import threading

import numpy as np
import pytest
import torch
from resources.data.chains import check_cuts, elements, running

from headrace.core.errors import CancelledError, DataLossError, InvalidArgumentError, OutOfRangeError
from headrace.resources.data.ahead import ParallelMap, Prefetch
from headrace.resources.data.chain import Concatenate, Repeat, Shard, Skip, Take, Window, Zip
from headrace.resources.data.function import Filter, Interleave, Map, Scan, TakeWhile
from headrace.resources.data.group import Batch, PaddedBatch, Unbatch
from headrace.resources.data.shuffle import Shuffle
from headrace.resources.data.source import Iterated, Listed, Range, Slices


def numbers(n, start=0):
    return Range(range(start, n))


def texts(*words):
    array = np.empty(len(words), object)
    array[:] = words
    return array


def twice(x, *captured):
    return (x * 2,)


def fails_at_3(x):
    if int(x) == 3:
        raise InvalidArgumentError(None, None, "no 3")
    return (x,)


def ends_at_3(x):
    if int(x) == 3:
        raise OutOfRangeError(None, None, "that is all")
    return (x,)


def up_to(x):
    return (numbers(int(x)),)


def shuffled_up_to(x):
    return (Shuffle(numbers(int(x) + 2), 3, 5, 6),)


def counted():
    return iter([(np.int32(i),) for i in range(5)])


CHAINS = {
    "listed": (lambda: Listed([(np.float32(1.5),), (np.float32(2.5),)]), [(1.5,), (2.5,)]),
    "slices": (
        lambda: Slices([torch.arange(6).reshape(3, 2), texts(b"a", b"b", b"c")]),
        [([0, 1], b"a"), ([2, 3], b"b"), ([4, 5], b"c")],
    ),
    "bfloat16": (lambda: Slices([torch.ones(2, dtype=torch.bfloat16)]), [(1.0,), (1.0,)]),
    "strings in rows": (lambda: Slices([texts(b"a", b"b").reshape(1, 2)]), [([b"a", b"b"],)]),
    "range": (lambda: Range(range(5, 0, -2)), [(5,), (3,), (1,)]),
    "iterated": (lambda: Iterated(counted), [(0,), (1,), (2,), (3,), (4,)]),
    "take": (lambda: Take(numbers(5), 2), [(0,), (1,)]),
    "take all": (lambda: Take(numbers(2), -1), [(0,), (1,)]),
    "skip": (lambda: Skip(numbers(4), 3), [(3,)]),
    "skip all": (lambda: Skip(numbers(4), -1), []),
    "skip too many": (lambda: Skip(numbers(4), 7), []),
    "shard": (lambda: Shard(numbers(7), 3, 1), [(1,), (4,)]),
    "repeat": (lambda: Repeat(numbers(2), 3), [(0,), (1,)] * 3),
    "repeat 0 times": (lambda: Repeat(numbers(2), 0), []),
    "repeat nothing for ever": (lambda: Repeat(numbers(0), -1), []),
    "repeat for ever": (lambda: Take(Repeat(numbers(2), -1), 5), [(0,), (1,), (0,), (1,), (0,)]),
    "concatenate": (lambda: Concatenate(numbers(2), numbers(9, 8)), [(0,), (1,), (8,)]),
    "zip": (lambda: Zip([numbers(3), Repeat(numbers(1), 2)]), [(0, 0), (1, 0)]),
    "window": (lambda: Window(numbers(5), 2, 2, 1, False), [([(0,), (1,)],), ([(2,), (3,)],), ([(4,)],)]),
    "window with gaps": (lambda: Window(numbers(9), 2, 5, 3, True), [([(0,), (3,)],), ([(5,), (8,)],)]),
    "overlapping windows": (lambda: Window(numbers(4), 3, 1, 1, True), [([(0,), (1,), (2,)],), ([(1,), (2,), (3,)],)]),
    "batch": (lambda: Batch(numbers(5), 2, False), [([0, 1],), ([2, 3],), ([4],)]),
    "batch of equal size": (lambda: Batch(numbers(5), 2, True), [([0, 1],), ([2, 3],)]),
    "padded": (
        lambda: PaddedBatch(
            Map(numbers(4), lambda x: (torch.full((int(x),), int(x)), texts(*[b"w"] * int(x)))), 2, False,
            [[-1], [4]], [torch.tensor(-7), np.array(b".", object)],
        ),
        [
            ([[-7], [1]], [[b".", b".", b".", b"."], [b"w", b".", b".", b"."]]),
            ([[2, 2, -7], [3, 3, 3]], [[b"w", b"w", b".", b"."], [b"w", b"w", b"w", b"."]]),
        ],
    ),
    "unbatch": (lambda: Unbatch(Batch(numbers(5), 2, False)), [(i,) for i in range(5)]),
    "unbatch strings": (lambda: Unbatch(Listed([(texts(b"a", b"b"),)])), [(b"a",), (b"b",)]),
    "map": (lambda: Map(numbers(3), twice, [1]), [(0,), (2,), (4,)]),
    "map that fails": (lambda: Map(numbers(5), fails_at_3), [(0,), (1,), (2,), "InvalidArgumentError", (4,)]),
    "filter": (lambda: Filter(numbers(6), lambda x: (x % 3 == 0,)), [(0,), (3,)]),
    "take while": (lambda: TakeWhile(numbers(6), lambda x: (x < 2,)), [(0,), (1,)]),
    "scan": (lambda: Scan(numbers(5), [np.int64(10)], lambda s, x: (s + x, s * x)), [(0,), (10,), (22,), (39,), (64,)]),
    "flat map": (lambda: Interleave(numbers(4), up_to, [], 1, 1), [(0,), (0,), (1,), (0,), (1,), (2,)]),
    "interleave": (
        lambda: Interleave(numbers(4, 1), lambda x: (Repeat(Listed([(x,)]), int(x)),), [], 2, 1),
        [(1,), (2,), (2,), (3,), (3,), (3,)],
    ),
    "blocks": (lambda: Interleave(numbers(3, 1), lambda x: (Repeat(Listed([(x,)]), 3),), [], 2, 2),
               [(1,), (1,), (2,), (2,), (1,), (2,)]),
    "prefetch": (lambda: Prefetch(numbers(7), 2), [(i,) for i in range(7)]),
    "prefetch nothing ahead": (lambda: Prefetch(numbers(3), 0), [(i,) for i in range(3)]),
    "prefetch automatically": (lambda: Prefetch(numbers(9), -1), [(i,) for i in range(9)]),
    "prefetch errors": (lambda: Prefetch(Map(numbers(5), fails_at_3), 3), [(0,), (1,), (2,), "InvalidArgumentError", (4,)]),
    "prefetch twice": (lambda: Prefetch(Batch(Prefetch(numbers(6), 2), 2, True), 1), [([0, 1],), ([2, 3],), ([4, 5],)]),
    "parallel": (lambda: ParallelMap(numbers(6), twice, [], 3), [(2 * i,) for i in range(6)]),
    "parallel that fails": (
        lambda: ParallelMap(numbers(5), fails_at_3, [], 2), [(0,), (1,), (2,), "InvalidArgumentError", (4,)]
    ),
    "parallel prefetched": (lambda: Prefetch(ParallelMap(numbers(5), twice, [], -1), 2), [(2 * i,) for i in range(5)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_elements_and_cuts(name):
    make, expected = CHAINS[name]
    assert check_cuts(make) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: Shuffle(numbers(10), 4, 3, 4),
        lambda: Repeat(Shuffle(numbers(5), 3, 3, 4), 3),
        lambda: Repeat(Shuffle(numbers(5), 3, 3, 4, anew=False), 3),
        lambda: Shuffle(numbers(5), 7, 1, 2, count=3),
        lambda: Take(Shuffle(numbers(5), 7, 1, 2, count=-1), 17),
        lambda: Prefetch(Batch(Repeat(Shuffle(numbers(7), 3, 3, 4), 2), 3, False), 2),
        lambda: Repeat(Interleave(numbers(5), shuffled_up_to, [], 3, 1), 2),
        lambda: Repeat(Zip([Shuffle(numbers(4), 2, 1, 1), Shuffle(numbers(4), 2, 1, 1)]), 2),
    ],
)
def test_random_chains_are_the_same_each_time_and_go_on_from_every_position(make):
    assert check_cuts(make) == elements(make())


def test_shuffle_gives_every_element_once_and_another_order_in_each_epoch():
    given = elements(Repeat(Shuffle(numbers(20), 8, 7, 7), 2))
    assert sorted(given[:20]) == sorted(given[20:]) == [(i,) for i in range(20)]
    assert given[:20] != given[20:]
    again = elements(Repeat(Shuffle(numbers(20), 8, 7, 7, anew=False), 2))
    assert again[:20] == again[20:]


def test_seeds_that_nobody_gave_differ_but_are_saved():
    make = lambda: Shuffle(numbers(30), 30, 0, 0)  # noqa: E731
    assert elements(make()) != elements(make())
    with running(make()) as run:
        state = run.save()
        given = [run.cursor.next() for _ in range(30)]
    with running(make()) as run:
        run.restore(state)
        assert [run.cursor.next() for _ in range(30)] == given


def test_a_function_that_says_out_of_range_ends_the_dataset_there():
    assert elements(Map(numbers(5), ends_at_3)) == [(0,), (1,), (2,)]
    assert elements(ParallelMap(numbers(5), ends_at_3, [], 2)) == [(0,), (1,), (2,)]


def test_an_error_says_which_element_it_is_about():
    stage = Map(numbers(5), fails_at_3)
    stage.title = "MapDataset 'm' (made at train.py:7)"
    with running(stage) as run, pytest.raises(InvalidArgumentError, match=r"element 3 of MapDataset 'm' \(made at"):
        for _ in range(5):
            run.cursor.next()


def test_batches_of_different_shapes_are_refused_by_name():
    stage = Batch(Map(numbers(3, 1), lambda x: (x, torch.zeros(int(x)))), 2, False)
    with running(stage) as run, pytest.raises(InvalidArgumentError) as e:
        run.cursor.next()
    assert "different shapes in component 1. First element had shape [1] and element 1 had shape [2]." in str(e.value)


def test_an_iterable_that_has_become_shorter_cannot_be_resumed():
    with running(Iterated(counted)) as run:
        for _ in range(3):
            run.cursor.next()
        state = run.save()
    with running(Iterated(lambda: iter([(1,)]))) as run, pytest.raises(DataLossError, match="had given 3 elements"):
        run.restore(state)


def test_another_chain_refuses_a_position():
    with running(numbers(3)) as run:
        state = run.save()
    with running(Take(numbers(3), 2)) as run, pytest.raises(ValueError, match="1 stages, the dataset has 2"):
        run.restore(state)


class TestWorkAhead:
    def test_calls_run_together(self):
        meeting = threading.Barrier(2)

        def meet(x):
            meeting.wait(20)
            return (x,)

        assert elements(ParallelMap(numbers(6), meet, [], 2)) == [(i,) for i in range(6)]

    def test_results_that_are_there_come_first_if_sloppy(self):
        first_may_go = threading.Event()

        def wait_for_others(x):
            if int(x) == 0:
                first_may_go.wait(20)
            return (x,)

        with running(ParallelMap(numbers(2), wait_for_others, [], 2, sloppy=True)) as run:
            run.cursor._begin_calls()
            run.cursor._calls[1].result(run)
            assert run.cursor.next() == (1,)
            first_may_go.set()
            assert run.cursor.next() == (0,)

    def test_who_waits_is_told_when_the_run_is_closed(self):
        begun, may_end = threading.Event(), threading.Event()

        def slow(x):
            begun.set()
            may_end.wait(20)
            return (x,)

        with running(Prefetch(Map(numbers(9), slow), 2)) as run:
            run.cursor._ask()
            begun.wait(20)
            errors = []

            def take():
                try:
                    run.cursor.next()
                except CancelledError as e:
                    errors.append(str(e))

            thread = threading.Thread(target=take)
            thread.start()
            run.close()
            thread.join(20)
            may_end.set()
            assert "closed" in errors[0]
