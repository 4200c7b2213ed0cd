"""Element-wise functions of one, two and three arrays, which broadcast."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOAT_OR_COMPLEX, FLOATING, INTEGER, REAL
from headrace.ops.arrays._declare import FEW, on_arrays

# ---- arithmetic

on_arrays("Add", "AddV2")(np.add)
on_arrays("Sub")(np.subtract)
on_arrays("Mul")(np.multiply)
on_arrays("RealDiv", "Div", T=FLOAT_OR_COMPLEX)(np.divide)
on_arrays("Maximum", T=REAL)(np.maximum)
on_arrays("Minimum", T=REAL)(np.minimum)
on_arrays("Neg")(np.negative)
on_arrays("Abs", T=REAL)(np.abs)
on_arrays("Square")(np.square)
on_arrays("Sqrt", T=FLOATING)(np.sqrt)
on_arrays("Floor")(np.floor)
on_arrays("Ceil")(np.ceil)
on_arrays("Rint")(np.rint)


@on_arrays("SquaredDifference", T=REAL)
def _squared_difference(x, y):
    difference = np.subtract(x, y)
    return np.multiply(difference, difference)


@on_arrays("AddN")
def _add_n(inputs):
    total = np.add(inputs[0], inputs[1]) if len(inputs) > 1 else inputs[0].copy()
    for x in inputs[2:]:
        total += x
    return total


# ---- functions that numpy computes one by one

for _names, _function in {
    ("Exp",): np.exp, ("Expm1",): np.expm1, ("Log",): np.log, ("Log1p",): np.log1p, ("Sin",): np.sin, ("Cos",): np.cos,
    ("Tan",): np.tan, ("Atan",): np.arctan, ("Sinh",): np.sinh, ("Cosh",): np.cosh,
}.items():  # fmt: skip
    on_arrays(*_names, most=FEW, T=FLOATING)(_function)
on_arrays("Tanh", T=FLOATING)(np.tanh)

# ---- comparison and logic

on_arrays("Greater", T=REAL)(np.greater)
on_arrays("GreaterEqual", T=REAL)(np.greater_equal)
on_arrays("Less", T=REAL)(np.less)
on_arrays("LessEqual", T=REAL)(np.less_equal)
on_arrays("LogicalAnd")(np.logical_and)
on_arrays("LogicalOr")(np.logical_or)
on_arrays("LogicalNot")(np.logical_not)
on_arrays("BitwiseAnd", T=INTEGER)(np.bitwise_and)
on_arrays("BitwiseOr", T=INTEGER)(np.bitwise_or)
on_arrays("BitwiseXor", T=INTEGER)(np.bitwise_xor)
on_arrays("Real", T=COMPLEX)(lambda input, Tout: input.real.copy())
on_arrays("Imag", T=COMPLEX)(lambda input, Tout: input.imag.copy())
