"""Reductions along axes, running sums, and a reduced array repeated back."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING
from headrace.ops.arrays._declare import constant, on_arrays


def _axes(axis):
    return tuple(axis) if type(axis) is list else axis


@on_arrays("Sum", saves=4)
def _sum(x, axis, keep):
    return x.copy() if axis == [] else np.add.reduce(x, _axes(axis), x.dtype, None, keep)


@on_arrays("Mean", saves=3, T=FLOAT_OR_COMPLEX)
def _mean(x, axis, keep):
    if axis == []:
        return x.copy()
    total = np.add.reduce(x, _axes(axis), None, None, keep)
    return np.divide(total, constant(x.size // max(1, total.size), x.dtype))


@on_arrays("Prod", saves=3)
def _prod(x, axis, keep):
    if axis == [] or not x.ndim:
        return x.copy()
    return np.multiply.reduce(x, tuple({a % x.ndim for a in axis}) if type(axis) is list else axis, x.dtype, None, keep)


@on_arrays("Max", saves=3)
def _max(x, axis, keep):
    if axis == []:
        return x.copy()
    if x.size:
        return np.maximum.reduce(x, _axes(axis), None, None, keep)
    return np.maximum.reduce(x, _axes(axis), None, None, keep, _ends(x.dtype)[0])


@on_arrays("Min", saves=3)
def _min(x, axis, keep):
    if axis == []:
        return x.copy()
    if x.size:
        return np.minimum.reduce(x, _axes(axis), None, None, keep)
    return np.minimum.reduce(x, _axes(axis), None, None, keep, _ends(x.dtype)[1])


def _ends(dtype):
    """The least and the greatest value."""
    if dtype.kind == "f":
        return -math.inf, math.inf
    limits = np.iinfo(dtype)
    return limits.min, limits.max


@on_arrays("All", most=1 << 18, saves=8)
def _all(x, axis, keep):
    return x.copy() if axis == [] else np.logical_and.reduce(x, _axes(axis), None, None, keep)


@on_arrays("Any", most=1 << 18, saves=8)
def _any(x, axis, keep):
    return x.copy() if axis == [] else np.logical_or.reduce(x, _axes(axis), None, None, keep)


@on_arrays("_Unreduce", saves=4)
def _unreduce(x, shape, axis, keep, mean):
    if mean:
        x = np.divide(x, constant(math.prod(shape) / max(1, x.size), x.dtype))
    if not keep and x.ndim:
        rank = len(shape)
        chosen = {a % rank for a in (axis if type(axis) is list else [axis])}
        x = x.reshape([1 if i in chosen else n for i, n in enumerate(shape)])
    found = np.empty(shape, x.dtype)
    found[...] = x
    return found


@on_arrays("_SumToShape", saves=4)
def _sum_to_shape(x, shape):
    if list(x.shape) == shape:
        return x
    extra = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < extra or (shape[i - extra] == 1 and x.shape[i] != 1))
    return np.add.reduce(x, axes, x.dtype).reshape(shape)


@on_arrays("L2Loss", saves=4, T=FLOATING)
def _l2_loss(t):
    flat = t.reshape(-1)
    return np.dot(flat, flat) * t.dtype.type(0.5)


@on_arrays("BiasAddGrad", saves=6)
def _bias_grad(grad, data_format):
    rank = grad.ndim
    if rank == 2:
        return np.add.reduce(grad, 0, grad.dtype)
    axes = tuple(range(rank - 1)) if data_format == "NHWC" else (0, *range(2, rank))
    return np.add.reduce(grad, axes, grad.dtype)


@on_arrays("Cumsum", saves=3)
def _cumsum(x, axis, exclusive, reverse):
    return _running(np.add, 0, x, axis, exclusive, reverse)


@on_arrays("Cumprod", saves=3)
def _cumprod(x, axis, exclusive, reverse):
    return _running(np.multiply, 1, x, axis, exclusive, reverse)


def _running(function, neutral, x, axis, exclusive, reverse):
    if not exclusive and not reverse:
        return function.accumulate(x, axis, x.dtype)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError("there is no such axis")
    axis %= x.ndim
    before = (slice(None),) * axis
    turned = x[(*before, slice(None, None, -1))] if reverse else x
    found = np.empty(x.shape, x.dtype)
    result = found[(*before, slice(None, None, -1))] if reverse else found
    if exclusive:
        result[(*before, slice(0, 1))] = neutral
        turned, result = turned[(*before, slice(0, -1))], result[(*before, slice(1, None))]
    if turned.size:
        function.accumulate(turned, axis, x.dtype, result)
    return found
