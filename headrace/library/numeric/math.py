"""TF1's element-wise functions: arithmetic, comparison, logic, types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor, to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor, convert_to_tensor_or_indexed_slices
from headrace.library.factory import called
from headrace.library.scope import name_scope

Unary = Callable[..., Any]
Binary = Callable[..., Any]

# ---- functions that are one op

NUMBERS = "numbers"
REAL = "real numbers"
FLOAT = "floating-point numbers"
SMOOTH = "floating-point or complex numbers"


def unary(
    name: str, op_type: str, text: str, example: str, shown: str, of: str = SMOOTH, gives: str = "", sparse: bool = False,
    prefix: str = "tf", module: str = __name__,
) -> Unary:  # fmt: skip
    """A function of ``x`` that makes one node; ``sparse`` ones also map the values of a SparseTensor.

    For the help text: ``of`` says what elements x has, ``gives`` what type comes out if not that of x; the example is
    ``prefix.name(example)`` and its value ``shown``.
    """
    args = f"  x: A tensor{' or SparseTensor' if sparse else ''} of {of}.\n"
    result = "A tensor, or a SparseTensor if ``x`` is one," if sparse else "A tensor"
    result += f" of {gives}, of the shape of ``x``." if gives else " of the type and shape of ``x``."

    @called(name, _told(text, args, result, f"{prefix}.{name}({example})", shown))
    def unary_op(x: Any, name: str | None = None) -> Any:
        if sparse and isinstance(x, SparseTensor):
            with name_scope(name, op_type, [x.values]) as scope:
                return SparseTensor(x.indices, getattr(raw_ops, op_type)(x.values, name=scope), x.dense_shape)
        return getattr(raw_ops, op_type)(x, name=name)

    unary_op.__module__ = module
    return learned(unary_op)


def binary(
    name: str, op_type: str, text: str, example: str, shown: str, of: str = NUMBERS, gives: str = "", prefix: str = "tf",
    module: str = __name__,
) -> Binary:  # fmt: skip
    """A function of ``x`` and ``y``, which broadcast, that makes one node.

    For the help text: ``of`` says what elements x and y have, ``gives`` what type comes out if not theirs; the example is
    ``prefix.name(example)`` and its value ``shown``.
    """
    args = f"  x, y: Tensors of {of}, of one type, whose shapes broadcast.\n"
    result = f"A tensor of {gives or 'their type'}, of the shape that they broadcast to."

    @called(name, _told(text, args, result, f"{prefix}.{name}({example})", shown))
    def binary_op(x: Any, y: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(x, y, name=name)

    binary_op.__module__ = module
    return learned(binary_op)


def _told(text: str, args: str, result: str, example: str, shown: str) -> str:
    """A help text.  ``shown`` is an array's elements: those with a point are float32, truth values bool, others int32."""
    dtype = "" if "e]" in shown or "e," in shown else ", dtype=float32" if "." in shown else ", dtype=int32"
    return (
        f"{text}\n\nArgs:\n{args}  name: A name for the op.\n\nReturns:\n  {result}\n\n"
        f">>> tf.Session().run({example})\narray({shown}{dtype})\n"
    )


