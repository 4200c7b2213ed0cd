"""Copies of variables on another task: generations, layouts and shares, without any task."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headrace.core.dtypes import float32
from headrace.core.errors import AbortedError, NotFoundError
from headrace.resources.state.memory_copy import ALL, CopyShare, Generation, MemoryCopies, RowMarks
from headrace.resources.state.variable import Variable


def generation(number: int, step: int, value: float = 0.0, layout: str = "v") -> Generation:
    return Generation(number, step, layout, [torch.full([2], value), np.array([b"text"], object)])


def test_the_last_one_stays_until_the_next_is_there() -> None:
    copies = MemoryCopies()
    share = CopyShare(copies)
    copies.keep(share, 0, generation(10, 1))
    copies.keep(share, 10, generation(20, 2))
    assert copies.generations("v") == [(10, 1), (20, 2)]
    copies.keep(share, 10, generation(30, 3))  # 20 was not whole on all tasks
    assert copies.generations("v") == [(10, 1), (30, 3)]
    copies.keep(share, 99, generation(40, 4))
    assert copies.generations("v") == [(40, 4)]


def test_values_are_copied_into_the_memory_of_what_goes() -> None:
    copies = MemoryCopies()
    share = CopyShare(copies)
    value = torch.ones(2)
    copies.keep(share, 0, Generation(1, 1, "v", [value]))
    value.zero_()
    (first,) = copies.take(1, "v")
    assert first.tolist() == [1.0, 1.0]
    copies.keep(share, 1, Generation(2, 2, "v", [value]))
    copies.keep(share, 2, Generation(3, 3, "v", [torch.full([2], 3.0)]))
    (third,) = copies.take(3, "v")
    assert third.data_ptr() == first.data_ptr() and third.tolist() == [3.0, 3.0]
    copies.keep(share, 3, Generation(4, 4, "v", [torch.ones(5)]))  # a variable whose shape is not declared
    assert copies.take(4, "v")[0].tolist() == [1.0] * 5


def test_rows_are_changed_in_the_memory_of_the_base() -> None:
    copies = MemoryCopies()
    share = CopyShare(copies)
    for number, value in ((1, 1.0), (2, 2.0)):
        copies.keep(share, number - 1, Generation(number, number, "v", [torch.full([4], value)]))
    some = [torch.tensor([1, 3])]
    copies.keep(share, 2, Generation(3, 3, "v", [torch.tensor([7.0, 8.0])], 1, some))
    assert copies.take(3, "v")[0].tolist() == [1.0, 7.0, 1.0, 8.0]
    rows, values = copies.change(3, "v")
    assert rows[0].tolist() == [1, 3] and values[0].tolist() == [7.0, 8.0]
    rows, values = copies.change(2, "v")
    assert rows == [ALL] and values[0].tolist() == [2.0] * 4
    with pytest.raises(AbortedError, match="no generation 1 of the copy  to be changed"):
        copies.keep(share, 3, Generation(4, 4, "v", [torch.tensor([7.0, 8.0])], 1, some))
    assert copies.generations("v") == [(3, 3)]


def test_marks_end_with_their_session() -> None:
    variable, marks = Variable("v", float32, torch.device("cpu")), RowMarks()
    variable.assign(torch.zeros(4))
    assert marks.rows(variable, 0, 0, 1) is None and marks.rows(variable, 1, 0, 2) is None
    assert variable.touched is not None
    variable.touched.mark(torch.tensor([2]))
    assert marks.rows(variable, 0, 1, 3).tolist() == [2]
    assert marks.rows(variable, 1, 2, 4).tolist() == [2]
    assert marks.rows(variable, 0, 3, 5).tolist() == []
    marks.end()
    assert variable.touched is None and marks.rows(variable, 0, 5, 6) is None


def test_strings_are_copied() -> None:
    copies = MemoryCopies()
    share = CopyShare(copies)
    text = np.array([b"a"], object)
    copies.keep(share, 0, Generation(1, 1, "v", [text]))
    text[0] = b"b"
    assert copies.take(1, "v")[0].tolist() == [b"a"]


def test_another_layout_is_not_found() -> None:
    copies = MemoryCopies("of task 1")
    share = CopyShare(copies)
    copies.keep(share, 0, generation(1, 1, layout="v float32 (2,)"))
    assert copies.generations("v float32 (3,)") == []
    with pytest.raises(NotFoundError, match=r"no generation 1 of the copy of task 1; there are \[1\]"):
        copies.take(1, "v float32 (3,)")
    copies.keep(share, 1, generation(2, 2, layout="v float32 (3,)"))
    assert copies.generations("v float32 (3,)") == [(2, 2)]


def test_copies_end_with_the_last_share() -> None:
    copies = MemoryCopies()
    first, second = CopyShare(copies), CopyShare(copies)
    copies.keep(first, 0, generation(1, 1))
    first.end()
    assert copies.generations("v") == [(1, 1)]
    with pytest.raises(AbortedError, match="has ended"):
        copies.keep(first, 1, generation(2, 2))
    second.end()
    assert copies.generations("v") == []


def test_copies_of_another_run_are_dropped() -> None:
    copies = MemoryCopies()
    share = CopyShare(copies)
    copies.keep(share, 0, generation(1, 1))
    copies.drop()
    assert copies.generations("v") == []
