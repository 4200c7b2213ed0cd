"""Activations, bias, softmax and the cross entropies."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATING, REAL
from headrace.ops.arrays._declare import constant, on_arrays

_NOTHING = np.array(False)  # zero of any dtype, and it changes none
FEW = 256


@on_arrays("Relu", most=2048, T=REAL)
def _relu(features):
    return np.maximum(features, _NOTHING)


@on_arrays("ReluGrad", most=2048, saves=1, T=REAL)
def _relu_grad(gradients, features):
    return np.where(np.greater(features, _NOTHING), gradients, _NOTHING)


@on_arrays("Relu6", most=2048, T=REAL)
def _relu6(features):
    return np.minimum(np.maximum(features, _NOTHING), constant(6, features.dtype))


@on_arrays("LeakyRelu", most=2048, saves=1, T=FLOATING)
def _leaky_relu(features, alpha):
    if not 0 < alpha <= 1:  # nor 0: infinity times that is no number
        return np.where(np.greater(features, _NOTHING), features, np.multiply(features, alpha))
    return np.maximum(features, np.multiply(features, constant(alpha, features.dtype)))


@on_arrays("Elu", most=FEW, saves=8)
def _elu(features):
    return np.maximum(features, np.subtract(np.exp(np.minimum(features, _NOTHING)), constant(1, features.dtype)))


@on_arrays("EluGrad", most=1 << 15, saves=6)
def _elu_grad(gradients, outputs):
    return np.multiply(gradients, np.add(np.minimum(outputs, _NOTHING), constant(1, outputs.dtype)))


@on_arrays("Softsign", saves=5, T=FLOATING)
def _softsign(features):
    return np.divide(features, np.add(np.abs(features), constant(1, features.dtype)))


@on_arrays("BiasAdd", saves=2)
def _bias_add(value, bias, data_format):
    if data_format == "NHWC":
        if value.shape[-1] != bias.shape[0]:
            raise ValueError
        return np.add(value, bias)
    if value.shape[1] != bias.shape[0]:
        raise ValueError
    return np.add(value, bias.reshape(-1, *[1] * (value.ndim - 2)))


@on_arrays("BiasAddV1")
def _bias_add_v1(value, bias):
    return _bias_add(value, bias, "NHWC")


def _shifted(logits):
    return np.subtract(logits, np.maximum.reduce(logits, -1, None, None, True))


@on_arrays("Softmax", most=FEW, saves=-5)
def _softmax(logits):
    if not logits.size:
        return logits.copy()
    grown = np.exp(_shifted(logits))
    return np.divide(grown, np.add.reduce(grown, -1, None, None, True), grown)


@on_arrays("_SoftmaxGrad", most=2048, saves=-2)
def _softmax_grad(gradients, softmax):
    product = np.multiply(gradients, softmax)
    total = np.add.reduce(product, -1, None, None, True)
    return np.subtract(product, np.multiply(softmax, total))


@on_arrays("LogSoftmax", most=FEW, saves=-5)
def _log_softmax(logits):
    if not logits.size:
        return logits.copy()
    shifted = _shifted(logits)
    return np.subtract(shifted, np.log(np.add.reduce(np.exp(shifted), -1, None, None, True)))


def _log_sum_exp(features):
    """What is left above the greatest of a row, its exponentials, their sum, and the logarithm of that."""
    shifted = _shifted(features)
    grown = np.exp(shifted)
    total = np.add.reduce(grown, -1, None, None, True)
    return shifted, grown, total, np.log(total)


@on_arrays("SoftmaxCrossEntropyWithLogits", most=2 * FEW, saves=15)
def _xent(features, labels):
    if features.shape != labels.shape:
        shape = np.broadcast(features, labels).shape
        features, labels = np.broadcast_to(features, shape), np.broadcast_to(labels, shape)
    if not features.size:
        return np.zeros(len(features), features.dtype), features.copy()
    shifted, grown, total, log_total = _log_sum_exp(features)
    loss = np.add.reduce(np.multiply(labels, np.subtract(log_total, shifted)), -1)
    return loss, np.subtract(np.divide(grown, total), labels)


@on_arrays("SparseSoftmaxCrossEntropyWithLogits", most=2 * FEW, saves=20)
def _sparse_xent(features, labels):
    if not features.size:
        return np.zeros(len(features), features.dtype), features.copy()
    if labels.min() < 0 or labels.max() >= features.shape[1]:
        raise IndexError
    rows = np.arange(len(labels))
    shifted, grown, total, log_total = _log_sum_exp(features)
    backprop = np.divide(grown, total)
    backprop[rows, labels] -= 1
    return np.subtract(log_total[:, 0], shifted[rows, labels]), backprop
