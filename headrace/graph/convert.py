"""Anything -> Tensor: the conversion registry, constants, and lists that hold tensors.

Owns TF1's ``convert_to_tensor`` rules: no silent promotion; a Tensor of another dtype is an error, a Python value takes the
dtype asked for if it fits.  Tensors in a list are cast to it, as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY
from headrace.core.shape import Dimension, TensorShape
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.constant import make_array
from headrace.graph.operation import Operation, Tensor

Converter = Callable[..., Any]

_converters: dict[int, list[tuple[Any, Converter]]] = {}
_cache: dict[type, list[tuple[Any, Converter]]] = {}


def register_tensor_conversion_function(base_type: Any, conversion_func: Converter, priority: int = 100) -> None:
    """Teaches ``convert_to_tensor`` a type: ``conversion_func(value, dtype, name, as_ref)`` gives a Tensor or NotImplemented.

    Smaller priorities are tried first.

    Args:
      base_type: A class, or a tuple of classes.
      conversion_func: A function of the value, a dtype or None, a name or None, and whether a reference is asked for.
      priority: The order in which functions are tried, the smallest first.

    >>> class Celsius:
    ...     degrees = 20.0
    >>> tf.register_tensor_conversion_function(Celsius, lambda value, dtype, name, as_ref: tf.constant(value.degrees, dtype))
    >>> print(tf.Session().run(tf.convert_to_tensor(Celsius()) + 1.0))
    21.0
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(t, type) for t in types):
        raise TypeError(f"base_type must be a type or a tuple of types, got {base_type!r}")
    if not callable(conversion_func):
        raise TypeError(f"conversion_func must be callable, got {conversion_func!r}")
    _converters.setdefault(int(priority), []).append((base_type, conversion_func))
    _cache.clear()


def _candidates(value_type: type) -> list[tuple[Any, Converter]]:
    candidates = _cache.get(value_type)
    if candidates is None:
        candidates = [
            (base, converter)
            for priority in sorted(_converters)
            for base, converter in _converters[priority]
            if issubclass(value_type, base)
        ]
        _cache[value_type] = candidates
    return candidates


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Tensor:
    """The value as a Tensor of the default graph.

    A Tensor stays as it is, and one of another dtype than `dtype` is an error: `tf.cast` converts.  A Python value takes the
    dtype if it fits.  Tensors in a list are cast to it, and stacked.

    Args:
      value: A tensor, a variable, a number, a string, a list of them, an array, or an object of a registered class.
      dtype: The type of the elements; None for that of `value`.
      name: A name for the op, if one is made.
      preferred_dtype: The type to try first where `dtype` is None; None for that of `value`.
      dtype_hint: Another name of `preferred_dtype`.

    Returns:
      A `tf.Tensor`.

    >>> tf.convert_to_tensor([1.0, 2.0])
    <tf.Tensor 'Const:0' shape=(2,) dtype=float32>
    >>> tf.convert_to_tensor(np.arange(3), dtype=tf.float32).dtype
    tf.float32
    """
    preferred = preferred_dtype if preferred_dtype is not None else dtype_hint
    try:
        return to_tensor(
            value,
            None if dtype is None else dtypes.as_dtype(dtype),
            name,
            preferred=None if preferred is None else dtypes.as_dtype(preferred),
        )
    except (TypeError, ValueError) as e:
        raise located(e, at()) from None


def located(error: Exception, where: str) -> Exception:
    """An equal error with the user's line at the end of its message, if it has none yet."""
    if type(error) not in (TypeError, ValueError) or "(at " in str(error):
        return error
    return type(error)(f"{error} {where}")


def to_tensor(
    value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False,
    preferred: DType | None = None,
) -> Tensor:  # fmt: skip
    """``convert_to_tensor`` with checked arguments; ``as_ref`` asks a variable for its handle."""
    if isinstance(value, Tensor):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r} "
                f"(made at {value.op.source}); nothing is converted silently, use tf.cast"
            )
        return value
    for base, converter in _candidates(type(value)):
        result: Any = None
        if dtype is None and preferred is not None:
            try:
                result = converter(value, dtype=preferred, name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                result = NotImplemented
            if result is not NotImplemented and result.dtype.base_dtype != preferred.base_dtype:
                raise TypeError(
                    f"convert_to_tensor did not convert to the preferred dtype: {result.dtype.name} vs {preferred.name}"
                )
        if result is None or result is NotImplemented:
            result = converter(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor) and not hasattr(result, "numpy"):
            raise RuntimeError(f"Conversion function {converter!r} for type {base} returned non-Tensor: {result!r}")
        if dtype is not None and not dtype.is_compatible_with(result.dtype):
            raise RuntimeError(
                f"Conversion function {converter!r} for type {base} returned incompatible dtype: requested = "
                f"{dtype.name}, actual = {result.dtype.name}"
            )
        return result  # type: ignore[no-any-return]
    raise TypeError(
        f"Cannot convert {value!r} with type {type(value).__name__} to Tensor: no conversion function registered."
    )


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = "Const", verify_shape: bool = False
) -> Tensor:
    """A constant tensor: ``tf.constant([1, 2])`` is int32, ``tf.constant(1.0)`` float32; ``shape`` repeats the last value.

    Args:
      value: A number, a string, a boolean, a list of them, or an array.
      dtype: The type of the elements; None for that of `value`.
      shape: The shape; fewer values than it has room for are repeated from the last; None for that of `value`.
      name: A name for the op.
      verify_shape: Whether `value` must have exactly this shape.

    Returns:
      A `tf.Tensor`.

    >>> tf.constant([[1, 2], [3, 4]])
    <tf.Tensor 'Const:0' shape=(2, 2) dtype=int32>
    >>> tf.Session().run(tf.constant(0.5, shape=[3]))
    array([0.5, 0.5, 0.5], dtype=float32)
    """
    try:
        target_dtype = None if dtype is None else dtypes.as_dtype(dtype)
        if shape is None:
            default = context.get_default_graph()
            if default.executing_eagerly:
                return default.constant(value, target_dtype)
        elif not isinstance(shape, (list, tuple)):
            shape = TensorShape(shape).as_list()
        array = make_array(value, target_dtype, shape, verify_shape)
    except (TypeError, ValueError) as e:
        raise located(e, at()) from None
    return make_constant(array, target_dtype, name)


