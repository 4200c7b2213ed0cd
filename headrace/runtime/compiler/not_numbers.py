"""Ops that torch's compiler writes in a way that treats NaN otherwise than their kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch

aten = torch.ops.aten


def _sign(x: torch.Tensor) -> Any:
    """NaN stays NaN, where compiled code would make it 0."""
    if not x.dtype.is_floating_point:
        return NotImplemented
    return torch.where(x != x, x, (x > 0).to(x.dtype) - (x < 0).to(x.dtype))


def _threshold_backward(grad: torch.Tensor, x: torch.Tensor, threshold: float) -> Any:
    """No gradient where the input is NaN, where compiled code would pass it on."""
    return torch.where(x > threshold, grad, 0)


REPLACEMENTS: Final[dict[Any, Callable[..., Any]]] = {
    aten.sign.default: _sign,
    aten.threshold_backward.default: _threshold_backward,
}
