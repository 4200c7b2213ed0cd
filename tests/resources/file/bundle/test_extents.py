"""Slices: their text, their wire form, their keys."""

import itertools

import pytest

from headrace.resources.file.bundle.extents import (
    extents_text,
    is_whole,
    parse_shape_and_slice,
    placed,
    read_slice_proto,
    shared,
    slice_key,
    slice_proto,
)


def test_text() -> None:
    assert parse_shape_and_slice("4 10 0,2:-") == ((4, 10), ((0, 2), (0, -1)))
    assert extents_text(((0, 2), (0, -1))) == "0,2:-"
    assert placed(((0, 2), (0, -1)), (4, 10)) == ((0, 2), (0, 10))
    assert is_whole(((0, 4), (0, -1)), (4, 10))
    assert not is_whole(((0, 2), (0, -1)), (4, 10))


@pytest.mark.parametrize("text", ["", "4", "4 x 0,2:-", "4 0,2:-", "4 10 0,2", "4 10 0,5:-", "4 10 0:-", "4 10 -1,2:-"])
def test_what_is_no_slice(text: str) -> None:
    with pytest.raises(ValueError, match="shape_and_slice|expected a pair|in ''|in '4'"):
        parse_shape_and_slice(text)


def test_wire_form() -> None:
    for extents in [(), ((0, -1),), ((0, 3), (5, 0), (300, 70000))]:
        assert read_slice_proto(slice_proto(extents)) == extents


def test_shared() -> None:
    assert shared(((0, 4), (2, 3)), ((3, 5), (0, 9))) == ((3, 1), (2, 3))
    assert shared(((0, 3),), ((3, 1),)) is None
    assert shared((), ()) == ()


def test_keys_sort_as_their_slices() -> None:
    numbers = [0, 1, 63, 64, 8191, 8192, 1 << 20, (1 << 27) - 1, 1 << 35, (1 << 62) - 1]
    keys = [slice_key(b"v", ((a, b),)) for a, b in itertools.product(numbers, [-1, *numbers])]
    assert keys == sorted(keys)
    assert slice_key(b"v", ((2, -1),)) == b"\x00v\x00\x01\x01\x01\x82\x7f"
    assert slice_key(b"\x00\xff", ()) == b"\x00\x00\xff\xff\x00\x00\x01\x00"