def make_constant(array: Any, dtype: DType | None = None, name: str | None = "Const") -> Tensor:
    """A Const node that holds the array itself (the caller must not change it afterwards)."""
    if dtype is None:
        dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    array = array.copy()
    graph = context.get_default_graph()
    node = graph.create_op(
        _const(), [], [dtype.base_dtype], name=name or "Const", attrs={"value": array, "dtype": dtype.base_dtype}
    )
    return node._outputs[0]


def _const() -> Any:
    return REGISTRY.get("Const")


def _convert_python(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    default = context.get_default_graph()
    if default.executing_eagerly:
        return default.constant(value, dtype)
    return make_constant(make_array(value, dtype), dtype, name or "Const")


def _convert_sequence(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if not _holds_tensor(value):
        return _convert_python(value, dtype, name)
    first = _dtype_of_first_tensor(value)
    if dtype is not None and first is not None and dtype.base_dtype != first:
        value = _cast_tensors(value, dtype.base_dtype)
    return _pack(value, dtype or first, name or "packed")


def _cast_tensors(value: Any, dtype: DType) -> Any:
    """The nested sequence with its tensors as ``dtype``: TF1 does so if the first of them has another."""
    if isinstance(value, (list, tuple)):
        return [_cast_tensors(item, dtype) for item in value]
    if not _is_tensor_like(value) or value.dtype.base_dtype == dtype:
        return value
    return _builders[1](to_tensor(value), dtype)


def _pack(values: Any, dtype: DType | None, name: str) -> Tensor:
    graph = context.get_default_graph()
    with graph.name_scope(name) as scope:
        parts = []
        for i, item in enumerate(values):
            if isinstance(item, (list, tuple)) and _holds_tensor(item):
                parts.append(_pack(item, dtype, str(i)))
            elif isinstance(item, Tensor) and dtype is not None and item.dtype.base_dtype != dtype.base_dtype:
                raise TypeError(
                    f"Cannot convert a list containing a tensor of dtype {item.dtype.name} to {dtype.name} (Tensor is: "
                    f"{item!r}, made at {item.op.source})"
                )
            else:
                parts.append(to_tensor(item, dtype, str(i)))
        return _builders[0](parts, scope)


_builders: list[Callable[..., Tensor]] = []


def install_builders(pack: Callable[[list[Tensor], str], Tensor], cast: Callable[[Tensor, DType], Tensor]) -> None:
    """Called once by ``build``, which this module cannot import: how to stack tensors, and how to change their type."""
    _builders[:] = [pack, cast]


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(v) for v in value)
    return _is_tensor_like(value)


def _dtype_of_first_tensor(value: Any) -> DType | None:
    if isinstance(value, (list, tuple)):
        for item in value:
            dtype = _dtype_of_first_tensor(item)
            if dtype is not None:
                return dtype
        return None
    return value.dtype.base_dtype if _is_tensor_like(value) else None


def _convert_shape(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    if dtype is not None and dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {dtype.name}; int32 and int64 are accepted")
    return constant(value.as_list(), dtype or dtypes.int32, name=name or "shape_as_tensor")


def _convert_dimension(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype is not None and dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a Dimension to dtype {dtype.name}; int32 and int64 are accepted")
    return constant(value.value, dtype or dtypes.int32, name=name or "Const")


def _convert_dtype(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(f"Cannot convert {value!r} (a dtype) to a Tensor")


def _refuse_operation(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(
        f"Can't convert Operation '{value.name}' to Tensor (target dtype={dtype.name if dtype else None!r}, "
        f"made at {value.source})"
    )


register_tensor_conversion_function((list, tuple), _convert_sequence, 99)
register_tensor_conversion_function(
    (np.ndarray, np.generic, bool, int, float, complex, str, bytes), _convert_python, 100
)
register_tensor_conversion_function(TensorShape, _convert_shape, 100)
register_tensor_conversion_function(Dimension, _convert_dimension, 100)
register_tensor_conversion_function(Operation, _refuse_operation, 100)
register_tensor_conversion_function(DType, _convert_dtype, 100)
register_tensor_conversion_function(object, _convert_python, 200)
