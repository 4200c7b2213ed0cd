"""Large zeros on the host whose pages the system commits when they are first written: until then they cost nothing.

A table of rows of which a program touches few takes as much memory as the rows that it has touched.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from typing import Final

import torch

LARGE: Final = 64 << 20  # bytes from which on it is worth asking the system


def zeros(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Zeros of at least one element, whose pages are committed when they are written."""
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize)  # lives as long as the tensor
    return torch.frombuffer(memory, dtype=dtype).view(tuple(shape))
