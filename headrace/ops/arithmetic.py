"""Element-wise arithmetic of two inputs, which broadcast, and sums of several: Add, Mul, RealDiv, Pow, AddN ..."""

from __future__ import annotations

import operator

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING, INTEGER, NUMERIC, REAL
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare import unsigned
from headrace.ops.declare.regular import WIDE_UNSIGNED, binary, conjugate, follow, unbroadcast, widen
from headrace.ops.internal.opaque import is_traced

# ---- sums and products


def _same(node, grad):
    return grad, grad


add = binary("Add", torch.add, (*NUMERIC, dtypes.string), _same, array=np.add)
follow(add, operator.add)
add.kernel(lambda x, y: np.asarray(x + y, dtype=object), T=dtypes.string)  # two scalars add up to plain bytes

add_v2 = binary("AddV2", torch.add, NUMERIC, _same, array=np.add)
add_v2.number_kernel("{0} + {1}")
follow(add_v2, operator.add)

sub = binary(
    "Sub", torch.sub, NUMERIC, lambda node, grad: (grad, raw_ops.Neg(grad)),
    array=np.subtract,
)  # fmt: skip
sub.number_kernel("{0} - {1}")
follow(sub, operator.sub)


def _products(node, grad):
    x, y = node.inputs
    return raw_ops.Mul(grad, conjugate(y)), raw_ops.Mul(grad, conjugate(x))


mul = binary("Mul", torch.mul, NUMERIC, _products, array=np.multiply)
mul.number_kernel("{0} * {1}")
follow(mul, operator.mul)


def _products_no_nan(node, grad):
    x, y = node.inputs
    return raw_ops.MulNoNan(grad, conjugate(y)), raw_ops.MulNoNan(conjugate(x), grad)


mul_no_nan = binary(
    "MulNoNan", lambda x, y: torch.where(y == 0, torch.zeros_like(y), x * y), FLOAT_OR_COMPLEX, _products_no_nan
)

# ---- quotients


def _quotients(node, grad):
    gx = raw_ops.RealDiv(grad, conjugate(node.inputs[1]))
    return gx, raw_ops.Neg(raw_ops.Mul(gx, conjugate(node.outputs[0])))


def _truncate(x, y):
    return torch.div(x, y, rounding_mode="trunc")


def _floor(x, y):
    if x.is_floating_point():
        return torch.floor(torch.true_divide(x, y))  # for infinities rounding_mode="floor" follows Python
    return torch.div(x, y, rounding_mode="floor")


def _divide(x, y):
    return torch.true_divide(x, y) if x.is_floating_point() or x.is_complex() else _truncate(x, y)


def _quotient_toward_zero(x, y):
    return None if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


div = binary("Div", _divide, NUMERIC, _quotients, bits=unsigned.quotient)
follow(div, _quotient_toward_zero)

real_div = binary("RealDiv", torch.true_divide, FLOAT_OR_COMPLEX, _quotients, array=np.divide)

truncate_div = binary("TruncateDiv", _truncate, NUMERIC, bits=unsigned.quotient).not_differentiable()
follow(truncate_div, _quotient_toward_zero)