negative = unary("negative", "Neg", "``-x``.", "[1.0, -2.0]", "[-1., 2.]", of=NUMBERS, sparse=True)
sign = unary(
    "sign",
    "Sign",
    "-1, 0 or 1; for complex numbers ``x / |x|``.",
    "[3.0, 0.0, -5.0]",
    "[ 1., 0., -1.]",
    of=NUMBERS,
    sparse=True,
)
square = unary("square", "Square", "``x * x``.", "[1.0, -3.0]", "[1., 9.]", of=NUMBERS, sparse=True)
sqrt = unary("sqrt", "Sqrt", "The square root.", "[4.0, 9.0]", "[2., 3.]", sparse=True)
rsqrt = unary("rsqrt", "Rsqrt", "One over the square root.", "[4.0, 16.0]", "[0.5 , 0.25]")
reciprocal = unary("reciprocal", "Reciprocal", "``1 / x``.", "[2.0, 4.0]", "[0.5 , 0.25]")
exp = unary("exp", "Exp", "e to the power of x.", "[0.0, 1.0]", "[1. , 2.718...]")
expm1 = unary("expm1", "Expm1", "``exp(x) - 1``, precise near zero.", "[0.0, 1.0]", "[0. , 1.718...]")
log = unary("log", "Log", "The natural logarithm.", "[1.0, 10.0]", "[0. , 2.302...]")
log1p = unary("log1p", "Log1p", "``log(1 + x)``, precise near zero.", "[0.0, 9.0]", "[0. , 2.302...]")
sin = unary("sin", "Sin", "The sine.", "[0.0, 1.0]", "[0. , 0.841...]")
cos = unary("cos", "Cos", "The cosine.", "[0.0, 1.0]", "[1. , 0.540...]")
tan = unary("tan", "Tan", "The tangent.", "[0.0, 1.0]", "[0. , 1.557...]")
asin = unary("asin", "Asin", "The inverse sine.", "[0.0, 1.0]", "[0. , 1.570...]")
acos = unary("acos", "Acos", "The inverse cosine.", "[0.0, 1.0]", "[1.570..., 0. ]")
atan = unary("atan", "Atan", "The inverse tangent.", "[0.0, 1.0]", "[0. , 0.785...]")
sinh = unary("sinh", "Sinh", "The hyperbolic sine.", "[0.0, 1.0]", "[0. , 1.175...]")
cosh = unary("cosh", "Cosh", "The hyperbolic cosine.", "[0.0, 1.0]", "[1. , 1.543...]")
tanh = unary("tanh", "Tanh", "The hyperbolic tangent.", "[0.0, 1.0]", "[0. , 0.761...]", sparse=True)
asinh = unary("asinh", "Asinh", "The inverse hyperbolic sine.", "[0.0, 1.0]", "[0. , 0.881...]")
acosh = unary("acosh", "Acosh", "The inverse hyperbolic cosine.", "[1.0, 2.0]", "[0. , 1.316...]")
atanh = unary("atanh", "Atanh", "The inverse hyperbolic tangent.", "[0.0, 0.5]", "[0. , 0.549...]")
sigmoid = unary("sigmoid", "Sigmoid", "``1 / (1 + exp(-x))``.", "[0.0, 2.0]", "[0.5 , 0.880...]")
floor = unary("floor", "Floor", "The largest integer not above x.", "[1.5, -1.5]", "[ 1., -2.]", of=FLOAT)
ceil = unary("ceil", "Ceil", "The smallest integer not below x.", "[1.5, -1.5]", "[ 2., -1.]", of=FLOAT)
rint = unary(
    "rint", "Rint", "The nearest integer; halves go to the even one.", "[0.5, 1.5, 2.2]", "[0., 2., 2.]", of=FLOAT
)
round = unary(  # noqa: A001 - TF1's name
    "round", "Round", "The nearest integer; halves go to the even one.", "[0.5, 1.5, 2.2]", "[0., 2., 2.]", of=REAL
)
is_nan = unary(
    "is_nan", "IsNan", "Whether each element is not a number.", "[1.0, np.nan]", "[False, True]", of=FLOAT, gives="bool"
)
is_inf = unary(
    "is_inf", "IsInf", "Whether each element is infinite.", "[1.0, np.inf]", "[False, True]", of=FLOAT, gives="bool"
)
is_finite = unary(
    "is_finite",
    "IsFinite",
    "Whether each element is neither infinite nor not a number.",
    "[1.0, np.inf, np.nan]",
    "[ True, False, False]",
    of=FLOAT,
    gives="bool",
)
logical_not = unary(
    "logical_not", "LogicalNot", "Whether each element is False.", "[True, False]", "[False, True]", of="bool"
)

