"""Fused batch normalisation and its gradient."""

from __future__ import annotations

import numpy as np

from headrace.ops._window import CHANNELS_LAST
from headrace.ops.arrays._declare import constant, on_arrays


def _spread(x, data_format):
    """The axes to sum over, and the shape in which a statistic of the channels meets ``x``."""
    if data_format in CHANNELS_LAST:
        return tuple(range(x.ndim - 1)), (-1,)
    return (0, *range(2, x.ndim)), (-1, *[1] * (x.ndim - 2))


def _sums(x, axes):
    """Over rows at once where the channels are the last axis."""
    return np.add.reduce(x.reshape(-1, x.shape[-1]), 0) if axes[-1] < x.ndim - 1 else np.add.reduce(x, axes)


def _normalized(x, scale, offset, mean, variance, epsilon, factor, data_format, is_training):
    axes, shape = _spread(x, data_format)
    if not is_training:
        inverse = np.reciprocal(np.sqrt(np.add(variance, constant(epsilon, scale.dtype))))
        slope = np.multiply(inverse, scale)
        level = np.subtract(offset, np.multiply(mean, slope))
        y = np.add(np.multiply(x, slope.reshape(shape)), level.reshape(shape))
        return y, mean.copy(), variance.copy(), mean.copy(), variance.copy()
    channels = len(scale)
    count = x.size // channels if channels else 0
    if not count:
        nothing = np.full(channels, np.nan, scale.dtype)
        return x.copy(), nothing, nothing.copy(), nothing.copy(), nothing.copy()
    number = constant(count, scale.dtype)
    batch_mean = np.divide(_sums(x, axes), number)
    centred = np.subtract(x, batch_mean.reshape(shape))
    squares = _sums(np.square(centred), axes)
    inverse = np.reciprocal(np.sqrt(np.add(np.divide(squares, number), constant(epsilon, scale.dtype))))
    y = np.add(np.multiply(centred, np.multiply(inverse, scale).reshape(shape)), offset.reshape(shape))
    if count == 1:
        new_variance = np.zeros(channels, scale.dtype)
    else:
        new_variance = np.divide(squares, constant(count - 1, scale.dtype))
    new_mean = batch_mean.copy()
    if factor != 1.0:
        new_mean, new_variance = new_mean * scale.dtype.type(factor), new_variance * scale.dtype.type(factor)
        if len(mean) == channels:
            kept = scale.dtype.type(1 - factor)
            new_mean += mean * kept
            if count > 1:
                new_variance += variance * kept
    return y, new_mean, new_variance, batch_mean, inverse


def _denormalized(grad, x, scale, mean, spread, epsilon, data_format, is_training):
    """``spread`` is the inverse of the standard deviation while training, and the variance otherwise."""
    axes, shape = _spread(x, data_format)
    empty = np.zeros(0, scale.dtype)
    if is_training:
        inverse = spread
    else:
        inverse = np.reciprocal(np.sqrt(np.add(spread, constant(epsilon, scale.dtype))))
    centred = np.subtract(x, mean.reshape(shape))
    to_offset = _sums(grad, axes)
    to_scale = np.multiply(_sums(np.multiply(grad, centred), axes), inverse)
    slope = np.multiply(scale, inverse)
    if not is_training:
        return np.multiply(grad, slope.reshape(shape)), to_scale, to_offset, empty, empty.copy()
    number = constant(max(1, x.size // max(1, len(scale))), scale.dtype)
    along = np.divide(np.multiply(to_scale, inverse), number)
    dx = np.subtract(grad, np.divide(to_offset, number).reshape(shape))
    dx = np.subtract(dx, np.multiply(centred, along.reshape(shape)))
    return np.multiply(dx, slope.reshape(shape)), to_scale, to_offset, empty, empty.copy()


@on_arrays("FusedBatchNorm", "FusedBatchNormV2", saves=30)
def _batch_norm(*arguments):
    return _normalized(*arguments)


@on_arrays("FusedBatchNormV3", saves=30)
def _batch_norm_v3(x, scale, *rest):
    return *_normalized(x, scale, *rest), np.zeros((), scale.dtype)


@on_arrays("FusedBatchNormGrad", "FusedBatchNormGradV2", saves=30)
def _batch_norm_grad(*arguments):
    return _denormalized(*arguments)


@on_arrays("FusedBatchNormGradV3", saves=30)
def _batch_norm_grad_v3(grad, x, scale, mean, spread, unused, *attrs):
    return _denormalized(grad, x, scale, mean, spread, *attrs)
