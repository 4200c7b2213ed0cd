"""One level of a nested structure."""

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import headrace as tf
from headrace.library import nest_level

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("structure", "items"),
    [
        ([5, 6], [(0, 5), (1, 6)]),
        (Point(5, 6), [("x", 5), ("y", 6)]),
        (OrderedDict(b=6, a=5), [("a", 5), ("b", 6)]),
    ],
)
def test_children_are_in_walking_order(structure: Any, items: list[Any]) -> None:
    assert nest_level.items(structure) == items
    assert nest_level.children(structure) == [child for _, child in items]
    same = nest_level.like(structure, [7, 8])
    assert type(same) is type(structure) and nest_level.children(same) == [7, 8]


def test_a_mapping_keeps_its_own_order() -> None:
    assert list(nest_level.like(OrderedDict(b=6, a=5), [7, 8]).items()) == [("b", 8), ("a", 7)]


def test_sparse_tensors_are_walked_into_if_asked() -> None:
    sparse = tf.SparseTensor([[0]], [1], [3])
    assert not nest_level.walks(False)(sparse) and nest_level.walks(True)(sparse)
    assert nest_level.children(sparse) == [sparse.indices, sparse.values, sparse.dense_shape]


def test_types_that_are_the_same() -> None:
    assert nest_level.same_type({}, OrderedDict()) and nest_level.same_type(Point(1, 2), Point(3, 4))
    assert not nest_level.same_type([], ()) and not nest_level.same_type(Point(1, 2), (1, 2))
