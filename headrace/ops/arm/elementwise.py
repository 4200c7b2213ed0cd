"""Tanh and the choice between two values, for 64-bit Arm: numpy computes larger ones.

torch has no vector code for them there.  Measured (Neoverse N1, torch 2.13, numpy 2.4, one thread): tanh of a million numbers,
4.2 ms against 10.6; a choice between two matrices of 100 by 784, 0.11 ms against 0.34.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import float32
from headrace.ops.comparison import choose_rows, select, select_anywhere, select_v2
from headrace.ops.elementwise import tanh
from headrace.ops.internal.opaque import is_traced

_MANY = 4096  # numbers: for fewer, turning tensors into arrays costs what it saves


def _is_large(x):
    return not is_traced(x) and x.numel() > _MANY and not x.requires_grad


@tanh.kernel(device="cpu", machine="aarch64", T=float32)
def _(x):
    return torch.from_numpy(np.tanh(x.numpy())) if _is_large(x) else torch.tanh(x)


@select.kernel(device="cpu", machine="aarch64", T=float32)
def _(condition, t, e):
    if condition.ndim and t.shape == e.shape and _is_large(t):
        if condition.shape == t.shape:
            return _chosen(condition, t, e)
        if condition.shape == t.shape[:1]:
            return torch.from_numpy(choose_rows(condition.numpy(), t.numpy(), e.numpy()))
    return select_anywhere(condition, t, e)


@select_v2.kernel(device="cpu", machine="aarch64", T=float32)
def _(condition, t, e):
    return _chosen(condition, t, e) if condition.ndim and _is_large(t) else torch.where(condition, t, e)


def _chosen(condition, t, e):
    return torch.from_numpy(np.where(condition.numpy(), t.numpy(), e.numpy()))
