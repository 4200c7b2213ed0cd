"""Feeds: Python values -> run-time values, cast as TF1 casts and checked against the fed tensor's static shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from headrace.client.conversion import conversion_of
from headrace.client.tensor_handle import TensorHandle, fed_handle
from headrace.core import dtypes
from headrace.core.source import at, user_source
from headrace.graph.constant import make_array
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor
from headrace.resources.calling.value import from_numpy, share

Convert = Callable[[Any], Any]


def expand_feeds(graph: Graph, feed_dict: Mapping[Any, Any]) -> list[tuple[Tensor, Any]]:
    """Nested keys (tuples, sparse tensors, names) -> (tensor, value) pairs.  Errors name the key."""
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"feed_dict must be a dictionary of tensors and their values, got {feed_dict!r} {at()}")
    pairs: list[tuple[Tensor, Any]] = []
    for key, value in feed_dict.items():
        pairs.extend(_expand(graph, key, value))
    seen: set[Tensor] = set()
    for tensor, _ in pairs:
        if tensor in seen:
            raise ValueError(f"{tensor.name} is fed twice in one run {at()}")
        seen.add(tensor)
    return pairs


def fed_tensors(graph: Graph, keys: Iterable[Any]) -> list[Tensor]:
    """The tensors that keys of a feed_dict stand for, without their values."""
    tensors: list[Tensor] = []
    for key in keys:
        conversion = conversion_of(key)
        if conversion is not None and conversion.feed_keys is not None:
            key = tuple(conversion.feed_keys(key))
        elif isinstance(key, SparseTensor):
            key = (key.indices, key.values, key.dense_shape)
        elif isinstance(key, IndexedSlices):
            key = (key.values, key.indices, *([] if key.dense_shape is None else [key.dense_shape]))
        if isinstance(key, tuple):
            tensors += fed_tensors(graph, key)
        else:
            tensors += [tensor for tensor, _ in _expand(graph, key, None)]
    return tensors


def _expand(graph: Graph, key: Any, value: Any) -> list[tuple[Tensor, Any]]:
    if isinstance(key, SparseTensor):
        parts = [key.indices, key.values, key.dense_shape]
        return [pair for k, v in zip(parts, tuple(value), strict=True) for pair in _expand(graph, k, v)]
    if isinstance(key, IndexedSlices):
        parts = [key.values, key.indices] + ([key.dense_shape] if key.dense_shape is not None else [])
        return [pair for k, v in zip(parts, tuple(value), strict=False) for pair in _expand(graph, k, v)]
    if isinstance(key, tuple):
        if not isinstance(value, (tuple, list, Mapping)) or len(key) != len(value):
            raise ValueError(
                f"the feed key {key!r} is a tuple of {len(key)}; its value must have the same length: {value!r} {at()}"
            )
        return [pair for k, v in zip(key, value, strict=True) for pair in _expand(graph, k, v)]
    conversion = conversion_of(key)
    if conversion is not None and conversion.feed is not None:
        return [pair for k, v in conversion.feed(key, value) for pair in _expand(graph, k, v)]
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as e:
        raise TypeError(
            f"Cannot interpret feed_dict key as Tensor: {e.args[0] if e.args else e} (run at {user_source(2)})"
        ) from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor.name} may not be fed: its graph forbids it {at()}")
    return [(tensor, value)]


def feeder(tensor: Tensor) -> Convert:
    """A function that turns a fed value into a run-time value for this tensor."""
    dtype = tensor.dtype.base_dtype
    numpy_dtype = np.dtype(dtype.as_numpy_dtype) if dtype != dtypes.string else np.dtype(object)
    dims = tensor._shape.tuple
    rank = None if dims is None else len(dims)
    fixed = [(i, d) for i, d in enumerate(dims or ()) if d is not None]
    cast = dtype if dtype == dtypes.bfloat16 or dtype.is_quantized else None
    is_string = dtype == dtypes.string
    plain = object if is_string else numpy_dtype.type  # numpy's scalars of this type

    def convert(value: Any) -> Any:
        if type(value) is not np.ndarray or is_string or not _has_type(value, numpy_dtype):
            if isinstance(value, TensorHandle):
                return fed_handle(value, tensor)
            value = np.asarray(value) if type(value) is plain else _as_array(value, tensor, numpy_dtype)
        shape = value.shape
        if rank is not None:
            if len(shape) != rank:
                raise _shape_error(shape, tensor)
            for i, d in fixed:
                if shape[i] != d:
                    raise _shape_error(shape, tensor)
        flags = value.flags
        if is_string or cast is not None or not (flags.c_contiguous and flags.writeable):
            return from_numpy(value, cast)
        return share(value)

    return convert


def _has_type(array: Any, numpy_dtype: Any) -> bool:
    """Whether torch takes the array as it is.  NumPy's ulonglong equals uint64, but torch knows only the latter."""
    return array.dtype is numpy_dtype or (array.dtype == numpy_dtype and array.dtype.num == numpy_dtype.num)


def _all_whole(value: Any) -> bool:
    """Whether these are Python's integers only.  NumPy makes floats of small ones and such above 2**63 together."""
    if isinstance(value, (list, tuple)):
        return all(map(_all_whole, value))
    return isinstance(value, int)


def _shape_error(shape: tuple[int, ...], tensor: Tensor) -> ValueError:
    return ValueError(
        f"Cannot feed value of shape {shape!r} for Tensor {tensor.name!r}, which has shape {tensor._shape!s} (made at "
        f"{tensor.op.source}; run at {user_source(3)})"
    )


def _as_array(value: Any, tensor: Tensor, numpy_dtype: Any) -> Any:
    dtype = tensor.dtype.base_dtype

    def where() -> str:
        return f"(feed of {tensor.name!r}, {dtype.name}, made at {tensor.op.source}; run at {user_source(4)})"

    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        raise TypeError(
            f"The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, "
            f"numpy ndarrays. For reference, the tensor object was {value!r} {where()}"
        )
    if value is None:
        raise TypeError(f"None cannot be fed {where()}")
    if hasattr(value, "detach") and hasattr(value, "numpy"):  # a torch tensor
        value = value.detach().cpu().numpy()
    try:
        if dtype == dtypes.string:
            return make_array(value, dtype)
        array = np.asarray(value)
        if array.dtype.kind in "SUO" or (array.dtype.kind == "f" and numpy_dtype.kind == "u" and _all_whole(value)):
            array = np.asarray(value, dtype=numpy_dtype)
        if isinstance(value, int) and not isinstance(value, bool) and dtype.is_integer:
            limits = np.iinfo(numpy_dtype)
            if not limits.min <= value <= limits.max:
                raise TypeError(
                    f"Type of feed value {value} with type int is not compatible with Tensor type {dtype.name}: it does not fit"
                )
        if array.dtype.kind == "c" and not dtype.is_complex:
            raise TypeError(f"complex values cannot be fed to a {dtype.name} tensor")
        return array.view(numpy_dtype) if array.dtype == numpy_dtype else array.astype(numpy_dtype)
    except (ValueError, TypeError, OverflowError) as e:
        error_class = ValueError if isinstance(e, ValueError) else type(e)
        if "inhomogeneous" in str(e):
            raise ValueError(
                f"the value fed is inhomogeneous: its nested sequences have different lengths. Pad them to one length {where()}"
            ) from None
        raise error_class(f"{e} {where()}") from None
