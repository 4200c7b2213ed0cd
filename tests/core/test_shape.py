"""Expected values were checked against `tf.compat.v1` with v1 tensor shapes."""

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.shape import (
    Dimension,
    TensorShape,
    as_dimension,
    as_shape,
    broadcast_shape,
    dimension_value,
    matrix,
    scalar,
    unknown_shape,
    vector,
)

UNKNOWN = TensorShape(None)

partial_shapes = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=4).map(tuple)


# Dimension


def test_dimension_values() -> None:
    assert Dimension(3).value == 3 and Dimension(None).value is None
    assert Dimension(Dimension(4)).value == 4 and Dimension(np.int64(5)).value == 5
    assert int(Dimension(3)) == 3 and [0, 1, 2, 3][Dimension(2)] == 2
    assert (str(Dimension(3)), str(Dimension(None))) == ("3", "?")
    assert (repr(Dimension(3)), repr(Dimension(None))) == ("Dimension(3)", "Dimension(None)")
    assert bool(Dimension(3)) and not Dimension(0) and not Dimension(None)


@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), ("7", TypeError), (1.5, ValueError), ([], TypeError)])
def test_dimension_refuses(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Dimension(value)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparison_with_unknown_is_none(compare: Callable[[Any, Any], Any]) -> None:
    for left in (2, 3, 4):
        assert compare(Dimension(left), 3) is compare(Dimension(left), Dimension(3)) is compare(left, 3)
    assert compare(Dimension(None), 3) is None
    assert compare(Dimension(3), None) is None
    assert compare(Dimension(None), Dimension(None)) is None


def test_comparison_with_other_things() -> None:
    assert (Dimension(3) == "a") is False and (Dimension(3) != "a") is True
    with pytest.raises(TypeError):
        Dimension(3) < "a"  # noqa: B015
    with pytest.raises(TypeError, match="unhashable"):
        hash(Dimension(3))


@pytest.mark.parametrize("combine", [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod])
def test_arithmetic(combine: Callable[[Any, Any], Any]) -> None:
    for result in (combine(Dimension(7), 3), combine(7, Dimension(3)), combine(Dimension(7), Dimension(3))):
        assert isinstance(result, Dimension) and result.value == combine(7, 3)
    for unknown in (combine(Dimension(None), 3), combine(7, Dimension(None)), combine(Dimension(7), None)):
        assert unknown.value is None
    with pytest.raises(TypeError):
        combine(Dimension(7), 1.5)


def test_arithmetic_errors() -> None:
    with pytest.raises(ValueError, match=">= 0"):
        Dimension(3) - 5
    with pytest.raises(ZeroDivisionError):
        Dimension(3) // 0
    with pytest.raises(TypeError, match="//"):
        Dimension(3) / 2
    with pytest.raises(TypeError, match="//"):
        3 / Dimension(2)
    with pytest.raises(TypeError, match="unknown"):
        int(Dimension(None))


def test_dimension_merge() -> None:
    assert Dimension(None).merge_with(4).value == 4 and Dimension(4).merge_with(None).value == 4
    assert Dimension(3).is_compatible_with(None) and not Dimension(3).is_compatible_with(4)
    with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
        Dimension(3).merge_with(4)


def test_dimension_helpers() -> None:
    dimension = Dimension(3)
    assert as_dimension(dimension) is dimension and as_dimension(None).value is None
    assert dimension_value(dimension) == 3 and dimension_value(None) is None and dimension_value(5) == 5


# TensorShape: making and reading


@pytest.mark.parametrize(
    ("given_dims", "expected"),
    [
        (None, None),
        ([], ()),
        ((2, None), (2, None)),
        ([Dimension(2), Dimension(None)], (2, None)),
        (3, (3,)),
        (Dimension(3), (3,)),
        (np.array([2, 3]), (2, 3)),
        (np.int32(4), (4,)),
        (np.array(4), (4,)),
        (TensorShape([1]), (1,)),
        (range(3), (0, 1, 2)),
        ((d for d in (5, None)), (5, None)),
        ([True], (1,)),
    ],
)
def test_construction(given_dims: Any, expected: Any) -> None:
    assert TensorShape(given_dims).tuple == expected


@pytest.mark.parametrize(
    ("dims", "error"),
    [([-1, 2], ValueError), ([1.5], ValueError), ("abc", TypeError), (b"1", TypeError), (["a"], TypeError),
     (1.5, ValueError), ([[1]], TypeError), (-2, ValueError)],
)  # fmt: skip
def test_construction_refuses(dims: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        TensorShape(dims)


def test_sizes_are_plain_ints() -> None:
    assert [type(d) for d in TensorShape([np.int64(3), True]).as_list()] == [int, int]


def test_reading_a_known_shape() -> None:
    shape = TensorShape([2, None, 3])
    assert shape.rank == shape.ndims == len(shape) == 3
    assert shape.as_list() == [2, None, 3]
    assert [d.value for d in shape] == [d.value for d in shape.dims or ()] == [2, None, 3]
    assert all(isinstance(d, Dimension) for d in shape)
    assert shape[0].value == 2 and shape[-1].value == 3 and shape[1].value is None
    assert shape[1:].as_list() == [None, 3] and shape[::2].as_list() == [2, 3]
    assert bool(shape) and bool(TensorShape([]))
    with pytest.raises(IndexError):
        shape[5]


def test_reading_an_unknown_shape() -> None:
    assert UNKNOWN.tuple is UNKNOWN.rank is UNKNOWN.ndims is UNKNOWN.dims is UNKNOWN.num_elements() is None
    assert not UNKNOWN
    assert UNKNOWN[0].value is None
    assert UNKNOWN[1:3].as_list() == [None, None] and UNKNOWN[3:1].as_list() == []
    assert UNKNOWN[1:].rank is UNKNOWN[-1:3].rank is UNKNOWN[:-1].rank is None
    for use in (len, list, TensorShape.as_list, lambda s: s[0:3:2]):
        with pytest.raises(ValueError):
            use(UNKNOWN)


def test_num_elements_and_full_definition() -> None:
    assert TensorShape([2, 3]).num_elements() == 6 and TensorShape([]).num_elements() == 1
    assert TensorShape([2, 0]).num_elements() == 0 and TensorShape([None, 0]).num_elements() is None
    assert TensorShape([]).is_fully_defined() and TensorShape([2]).is_fully_defined()
    assert not TensorShape([2, None]).is_fully_defined() and not UNKNOWN.is_fully_defined()
    TensorShape([2]).assert_is_fully_defined()
    with pytest.raises(ValueError, match=r"Shape \(\?,\) is not fully defined"):
        TensorShape([None]).assert_is_fully_defined()


def test_text() -> None:
    assert [str(TensorShape(d)) for d in (None, [], [2], [None, 2])] == ["<unknown>", "()", "(2,)", "(?, 2)"]
    assert repr(TensorShape([None, 2])) == "TensorShape([Dimension(None), Dimension(2)])"
    assert repr(UNKNOWN) == "TensorShape(None)"


def test_equality_and_hash() -> None:
    assert TensorShape([1, None]) == TensorShape([1, None]) == [1, None] == TensorShape((1, None))
    assert TensorShape([1]) == 1 and TensorShape([1]) != [1, 2] and TensorShape([1]) != "a"
    assert TensorShape(None) == UNKNOWN and (TensorShape(None) != UNKNOWN) is False and UNKNOWN == None  # noqa: E711
    assert TensorShape([1]) != None and TensorShape([None]) != UNKNOWN  # noqa: E711
    assert len({TensorShape([1, 2]), TensorShape((1, 2)), TensorShape([1, None]), UNKNOWN, TensorShape(None)}) == 3


def test_shapes_are_immutable_and_shared() -> None:
    shape = TensorShape([1, 2])
    shape.as_list().append(3)
    (shape.dims or []).append(Dimension(3))
    assert shape.rank == 2 and as_shape(shape) is copy.copy(shape) is copy.deepcopy(shape) is shape
    assert pickle.loads(pickle.dumps(shape)) == shape and pickle.loads(pickle.dumps(UNKNOWN)) == UNKNOWN
    assert TensorShape(shape).tuple is shape.tuple
    assert TensorShape.from_tuple((1, 2)) == shape and TensorShape.from_tuple(None) == UNKNOWN


def test_makers() -> None:
    assert unknown_shape() == UNKNOWN and unknown_shape(2) == [None, None] and unknown_shape(0) == []
    assert scalar() == [] and vector(None) == [None] and matrix(2, 3) == [2, 3]


# TensorShape: relations


def test_merge() -> None:
    assert TensorShape([None, 2]).merge_with([3, None]) == [3, 2]
    assert UNKNOWN.merge_with([3]) == TensorShape([3]).merge_with(None) == [3]
    for other in ([1, 3], [1]):
        with pytest.raises(ValueError, match=r"Shapes \(1, 2\) and .* are not compatible"):
            TensorShape([1, 2]).merge_with(other)


def test_compatibility() -> None:
    assert TensorShape([None, 2]).is_compatible_with([3, 2]) and UNKNOWN.is_compatible_with([3])
    assert not TensorShape([2]).is_compatible_with([2, 2]) and not TensorShape([2]).is_compatible_with([3])
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
        TensorShape([2]).assert_is_compatible_with([3])


def test_concatenate() -> None:
    assert TensorShape([1]).concatenate([None, 3]) == TensorShape([1]) + [None, 3] == [1] + TensorShape([None, 3])
    assert TensorShape([1]).concatenate(5) == [1, 5]
    assert TensorShape([1]).concatenate(None) == UNKNOWN == UNKNOWN.concatenate([1])


def test_most_specific_compatible_shape() -> None:
    assert TensorShape([1, 2, None]).most_specific_compatible_shape([1, 3, None]) == [1, None, None]
    assert TensorShape([1, 2]).most_specific_compatible_shape([1]) == UNKNOWN
    assert TensorShape([1]).most_specific_compatible_shape(None) == UNKNOWN


def test_ranks() -> None:
    shape = TensorShape([1, None])
    assert shape.with_rank(2) == shape.with_rank_at_least(2) == shape.with_rank_at_most(2) == shape
    assert UNKNOWN.with_rank(2) == [None, None]
    assert UNKNOWN.with_rank_at_least(2) == UNKNOWN.with_rank_at_most(2) == UNKNOWN
    shape.assert_same_rank(None)
    shape.assert_same_rank([3, 4])
    UNKNOWN.assert_has_rank(7)
    for fails in (
        lambda: shape.with_rank(3),
        lambda: shape.with_rank_at_least(3),
        lambda: shape.with_rank_at_most(1),
        lambda: shape.assert_has_rank(1),
        lambda: shape.assert_same_rank([1]),
    ):
        with pytest.raises(ValueError, match=r"\(1, \?\).* rank"):
            fails()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([], [2, 3], [2, 3]),
        ([2, 3], [3], [2, 3]),
        ([2, 1], [1, 3], [2, 3]),
        ([1], [0], [0]),
        ([None], [4], [4]),
        ([None], [1], [None]),
        ([None], [0], [None]),
        ([None], [None], [None]),
        ([None, 3], [], [None, 3]),
        ([2], None, None),
        (None, None, None),
    ],
)
def test_broadcast(a: Any, b: Any, expected: Any) -> None:
    assert broadcast_shape(a, b) == TensorShape(expected) == broadcast_shape(b, a)


