"""Indices that must be from 0: numpy counts negative ones from the end."""

from __future__ import annotations

from typing import Any

import numpy as np

UNSIGNED = {4: np.uint32, 8: np.uint64}  # by bytes; a negative index read as one is too large
VIEW = 1 << 62  # elements: a result that shares the input's memory takes no longer where there are more

_largest = np.maximum.reduce


def are_inside(indices: Any, size: int) -> bool:
    """Whether all are in [0, size)."""
    return not indices.size or _largest(indices.view(UNSIGNED[indices.itemsize]), None) < size


def check_inside(indices: Any, size: int) -> None:
    """IndexError for any that is not."""
    if indices.size and _largest(indices.view(UNSIGNED[indices.itemsize]), None) >= size:
        raise IndexError(f"an index is not in [0, {size})")


def explain(indices: Any, size: int) -> None:
    """The error for the first that is not in [0, size), in TF1's words: for ops that write, of which nobody else is asked."""
    flat = indices.reshape(-1)
    first = int(((flat < 0) | (flat >= size)).argmax())
    where = ",".join(str(int(i)) for i in np.unravel_index(first, indices.shape)) if indices.ndim else ""
    raise ValueError(f"indices[{where}] = {int(flat[first])} is not in [0, {size})")