add = binary("add", "Add", "``x + y``.", "[1, 2], [10, 20]", "[11, 22]", of="numbers or strings")
subtract = binary("subtract", "Sub", "``x - y``.", "[1, 2], [10, 20]", "[ -9, -18]")
multiply = binary("multiply", "Mul", "``x * y``.", "[1, 2], [10, 20]", "[10, 40]")
realdiv = binary("realdiv", "RealDiv", "``x / y`` of real numbers.", "[1.0, 3.0], [2.0, 2.0]", "[0.5, 1.5]", of=SMOOTH)
floor_div = binary("floor_div", "FloorDiv", "The quotient rounded down.", "[7, -7], 2", "[ 3, -4]", of=REAL)
truncatediv = binary("truncatediv", "TruncateDiv", "The quotient rounded toward zero.", "[7, -7], 2", "[ 3, -3]")
floormod = binary(
    "floormod",
    "FloorMod",
    "The remainder of division rounded down; it has the sign of ``y``.",
    "[7, -7], 3",
    "[1, 2]",
    of=REAL,
)
mod = floormod
truncatemod = binary(
    "truncatemod",
    "TruncateMod",
    "The remainder of division rounded toward zero; it has the sign of ``x``.",
    "[7, -7], 3",
    "[ 1, -1]",
    of=REAL,
)
pow = binary("pow", "Pow", "x to the power of y.", "[2.0, 3.0], 2.0", "[4., 9.]")  # noqa: A001 - TF1's name
maximum = binary("maximum", "Maximum", "The larger of x and y.", "[1, 5], [4, 2]", "[4, 5]", of=REAL)
minimum = binary("minimum", "Minimum", "The smaller of x and y.", "[1, 5], [4, 2]", "[1, 2]", of=REAL)
squared_difference = binary(
    "squared_difference", "SquaredDifference", "``(x - y) * (x - y)``.", "[1, 5], [4, 3]", "[9, 4]"
)
xdivy = binary(
    "xdivy",
    "Xdivy",
    "``x / y``, and 0 where x is 0.",
    "[0.0, 1.0], [0.0, 2.0]",
    "[0. , 0.5]",
    of=SMOOTH,
    prefix="tf.math",
)
xlogy = binary(
    "xlogy",
    "Xlogy",
    "``x * log(y)``, and 0 where x is 0.",
    "[0.0, 2.0], [0.0, 3.0]",
    "[0. , 2.197...]",
    of=SMOOTH,
    prefix="tf.math",
)
less = binary("less", "Less", "``x < y``.", "[1, 2], 2", "[ True, False]", of=REAL, gives="bool")
less_equal = binary("less_equal", "LessEqual", "``x <= y``.", "[1, 2], 1", "[ True, False]", of=REAL, gives="bool")
greater = binary("greater", "Greater", "``x > y``.", "[1, 2], 1", "[False, True]", of=REAL, gives="bool")
greater_equal = binary(
    "greater_equal", "GreaterEqual", "``x >= y``.", "[1, 2], 2", "[False, True]", of=REAL, gives="bool"
)
equal = binary(
    "equal",
    "Equal",
    "Whether the elements of x and y are equal.",
    "[1, 2], [1, 3]",
    "[ True, False]",
    of="any elements",
    gives="bool",
)
not_equal = binary(
    "not_equal",
    "NotEqual",
    "Whether the elements of x and y differ.",
    "[1, 2], [1, 3]",
    "[False, True]",
    of="any elements",
    gives="bool",
)
logical_and = binary(
    "logical_and", "LogicalAnd", "Whether both are True.", "[True, True], [True, False]", "[ True, False]", of="bool"
)
logical_or = binary(
    "logical_or",
    "LogicalOr",
    "Whether at least one is True.",
    "[True, False], [False, False]",
    "[ True, False]",
    of="bool",
)


@learned
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y).

    Args:
      y, x: Tensors of floating-point numbers of one type, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type: angles from -pi to pi.

    >>> tf.Session().run(tf.atan2([1.0, 0.0], [0.0, -1.0]))
    array([1.570..., 3.141...], dtype=float32)
    """
    return raw_ops.Atan2(y, x, name=name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The next representable number after ``x1`` toward ``x2``.

    Args:
      x1, x2: Tensors of one type, float32 or float64, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of their type.

    >>> tf.Session().run(tf.math.nextafter(tf.constant(1.0, tf.float64), 2.0))
    np.float64(1.0000000000000002)
    """
    return raw_ops.NextAfter(x1, x2, name=name)


