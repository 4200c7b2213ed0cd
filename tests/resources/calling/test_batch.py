"""Elements to batches and back."""

import math

import numpy as np
import pytest
import torch

from headrace.core import dtypes
from headrace.resources.calling.batch import PIECE, empty_batch, pad_and_stack, split, stack, whole


def words(*items):
    return np.array(items, object)


TYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.bool,
    torch.uint8,
    torch.int64,
    torch.uint32,
    torch.complex64,
]


class TestStack:
    def test_numbers_and_strings(self):
        elements = [(torch.tensor(i), words(b"a", b"b"), np.array(b"%d" % i, object)) for i in range(3)]
        numbers, pairs, names = stack(elements)
        assert numbers.tolist() == [0, 1, 2]
        assert pairs.tolist() == [[b"a", b"b"]] * 3 and names.tolist() == [b"0", b"1", b"2"]
        assert (pairs.shape, names.shape, names.dtype) == ((3, 2), (3,), object)

    def test_the_batch_has_memory_of_its_own(self):
        element = (torch.zeros(2), words(b"a"))
        batch = stack([element])
        element[0].fill_(1)
        element[1][0] = b"z"
        assert batch[0].tolist() == [[0.0, 0.0]] and batch[1].tolist() == [[b"a"]]

    def test_no_components(self):
        assert stack([(), ()]) == ()


class TestPadding:
    @pytest.mark.parametrize(
        "dtype", [torch.float32, torch.int64, torch.bool, torch.uint8, torch.bfloat16, torch.complex64]
    )
    def test_one_open_dimension(self, dtype):
        elements = [(torch.ones(n, 2, dtype=dtype),) for n in (0, 2, 1)]
        (batch,) = pad_and_stack(elements, [(None, 2)], [dtypes.float32])
        assert batch.dtype == dtype and batch.shape == (3, 2, 2)
        assert batch.to(torch.complex64).real.sum(dim=(1, 2)).tolist() == [0, 4, 2]
        assert batch[2, 1].tolist() == [0, 0]

    def test_two_open_dimensions(self):
        elements = [(torch.full((a, b), 1 + a),) for a, b in ((1, 3), (2, 1))]
        (batch,) = pad_and_stack(elements, [(None, None)], [dtypes.int64])
        assert batch.tolist() == [[[2, 2, 2], [0, 0, 0]], [[3, 0, 0], [3, 0, 0]]]

    def test_strings(self):
        (batch,) = pad_and_stack([(words(b"a", b"b"),), (words(),), (words(b"c"),)], [(None,)], [dtypes.string])
        assert batch.tolist() == [[b"a", b"b"], [b"", b""], [b"c", b""]]

    def test_equal_shapes(self):
        batch = pad_and_stack([(torch.tensor(1), torch.ones(2)), (torch.tensor(2), torch.ones(2))], [(), (None,)], ())
        assert [value.tolist() for value in batch] == [[1, 2], [[1, 1], [1, 1]]]

    def test_no_elements(self):
        numbers, names = pad_and_stack([], [(None, 3), (None,)], [dtypes.int32, dtypes.string])
        assert (numbers.shape, numbers.dtype, names.shape, names.dtype) == ((0, 0, 3), torch.int32, (0, 0), object)


class TestEmpty:
    def test_fixed_shapes(self):
        numbers, names = empty_batch([(2, 3), ()], [dtypes.float64, dtypes.string])
        assert (numbers.shape, numbers.dtype, names.shape) == ((0, 2, 3), torch.float64, (0,))


class TestSplit:
    def test_numbers_and_strings(self):
        elements = split(
            (torch.arange(6).reshape(3, 2), words(b"a", b"b", b"c"), words(b"d", b"e", b"f").reshape(3, 1)), 3
        )
        assert [(a.tolist(), b[()], c.tolist()) for a, b, c in elements] == [
            ([0, 1], b"a", [b"d"]), ([2, 3], b"b", [b"e"]), ([4, 5], b"c", [b"f"]),
        ]  # fmt: skip
        assert elements[0][1].shape == ()

    @pytest.mark.parametrize(
        "batch", [torch.zeros(4, 3), torch.zeros(3, 4).t(), torch.zeros(4), torch.zeros(1, 3).expand(4, 3)]
    )
    def test_elements_share_nothing_with_the_batch_nor_each_other(self, batch):
        elements = split((batch,), 4)
        batch[0] = 1
        assert all(np.count_nonzero(row) == 0 and row.flags.c_contiguous for (row,) in elements)
        whole(elements[0])[0].fill_(2)
        assert all(np.count_nonzero(row) == 0 for (row,) in elements[1:])

    def test_a_row_keeps_no_more_than_a_piece_alive(self):
        for shape in ((100, 4), (100, 1024), (3, 10_000), (5, 0), (0, 7)):
            for (row,) in split((torch.zeros(shape),), shape[0]):
                assert row.base.nbytes <= max(PIECE, row.nbytes)
        numbers = split((torch.arange(4),), 4)
        assert all(number.base is None for (number,) in numbers)

    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 0), (3, 2, 5000)])
    def test_rows_are_tensors_again(self, dtype, shape):
        batch = (torch.arange(3 * 10_000) % 2).to(dtype)[: math.prod(shape)].reshape(shape)
        elements = split((batch,), 3)
        for (row,), expected in zip(map(whole, elements), batch, strict=True):
            assert row.dtype == dtype and row.shape == expected.shape and torch.equal(row, expected)
        (together,) = stack(elements)
        assert together.dtype == dtype and torch.equal(together, batch)
        (mixed,) = stack([whole(elements[0]), *elements[1:]])
        assert mixed.dtype == dtype and torch.equal(mixed, batch)

    def test_rows_of_different_batches_are_padded(self):
        elements = split((torch.ones(2, 3),), 2) + split((torch.full((1, 2), 2.0),), 1) + [(torch.zeros(1),)]
        (batch,) = pad_and_stack(elements, [(None,)], [dtypes.float32])
        assert batch.tolist() == [[1, 1, 1], [1, 1, 1], [2, 2, 0], [0, 0, 0]]

    def test_strings_are_copied(self):
        batch = words(b"a", b"b").reshape(2, 1)
        elements = split((batch,), 2)
        batch[0, 0] = b"z"
        assert elements[0][0].tolist() == [b"a"]

    def test_none(self):
        assert split((torch.zeros(0, 2),), 0) == []
        assert split((), 2) == [(), ()]
