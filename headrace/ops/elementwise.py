"""Element-wise functions of one input, and gradient ops that reuse what the output holds (TanhGrad, SqrtGrad ...)."""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING, INTEGER, NUMERIC, REAL
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.regular import conjugate, few, follow, unary


def _times(derivative):
    """The gradient of a function whose derivative is a tensor made of its input ``x`` and output ``y``."""

    def rule(node, grad):
        return raw_ops.Mul(grad, conjugate(derivative(node.inputs[0], node.outputs[0])))

    return rule


def _over(divisor):
    """The gradient of a function whose derivative is one over a tensor made of its input ``x`` and output ``y``."""

    def rule(node, grad):
        return raw_ops.RealDiv(grad, conjugate(divisor(node.inputs[0])))

    return rule


def _constant_minus(value, x):
    return raw_ops.Sub(value, x, T=x.dtype.base_dtype)


def _plus(x, value):
    return raw_ops.AddV2(x, value)


# ---- sign and rounding

neg = unary("Neg", torch.neg, NUMERIC, lambda node, grad: raw_ops.Neg(grad), array=np.negative)
neg.number_kernel("-{0}")
follow(neg, lambda x: -x)
absolute = unary("Abs", torch.abs, REAL, _times(lambda x, y: raw_ops.Sign(x)), array=np.abs)
absolute.number_kernel("abs({0})")
follow(absolute, abs)


def _sign(x):
    """-1, 0 or 1, by the sign of each element; NaN stays NaN."""
    sign = torch.sgn(x)
    return torch.where(x != x, x, sign) if x.is_floating_point() else sign


sign = unary("Sign", _sign, NUMERIC, lambda node, grad: raw_ops.ZerosLike(grad), array=np.sign)

unary("Floor", torch.floor, FLOATING, array=np.floor).not_differentiable()
unary("Ceil", torch.ceil, FLOATING).not_differentiable()
unary("Rint", torch.round, FLOATING).not_differentiable()


def _round(x):
    return torch.round(x) if x.is_floating_point() else x.clone()


unary("Round", _round, tuple(d for d in REAL if not d.is_unsigned)).not_differentiable()

# ---- powers, exponentials, logarithms

square = unary("Square", torch.square, NUMERIC, _times(lambda x, y: raw_ops.Mul(x, 2)), array=np.square)
sqrt = unary(
    "Sqrt", torch.sqrt, FLOAT_OR_COMPLEX, lambda node, grad: raw_ops.SqrtGrad(node.outputs[0], grad),
    array=np.sqrt,
)  # fmt: skip
rsqrt = unary(
    "Rsqrt", torch.rsqrt, FLOAT_OR_COMPLEX, lambda node, grad: raw_ops.RsqrtGrad(node.outputs[0], grad),
    array=lambda x: np.reciprocal(np.sqrt(x)),
)  # fmt: skip
for _name in ("Reciprocal", "Inv"):
    unary(
        _name, torch.reciprocal, FLOAT_OR_COMPLEX, lambda node, grad: raw_ops.ReciprocalGrad(node.outputs[0], grad),
        array=np.reciprocal,
    )  # fmt: skip
exp = unary("Exp", torch.exp, FLOAT_OR_COMPLEX, _times(lambda x, y: y), array=np.exp, fits=few)
expm1 = unary("Expm1", torch.expm1, FLOAT_OR_COMPLEX, _times(lambda x, y: raw_ops.Exp(x)))
log = unary("Log", torch.log, FLOAT_OR_COMPLEX, _over(lambda x: x), array=np.log)
log1p = unary("Log1p", torch.log1p, FLOAT_OR_COMPLEX, _over(lambda x: _plus(x, 1)), array=np.log1p, fits=few)

# ---- trigonometric and hyperbolic

sin = unary("Sin", torch.sin, FLOAT_OR_COMPLEX, _times(lambda x, y: raw_ops.Cos(x)), array=np.sin)
cos = unary("Cos", torch.cos, FLOAT_OR_COMPLEX, _times(lambda x, y: raw_ops.Neg(raw_ops.Sin(x))), array=np.cos)
tan = unary("Tan", torch.tan, FLOAT_OR_COMPLEX, _times(lambda x, y: _plus(raw_ops.Square(y), 1)))
asin = unary("Asin", torch.asin, FLOAT_OR_COMPLEX, _over(lambda x: raw_ops.Sqrt(_constant_minus(1, raw_ops.Square(x)))))
acos = unary(
    "Acos",
    torch.acos,
    FLOAT_OR_COMPLEX,
    _over(lambda x: raw_ops.Neg(raw_ops.Sqrt(_constant_minus(1, raw_ops.Square(x))))),
)
atan = unary("Atan", torch.atan, FLOAT_OR_COMPLEX, _over(lambda x: _plus(raw_ops.Square(x), 1)))
sinh = unary("Sinh", torch.sinh, FLOAT_OR_COMPLEX, _times(lambda x, y: raw_ops.Cosh(x)))
cosh = unary("Cosh", torch.cosh, FLOAT_OR_COMPLEX, _times(lambda x, y: raw_ops.Sinh(x)))
tanh = unary(
    "Tanh", torch.tanh, FLOAT_OR_COMPLEX, lambda node, grad: raw_ops.TanhGrad(conjugate(node.outputs[0]), grad),
    array=np.tanh,
)  # fmt: skip
asinh = unary(
    "Asinh", torch.asinh, FLOAT_OR_COMPLEX, lambda node, g: raw_ops.RealDiv(g, conjugate(raw_ops.Cosh(node.outputs[0])))
)
acosh = unary(
    "Acosh", torch.acosh, FLOAT_OR_COMPLEX, lambda node, g: raw_ops.RealDiv(g, conjugate(raw_ops.Sinh(node.outputs[0])))
)
atanh = unary("Atanh", torch.atanh, FLOAT_OR_COMPLEX, _over(lambda x: _constant_minus(1, raw_ops.Square(x))))
sigmoid = unary(
    "Sigmoid", torch.sigmoid, FLOAT_OR_COMPLEX,
    lambda node, grad: raw_ops.SigmoidGrad(conjugate(node.outputs[0]), grad),
    array=lambda x: np.reciprocal(np.exp(np.negative(x)) + x.dtype.type(1)), fits=few,
)  # fmt: skip

