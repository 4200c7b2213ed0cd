"""What elements are padded to, and with what."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import Dimension, TensorShape
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import partial_value
from headrace.graph.operation import Tensor
from headrace.library.data import nest


def shapes_to_pad_to(spec: Any, padded_shapes: Any) -> tuple[list[Tensor], list[TensorShape]]:
    """For each component a vector, with -1 for the longest of a batch, and what is known of the shape."""
    tensors, static = [], []
    for one, shape in zip(nest.flatten(spec), nest.flatten_up_to(spec, padded_shapes), strict=True):
        if not isinstance(one, TensorSpec):
            raise TypeError(f"Batching of padded sparse tensors is not currently supported {at()}")
        tensor = _vector(shape)
        known = _known(tensor)
        if not _fits(known, one.shape):
            raise ValueError(
                f"The padded shape {known} is not compatible with the corresponding input component shape {one.shape}. {at()}"
            )
        tensors.append(tensor)
        static.append(known)
    return tensors, static


def _vector(shape: Any) -> Tensor:
    if isinstance(shape, Tensor):
        if shape.shape.ndims not in (1, None) or shape.dtype != dtypes.int64:
            raise TypeError(f"A padded shape must be a 1-D tensor of tf.int64, got {shape!r} {at()}")
        return shape
    dims = (
        shape.as_list()
        if isinstance(shape, TensorShape)
        else [d.value if isinstance(d, Dimension) else d for d in shape]
    )
    return convert_to_tensor(np.array([-1 if d is None else d for d in dims], np.int64), dtypes.int64)


def _known(vector: Tensor) -> TensorShape:
    value = partial_value(vector)
    if value is None:
        rank = vector.shape.as_list()[0] if vector.shape.ndims else None
        return TensorShape(None if rank is None else [None] * rank)
    return TensorShape([None if d is None or int(d) < 0 else int(d) for d in np.ravel(np.array(value, object))])


def _fits(padded: TensorShape, component: TensorShape) -> bool:
    if padded.ndims is None or component.ndims is None:
        return True
    if padded.ndims != component.ndims:
        return False
    pairs = zip(padded.as_list(), component.as_list(), strict=True)
    return all(p is None or c is None or p >= c for p, c in pairs)


def padding_values_of(spec: Any, padding_values: Any) -> list[Tensor]:
    """For each component what its places are filled with."""
    flat = nest.flatten(spec)
    if padding_values is None:
        return [_zero(one.dtype) for one in flat]
    if nest.is_structure(spec) and not nest.is_structure(padding_values):
        padding_values = nest.pack_sequence_as(spec, [padding_values] * len(flat))
    given = nest.flatten_up_to(spec, padding_values)
    return [_value(value, one.dtype) for value, one in zip(given, flat, strict=True)]


def _zero(dtype: DType) -> Tensor:
    return convert_to_tensor("" if dtype == dtypes.string else np.zeros([], dtype.as_numpy_dtype), dtype)


def _value(value: Any, dtype: DType) -> Tensor:
    if value is None:
        return _zero(dtype)
    tensor = convert_to_tensor(value, name="padding_value")
    if tensor.shape.ndims not in (0, None):
        raise ValueError(f"Padding value should be a scalar, but is not: {value!r} {at()}")
    if tensor.dtype != dtype:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and dtype.is_floating:
            return convert_to_tensor(value, dtype)
        raise TypeError(f"Padding value tensor ({value!r}) does not match output type: {dtype!r} {at()}")
    return tensor
