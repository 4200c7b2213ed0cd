"""Activations, bias, softmax and the cross entropies."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATING, REAL
from headrace.ops.arrays._declare import on_arrays

_NOTHING = np.array(False)  # zero of any dtype, and it changes none
FEW = 256


@on_arrays("Relu", most=2048, T=REAL)
def _relu(features):
    return np.maximum(features, _NOTHING)


@on_arrays("ReluGrad", most=512, saves=-0.5, T=REAL)
def _relu_grad(gradients, features):
    return np.where(np.greater(features, _NOTHING), gradients, _NOTHING)


@on_arrays("Relu6", most=2048, T=REAL)
def _relu6(features):
    return np.minimum(np.maximum(features, _NOTHING), 6)


@on_arrays("LeakyRelu", most=2048, saves=1, T=FLOATING)
def _leaky_relu(features, alpha):
    if not 0 <= alpha <= 1:
        return np.where(np.greater(features, _NOTHING), features, np.multiply(features, alpha))
    return np.maximum(features, np.multiply(features, alpha))


@on_arrays("Softsign", saves=5, T=FLOATING)
def _softsign(features):
    return np.divide(features, np.add(np.abs(features), 1))


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


@on_arrays("SoftmaxCrossEntropyWithLogits", most=FEW, saves=6)
def _xent(features, labels):
    if features.shape != labels.shape:
        shape = np.broadcast(features, labels).shape
        features, labels = np.broadcast_to(features, shape), np.broadcast_to(labels, shape)
    log_probability = _log_softmax(features)
    loss = np.negative(np.add.reduce(np.multiply(labels, log_probability), -1))
    return loss, np.subtract(np.exp(log_probability), labels)


@on_arrays("SparseSoftmaxCrossEntropyWithLogits", most=FEW, saves=10)
def _sparse_xent(features, labels):
    rows = np.arange(len(labels))
    if len(labels) and not (labels.min() >= 0 and labels.max() < features.shape[1]):
        raise IndexError
    log_probability = _log_softmax(features)
    backprop = np.exp(log_probability)
    backprop[rows, labels] -= 1
    return np.negative(log_probability[rows, labels]), backprop
