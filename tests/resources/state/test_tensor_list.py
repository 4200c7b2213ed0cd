"""Persistent arrays: every version keeps its items, whichever is used next."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.resources.state.tensor_list import FewTensors, TensorList


def test_a_write_leaves_the_old_version_as_it_was():
    a = TensorList([None, None])
    b = a.set(0, 1)
    c = b.set(1, 2)
    d = b.set(1, 3)
    assert [v.items() for v in (c, a, d, b, c)] == [[1, 2], [None, None], [1, 3], [1, None], [1, 2]]


def test_growing():
    a = TensorList([])
    b = a.set(2, 5)
    assert (a.size, a.items(), b.size, b.items()) == (0, [], 3, [None, None, 5])


def test_arrays_that_grow_from_one_part():
    both = TensorList([])
    left, right = both, both
    versions = []
    for i in range(40):
        left, right = left.set(i, ("left", i)), right.set(i, ("right", i))
        versions.append((left, right))
    assert left._items is not None and right._items is not None  # each holds its own: no walk from one to the other
    for i, pair in reversed(list(enumerate(versions))):
        assert [v.items() for v in pair] == [[(name, j) for j in range(i + 1)] for name in ("left", "right")]
    assert both.items() == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 99)), max_size=30))
def test_any_history_of_versions(history):
    versions, expected = [TensorList([None] * 5)], [[None] * 5]
    for which, index, value in history:
        which %= len(versions)
        versions.append(versions[which].set(index, value))
        copy = list(expected[which])
        copy[index] = value
        expected.append(copy)
    for version, items in zip(versions[::-1], expected[::-1], strict=True):
        assert version.items() == items
    for version, items in zip(versions, expected, strict=True):
        assert version.items() == items


def test_sums_of_gradients():
    full = TensorList([None, np.array(1), None])
    few = FewTensors.of([1, 2, 2], [np.array(10), np.array(5), np.array(6)])
    assert full.add(few).items() == [None, 11, 11]
    assert few.add(full).items() == [None, 11, 11]
    assert full.add(TensorList([7])).items() == [7, 1, None]
    assert few.add(few).items() == [None, 20, 22]
    assert full.items() == [None, 1, None]
    assert full.zeros().items() == [None, None, None]
