"""Python values -> arrays, by TF1's rules: Python floats are float32, integers int32, and nothing is promoted silently."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import Dimension

Array = np.ndarray[Any, Any]


def make_array(value: Any, dtype: DType | None = None, shape: Any = None, verify_shape: bool = False) -> Array:
    """``value`` as an array of ``dtype`` (or of the dtype TF1 would choose), broadcast to ``shape`` if given.

    Raises TypeError when the value does not fit the dtype, ValueError when it does not fit the shape.
    """
    dtype = dtype.base_dtype if dtype is not None else None
    array = _from_numpy(value, dtype) if isinstance(value, (np.ndarray, np.generic)) else _from_python(value, dtype)
    if shape is None:
        return array
    dims = [int(d) for d in shape]
    size = int(np.prod(dims, dtype=np.int64)) if dims else 1
    if verify_shape:
        if list(array.shape) != dims:
            raise TypeError(f"Expected Tensor's shape: {tuple(dims)}, got {array.shape}.")
        return array
    if array.size == size:
        return array.reshape(dims)
    if size == 0 and not isinstance(value, (np.ndarray, np.generic)):
        return np.empty(dims, array.dtype)  # as TF1: constant(0.0, shape=[0, 3]) is empty
    if array.size > size:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size} for shape {dims}."
        )
    if array.size == 0:
        raise ValueError(f"an empty value cannot fill shape {dims}")
    filled = np.repeat(array.reshape(-1)[-1:], size)  # TF1 repeats the last value
    filled[: array.size] = array.reshape(-1)
    return filled.reshape(dims)


def _from_numpy(value: Any, dtype: DType | None) -> Array:
    array = np.asarray(value)
    if array.dtype.kind in "SU" or array.dtype == object:
        if dtype is not None and dtype != dtypes.string:
            if array.dtype == object:
                return _from_python(array.tolist(), dtype)
            raise TypeError(f"Expected {dtype.name}, got an array of strings ({array.dtype}).")
        return _strings(array)
    if dtype is None:
        dtypes.as_dtype(array.dtype)  # raises for dtypes TF1 has no name for
        return array
    if dtype == dtypes.string:
        raise TypeError(f"Expected string, got an array of {array.dtype}.")
    return array.astype(dtype.as_numpy_dtype, copy=False)


def _strings(array: Array) -> Array:
    out = np.empty(array.size, dtype=object)
    out[:] = [_bytes(item) for item in array.reshape(-1).tolist()]
    return out.reshape(array.shape)


def _bytes(item: Any) -> bytes:
    """A string as plain bytes, not numpy's kind of them."""
    if isinstance(item, str):
        return item.encode()
    if not isinstance(item, bytes):
        raise TypeError(f"Expected a string or bytes, got {item!r} of type {type(item).__name__}.")
    return item if type(item) is bytes else bytes(item)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _from_python(value: Any, dtype: DType | None) -> Array:
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, range):
        value = list(value)
    leaves = _leaves(value)
    if any(v is None for v in leaves):
        raise TypeError(f"None cannot be an element of a tensor: {_short(value)}")
    if dtype is None:
        dtype = _natural_dtype(leaves)
    else:
        for leaf in leaves:
            _check_leaf(leaf, dtype)
    try:
        if dtype == dtypes.string:
            shape = np.shape(_shape_probe(value))
            return _strings(np.array([*leaves, None], dtype=object)[:-1].reshape(shape))
        if dtype is not None and dtype.is_quantized:
            return np.array(value, dtype=dtype.as_numpy_dtype)  # 3 and (3,) are the same there
        array = np.array(value)
        if dtype is None:
            return _narrow(array, leaves, value)
        with np.errstate(over="ignore"):  # what does not fit wraps around or becomes infinite, as in TF1
            return array.astype(dtype.as_numpy_dtype)
    except (ValueError, OverflowError) as e:
        if "inhomogeneous" in str(e) or "sequence" in str(e):
            raise ValueError(
                f"Argument must be a dense tensor: {_short(value)} - the nested sequences have different lengths."
            ) from None
        raise TypeError(f"{_short(value)} cannot be held in {dtype.name if dtype else 'any dtype'}: {e}") from None


def _narrow(array: Array, leaves: list[Any], value: Any) -> Array:
    """numpy's choice of dtype, but float32 for float64 and int32 for int64 that fits, as TF1 prefers."""
    if array.dtype == object:
        raise TypeError(
            f"Failed to convert object of type {type(value)} to Tensor. Contents: {_short(value)}. "
            "Consider casting elements to a supported type."
        )
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    if array.dtype == np.float64 and not any(isinstance(v, np.ndarray) for v in leaves):
        return array.astype(np.float32)
    dtypes.as_dtype(array.dtype)  # raises for dtypes TF1 has no name for
    return array


def _shape_probe(value: Any) -> Any:
    """The nested value with every leaf replaced by 0, so that numpy tells its shape."""
    return [_shape_probe(v) for v in value] if isinstance(value, (list, tuple)) else 0


def _natural_dtype(leaves: list[Any]) -> DType | None:
    """string for strings, int32 for dimensions, float32 for an empty list, None where numpy decides."""
    if not leaves:
        return dtypes.float32
    if any(isinstance(v, (str, bytes)) for v in leaves):
        for v in leaves:
            if not isinstance(v, (str, bytes)):
                raise TypeError(f"Expected string, got {v!r} of type '{type(v).__name__}' instead.")
        return dtypes.string
    if any(isinstance(v, Dimension) for v in leaves):
        return dtypes.int32
    return None


def _check_leaf(leaf: Any, dtype: DType) -> None:
    """Refuses a value that TF1 does not convert to the dtype: a float for an integer, a number for a bool."""
    if isinstance(leaf, np.ndarray):
        return
    if dtype == dtypes.string:
        ok = isinstance(leaf, (str, bytes))
    elif dtype == dtypes.bool:
        ok = isinstance(leaf, (bool, np.bool_))
    elif dtype.is_integer or dtype.is_quantized:
        ok = isinstance(leaf, (int, np.integer, np.bool_, Dimension))
    elif dtype.is_floating:
        ok = isinstance(leaf, (int, float, np.integer, np.floating, np.bool_))
    elif dtype.is_complex:
        ok = isinstance(leaf, (int, float, complex, np.number, np.bool_))
    else:
        ok = False
    if not ok and hasattr(leaf, "__array__") and not isinstance(leaf, (str, bytes, np.generic)):
        ok = True
    if not ok:
        raise TypeError(f"Expected {dtype.name}, got {_short(leaf)} of type '{type(leaf).__name__}' instead.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