# ---- sums


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a Tensor or IndexedSlices.

    Args:
      scalar: A number or a scalar tensor.
      x: A Tensor, a variable or IndexedSlices.
      name: A name for the op.

    Returns:
      A tensor of the type of ``x``; IndexedSlices for IndexedSlices.

    >>> tf.Session().run(tf.scalar_mul(3, tf.constant([1, 2])))
    array([3, 6], dtype=int32)
    """
    factor = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if factor.shape.ndims != 0:
        raise ValueError(f"Only scalar multiply works, got shape {factor.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(raw_ops.Mul(factor, x.values, name=name), x.indices, x.dense_shape)
    return raw_ops.Mul(factor, x, name=name)


@learned
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape; IndexedSlices among them become dense.

    Args:
      inputs: A list of tensors of one type and shape.
      name: A name for the op.

    Returns:
      A tensor of their type and shape; without a ``name``, a single tensor comes back as it is.

    >>> tf.Session().run(tf.add_n([[1, 2], [10, 20], [100, 200]]))
    array([111, 222], dtype=int32)
    """
    message = "inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape"
    if isinstance(inputs, Tensor) or not hasattr(inputs, "__iter__"):
        raise ValueError(f"{message}, got {inputs!r}")
    converted = [convert_to_tensor_or_indexed_slices(i) for i in inputs]
    if not converted:
        raise ValueError(f"{message}, got none")
    values = [convert_to_tensor(v) for v in converted]
    if len(values) == 1:
        return raw_ops.Identity(values[0], name=name) if name else values[0]
    return raw_ops.AddN(values, name=name)


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: DType | None = None, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and type.

    Args:
      inputs: A list of tensors of one type and shape.
      shape: The shape that they have; None for what is known of it.
      tensor_dtype: The type that they have; None for no check.
      name: A name for the op.

    Returns:
      A tensor of their type and shape; without a ``name``, a single tensor comes back as it is.

    >>> tf.Session().run(tf.accumulate_n([[1, 2], [10, 20], [100, 200]]))
    array([111, 222], dtype=int32)
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(message)
    tensors = [convert_to_tensor(i) for i in inputs]
    if any(t.dtype.base_dtype != tensors[0].dtype.base_dtype for t in tensors):
        raise ValueError(message)
    whole = TensorShape(shape)
    for t in tensors:
        whole = whole.merge_with(t.shape)
    if tensor_dtype is not None and tensor_dtype != tensors[0].dtype.base_dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype!r}, but input is of type {tensors[0].dtype.base_dtype!r}")
    if len(tensors) == 1:
        return raw_ops.Identity(tensors[0], name=name) if name else tensors[0]
    return raw_ops.AccumulateNV2(tensors, shape=whole, name=name)


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """The polynomial with the given coefficients, highest power first, at x.

    Args:
      coeffs: A list of numbers or tensors; an empty one is the polynomial 0.
      x: A tensor of numbers.
      name: A name for the op.

    Returns:
      A tensor of the type of ``x``.

    >>> tf.Session().run(tf.math.polyval([1.0, 0.0, 2.0], [2.0, 3.0]))
    array([ 6., 11.], dtype=float32)
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type, found {type(coeffs)}.")
    with name_scope(name, "polyval", [x, *coeffs]):
        point = convert_to_tensor(x, name="x")
        if not coeffs:
            return raw_ops.ZerosLike(point)
        total = convert_to_tensor(coeffs[0], name="coeff_0")
        for i, coefficient in enumerate(coeffs[1:], 1):
            total = convert_to_tensor(coefficient, name=f"coeff_{i}") + total * point  # type: ignore[operator]
        return total


# ---- logic


@learned
def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Whether exactly one is True.

    Args:
      x, y: Tensors of bool, whose shapes broadcast.
      name: A name for the op.

    Returns:
      A tensor of bool, of the shape that they broadcast to.

    >>> tf.Session().run(tf.logical_xor([True, True], [True, False]))
    array([False,  True])
    """
    return raw_ops.LogicalAnd(raw_ops.LogicalOr(x, y), raw_ops.LogicalNot(raw_ops.LogicalAnd(x, y)), name=name)


