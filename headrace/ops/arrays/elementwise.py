"""Element-wise functions of one and two arrays, which broadcast: arithmetic, comparison, logic, gradients of functions."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOAT_OR_COMPLEX, FLOATING, INTEGER, REAL
from headrace.ops._arm_convolution import USED as ARM
from headrace.ops.arrays._declare import FEW, constant, on_arrays

# ---- arithmetic

on_arrays("Add", "AddV2")(np.add)
on_arrays("Sub")(np.subtract)
on_arrays("Mul")(np.multiply)
on_arrays("RealDiv", "Div", T=FLOAT_OR_COMPLEX)(np.divide)
on_arrays("Maximum")(np.maximum)
on_arrays("Minimum")(np.minimum)
on_arrays("Neg")(np.negative)
on_arrays("Abs", T=REAL)(np.abs)
on_arrays("ComplexAbs")(lambda x, kind: np.abs(x))
on_arrays("Square")(np.square)
on_arrays("Sqrt", T=FLOATING)(np.sqrt)
on_arrays("Floor")(np.floor)
on_arrays("Ceil")(np.ceil)
on_arrays("Rint", "Round", T=FLOATING)(np.rint)
on_arrays("Sign", T=REAL)(np.sign)
on_arrays("Reciprocal", "Inv", T=FLOATING)(np.reciprocal)
on_arrays("FloorMod", T=FLOATING)(np.remainder)
on_arrays("Conj", T=COMPLEX)(np.conjugate)


@on_arrays("Rsqrt", T=FLOATING)
def _rsqrt(x):
    return np.reciprocal(np.sqrt(x))


@on_arrays("SquaredDifference", T=REAL)
def _squared_difference(x, y):
    difference = np.subtract(x, y)
    return np.multiply(difference, difference)


@on_arrays("FloorMod", T=INTEGER)
def _remainder(x, y):
    _check_divisors(y)
    return np.remainder(x, y)


@on_arrays("FloorDiv", T=INTEGER)
def _quotient(x, y):
    _check_divisors(y)
    return np.floor_divide(x, y)


@on_arrays("FloorDiv", T=FLOATING)
def _floored(x, y):
    return np.floor(np.divide(x, y))


def _check_divisors(y):
    if not np.logical_and.reduce(y, None):
        raise ZeroDivisionError


@on_arrays("AddN", saves=4)
def _add_n(inputs):
    if len(inputs) == 1:
        return inputs[0].copy()
    total = np.add(inputs[0], inputs[1])
    for x in inputs[2:]:
        total = np.add(total, x)
    return total


# ---- functions that numpy computes one by one

for _name, _function in {
    "Exp": np.exp, "Expm1": np.expm1, "Log": np.log, "Log1p": np.log1p, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan,
    "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh,
    "Acosh": np.arccosh, "Atanh": np.arctanh, "Pow": np.power, "Atan2": np.arctan2,
}.items():  # fmt: skip
    on_arrays(_name, most=FEW, T=FLOATING)(_function)
on_arrays("Tanh", T=FLOATING)(np.tanh)


@on_arrays("Sigmoid", most=FEW // 2, saves=-1, T=FLOATING)
def _sigmoid(x):
    grown = np.exp(np.negative(x))
    return np.reciprocal(np.add(grown, constant(1, x.dtype)))


# ---- gradients in terms of the output


@on_arrays("TanhGrad", saves=3, T=FLOATING)
def _tanh_grad(y, dy):
    return np.multiply(np.subtract(constant(1, y.dtype), np.multiply(y, y)), dy)


@on_arrays("SigmoidGrad", saves=3, T=FLOATING)
def _sigmoid_grad(y, dy):
    return np.multiply(np.multiply(np.subtract(constant(1, y.dtype), y), y), dy)


@on_arrays("SqrtGrad", saves=4, T=FLOATING)
def _sqrt_grad(y, dy):
    return np.divide(np.multiply(dy, constant(0.5, y.dtype)), y)


@on_arrays("RsqrtGrad", saves=8, T=FLOATING)
def _rsqrt_grad(y, dy):
    return np.multiply(np.multiply(np.multiply(np.multiply(dy, y), y), y), constant(-0.5, y.dtype))


@on_arrays("ReciprocalGrad", "InvGrad", saves=4, T=FLOATING)
def _reciprocal_grad(y, dy):
    return np.negative(np.multiply(np.multiply(dy, y), y))


# ---- comparison and logic

_COMPARED = 1 << 22 if ARM else 1 << 16  # there numpy is quicker for many numbers too, several times
on_arrays("Greater", T=REAL, most=_COMPARED)(np.greater)
on_arrays("GreaterEqual", T=REAL, most=_COMPARED)(np.greater_equal)
on_arrays("Less", T=REAL, most=_COMPARED)(np.less)
on_arrays("LessEqual", T=REAL, most=_COMPARED)(np.less_equal)
on_arrays("LogicalAnd")(np.logical_and)
on_arrays("LogicalOr")(np.logical_or)
on_arrays("LogicalNot")(np.logical_not)
on_arrays("BitwiseAnd")(np.bitwise_and)
on_arrays("BitwiseOr")(np.bitwise_or)
on_arrays("BitwiseXor")(np.bitwise_xor)
on_arrays("Invert")(np.invert)
on_arrays("IsNan")(np.isnan)
on_arrays("IsInf")(np.isinf)
on_arrays("IsFinite")(np.isfinite)


@on_arrays("Equal", most=1 << 16)
def _equal(x, y, incompatible_shape_error):
    try:
        return np.equal(x, y)
    except ValueError:
        if incompatible_shape_error:
            raise
        return np.False_


@on_arrays("NotEqual", most=1 << 16)
def _not_equal(x, y, incompatible_shape_error):
    try:
        return np.not_equal(x, y)
    except ValueError:
        if incompatible_shape_error:
            raise
        return np.True_


# ---- complex numbers


@on_arrays("Complex", saves=3)
def _complex(real, imag, kind):
    found = np.empty(np.broadcast(real, imag).shape, kind)
    found.real, found.imag = real, imag
    return found


on_arrays("Real")(lambda x, kind: x.real.copy())
on_arrays("Imag")(lambda x, kind: x.imag.copy())
