"""Whole numbers made of numbers of floating point: the one place where kernels do it.

Processors disagree about NaN and about numbers that the integer type cannot hold: Arm makes zero and the largest integer of
them, x86 the smallest integer.  An index must not depend on that.
"""

from __future__ import annotations

from typing import Final

import torch

FAR: Final = 1 << 31
"""A place that lies outside every picture."""


def whole(numbers: torch.Tensor, low: int, high: int) -> torch.Tensor:
    """The numbers cut towards zero and held between ``low`` and ``high``, as int64; NaN becomes ``low``."""
    clamped = numbers.nan_to_num(nan=low).clamp(low, high)
    return torch.where(clamped >= high, high, clamped.long())  # a large ``high`` is rounded up in floating point


def whole_of(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The numbers cut towards zero and held in the range of the integer type; NaN becomes its smallest."""
    limits = torch.iinfo(dtype)
    return whole(numbers, limits.min, limits.max).to(dtype)
