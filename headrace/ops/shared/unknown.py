"""Matrices with elements that are no numbers.

Libraries disagree about them: MKL refuses to decompose what OpenBLAS decomposes, and the other way round.  So none sees them.
"""

from __future__ import annotations

import torch


def replaced(matrices: torch.Tensor, unknown: torch.Tensor) -> torch.Tensor:
    """Square matrices, with the identity in place of those that are unknown."""
    identity = torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)
    return torch.where(unknown[..., None, None], identity, matrices)


def blotted(results: torch.Tensor, unknown: torch.Tensor) -> torch.Tensor:
    """The results, NaN for the matrices that are unknown."""
    return torch.where(unknown[..., None, None], float("nan"), results)


def any_nan(matrices: torch.Tensor) -> torch.Tensor:
    """Which matrices have an element that is NaN."""
    return matrices.isnan().flatten(-2).any(-1)
