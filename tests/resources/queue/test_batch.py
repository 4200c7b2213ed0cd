"""Elements to batches and back."""

import numpy as np
import pytest
import torch

from headrace.core import dtypes
from headrace.resources.queue.batch import empty_batch, pad_and_stack, split, stack


def words(*items):
    return np.array(items, object)


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
    def test_each_element_owns_its_memory_and_no_more(self, batch):
        elements = split((batch,), 4)
        assert len({row.untyped_storage().data_ptr() for (row,) in elements}) == 4
        assert all(row.untyped_storage().nbytes() == row.numel() * 4 and row.is_contiguous() for (row,) in elements)
        batch[0] = 1
        assert all(row.count_nonzero() == 0 for (row,) in elements)

    def test_strings_are_copied(self):
        batch = words(b"a", b"b").reshape(2, 1)
        elements = split((batch,), 2)
        batch[0, 0] = b"z"
        assert elements[0][0].tolist() == [b"a"]

    def test_none(self):
        assert split((torch.zeros(0, 2),), 0) == []
        assert split((), 2) == [(), ()]
