"""Indices that must be from 0: numpy counts negative ones from the end."""

from __future__ import annotations

from typing import Any

import numpy as np

UNSIGNED = {4: np.uint32, 8: np.uint64}  # by bytes; a negative index read as one is too large
MANY = 1 << 18  # elements, for what torch does in several passes or on one thread

_largest = np.maximum.reduce


def check_inside(indices: Any, size: int) -> None:
    """IndexError for any that is not."""
    if indices.size and _largest(indices.view(UNSIGNED[indices.itemsize]), None) >= size:
        raise IndexError(f"an index is not in [0, {size})")