# ---- error and gamma functions

_BELL = 2.0 / math.sqrt(math.pi)


def _bell(x, factor):
    return raw_ops.Mul(raw_ops.Exp(raw_ops.Neg(raw_ops.Square(x))), factor)


erf = unary("Erf", torch.erf, FLOATING, _times(lambda x, y: _bell(x, _BELL)))
erfc = unary("Erfc", torch.erfc, FLOATING, _times(lambda x, y: _bell(x, -_BELL)))
lgamma = unary("Lgamma", torch.lgamma, FLOATING, _times(lambda x, y: raw_ops.Digamma(x)))
digamma = unary(
    "Digamma",
    torch.digamma,
    FLOATING,
    lambda node, grad: raw_ops.Mul(grad, raw_ops.Polygamma(raw_ops.OnesLike(node.inputs[0]), node.inputs[0])),
)

# ---- bits

invert = unary("Invert", torch.bitwise_not, INTEGER)


def _count_bits(x):
    wide = x.to(torch.int64)
    bits = torch.arange(8 * x.element_size(), device=x.device)
    return ((wide.unsqueeze(-1) >> bits) & 1).sum(-1).to(torch.uint8)


unary("PopulationCount", _count_bits, INTEGER, out="uint8")

# ---- gradients in terms of the output y


def _of_output(name, kernel, gradient, complex_kernel, array):
    """Declares ``Name(y, dy)``; ``array`` is its kernel on arrays of real numbers."""
    definition = op(f"{name}(y: T, dy: T) -> (z: T)", T=FLOAT_OR_COMPLEX, lenient=True)
    definition.shape(lambda y, dy: y.merge_with(dy))
    definition.gradient(lambda node, grad: list(gradient(*node.inputs, node.outputs[0], grad)))
    definition.kernel(kernel)
    definition.kernel(complex_kernel, T=dtypes.COMPLEX)
    definition.array_kernel(array, T=FLOATING)
    return definition


_tanh_backward = torch.ops.aten.tanh_backward.default
_sigmoid_backward = torch.ops.aten.sigmoid_backward.default


def _mul(*factors):
    product = factors[0]
    for factor in factors[1:]:
        product = raw_ops.Mul(product, conjugate(factor) if hasattr(factor, "dtype") else factor)
    return product


tanh_grad = _of_output(
    "TanhGrad",
    lambda y, dy: _tanh_backward(dy, y),
    lambda y, dy, z, grad: (_mul(grad, -2.0, dy, y), raw_ops.TanhGrad(conjugate(y), grad)),
    lambda y, dy: dy * (1 - y * y),
    array=lambda y, dy: dy * (1 - y * y),
)


def _sigmoid_second(y, dy, z, grad):
    scaled = _mul(grad, dy)
    return raw_ops.Sub(scaled, _mul(scaled, 2.0, y)), raw_ops.SigmoidGrad(conjugate(y), grad)


sigmoid_grad = _of_output(
    "SigmoidGrad", lambda y, dy: _sigmoid_backward(dy, y), _sigmoid_second, lambda y, dy: dy * y * (1 - y),
    array=lambda y, dy: dy * y * (1 - y),
)  # fmt: skip


# These take y itself and conjugate it, where TanhGrad and SigmoidGrad are given its conjugate.


def _sqrt_second(y, dy, z, grad):
    scaled = raw_ops.RealDiv(grad, y)
    return raw_ops.Neg(raw_ops.Mul(conjugate(scaled), z)), raw_ops.Mul(scaled, 0.5)


def _rsqrt_second(y, dy, z, grad):
    return _mul(dy, -1.5, grad, y, y), raw_ops.RsqrtGrad(conjugate(y), grad)


def _reciprocal_second(y, dy, z, grad):
    return _mul(dy, -2.0, grad, y), raw_ops.ReciprocalGrad(conjugate(y), grad)


def _of_conjugate(kernel):
    return lambda y, dy: kernel(y.conj(), dy)


for _name, _rule, _second in (
    ("SqrtGrad", lambda y, dy: dy * 0.5 / y, _sqrt_second),
    ("RsqrtGrad", lambda y, dy: dy * y * y * y * -0.5, _rsqrt_second),
    ("ReciprocalGrad", lambda y, dy: -dy * y * y, _reciprocal_second),
    ("InvGrad", lambda y, dy: -dy * y * y, _reciprocal_second),
):
    _of_output(_name, _rule, _second, _of_conjugate(_rule), array=_rule)
