"""Assertions: operations that stop the step, or calls that fail immediately where the graph alone shows the fault.

with tf.control_dependencies([tf.assert_positive(x)]):
    y = tf.log(x)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.core.shape import TensorShape
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.control.dependency import group, no_op, with_dependencies
from headrace.library.factory import called
from headrace.library.scope import control_dependencies, name_scope

_SHOWN = """  data: A list of tensors and strings to show in the error; None for a message with what was compared.
  summarize: How many elements of each tensor to show; None for 3, -1 for all.
  message: The first words of the error.
  name: A name for the op.

Returns:
  An operation, to put into ``tf.control_dependencies``.
"""
_NUMERIC = (*dtypes.REAL, *dtypes.COMPLEX, *dtypes.QUANTIZED)


def Assert(condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None) -> Operation:
    """Stops the step with InvalidArgumentError, showing ``data``, unless ``condition`` holds.

    Args:
      condition: A scalar bool tensor.
      data: A list of tensors and strings to show in the error.
      summarize: How many elements of each tensor to show; None for 3, -1 for all.
      name: A name for the op.

    Returns:
      An operation, to put into ``tf.control_dependencies``.

    >>> x = tf.constant(2.0)
    >>> tf.Session().run(tf.Assert(x > 0, ["x is", x]))
    """
    with name_scope(name, "Assert", [condition, *data]):
        data = [d if isinstance(d, str) else convert_to_tensor(d) for d in data]
        return raw_ops.Assert(condition, data, summarize)


# ---- numbers


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Passes ``tensor`` on; stops the step if it holds NaN or an infinity.

    Args:
      tensor: A tensor of floating-point numbers.
      message: The first words of the error.
      name: A name for the op.

    Returns:
      A tensor with the value of ``tensor``.

    >>> tf.Session().run(tf.check_numerics([1.0, 2.0], "the loss"))
    array([1., 2.], dtype=float32)
    """
    return raw_ops.CheckNumerics(tensor, message, name=name)


def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Tensor:
    """``t``, available only if all of it is finite (``x`` and ``message`` are the later names of ``t`` and ``msg``).

    Args:
      t: A tensor of floating-point numbers.
      msg: The first words of the error.
      name: A name for the op.
      x, message: The later names of ``t`` and ``msg``.

    Returns:
      A tensor with the value of ``t``.

    >>> tf.Session().run(tf.verify_tensor_all_finite([1.0, 2.0], "the loss"))
    array([1., 2.], dtype=float32)
    """
    value = _renamed("x", x, "t", t)
    text = _renamed("message", message, "msg", msg)
    with name_scope(name, "VerifyFinite", [value]):
        value = convert_to_tensor(value, name="x")
        return with_dependencies([check_numerics(value, text)], value)


def _renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    if new is None and old is None:
        raise ValueError(f"Must specify '{new_name}' (or '{old_name}')")
    return old if new is None else new


def add_check_numerics_ops() -> Operation:
    """One operation that checks every floating-point tensor of the default graph, in the order they were made.

    Returns:
      An operation that stops the step with InvalidArgumentError at the first tensor that holds NaN or an infinity.

    >>> x = tf.constant(4.0)
    >>> y = tf.sqrt(x)
    >>> check = tf.add_check_numerics_ops()
    >>> tf.Session().run([y, check])
    [np.float32(2.0), None]
    """
    assertions: list[Operation] = []
    for operation in context.get_default_graph().get_operations():
        for output in operation.outputs:
            if output.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
                with control_dependencies(assertions[-1:]):
                    assertions.append(check_numerics(output, output.name).op)
    return group(*assertions[-1:])


# ---- comparisons of two tensors


