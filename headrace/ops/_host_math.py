"""Element-wise functions for which NumPy is quicker than torch on 64-bit Arm, where torch does them one by one.

Measured (Neoverse N1, torch 2.13, NumPy 2, one thread, 131,072 elements): tanh 530 against 1340 us, a choice by a mask 185
against 560 us.  NumPy uses one thread, so with more than two torch is better; with few elements torch's call is cheaper; what
is traced or on another device is torch's anyhow.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from headrace.ops._arm_convolution import USED as ARM

_FEW = 512  # elements; from so many on NumPy is quicker, calls and all
FEW = 6 << 10  # the same for choices by a mask
_FEW_COMPARED = 8 << 10
_FEW_SUMMED = 16 << 10
_CROWD = 3  # threads
_LONG = 1 << 16  # rows
_CHOSEN = (torch.float32, torch.float64, torch.int32, torch.int64, torch.bool, torch.uint8)


def _suits(x: torch.Tensor, few: int = _FEW) -> bool:
    return type(x) is torch.Tensor and x.numel() > few and x.is_cpu and torch.get_num_threads() < _CROWD


def tanh(x: torch.Tensor) -> torch.Tensor:
    """As torch.tanh."""
    if _suits(x) and (x.dtype is torch.float32 or x.dtype is torch.float64):
        return torch.from_numpy(np.tanh(x.numpy()))
    return torch.tanh(x)


def where(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """As torch.where for t and e of one type."""
    if _suits(condition, FEW) and t.dtype in _CHOSEN:
        return torch.from_numpy(np.where(condition.numpy(), t.numpy(), e.numpy()))
    return torch.where(condition, t, e)


def column_sums(x: torch.Tensor, axes: Any) -> torch.Tensor | None:
    """Sums over the first axes of a matrix or more, as one product with ones; None where that does not suit.

    torch adds columns up one by one here (measured: 4096 by 256, 800 us against 280).  A product adds in a plain order, so very
    long columns are left to torch, which loses fewer digits.
    """
    if type(x) is not torch.Tensor or x.numel() <= _FEW_SUMMED or x.dtype is not torch.float32:
        return None
    if not x.is_cpu or not x.is_contiguous():
        return None
    count = len(axes) if isinstance(axes, list) else 1
    if axes != list(range(count)) and axes != 0:
        return None
    rows, columns = math.prod(x.shape[:count]), math.prod(x.shape[count:])
    if columns < 8 or not 32 <= rows <= _LONG:
        return None
    return torch.mv(x.view(rows, columns).t(), _ones(rows))


_APART = (torch.float32, torch.float64)
_FEW_PARTS = 4


def sums_apart(x: torch.Tensor, axes: Any) -> torch.Tensor | None:
    """Sums over several axes that do not touch, without the last, one axis after the other; None where that does not suit.

    torch walks through such sums number by number (measured: 2 by 4096 by 2 by 64 over the first and third axis, 13 ms against
    0.4).
    """
    if type(axes) is not list or len(axes) < 2 or type(x) is not torch.Tensor or not x.is_cpu or x.dtype not in _APART:
        return None
    order = sorted({a % x.ndim for a in axes})
    if order[-1] == x.ndim - 1 or any(b - a == 1 for a, b in zip(order, order[1:], strict=False)):
        return None
    for axis in reversed(order):
        count = x.shape[axis]
        if not 1 < count <= _FEW_PARTS:
            x = torch.sum(x, axis)
            continue
        first, *parts = x.unbind(axis)
        x = torch.add(first, parts[0])
        for part in parts[1:]:
            x.add_(part)
    return x


@lru_cache(maxsize=64)
def _ones(count: int) -> torch.Tensor:
    return torch.ones(count)


def argmax(x: torch.Tensor, axis: int, least: bool = False) -> torch.Tensor:
    """As torch.argmax and torch.argmin; NumPy takes a tenth of the time along the last axis."""
    if type(x) is torch.Tensor and x.numel() <= _FEW:
        return torch.argmin(x, axis) if least else torch.argmax(x, axis)
    if _suits(x) and x.dtype in _CHOSEN and axis in (-1, x.ndim - 1) and x.ndim and x.is_contiguous():
        array = x.numpy()
        return torch.from_numpy(np.asarray(array.argmin(-1) if least else array.argmax(-1)))
    return torch.argmin(x, axis) if least else torch.argmax(x, axis)


_COMPARE = {
    torch.gt: np.greater, torch.ge: np.greater_equal, torch.lt: np.less, torch.le: np.less_equal, torch.eq: np.equal,
    torch.ne: np.not_equal,
}  # fmt: skip


def comparison(function: Any) -> Any:
    """As the function of torch, in less than half the time for many numbers."""
    if not ARM:
        return function
    array, plain = _COMPARE[function], torch.Tensor
    method = getattr(plain, function.__name__)  # takes less time than the function

    def compare(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if type(x) is plain and x.numel() <= _FEW_COMPARED:
            result: torch.Tensor = method(x, y)  # most calls, and the cheapest: no more questions
            return result
        if _suits(x, _FEW_COMPARED) and x.dtype is torch.float32 and type(y) is torch.Tensor:
            return torch.from_numpy(np.asarray(array(x.numpy(), y.numpy())))
        result = function(x, y)
        return result

    return compare


if not ARM:
    tanh, where = torch.tanh, torch.where  # type: ignore[assignment]  # the same functions, of more arguments