# ---- types


@learned
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """x as another type: floats are cut toward zero when they become integers.

    A Tensor, SparseTensor or IndexedSlices; a Tensor that already has the type comes back as it is.

    Args:
      x: A tensor of numbers or bools, a SparseTensor or IndexedSlices.
      dtype: The type to make.
      name: A name for the op.

    Returns:
      What ``x`` is, with elements of ``dtype``.

    >>> tf.Session().run(tf.cast([1.8, -1.8], tf.int32))
    array([ 1, -1], dtype=int32)
    """
    base = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype == base:
        return x
    with name_scope(name, "Cast", [getattr(x, "values", x)]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, base, name=scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, base, name=scope), x.indices, x.dense_shape)
        tensor = convert_to_tensor(x, name="x")
        return tensor if tensor.dtype.base_dtype == base else raw_ops.Cast(tensor, DstT=base, name=scope)


class _Cast(Protocol):
    def __call__(self, x: Any, name: str = ...) -> Any: ...


def _to(function: str, dtype: DType, scope: str, shown: str) -> _Cast:
    """A cast to ``dtype``; ``shown`` is what it makes of [1, 2], for the help text."""
    text = (
        f"x as {dtype.name}.\n\nArgs:\n  x: A tensor of numbers or bools, a SparseTensor or IndexedSlices.\n"
        f"  name: A name for the op.\n\nReturns:\n  What ``x`` is, with elements of {dtype.name}.\n\n"
        f">>> tf.Session().run(tf.{function}([1, 2]))\n{shown}\n"
    )

    @called(function, text)
    def to(x: Any, name: str = scope) -> Any:
        return cast(x, dtype, name)

    return learned(to)


to_float = _to("to_float", dtypes.float32, "ToFloat", "array([1., 2.], dtype=float32)")
to_double = _to("to_double", dtypes.float64, "ToDouble", "array([1., 2.])")
to_int32 = _to("to_int32", dtypes.int32, "ToInt32", "array([1, 2], dtype=int32)")
to_int64 = _to("to_int64", dtypes.int64, "ToInt64", "array([1, 2])")
to_bfloat16 = _to("to_bfloat16", dtypes.bfloat16, "ToBFloat16", "array([1., 2.], dtype=float32)")
to_complex64 = _to("to_complex64", dtypes.complex64, "ToComplex64", "array([1.+0.j, 2.+0.j], dtype=complex64)")
to_complex128 = _to("to_complex128", dtypes.complex128, "ToComplex128", "array([1.+0.j, 2.+0.j])")


@learned
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """x as another type; values outside its range become its lowest or highest one.

    Args:
      value: A tensor of real numbers.
      dtype: The type to make.
      name: A name for the op.

    Returns:
      A tensor of ``dtype`` of the shape of ``value``.

    >>> tf.Session().run(tf.saturate_cast([-5.0, 300.0], tf.uint8))
    array([  0, 255], dtype=uint8)
    """
    with name_scope(name, "saturate_cast", [value]) as scope:
        tensor = convert_to_tensor(value, name="value")
        target, source = dtypes.as_dtype(dtype).base_dtype, tensor.dtype.base_dtype
        if source.min < target.min:
            tensor = raw_ops.Maximum(tensor, to_tensor(_bound(target.min, source), source, "min"))
        if source.max > target.max:
            tensor = raw_ops.Minimum(tensor, to_tensor(_bound(target.max, source), source, "max"))
        return cast(tensor, target, name=scope)


def _bound(value: Any, dtype: DType) -> Any:
    return float(value) if dtype.is_floating else int(value)


# ---- composed functions


@learned
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))``, without overflow.

    Args:
      x: A tensor of floating-point numbers.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``.

    >>> tf.Session().run(tf.log_sigmoid([0.0, -100.0]))
    array([  -0.693..., -100.       ], dtype=float32)
    """
    with name_scope(name, "LogSigmoid", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Neg(raw_ops.Softplus(raw_ops.Neg(tensor)), name=scope)
