"""Choosing rows by a vector: many numbers are copied row by row, few chosen one by one; the values are the same."""

import numpy as np
import pytest

from headrace.core import dtypes
from headrace.core.registry import REGISTRY


@pytest.mark.parametrize("shape", [(3, 4), (100, 64), (50, 8, 9), (3000, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_rows(shape, dtype):
    kernel = REGISTRY.get("Select").find_array_kernel({"T": dtypes.as_dtype(dtype)}).call
    rng = np.random.RandomState(0)
    t, e = (rng.randint(-9, 9, shape).astype(dtype) for _ in range(2))
    condition = rng.rand(shape[0]) < 0.4
    wanted = np.array([a if c else b for c, a, b in zip(condition, t, e, strict=True)])
    before = t.copy(), e.copy()
    turned = np.asfortranarray(t), np.asfortranarray(e)
    for left, right in ((t, e), turned, (t[::-1][::-1], e), (np.broadcast_to(t[:1], shape), e)):
        chosen = kernel(condition, left, right)
        expected = np.where(condition.reshape(-1, *[1] * (t.ndim - 1)), left, right)
        assert chosen.dtype == dtype and np.array_equal(chosen, expected)
    assert np.array_equal(kernel(condition, t, e), wanted)
    assert np.array_equal(before[0], t) and np.array_equal(before[1], e)
