"""TF1's divisions: Python 2's and Python 3's, and those that give 0 where the divisor is 0."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric.math import cast
from headrace.library.scope import name_scope

_TRUE_QUOTIENT: dict[DType, DType] = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.uint32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
}


def _same_type(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    first = convert_to_tensor(x, name="x")
    base = first.dtype.base_dtype
    second = convert_to_tensor(y, name="y", preferred_dtype=base)
    if base != second.dtype.base_dtype:
        raise TypeError(f"x and y must have the same dtype, got {base!r} != {second.dtype.base_dtype!r}")
    return first, second


@learned
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python 3's ``x / y``: integers are divided as floats (float64 for 32 and 64 bits, else float32).

    Args:
      x, y: Tensors of numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of floating-point or complex numbers.

    >>> tf.Session().run(tf.truediv([1, 3], 2))
    array([0.5, 1.5])
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        first, second = _same_type(x, y)
        base = first.dtype.base_dtype
        if not (base.is_floating or base.is_complex):
            if base not in _TRUE_QUOTIENT:
                raise TypeError(f"Invalid dtype {base!r} in __truediv__; numbers are accepted")
            first, second = cast(first, _TRUE_QUOTIENT[base]), cast(second, _TRUE_QUOTIENT[base])
        return raw_ops.RealDiv(first, second, name=scope)


@learned
def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python 2's ``x / y``: integers are divided rounding down.

    Args:
      x, y: Tensors of numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.div([7, -7], 2))
    array([ 3, -4], dtype=int32)
    """
    with name_scope(name, "div", [x, y]) as scope:
        first, second = _same_type(x, y)
        base = first.dtype.base_dtype
        quotient = raw_ops.RealDiv if base.is_floating or base.is_complex else raw_ops.FloorDiv
        return quotient(first, second, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """Python's ``x / y``, with a name.

    Args:
      x, y: Tensors of numbers of one type, whose shapes broadcast.
      name: A name for the op; None for ``truediv``.

    Returns:
      A tensor of floating-point or complex numbers.

    >>> tf.Session().run(tf.divide([1, 3], 2))
    array([0.5, 1.5])
    """
    if name is not None:
        return truediv(x, y, name)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = convert_to_tensor(x)
    return x / y


@learned
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x // y``: the quotient rounded down, for floats too.

    Args:
      x, y: Tensors of real numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.floordiv([7.0, -7.0], 2.0))
    array([ 3., -4.], dtype=float32)
    """
    with name_scope(name, "floordiv", [x, y]) as scope:
        return raw_ops.FloorDiv(x, y, name=scope)


@learned
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where y is 0.

    Args:
      x, y: Tensors of floating-point or complex numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.div_no_nan([1.0, 1.0], [0.0, 4.0]))
    array([0.  , 0.25], dtype=float32)
    """
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        first = convert_to_tensor(x, name="x")
        second = convert_to_tensor(y, name="y", dtype=first.dtype.base_dtype)
        return raw_ops.DivNoNan(first, second, name=scope)


@learned
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * y``, and 0 where y is 0 even if x is infinite or not a number.

    Args:
      x, y: Tensors of floating-point or complex numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.math.multiply_no_nan([np.nan, 3.0], [0.0, 2.0]))
    array([0., 6.], dtype=float32)
    """
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        first = convert_to_tensor(x, name="x")
        second = convert_to_tensor(y, name="y", dtype=first.dtype.base_dtype)
        return raw_ops.MulNoNan(first, second, name=scope)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """``1 / x``, and 0 where x is 0.

    Args:
      x: A tensor of floating-point or complex numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.math.reciprocal_no_nan([0.0, 4.0]))
    array([0.  , 0.25], dtype=float32)
    """
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, dtype=tensor.dtype.base_dtype, name="one")
        return raw_ops.DivNoNan(one, tensor, name=scope)
