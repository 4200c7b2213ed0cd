"""The orders of elements: FIFO, TensorFlow's shuffling, priorities; and that elements given back come first."""

import pytest

from headrace.resources.state.queue.store import FifoStore, PriorityStore, ShuffleStore


def _drain(store):
    return [store.take() for _ in range(len(store))]


class TestFifo:
    def test_order(self):
        store = FifoStore()
        for i in range(4):
            store.put((i,))
        first = [store.take(), store.take()]
        store.give_back(first)
        assert first == [(0,), (1,)]
        assert store.ready(closed=False) == len(store) == 4
        assert _drain(store) == [(0,), (1,), (2,), (3,)]


class TestShuffle:
    @pytest.mark.parametrize(
        ("seeds", "order"),
        [
            ((1, 0), [12, 10, 2, 4, 11, 16, 7, 5, 0, 15, 17, 19, 1, 6, 3, 18, 14, 9, 13, 8]),
            ((5, 0), [17, 5, 13, 4, 0, 18, 8, 11, 6, 2, 1, 15, 12, 19, 14, 10, 16, 7, 9, 3]),
            ((87654321, 7), [7, 4, 19, 15, 0, 8, 10, 11, 14, 6, 16, 1, 12, 3, 17, 5, 2, 18, 13, 9]),
        ],
    )
    def test_seeded_order_is_tensorflows(self, seeds, order):
        store = ShuffleStore(0, *seeds)
        for i in range(20):
            store.put((i,))
        assert [element for (element,) in _drain(store)] == order

    def test_the_stream_goes_on_after_the_first_words(self):
        """More draws than words are made together; the two halves differ."""
        store = ShuffleStore(0, 1, 2)
        orders = []
        for _ in range(4):
            for i in range(600):
                store.put((i,))
            orders.append(tuple(_drain(store)))
        assert len(set(orders)) == 4
        assert all(sorted(order) == [(i,) for i in range(600)] for order in orders)

    def test_without_seeds_every_store_has_an_order_of_its_own(self):
        orders = set()
        for _ in range(2):
            store = ShuffleStore(0)
            for i in range(50):
                store.put((i,))
            orders.add(tuple(_drain(store)))
        assert len(orders) == 2

    def test_some_stay_until_it_is_closed(self):
        store = ShuffleStore(3, 1, 1)
        for i in range(5):
            store.put((i,))
        assert (store.ready(closed=False), store.ready(closed=True)) == (2, 5)
        store.give_back([store.take(), store.take(), store.take()])
        assert len(store) == 5
        _ = [store.take(), store.take(), store.take()]
        assert (store.ready(closed=False), store.ready(closed=True)) == (0, 2)

    def test_every_place_is_drawn_equally_often(self):
        store = ShuffleStore(0, 3, 4)
        counts = [0] * 10
        for _ in range(1000):
            for i in range(10):
                store.put((i,))
            counts[store.take()[0]] += 1
            _drain(store)
        assert all(60 < count < 140 for count in counts)


class TestPriority:
    def test_lowest_first_and_fifo_among_equals(self):
        store = PriorityStore()
        for priority, name in zip([3, 1, 2, 1, 1, 2, -(2**63)], "abcdefg", strict=True):
            store.put((priority, name))
        assert "".join(name for _, name in _drain(store)) == "gbdecfa"

    def test_elements_given_back_come_before_their_equals(self):
        store = PriorityStore()
        for name in "abcd":
            store.put((0, name))
        store.give_back([store.take(), store.take()])
        store.put((0, "e"))
        store.give_back([store.take()])
        assert "".join(name for _, name in _drain(store)) == "abcde"

    def test_elements_of_equal_priority_are_not_compared(self):
        store = PriorityStore()
        store.put((0, object()))
        store.put((0, object()))
        assert len(_drain(store)) == 2


class TestReplace:
    """A store goes on from another's elements and position, as if what was taken but not used had been given back."""

    @pytest.mark.parametrize(
        ("make", "elements"),
        [
            (FifoStore, [(i,) for i in range(9)]),
            (PriorityStore, [(p, i) for i, p in enumerate([3, 1, 2, 1, 3, 3, 1, 2, 2])]),
            (lambda: ShuffleStore(0, 7, 8), [(i,) for i in range(9)]),
            (lambda: ShuffleStore(0), [(i,) for i in range(9)]),
        ],
    )
    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_the_same_elements_follow(self, make, elements, count):
        store, copy = make(), make()
        store.put_all(elements)
        store.take()
        taken = store.take_some(count)
        copy.put_all(elements[:2])  # replaced
        copy.replace(store.elements(taken), store.position())
        store.give_back(taken)
        assert copy.position() == store.position()
        assert _drain(copy) == _drain(store)

    def test_a_position_within_and_after_a_block_of_words(self):
        for drawn in (1, 3, 4, 1023, 1024, 1025):
            store, copy = ShuffleStore(0, 1, 2), ShuffleStore(0, 3, 4)
            store.put_all([(i,) for i in range(drawn + 20)])
            store.take_some(drawn)
            copy.replace(store.elements([]), store.position())
            assert _drain(copy) == _drain(store)
