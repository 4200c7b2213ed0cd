"""Summing the partial gradients that reach one tensor: dense ones by AddN, row-wise ones by concatenation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import IndexedSlices


class AggregationMethod:
    """How partial gradients are summed; all methods give the same value here.

    >>> x = tf.constant(2.0)
    >>> (slope,) = tf.gradients(x * x, x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def aggregate(grads: Sequence[Any]) -> Any:
    """The sum; IndexedSlices stay sparse when all of them are."""
    grads = [g for g in grads if g is not None]
    if not grads:
        return None
    if len(grads) == 1:
        return grads[0]
    if all(isinstance(g, IndexedSlices) for g in grads):
        return _concatenate(grads)
    if grads[0].dtype.base_dtype.name == "variant":
        return functools.reduce(raw_ops._AddVariants, grads)
    return raw_ops.AddN([convert_to_tensor(g) for g in grads])


def _concatenate(slices: Sequence[IndexedSlices]) -> IndexedSlices:
    index_dtypes = {s.indices.dtype.base_dtype for s in slices}
    indices = [s.indices for s in slices]
    if len(index_dtypes) > 1:
        indices = [raw_ops.Cast(i, DstT="int64") for i in indices]
    shape = next((s.dense_shape for s in slices if s.dense_shape is not None), None)
    return IndexedSlices(raw_ops.ConcatV2([s.values for s in slices], 0), raw_ops.ConcatV2(indices, 0), shape)
