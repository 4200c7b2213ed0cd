"""Sparse elements: a sparse tensor as one value of an element, which can be stacked and cut into rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.errors import InvalidArgumentError


class SparseValue:
    """A sparse tensor.  Immutable."""

    __slots__ = ("indices", "shape", "values")

    def __init__(self, indices: torch.Tensor, values: Any, shape: Sequence[int]) -> None:
        self.indices, self.values, self.shape = indices, values, tuple(shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> SparseValue:
        chosen = self.indices[:, 0] == row
        values = self.values[chosen] if isinstance(self.values, torch.Tensor) else self.values[chosen.numpy()]
        return SparseValue(self.indices[chosen][:, 1:], values, self.shape[1:])

    @staticmethod
    def stacked(rows: Sequence[SparseValue]) -> SparseValue:
        """Sparse tensors of one rank as a sparse tensor with one more dimension in front, large enough for all."""
        for i, row in enumerate(rows):
            if row.ndim != rows[0].ndim:
                raise InvalidArgumentError(
                    None, None,
                    f"Cannot batch sparse tensors of different ranks: element 0 has shape {list(rows[0].shape)}, element "
                    f"{i} has shape {list(row.shape)}",
                )  # fmt: skip
        numbers = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor([len(row.indices) for row in rows]))
        indices = torch.cat([numbers[:, None], torch.cat([row.indices for row in rows])], 1)
        parts = [row.values for row in rows]
        values = torch.cat(parts) if isinstance(parts[0], torch.Tensor) else np.concatenate(parts)
        return SparseValue(indices, values, (len(rows), *map(max, zip(*(row.shape for row in rows), strict=True))))
