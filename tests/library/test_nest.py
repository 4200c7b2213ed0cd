"""Nested structures; the answers were compared with TensorFlow's nest."""

import collections

import pytest

import headrace as tf
from headrace.library import nest

Pair = collections.namedtuple("Pair", "y x")


def ordered() -> collections.OrderedDict:
    return collections.OrderedDict([("b", 1), ("a", [2, 3])])


def test_flatten_sorts_keys_and_leaves_strings_whole() -> None:
    assert tf.nest.flatten([ordered(), Pair(5, 6), "s", (7, [8])]) == [2, 3, 1, 5, 6, "s", 7, 8]
    assert tf.nest.flatten(None) == [None]
    assert tf.nest.flatten({3, 1}) == [{3, 1}]
    assert tf.nest.flatten(range(3)) == [0, 1, 2]
    assert tf.nest.flatten({}) == []


def test_pack_keeps_types_and_the_order_of_keys() -> None:
    packed = tf.nest.pack_sequence_as([ordered(), Pair(0, 0)], [1, 2, 3, 4, 5])
    assert packed == [collections.OrderedDict([("b", 3), ("a", [1, 2])]), Pair(4, 5)]
    assert list(packed[0]) == ["b", "a"]
    assert isinstance(packed[1], Pair)
    default = collections.defaultdict(list, {"z": 1, "a": 2})
    assert tf.nest.pack_sequence_as(default, [1, 2]).default_factory is list


def test_attrs() -> None:
    attr = pytest.importorskip("attr")

    @attr.s
    class Point:
        x = attr.ib()
        y = attr.ib()

    assert tf.nest.flatten(Point(1, [2])) == [1, 2]
    assert tf.nest.pack_sequence_as(Point(1, [2]), [3, 4]) == Point(3, [4])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tf.nest.pack_sequence_as([1, 2], [1]), ValueError, "had 2 elements, but flat_sequence had 1"),
        (lambda: tf.nest.pack_sequence_as(1, [1, 2]), ValueError, "Structure is a scalar"),
        (lambda: tf.nest.pack_sequence_as([1, 2], 5), TypeError, "must be a sequence"),
        (lambda: tf.nest.assert_same_structure([1, 2], (1, 2)), TypeError, "same sequence type"),
        (lambda: tf.nest.assert_same_structure([1, 2], [1, [2]]), ValueError, "is a sequence, while"),
        (lambda: tf.nest.assert_same_structure({"a": 1}, {"b": 1}), ValueError, "same set of keys"),
        (lambda: tf.nest.assert_same_structure([1, 2], [1]), ValueError, "number of elements"),
        (lambda: tf.nest.map_structure(abs, [1], foo=1), ValueError, "Only valid keyword"),
        (lambda: tf.nest.map_structure(1, [1]), TypeError, "must be callable"),
        (lambda: tf.nest.flatten({1: 2, "a": 3}), TypeError, "sortable keys"),
        (lambda: nest.flatten_up_to([1, [2]], [[3], 4]), TypeError, "input must also be a sequence"),
        (lambda: nest.flatten_up_to([1, [2]], [[3]]), ValueError, "same sequence length"),
    ],
)
def test_errors(call, error, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_map_structure() -> None:
    assert tf.nest.map_structure(lambda a, b: a + b, [1, [2]], [1, [2]]) == [2, [4]]
    assert tf.nest.map_structure(lambda a, b: a + b, [1, [2]], (1, [2]), check_types=False) == [2, [4]]
    tf.nest.assert_same_structure({"a": 1}, collections.OrderedDict(a=2))


def test_paths() -> None:
    pairs = nest.flatten_with_joined_string_paths([ordered(), Pair(5, 6)])
    assert pairs == [("0/a/0", 2), ("0/a/1", 3), ("0/b", 1), ("1/y", 5), ("1/x", 6)]
    assert nest.map_structure_with_paths(lambda p, x: (p, x), [1, {"a": 2}]) == [("0", 1), {"a": ("1/a", 2)}]


def test_shallow() -> None:
    assert nest.flatten_up_to([1, [2]], [[3], [{"q": 1}]]) == [[3], {"q": 1}]
    assert nest.map_structure_up_to([0, 0], sum, [[1, 2], [3]]) == [3, 3]
    deep = nest.get_traverse_shallow_structure(lambda s: isinstance(s, list), [1, [2, (3,)]])
    assert deep == [False, [False, False]]
    assert nest.flatten_dict_items({(1, (2, 3)): (4, (5, 6)), 7: 8}) == {1: 4, 2: 5, 3: 6, 7: 8}
    assert nest.list_to_tuple([1, {"a": [2]}]) == (1, {"a": (2,)})


def test_composites() -> None:
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    assert tf.nest.flatten([sparse]) == [sparse]
    assert tf.nest.flatten([sparse], expand_composites=True) == [sparse.indices, sparse.values, sparse.dense_shape]