def _binary(
    name: str | None, opname: str, sign: str, op_type: str, x: Any, y: Any, data: Any, summarize: int | None,
    message: str | None,
) -> Operation:  # fmt: skip
    prefix = f"{message}\n" if message else ""
    with name_scope(name, opname, [x, y, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, None if not isinstance(x, Tensor) else x.dtype.base_dtype, name="y")
        what = f"{prefix}Condition x {sign} y did not hold element-wise:"
        if data is None:
            data = [what, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        holds = getattr(raw_ops, op_type)(x, y)
        outcome = constant_value(holds)
        if outcome is not None and not np.all(outcome):
            x_value, y_value = constant_value(x), constant_value(y)
            raise InvalidArgumentError(None, None, f"{what}\nx ({x.name}) = \n{x_value}\ny ({y.name}) = \n{y_value}")
        return Assert(_all(holds), data, summarize)


def _all(condition: Tensor) -> Tensor:
    """One truth value for a tensor of them."""
    rank = condition.shape.ndims
    if rank is not None:
        axes: Any = convert_to_tensor(np.arange(rank, dtype=np.int32), name="Const")
    else:
        axes = raw_ops.Range(0, raw_ops.Rank(condition), 1, name="range")
    return raw_ops.All(condition, axes)


def _comparison(opname: str, sign: str, op_type: str, example: str) -> Callable[..., Operation]:
    """An assertion that compares two tensors.  It holds for ``example``, the two arguments in the help text."""
    text = (
        f"Stops the step unless ``x {sign} y`` everywhere.\n\nArgs:\n"
        f"  x, y: Tensors of one type, whose shapes broadcast.\n{_SHOWN}\n"
        f">>> tf.Session().run(tf.{opname}({example}))\n"
    )

    @called(opname, text)
    def assertion(
        x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        return _binary(name, opname, sign, op_type, x, y, data, summarize, message)

    return assertion


assert_equal = _comparison("assert_equal", "==", "Equal", "[1, 2], [1, 2]")
assert_none_equal = _comparison("assert_none_equal", "!=", "NotEqual", "[1, 2], 3")
assert_less = _comparison("assert_less", "<", "Less", "[1, 2], 3")
assert_less_equal = _comparison("assert_less_equal", "<=", "LessEqual", "[1, 2], 2")
assert_greater = _comparison("assert_greater", ">", "Greater", "[1, 2], 0")
assert_greater_equal = _comparison("assert_greater_equal", ">=", "GreaterEqual", "[1, 2], 1")


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> Operation:  # fmt: skip
    """Stops the step unless ``|x - y| < atol + rtol * |y|``; both default to ten times the dtype's epsilon.

    Args:
      x, y: Tensors of one type, floating point or complex, which broadcast.
      rtol: The tolerance relative to ``|y|``, a scalar.
      atol: The absolute tolerance, a scalar.
      data: A list of tensors and strings to show in the error; None for a message with what was compared.
      summarize: How many elements of each tensor to show; None for 3, -1 for all.
      message: The first words of the error.
      name: A name for the op.

    Returns:
      An operation, to put into ``tf.control_dependencies``.

    >>> tf.Session().run(tf.assert_near([1.0, 2.0], [1.01, 2.01], atol=0.1))
    """
    prefix = f"{message}\n" if message else ""
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        dtype = x.dtype.real_dtype
        epsilon = 10 * (2.0**-7 if dtype is dtypes.bfloat16 else float(np.finfo(dtype.as_numpy_dtype).eps))
        rtol = convert_to_tensor(epsilon if rtol is None else rtol, dtype, name="rtol")
        atol = convert_to_tensor(epsilon if atol is None else atol, dtype, name="atol")
        if data is None:
            data = [
                f"{prefix}x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                f"x ({x.name}) = ", x, f"y ({y.name}) = ", y,
            ]  # fmt: skip
        tolerance = raw_ops.AddV2(atol, raw_ops.Mul(rtol, _absolute(y), name="mul"), name="add")
        near = raw_ops.Less(_absolute(raw_ops.Sub(x, y, name="sub")), tolerance)
        return Assert(_all(near), data, summarize)


def _absolute(x: Tensor) -> Tensor:
    return raw_ops.ComplexAbs(x, Tout=x.dtype.real_dtype) if x.dtype.is_complex else raw_ops.Abs(x)


# ---- comparisons with zero


def _sign(opname: str, sign: str, op_type: str, flipped: bool) -> Callable[..., Operation]:
    """An assertion by a comparison with zero, which ``flipped`` puts first: ``x > 0`` is ``0 < x``."""
    inner, symbol = ("assert_less", "<") if op_type == "Less" else ("assert_less_equal", "<=")
    text = (
        f"Stops the step unless ``x {sign} 0`` everywhere.\n\nArgs:\n  x: A tensor of real numbers.\n{_SHOWN}\n"
        f">>> tf.Session().run(tf.{opname}({'[1, 2]' if flipped else '[-1, -2]'}))\n"
    )

    @called(opname, text)
    def assertion(
        x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
    ) -> Operation:
        prefix = f"{message}\n" if message else ""
        with name_scope(name, opname, [x, data]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                data = [f"{prefix}Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = ", x]
            zero = convert_to_tensor(0, x.dtype.base_dtype)
            small, large = (zero, x) if flipped else (x, zero)
            return _binary(None, inner, symbol, op_type, small, large, data, summarize, message)

    return assertion


assert_positive = _sign("assert_positive", ">", "Less", True)
assert_negative = _sign("assert_negative", "<", "Less", False)
assert_non_negative = _sign("assert_non_negative", ">=", "LessEqual", True)
assert_non_positive = _sign("assert_non_positive", "<=", "LessEqual", False)


# ---- monotony


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element, in row-major order, is smaller than the one before it.

    Args:
      x: A tensor of numbers.
      name: A name for the op.

    Returns:
      A scalar of bool; True for fewer than two elements.

    >>> tf.Session().run(tf.is_non_decreasing([1, 1, 2]))
    np.True_
    """
    with name_scope(name, "is_non_decreasing", [x]):
        return _steps(x, "GreaterEqual")


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether every element, in row-major order, is larger than the one before it.

    Args:
      x: A tensor of numbers.
      name: A name for the op.

    Returns:
      A scalar of bool; True for fewer than two elements.

    >>> tf.Session().run(tf.is_strictly_increasing([1, 1, 2]))
    np.False_
    """
    with name_scope(name, "is_strictly_increasing", [x]):
        return _steps(x, "Greater")


def _steps(x: Any, op_type: str) -> Tensor:
    x = convert_to_tensor(x, name="x")
    if not is_numeric_tensor(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    line = raw_ops.Reshape(x, [-1])
    # Everything but the first against everything but the last; both are empty for fewer than two elements.
    later = raw_ops.StridedSlice(line, [1], [0], [1], end_mask=1)
    earlier = raw_ops.StridedSlice(line, [0], [-1], [1])
    return _all(getattr(raw_ops, op_type)(later, earlier))


# ---- shapes


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """``x`` with its static shape refined by ``shape``; a value of another shape stops the step.

    Args:
      x: A tensor.
      shape: The shape it must have, a list or a TensorShape, with None for sizes that may vary.
      name: A name for the op.

    Returns:
      A tensor with the value of ``x``.

    >>> x = tf.placeholder(tf.float32)
    >>> tf.ensure_shape(x, [None, 3]).shape.as_list()
    [None, 3]
    """
    return raw_ops.EnsureShape(x, shape if isinstance(shape, TensorShape) else TensorShape(shape), name=name)


def _rank(
    x: Any, ranks: Sequence[Any], data: Any, summarize: int | None, message: str | None, how: str, op_type: str,
    holds: Any,
) -> Operation:  # fmt: skip
    """``holds(rank, wanted)`` decides statically, ``op_type`` at run time; any of ``ranks`` will do."""
    prefix = f"{message}.  " if message else ""
    accepted = [_checked_rank(convert_to_tensor(r, dtypes.int32, name="rank")) for r in ranks]
    x = convert_to_tensor(x, name="x")
    static_ranks = [None if v is None else int(v) for v in map(constant_value, accepted)]
    static_rank = x.shape.ndims
    if static_rank is not None and None not in static_ranks:
        if any(holds(static_rank, k) for k in static_ranks):
            return no_op(name="static_checks_determined_all_ok")
        text = " or ".join(str(k) for k in static_ranks)
        raise ValueError(
            f"{prefix}Tensor {x.name} must have rank {how}{text}.  Received rank {static_rank}, shape {x.shape}"
        )
    if data is None:
        data = [
            f"{prefix}Tensor {x.name} must have rank {how or 'in '}".rstrip(),
            *accepted, "Received shape: ", raw_ops.Shape(x),
        ]  # fmt: skip
    rank = raw_ops.Rank(x)
    verdict = getattr(raw_ops, op_type)(rank, accepted[0])
    for other in accepted[1:]:
        verdict = raw_ops.LogicalOr(verdict, getattr(raw_ops, op_type)(rank, other))
    return Assert(verdict, data, summarize)


def _checked_rank(rank: Tensor) -> Tensor:
    if rank.shape.ndims not in (None, 0):
        raise ValueError("Rank must be a scalar.")
    return rank


def _rank_assertion(opname: str, text: str, how: str, op_type: str, holds: Any) -> Callable[..., Operation]:
    told = (
        f"{text}\n\nArgs:\n  x: A tensor.\n  rank: A number or a scalar tensor of int32.\n{_SHOWN}\n"
        f">>> checked = tf.{opname}(tf.zeros([2, 3]), 2)\n"
    )

    @called(opname, told)
    def assertion(
        x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        with name_scope(name, opname, [x, rank, *(data or ())]):
            return _rank(x, [rank], data, summarize, message, how, op_type, holds)

    return assertion


assert_rank = _rank_assertion(
    "assert_rank",
    "``x`` must have ``rank``: a ValueError now if it is known not to, otherwise an assertion when the graph runs.",
    "",
    "Equal",
    operator.eq,
)
assert_rank_at_least = _rank_assertion(
    "assert_rank_at_least", "``x`` must have ``rank`` or more dimensions.", "at least ", "GreaterEqual", operator.ge
)


def assert_rank_in(
    x: Any, ranks: Sequence[Any], data: Any = None, summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """``x`` must have one of the ``ranks``.

    Args:
      x: A tensor.
      ranks: A list of ranks: numbers or scalar tensors.
      data: A list of tensors and strings to show in the error; None for a message with the shape.
      summarize: How many elements of each tensor to show; None for 3, -1 for all.
      message: The first words of the error.
      name: A name for the op.

    Returns:
      An operation, to put into ``tf.control_dependencies``.

    >>> checked = tf.assert_rank_in(tf.zeros([2, 3]), [2, 3])
    """
    with name_scope(name, "assert_rank_in", [x, *ranks, *(data or ())]):
        return _rank(x, list(ranks), data, summarize, message, "", "Equal", operator.eq)


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """``tensor`` if it is known to be a scalar, otherwise a ValueError.

    Args:
      tensor: A tensor.
      name: A name for the op.
      message: The first words of the error.

    Returns:
      The tensor.

    >>> tf.assert_scalar(tf.constant(3.0)).shape.as_list()
    []
    """
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.shape.ndims != 0:
            text = f"{message} " if message else ""
            raise ValueError(f"{text}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


# ---- dtypes and containers


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """A TypeError now unless ``tensor`` has dtype ``tf_type``.

    Args:
      tensor: A tensor or a SparseTensor.
      tf_type: The dtype it must have.
      message: The first words of the error.
      name: A name for the op.

    Returns:
      An operation that does nothing.

    >>> checked = tf.assert_type(tf.constant(3.0), tf.float32)
    """
    dtype = dtypes.as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        if not isinstance(tensor, SparseTensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not dtype.base_dtype:
            prefix = f"{message}  " if message else ""
            label = getattr(tensor, "name", "tensor")
            raise TypeError(f"{prefix}{label} must be of type {dtype!r}; got {tensor.dtype.base_dtype!r}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """A TypeError now unless ``x`` holds integers.

    Args:
      x: A tensor.
      message: The first words of the error.
      name: A name for the op.

    Returns:
      An operation that does nothing.

    >>> checked = tf.assert_integer(tf.constant([1, 2]))
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            prefix = f"{message}  " if message else ""
            raise TypeError(f'{prefix}Expected "x" to be integer type.  Found: {x.dtype!r}')
        return no_op("statically_determined_was_integer")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a Tensor of numbers (bool is none).

    Args:
      tensor: Anything.

    Returns:
      A Python bool.

    >>> tf.is_numeric_tensor(tf.constant(1.0)), tf.is_numeric_tensor(tf.constant("one"))
    (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype in _NUMERIC


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: Any = None) -> Any:
    """The one floating-point dtype of all ``tensors`` (float32 if there are none); a ValueError otherwise.

    Args:
      tensors: A list of tensors; those that are None are left out.
      dtype: The dtype that they must have; None for that of the first.

    Returns:
      A DType.

    >>> tf.assert_same_float_dtype([tf.constant(1.0), tf.constant([2.0])])
    tf.float32
    """
    expected = None if dtype is None else dtypes.as_dtype(dtype)
    for tensor in tensors or ():
        if tensor is None:
            continue
        tensor_dtype = tensor.dtype.base_dtype
        if expected is not None and tensor_dtype is not expected:
            raise ValueError(
                f"Expected {expected!r}, got {tensor_dtype!r} of tensor {getattr(tensor, 'name', tensor)}."
            )
        expected = tensor_dtype
    if expected is None:
        expected = dtypes.float32
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected.name}.")
    return expected


def assert_proper_iterable(values: Any) -> None:
    """A TypeError unless ``values`` is an iterable other than a tensor, an array or a string.

    Args:
      values: What to check.

    >>> tf.assert_proper_iterable([tf.constant(1), tf.constant(2)])
    """
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, bytes, str)):
        raise TypeError(f"Expected argument 'values' to be a 'proper' iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")