floor_div = binary("FloorDiv", _floor, REAL, bits=unsigned.quotient).not_differentiable()
floor_div.number_kernel("{0} // {1}")
follow(floor_div, lambda x, y: None if y == 0 else x // y)


def _remainders(quotient):
    def rule(node, grad):
        return grad, raw_ops.Mul(grad, raw_ops.Neg(quotient(*node.inputs)))

    return rule


floor_mod = binary(
    "FloorMod", torch.remainder, REAL, _remainders(lambda x, y: raw_ops.Floor(raw_ops.RealDiv(x, y))),
    bits=unsigned.remainder,
)  # fmt: skip
floor_mod.number_kernel("{0} % {1}")
follow(floor_mod, lambda x, y: None if y == 0 else x % y)

for _name in ("Mod", "TruncateMod"):
    binary(_name, torch.fmod, REAL, _remainders(lambda x, y: raw_ops.TruncateDiv(x, y)), bits=unsigned.remainder)


def _no_nan(divide):
    def kernel(x, y):
        safe = y == 0
        return torch.where(safe, torch.zeros_like(y), divide(x, torch.where(safe, torch.ones_like(y), y)))

    return kernel


def _quotients_no_nan(node, grad):
    y = node.inputs[1]
    gx = raw_ops.DivNoNan(grad, conjugate(y))
    return gx, raw_ops.Neg(raw_ops.Mul(gx, conjugate(node.outputs[0])))


div_no_nan = binary("DivNoNan", _no_nan(torch.true_divide), FLOAT_OR_COMPLEX, _quotients_no_nan)


def _where_nonzero(compute):
    """Zero where x is zero, whatever y: x * log(y), x / y as limits."""

    def kernel(x, y):
        zero = x == 0
        return torch.where(zero, torch.zeros_like(x), compute(x, torch.where(zero, torch.ones_like(y), y)))

    return kernel


def _nonzero(x):
    return raw_ops.Cast(raw_ops.NotEqual(x, raw_ops.ZerosLike(x)), DstT=x.dtype.base_dtype)


def _xdivy_gradient(node, grad):
    x, y = conjugate(node.inputs[0]), conjugate(node.inputs[1])
    return (
        raw_ops.Mul(grad, raw_ops.Xdivy(_nonzero(x), y)),
        raw_ops.Mul(grad, raw_ops.Xdivy(raw_ops.Neg(x), raw_ops.Square(y))),
    )


def _xlogy_gradient(node, grad):
    x, y = conjugate(node.inputs[0]), conjugate(node.inputs[1])
    return raw_ops.Mul(grad, raw_ops.Xlogy(_nonzero(x), y)), raw_ops.Mul(grad, raw_ops.Xdivy(x, y))


xdivy = binary("Xdivy", _where_nonzero(torch.true_divide), FLOAT_OR_COMPLEX, _xdivy_gradient)
xlogy = binary("Xlogy", _where_nonzero(lambda x, y: x * torch.log(y)), FLOAT_OR_COMPLEX, _xlogy_gradient)

# ---- powers and differences


def _pow_gradient(node, grad):
    x, y = node.inputs
    z = node.outputs[0]
    dtype = z.dtype.base_dtype
    x, y, z = conjugate(x), conjugate(y), conjugate(z)
    gx = raw_ops.Mul(raw_ops.Mul(grad, y), raw_ops.Pow(x, raw_ops.Sub(y, 1, T=dtype)))
    zeros = raw_ops.ZerosLike(x)
    usable = raw_ops.NotEqual(x, zeros) if dtype.is_complex else raw_ops.Greater(x, zeros)
    log = raw_ops.Select(usable, raw_ops.Log(raw_ops.Select(usable, x, raw_ops.OnesLike(x))), zeros)
    return gx, raw_ops.Mul(raw_ops.Mul(grad, z), log)


power = binary("Pow", torch.pow, NUMERIC, _pow_gradient)


@power.kernel(T=[t for t in INTEGER if t not in WIDE_UNSIGNED])
def _(x, y):
    if y.is_cpu and not is_traced(y) and bool((y < 0).any()):  # traced: a constant without negative ones
        raise InvalidArgumentError(None, None, "Integers to negative integer powers are not allowed")
    return torch.pow(x, y)


# A power whose exponent is known while planning (passes/rules.py): kernels have short ways for some.
power_of = op("_PowerOf(x: T; exponent: float) -> (y: T)", T=FLOATING)
power_of.not_differentiable()
power_of.shape(lambda x, exponent: x)
power_of.kernel(lambda x, exponent: torch.pow(x, exponent))


def _squared_difference(x, y):
    difference = x - y
    return difference * (difference.conj() if difference.is_complex() else difference)


def _squared_difference_gradient(node, grad):
    x, y = node.inputs
    gx = raw_ops.Mul(raw_ops.Mul(grad, 2, T=grad.dtype.base_dtype), raw_ops.Sub(x, y))
    return gx, raw_ops.Neg(gx)


squared_difference = binary(
    "SquaredDifference", _squared_difference, NUMERIC, _squared_difference_gradient, array=lambda x, y: np.square(x - y)
)


def _chosen(compare):
    def rule(node, grad):
        mask = compare(*node.inputs)
        zeros = raw_ops.ZerosLike(grad)
        return raw_ops.SelectV2(mask, grad, zeros), raw_ops.SelectV2(mask, zeros, grad)

    return rule


maximum = binary(
    "Maximum", torch.maximum, REAL, _chosen(lambda x, y: raw_ops.GreaterEqual(x, y)), array=np.maximum,
    bits=unsigned.chosen_in_order(torch.maximum),
)  # fmt: skip
maximum.number_kernel("({0} if {0} >= {1} else {1})")
follow(maximum, max)
minimum = binary(
    "Minimum", torch.minimum, REAL, _chosen(lambda x, y: raw_ops.LessEqual(x, y)), array=np.minimum,
    bits=unsigned.chosen_in_order(torch.minimum),
)  # fmt: skip
minimum.number_kernel("({0} if {0} <= {1} else {1})")
follow(minimum, min)


def _atan2_gradient(node, grad):
    y, x = node.inputs
    scaled = raw_ops.RealDiv(grad, raw_ops.AddV2(raw_ops.Square(x), raw_ops.Square(y)))
    return raw_ops.Mul(x, scaled), raw_ops.Neg(raw_ops.Mul(y, scaled))


atan2 = binary("Atan2", torch.atan2, FLOATING, _atan2_gradient, names=("y", "x"))
next_after = binary(
    "NextAfter", torch.nextafter, (dtypes.float32, dtypes.float64), lambda node, grad: (grad, None), names=("x1", "x2")
)

# ---- bits

for _name, _kernel in (
    ("BitwiseAnd", torch.bitwise_and), ("BitwiseOr", torch.bitwise_or), ("BitwiseXor", torch.bitwise_xor),
):  # fmt: skip
    binary(_name, _kernel, INTEGER)


def _shift(shift):
    def kernel(x, y):
        return shift(x, torch.clamp(y, 0, 8 * x.element_size() - 1))

    return kernel


binary("LeftShift", _shift(torch.bitwise_left_shift), INTEGER)
binary("RightShift", _shift(torch.bitwise_right_shift), INTEGER)

# ---- several inputs


def _merged(shapes):
    merged = shapes[0]
    for shape in shapes[1:]:
        merged = merged.merge_with(shape)
    return merged


def _add_up(inputs):
    if len(inputs) == 1:
        return inputs[0]
    total = torch.add(inputs[0], inputs[1])
    for one in inputs[2:]:
        total.add_(one)
    return total


add_n = op("AddN(inputs: N*T) -> (sum: T)", T=NUMERIC, view=True, lenient=True)
add_n.shape(_merged)
add_n.gradient(lambda node, grad: [grad] * len(node.inputs))
add_n.kernel(_add_up)
widen(add_n, _add_up)


@add_n.array_kernel
def _(inputs):
    total = inputs[0]
    for one in inputs[1:]:
        total = np.add(total, one)
    return total


accumulate = op("AccumulateNV2(inputs: N*T; shape: shape) -> (sum: T)", T=NUMERIC, view=True, lenient=True)
accumulate.shape(lambda inputs, shape: _merged([shape, *inputs]))
accumulate.gradient(lambda node, grad: [grad] * len(node.inputs))
accumulate.kernel(lambda inputs, shape: _add_up(inputs))

clip = op("ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)", T=REAL, lenient=True)


@clip.shape
def _(t, low, high):
    for bound in (low, high):
        if bound.ndims != 0:
            t = t.merge_with(bound) if bound.ndims is not None else t
    return t


@clip.gradient
def _(node, grad):
    t, low, high = node.inputs
    zeros = raw_ops.ZerosLike(grad)
    under, over = raw_ops.Less(t, low), raw_ops.Greater(t, high)
    parts = (
        raw_ops.SelectV2(raw_ops.LogicalOr(under, over), zeros, grad),
        raw_ops.SelectV2(under, grad, zeros),
        raw_ops.SelectV2(over, grad, zeros),
    )
    return [parts[0]] + [
        unbroadcast(_Pair(t, bound), (None, part))[1] for bound, part in zip((low, high), parts[1:], strict=True)
    ]


class _Pair:
    """Two tensors in the place of a node's inputs."""

    def __init__(self, *inputs):
        self.inputs = inputs


def _clip(t, low, high):
    return torch.maximum(torch.minimum(t, high), low)  # where the bounds cross, the lower one wins


clip.kernel(_clip)
widen(clip, _clip)

# ---- what broadcasting did, undone

sum_to = op("_SumToShape(x: T, shape: host Tshape[1]) -> (y: T)", T=NUMERIC, Tshape=dtypes.INDEX, view=True)
sum_to.shape(lambda x, shape: None if shape is None else tuple(shape))
sum_to.gradient(lambda node, grad: [raw_ops.BroadcastTo(grad, raw_ops.Shape(node.inputs[0])), None])


@sum_to.kernel
def _(x, shape):
    if list(x.shape) == shape:
        return x
    result = x.sum_to_size(shape)
    return result if result.dtype is x.dtype else result.to(x.dtype)  # torch sums integers as int64


@sum_to.array_kernel
def _(x, shape):
    extra = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < extra or (shape[i - extra] == 1 and x.shape[i] != 1))
    return np.add.reduce(x, axes, x.dtype).reshape(shape) if axes else x
