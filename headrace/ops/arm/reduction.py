"""Sums over the first axes, for 64-bit Arm: the gradients of biases and the moments of batch normalisation.

torch adds columns up one by one there; a product with ones takes a third of the time (Neoverse N1, torch 2.13, 4096 by 256:
280 us against 800).
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from headrace.core.dtypes import float32
from headrace.ops.activation import bias_add_grad, sum_to_bias
from headrace.ops.reduction import mean, mean_along, sum_along, total

_FEW = 16 << 10  # elements: with fewer, torch's sum is as quick
_LONG = 1 << 16  # rows: a product adds in a plain order, so longer columns would lose digits


@bias_add_grad.kernel(device="cpu", machine="aarch64", T=float32)
def _(out_backprop, data_format):
    axes = list(range(out_backprop.ndim - 1))
    sums = column_sums(out_backprop, axes) if data_format == "NHWC" else None
    return sum_to_bias(out_backprop, data_format) if sums is None else sums


@total.kernel(device="cpu", machine="aarch64", T=float32)
def _(x, axis, keep):
    sums = column_sums(x, axis)
    return sum_along(x, axis, keep) if sums is None else sums.view(_shape_left(x, axis, keep))


@mean.kernel(device="cpu", machine="aarch64", T=float32)
def _(x, axis, keep):
    sums = column_sums(x, axis)
    if sums is None:
        return mean_along(x, axis, keep)
    return sums.div_(x.numel() // sums.numel()).view(_shape_left(x, axis, keep))


def column_sums(x, axes):
    """The sums over the first axes, as a vector; None where torch's own sum is as good."""
    if type(x) is not torch.Tensor or x.numel() <= _FEW or not x.is_contiguous():
        return None
    count = len(axes) if isinstance(axes, list) else 1
    if axes != list(range(count)) and axes != 0:
        return None
    rows, columns = math.prod(x.shape[:count]), math.prod(x.shape[count:])
    if columns < 8 or not 32 <= rows <= _LONG:
        return None
    return torch.mv(x.view(rows, columns).t(), _ones(rows))


@lru_cache(maxsize=64)
def _ones(count):
    return torch.ones(count)


def _shape_left(x, axes, keep):
    """The shape that sums over the first axes have."""
    count = len(axes) if isinstance(axes, list) else 1
    return (1,) * (count if keep else 0) + x.shape[count:]
