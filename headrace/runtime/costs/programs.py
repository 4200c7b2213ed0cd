"""The programs of the probes: one for each way to use a device.  Each adds nodes to the default graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, float32, int32
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.runtime.costs.probe import Made


def _fed(shape: Sequence[int], dtype: DType = float32) -> Any:
    return raw_ops.Placeholder(dtype=dtype, shape=shape)


def _ints(values: Sequence[int]) -> Any:
    array = np.array(values, np.int32)
    return raw_ops.Const(value=array, dtype=int32)


def _int(value: int) -> Any:
    return raw_ops.Const(value=np.int32(value), dtype=int32)


def repeated(make: Callable[[], Made], times: int) -> Made:
    """The same nodes so many times, each with inputs of their own: what a call takes beside its nodes is spread over all."""
    return several(*[make] * times)


def mixture(batch: int = 4, width: int = 8) -> Made:
    """What stands between the products of a training step, sums left out: next to no work."""
    x, y, bias, scale = _fed([batch, width]), _fed([batch, width]), _fed([width]), _fed([])
    hidden = raw_ops.Relu(raw_ops.BiasAdd(x, bias))
    back = raw_ops.Mul(raw_ops.ReluGrad(y, hidden), scale)
    total = raw_ops.AddN([back, raw_ops.Sub(hidden, y)])
    return [x, y, bias, scale], [raw_ops.Neg(raw_ops.Square(raw_ops.AddV2(total, x)))]


def sums(rows: int, columns: int) -> Made:
    """Sums over rows and over columns."""
    x = _fed([rows, columns])
    return [x], [raw_ops.BiasAddGrad(x), raw_ops.Mean(x, _ints([1])), raw_ops.Sum(x, _ints([0, 1]))]


def chain(length: int, shape: Sequence[int]) -> Made:
    """Element-wise nodes of four kinds in a row."""
    x, y = _fed(shape), _fed(shape)
    value = x
    for _ in range(length // 4):
        value = raw_ops.Sub(raw_ops.Relu(raw_ops.AddV2(raw_ops.Mul(value, y), y)), y)
    return [x, y], [value]


def sweep(length: int, elements: int) -> Made:
    """Sums and products of large values by elements, in a row."""
    x, y = _fed([elements]), _fed([elements])
    value = x
    for _ in range(length // 2):
        value = raw_ops.AddV2(raw_ops.Mul(value, y), y)
    return [x, y], [value]


def several(*makes: Callable[[], Made]) -> Made:
    """The nodes of several programs, one after the other."""
    feeds: list[Tensor] = []
    fetches: list[Tensor] = []
    for make in makes:
        fed, made = make()
        feeds += fed
        fetches += made
    return feeds, fetches


def product(rows: int, size: int, dtype: DType) -> Made:
    """A matrix of so many rows times a square one."""
    a, b = _fed([rows, size], dtype), _fed([size, size], dtype)
    return [a, b], [raw_ops.MatMul(a, b)]


def layer(rows: int, size: int, dtype: DType) -> Made:
    """The products of a layer that is twice as wide as what it is given, in training: forward, and both gradients."""
    x, w, grad = _fed([rows, size], dtype), _fed([size, 2 * size], dtype), _fed([rows, 2 * size], dtype)
    back = raw_ops.MatMul(grad, w, transpose_b=True)
    return [x, w, grad], [raw_ops.MatMul(x, w), back, raw_ops.MatMul(x, grad, transpose_a=True)]


LAYERS = ((28, 64, 64, 3), (14, 192, 192, 3), (7, 192, 384, 3), (14, 512, 64, 1))
"""Pixels, channels in and out, and window of layers as networks for pictures have them between their first and their last."""


def convolutions(batch: int, dtype: DType) -> Made:
    """Layers of several sizes, each with its gradients: no size is the best one of every layer."""
    return several(*(partial(convolution, batch, dtype, size, to, window, of) for size, of, to, window in LAYERS))


def convolution(batch: int, dtype: DType, size: int, channels: int, wide: int = 3, given: int = 0) -> Made:
    """A convolution and its two gradients.  ``given``: the channels that come in; 0: as many as go out."""
    given = given or channels
    picture, window = [batch, size, size, given], [wide, wide, given, channels]
    x, w, grad = _fed(picture, dtype), _fed(window, dtype), _fed([batch, size, size, channels], dtype)
    options = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    return [x, w, grad], [
        raw_ops.Conv2D(x, w, **options),
        raw_ops.Conv2DBackpropInput(_ints(picture), w, grad, **options),
        raw_ops.Conv2DBackpropFilter(x, _ints(window), grad, **options),
    ]


def poolings(batch: int) -> Made:
    """One that halves a picture, and one that keeps its size, as between and inside the blocks of a network."""
    return several(partial(pooling, batch, 28, 64), partial(pooling, batch, 14, 256, 1))


def pooling(batch: int, size: int, channels: int, step: int = 2) -> Made:
    """The largest of each 3 x 3 pixels, and its gradient.  ``step``: pixels from one to the next."""
    x, grad = _fed([batch, size, size, channels]), _fed([batch, size // step, size // step, channels])
    options = {"ksize": [1, 3, 3, 1], "strides": [1, step, step, 1], "padding": "SAME"}
    pooled = raw_ops.MaxPool(x, **options)
    return [x, grad], [pooled, raw_ops.MaxPoolGrad(x, pooled, grad, **options)]


def functions(rows: int, columns: int = 1024) -> Made:
    """Functions of each element."""
    x = _fed([rows, columns])
    return [x], [raw_ops.Tanh(x), raw_ops.Sigmoid(x), raw_ops.Exp(x), raw_ops.Sin(x)]


def loss(rows: int, classes: int = 1024) -> Made:
    """The cross entropy of rows."""
    x, labels = _fed([rows, classes]), _fed([rows], int32)
    return [x, labels], list(raw_ops.SparseSoftmaxCrossEntropyWithLogits(x, labels))


def movement(rows: int, columns: int = 1024) -> Made:
    """Two matrices side by side, and one turned."""
    x, y = _fed([rows, columns]), _fed([rows, columns])
    return [x, y], [raw_ops.ConcatV2([x, y], _int(1)), raw_ops._TransposeCopy(x)]


def rows(table: int, count: int, width: int = 64) -> Made:
    """Rows of a table by their numbers, and sums of such rows."""
    x, numbers = _fed([table, width]), _fed([count], int32)
    taken = raw_ops.GatherV2(x, numbers, _int(0))
    return [x, numbers], [taken, raw_ops.UnsortedSegmentSum(taken, numbers, _int(table))]


def drawing(elements: int) -> Made:
    """Random numbers."""
    return [], [raw_ops.RandomUniform(_ints([elements]), dtype=float32)]
