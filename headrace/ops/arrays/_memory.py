"""New memory for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def filled(shape: Any, value: Any) -> Any:
    """An array of one value; zeros take half the time."""
    if not any(value.tobytes()):  # nor is it -0
        return np.zeros(shape, value.dtype)
    found = np.empty(shape, value.dtype)
    found.fill(value)
    return found