@pytest.mark.parametrize(("a", "b"), [([2], [3]), ([0], [2]), ([None, 2], [4, 3])])
def test_broadcast_names_both_incompatible_shapes(a: Any, b: Any) -> None:
    with pytest.raises(ValueError) as error:
        broadcast_shape(a, b)
    assert str(TensorShape(a)) in str(error.value) and str(TensorShape(b)) in str(error.value)


@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_broadcast_of_known_shapes_is_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(ValueError):
            broadcast_shape(a, b)
    else:
        assert broadcast_shape(a, b).tuple == expected


@given(partial_shapes, partial_shapes)
def test_merging_and_agreeing(a: Any, b: Any) -> None:
    first, second = TensorShape(a), TensorShape(b)
    assert first.is_compatible_with(second) == second.is_compatible_with(first)
    common = first.most_specific_compatible_shape(second)
    assert common.is_compatible_with(first) and common.is_compatible_with(second)
    if first.is_compatible_with(second):
        merged = first.merge_with(second)
        assert merged == second.merge_with(first)
        assert merged.merge_with(first) == merged == merged.merge_with(second)


def test_a_whole_float_is_a_dimension() -> None:
    assert TensorShape([7.0, None]).as_list() == [7, None]
    assert TensorShape([np.float64(3)]).as_list() == [3] and Dimension(2.0).value == 2  # type: ignore[arg-type]
    for wrong in (7.5, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="Ambiguous dimension"):
            TensorShape([wrong])
