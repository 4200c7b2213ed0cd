"""TF1's element-wise functions: arithmetic, comparison, logic, types, complex numbers."""

from __future__ import annotations

import math as python_math
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


def unary(name: str, op_type: str, text: str, sparse: bool = False) -> Unary:
    """A function of ``x`` that makes one node; ``sparse`` ones also map the values of a SparseTensor."""

    @called(name, text)
    def unary_op(x: Any, name: str | None = None) -> Any:
        if sparse and isinstance(x, SparseTensor):
            with name_scope(name, op_type, [x.values]) as scope:
                return SparseTensor(x.indices, getattr(raw_ops, op_type)(x.values, name=scope), x.dense_shape)
        return getattr(raw_ops, op_type)(x, name=name)

    return learned(unary_op)


def binary(name: str, op_type: str, text: str) -> Binary:
    """A function of ``x`` and ``y``, which broadcast, that makes one node."""

    @called(name, text)
    def binary_op(x: Any, y: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(x, y, name=name)

    return learned(binary_op)


negative = unary("negative", "Neg", "``-x``.", sparse=True)
sign = unary("sign", "Sign", "-1, 0 or 1; for complex numbers ``x / |x|``.", sparse=True)
square = unary(
    "square",
    "Square",
    """``x * x``.

    >>> tf.Session().run(tf.square([1.0, -3.0]))
    array([1., 9.], dtype=float32)
    """,
    sparse=True,
)
sqrt = unary("sqrt", "Sqrt", "The square root.", sparse=True)
rsqrt = unary("rsqrt", "Rsqrt", "One over the square root.")
reciprocal = unary("reciprocal", "Reciprocal", "``1 / x``.")
exp = unary("exp", "Exp", "e to the power of x.")
expm1 = unary("expm1", "Expm1", "``exp(x) - 1``, precise near zero.")
log = unary("log", "Log", "The natural logarithm.")
log1p = unary("log1p", "Log1p", "``log(1 + x)``, precise near zero.")
sin = unary("sin", "Sin", "The sine.")
cos = unary("cos", "Cos", "The cosine.")
tan = unary("tan", "Tan", "The tangent.")
asin = unary("asin", "Asin", "The inverse sine.")
acos = unary("acos", "Acos", "The inverse cosine.")
atan = unary("atan", "Atan", "The inverse tangent.")
sinh = unary("sinh", "Sinh", "The hyperbolic sine.")
cosh = unary("cosh", "Cosh", "The hyperbolic cosine.")
tanh = unary("tanh", "Tanh", "The hyperbolic tangent.", sparse=True)
asinh = unary("asinh", "Asinh", "The inverse hyperbolic sine.")
acosh = unary("acosh", "Acosh", "The inverse hyperbolic cosine.")
atanh = unary("atanh", "Atanh", "The inverse hyperbolic tangent.")
sigmoid = unary("sigmoid", "Sigmoid", "``1 / (1 + exp(-x))``.")
floor = unary("floor", "Floor", "The largest integer not above x.")
ceil = unary("ceil", "Ceil", "The smallest integer not below x.")
rint = unary("rint", "Rint", "The nearest integer; halves go to the even one.")
round = unary("round", "Round", "The nearest integer; halves go to the even one.")  # noqa: A001 - TF1's name
erf = unary("erf", "Erf", "The Gauss error function.", sparse=True)
erfc = unary("erfc", "Erfc", "One minus the Gauss error function.")
lgamma = unary("lgamma", "Lgamma", "The logarithm of the absolute value of the gamma function.")
digamma = unary("digamma", "Digamma", "The derivative of ``lgamma``.")
bessel_i0e = unary("bessel_i0e", "BesselI0e", "The modified Bessel function of order 0 times ``exp(-|x|)``.")
bessel_i1e = unary("bessel_i1e", "BesselI1e", "The modified Bessel function of order 1 times ``exp(-|x|)``.")
is_nan = unary("is_nan", "IsNan", "Whether each element is not a number.")
is_inf = unary("is_inf", "IsInf", "Whether each element is infinite.")
is_finite = unary("is_finite", "IsFinite", "Whether each element is neither infinite nor not a number.")
logical_not = unary("logical_not", "LogicalNot", "Whether each element is False.")

add = binary("add", "Add", "``x + y``.")
subtract = binary("subtract", "Sub", "``x - y``.")
multiply = binary("multiply", "Mul", "``x * y``.")
realdiv = binary("realdiv", "RealDiv", "``x / y`` of real numbers.")
floor_div = binary("floor_div", "FloorDiv", "The quotient rounded down.")
truncatediv = binary("truncatediv", "TruncateDiv", "The quotient rounded toward zero.")
floormod = binary("floormod", "FloorMod", "The remainder of division rounded down; it has the sign of ``y``.")
mod = floormod
truncatemod = binary(
    "truncatemod", "TruncateMod", "The remainder of division rounded toward zero; it has the sign of ``x``."
)
pow = binary("pow", "Pow", "x to the power of y.")  # noqa: A001 - TF1's name
maximum = binary("maximum", "Maximum", "The larger of x and y.")
minimum = binary("minimum", "Minimum", "The smaller of x and y.")
squared_difference = binary("squared_difference", "SquaredDifference", "``(x - y) * (x - y)``.")
xdivy = binary("xdivy", "Xdivy", "``x / y``, and 0 where x is 0.")
xlogy = binary("xlogy", "Xlogy", "``x * log(y)``, and 0 where x is 0.")
less = binary("less", "Less", "``x < y``.")
less_equal = binary("less_equal", "LessEqual", "``x <= y``.")
greater = binary("greater", "Greater", "``x > y``.")
greater_equal = binary("greater_equal", "GreaterEqual", "``x >= y``.")
equal = binary("equal", "Equal", "Whether the elements of x and y are equal.")
not_equal = binary("not_equal", "NotEqual", "Whether the elements of x and y differ.")
logical_and = binary("logical_and", "LogicalAnd", "Whether both are True.")
logical_or = binary("logical_or", "LogicalOr", "Whether at least one is True.")


@learned
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y)."""
    return raw_ops.Atan2(y, x, name=name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The next representable number after ``x1`` toward ``x2``."""
    return raw_ops.NextAfter(x1, x2, name=name)


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function P(a, x)."""
    return raw_ops.Igamma(a, x, name=name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function Q(a, x)."""
    return raw_ops.Igammac(a, x, name=name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function."""
    return raw_ops.Zeta(x, q, name=name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The ``a``-th derivative of ``digamma``."""
    return raw_ops.Polygamma(a, x, name=name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function."""
    return raw_ops.Betainc(a, b, x, name=name)


# ---- division

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
    """Python 3's ``x / y``: integers are divided as floats (float64 for 32 and 64 bits, else float32)."""
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
    """Python 2's ``x / y``: integers are divided rounding down."""
    with name_scope(name, "div", [x, y]) as scope:
        first, second = _same_type(x, y)
        base = first.dtype.base_dtype
        quotient = raw_ops.RealDiv if base.is_floating or base.is_complex else raw_ops.FloorDiv
        return quotient(first, second, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """Python's ``x / y``, with a name."""
    if name is not None:
        return truediv(x, y, name)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = convert_to_tensor(x)
    return x / y


@learned
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x // y``: the quotient rounded down, for floats too."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return raw_ops.FloorDiv(x, y, name=scope)


@learned
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where y is 0."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        first = convert_to_tensor(x, name="x")
        second = convert_to_tensor(y, name="y", dtype=first.dtype.base_dtype)
        return raw_ops.DivNoNan(first, second, name=scope)


@learned
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * y``, and 0 where y is 0 even if x is infinite or not a number."""
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        first = convert_to_tensor(x, name="x")
        second = convert_to_tensor(y, name="y", dtype=first.dtype.base_dtype)
        return raw_ops.MulNoNan(first, second, name=scope)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """``1 / x``, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, dtype=tensor.dtype.base_dtype, name="one")
        return raw_ops.DivNoNan(one, tensor, name=scope)


# ---- sums


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a Tensor or IndexedSlices."""
    factor = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if factor.shape.ndims != 0:
        raise ValueError(f"Only scalar multiply works, got shape {factor.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(raw_ops.Mul(factor, x.values, name=name), x.indices, x.dense_shape)
    return raw_ops.Mul(factor, x, name=name)


@learned
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape; IndexedSlices among them become dense."""
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
    """The sum of tensors of one shape and type."""
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
    """The polynomial with the given coefficients, highest power first, at x."""
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
    """Whether exactly one is True."""
    return raw_ops.LogicalAnd(raw_ops.LogicalOr(x, y), raw_ops.LogicalNot(raw_ops.LogicalAnd(x, y)), name=name)


# ---- types


@learned
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """x as another type: floats are cut toward zero when they become integers.

    A Tensor, SparseTensor or IndexedSlices; a Tensor that already has the type comes back as it is.

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


def _to(function: str, dtype: DType, scope: str) -> _Cast:
    @called(function, f"x as {dtype.name}.")
    def to(x: Any, name: str = scope) -> Any:
        return cast(x, dtype, name)

    return learned(to)


to_float = _to("to_float", dtypes.float32, "ToFloat")
to_double = _to("to_double", dtypes.float64, "ToDouble")
to_int32 = _to("to_int32", dtypes.int32, "ToInt32")
to_int64 = _to("to_int64", dtypes.int64, "ToInt64")
to_bfloat16 = _to("to_bfloat16", dtypes.bfloat16, "ToBFloat16")
to_complex64 = _to("to_complex64", dtypes.complex64, "ToComplex64")
to_complex128 = _to("to_complex128", dtypes.complex128, "ToComplex128")


@learned
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """x as another type; values outside its range become its lowest or highest one."""
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


# ---- complex numbers


@learned
def abs(x: Any, name: str | None = None) -> Any:  # noqa: A001 - TF1's name
    """The absolute value; of complex numbers the modulus, a float."""
    if isinstance(x, SparseTensor):
        with name_scope(name, "Abs", [x.values]) as scope:
            return SparseTensor(x.indices, abs(x.values, name=scope), x.dense_shape)
    with name_scope(name, "Abs", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        base = tensor.dtype.base_dtype
        if base.is_complex:
            return raw_ops.ComplexAbs(tensor, Tout=base.real_dtype, name=scope)
        return raw_ops.Abs(tensor, name=scope)


@learned
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:  # noqa: A001 - TF1's name
    """``real + i * imag``."""
    first = convert_to_tensor(real, name="real")
    second = convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [first, second]) as scope:
        element_types = (first.dtype.base_dtype, second.dtype.base_dtype)
        if element_types == (dtypes.float64, dtypes.float64):
            whole = dtypes.complex128
        elif element_types == (dtypes.float32, dtypes.float32):
            whole = dtypes.complex64
        else:
            raise TypeError(
                f"real and imag have incorrect types: {element_types[0].name} {element_types[1].name}; both must be float32 or "
                "float64"
            )
        return raw_ops.Complex(first, second, Tout=whole, name=scope)


@learned
def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor comes back as it is."""
    with name_scope(name, "Real", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        base = tensor.dtype.base_dtype
        return raw_ops.Real(tensor, Tout=base.real_dtype, name=scope) if base.is_complex else tensor


@learned
def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for a real tensor."""
    with name_scope(name, "Imag", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        base = tensor.dtype.base_dtype
        return raw_ops.Imag(tensor, Tout=base.real_dtype, name=scope) if base.is_complex else raw_ops.ZerosLike(tensor)


@learned
def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor comes back as it is."""
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    base = tensor.dtype.base_dtype
    if base.is_complex:
        with name_scope(name, "Conj", [tensor]) as scope:
            return raw_ops.Conj(tensor, name=scope)
    if base.is_floating or base.is_integer:
        return tensor
    raise TypeError(f"Expected numeric tensor, got dtype {base!r}")


def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument of each complex number; of a real one 0 or pi."""
    with name_scope(name, "Angle", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        base = tensor.dtype.base_dtype
        result: Tensor
        if base.is_complex:
            result = raw_ops.Angle(tensor, Tout=base.real_dtype, name=scope)
        else:
            turned = python_math.pi * raw_ops.OnesLike(tensor)
            result = raw_ops.Select(raw_ops.Less(tensor, 0), turned, raw_ops.ZerosLike(tensor))
        return result


# ---- composed functions


@learned
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))``, without overflow."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Neg(raw_ops.Softplus(raw_ops.Neg(tensor)), name=scope)


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
    with name_scope(name, "bessel_i0", [x]):
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Mul(raw_ops.Exp(raw_ops.Abs(tensor)), raw_ops.BesselI0e(tensor))


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
    with name_scope(name, "bessel_i1", [x]):
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Mul(raw_ops.Exp(raw_ops.Abs(tensor)), raw_ops.BesselI1e(tensor))


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function, reducing the last dimension."""
    with name_scope(name, "lbeta", [x]):
        tensor = convert_to_tensor(x, name="x")
        of_each = raw_ops.Sum(raw_ops.Lgamma(tensor), [-1])
        of_sum = raw_ops.Lgamma(raw_ops.Sum(tensor, [-1]))
        return raw_ops.Sub(of_each, of_sum, name="sub")
