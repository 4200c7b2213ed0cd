"""What repeats in a sequence of numbers."""

from headrace.runtime.compiler.repeats import Stretch, stretches


def test_nothing_repeats():
    assert stretches([], 2, 2) == []
    assert stretches(range(20), 2, 2) == []


def test_a_period_with_something_before_and_after():
    assert stretches([9, 8, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 7], 2, 3) == [Stretch(2, 12, 3)]
    assert Stretch(2, 12, 3).count == 3 and Stretch(2, 12, 3).saved == 6


def test_a_period_is_found_once_and_not_as_its_multiple():
    assert stretches([1, 2] * 8, 2, 2) == [Stretch(0, 16, 2)]
    assert stretches([1, 2] * 8, 3, 2) == [Stretch(0, 16, 4)]  # too short to count, but twice that is not


def test_too_few_copies_are_none():
    assert stretches([1, 2, 3, 1, 2, 3], 2, 3) == []
    assert stretches([1, 2, 3, 1, 2, 3], 2, 2) == [Stretch(0, 6, 3)]


def test_two_stretches():
    assert stretches([1, 2, 3] * 4 + [0] + [4, 5] * 4, 2, 3) == [Stretch(0, 12, 3), Stretch(13, 21, 2)]


def test_of_two_that_overlap_the_larger_is_taken_and_the_rest_of_the_other():
    """The last ``1, 2`` of the first period are also the first of the second."""
    items = [1, 2, 3, 4] * 5 + [1, 2] * 5
    assert stretches(items, 2, 3) == [Stretch(0, 22, 4), Stretch(22, 30, 2)]
    assert stretches(items, 2, 5) == [Stretch(0, 22, 4)]
