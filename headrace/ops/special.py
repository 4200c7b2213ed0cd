"""Special functions: incomplete gamma and beta, zeta, polygamma, Bessel."""

from __future__ import annotations

import math

import torch

from headrace.core import dtypes
from headrace.core.dtypes import FLOATING
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.declare.regular import binary, unary
from headrace.ops.shared.gamma import gamma_slope

PRECISE = (dtypes.float32, dtypes.float64)

# ---- incomplete gamma


def _gamma_density(a, x):
    """d P(a, x) / dx = exp((a - 1) log x - x - lgamma(a))"""
    exponent = raw_ops.Sub(raw_ops.Sub(raw_ops.Mul(raw_ops.Sub(a, 1.0), raw_ops.Log(x)), x), raw_ops.Lgamma(a))
    return raw_ops.Exp(exponent)


def _igamma_gradient(node, grad):
    a, x = node.inputs
    return raw_ops.Mul(grad, raw_ops.IgammaGradA(a, x)), raw_ops.Mul(grad, _gamma_density(a, x))


def _igammac_gradient(node, grad):
    return [raw_ops.Neg(g) for g in _igamma_gradient(node, grad)]


binary("Igamma", torch.special.gammainc, PRECISE, _igamma_gradient, names=("a", "x"))
binary("Igammac", torch.special.gammaincc, PRECISE, _igammac_gradient, names=("a", "x"))

igamma_grad_a = binary("IgammaGradA", gamma_slope, PRECISE, names=("a", "x"))


@igamma_grad_a.gradient
def _(node, grad):
    raise LookupError(f"No gradient defined for operation '{node.name}' (op type: IgammaGradA)")


# ---- zeta and polygamma


def _zeta_gradient(node, grad):
    x, q = node.inputs
    slope = raw_ops.Neg(raw_ops.Mul(x, raw_ops.Zeta(raw_ops.AddV2(x, 1.0), q)))
    return None, raw_ops.Mul(grad, slope)


binary("Zeta", torch.special.zeta, PRECISE, _zeta_gradient, names=("x", "q"))


def _polygamma(a, x):
    order = a + 1
    sign = torch.where(a % 2 == 0, -1.0, 1.0).to(x.dtype)
    high = sign * torch.exp(torch.lgamma(order)) * torch.special.zeta(torch.where(a == 0, order + 1, order), x)
    defined = (a >= 0) & (a == torch.floor(a))
    result = torch.where(a == 0, torch.digamma(x), high)
    return torch.where(defined, result, torch.full_like(result, math.nan))


def _polygamma_gradient(node, grad):
    a, x = node.inputs
    return None, raw_ops.Mul(grad, raw_ops.Polygamma(raw_ops.AddV2(a, 1.0), x))


binary("Polygamma", _polygamma, PRECISE, _polygamma_gradient, names=("a", "x"))

# ---- incomplete beta

betainc = op("Betainc(a: T, b: T, x: T) -> (z: T)", T=PRECISE, opaque=True, lenient=True)


@betainc.shape
def _(a, b, x):
    """Scalars go with everything; the others have one shape."""
    merged = TensorShape(None)
    for shape in (a, b, x):
        if shape.ndims != 0:
            merged = merged.merge_with(shape)
    return merged if any(s.ndims != 0 for s in (a, b, x)) else ()


_FRACTION_STEPS = 100  # enough for parameters up to about 10000


@betainc.kernel
def _(a, b, x):
    a, b, x = torch.broadcast_tensors(a, b, x)
    dtype = x.dtype
    a, b, x = a.double(), b.double(), x.double()
    swap = x > (a + 1) / (a + b + 2)  # there the fraction of the complement converges faster
    p, q, t = torch.where(swap, b, a), torch.where(swap, a, b), torch.where(swap, 1 - x, x)
    inside = t.clamp(1e-300, 1 - 1e-16)
    log_front = p * torch.log(inside) + q * torch.log1p(-inside)
    log_front = log_front + torch.lgamma(p + q) - torch.lgamma(p) - torch.lgamma(q) - torch.log(p)
    result = torch.exp(log_front) * _beta_fraction(p, q, inside)
    result = torch.where(swap, 1 - result, result)
    result = torch.where(x <= 0, torch.zeros_like(result), torch.where(x >= 1, torch.ones_like(result), result))
    outside = (x < 0) | (x > 1) | (a <= 0) | (b <= 0)
    return torch.where(outside, torch.full_like(result, math.nan), result).to(dtype)


def _beta_fraction(p, q, t):
    """Lentz's evaluation of the continued fraction.  It takes a fixed number of steps, whatever the values."""
    tiny = 1e-300
    c = torch.ones_like(t)
    d = 1 - (p + q) * t / (p + 1)
    d = 1 / torch.where(d.abs() < tiny, torch.full_like(d, tiny), d)
    value = d
    for m in range(1, _FRACTION_STEPS + 1):
        even = m * (q - m) * t / ((p + 2 * m - 1) * (p + 2 * m))
        odd = -(p + m) * (p + q + m) * t / ((p + 2 * m) * (p + 2 * m + 1))
        for step in (even, odd):
            d = 1 + step * d
            d = 1 / torch.where(d.abs() < tiny, torch.full_like(d, tiny), d)
            c = 1 + step / c
            c = torch.where(c.abs() < tiny, torch.full_like(c, tiny), c)
            value = value * d * c
    return value


@betainc.gradient
def _(node, grad):
    """Only with respect to x, as in TensorFlow."""
    a, b, x = node.inputs
    log_beta = raw_ops.Sub(raw_ops.AddV2(raw_ops.Lgamma(a), raw_ops.Lgamma(b)), raw_ops.Lgamma(raw_ops.AddV2(a, b)))
    logs = raw_ops.AddV2(
        raw_ops.Mul(raw_ops.Sub(b, 1.0), raw_ops.Log1p(raw_ops.Neg(x))),
        raw_ops.Mul(raw_ops.Sub(a, 1.0), raw_ops.Log(x)),
    )
    slope = raw_ops.Mul(grad, raw_ops.Exp(raw_ops.Sub(logs, log_beta)))
    return [None, None, raw_ops._SumToShape(slope, raw_ops.Shape(x))]


# ---- Bessel


def _i0e_gradient(node, grad):
    x, y = node.inputs[0], node.outputs[0]
    return raw_ops.Mul(grad, raw_ops.Sub(raw_ops.BesselI1e(x), raw_ops.Mul(raw_ops.Sign(x), y)))


def _i1e_gradient(node, grad):
    """I1'(x) = I0(x) - I1(x) / x, whose limit at zero is 1/2."""
    x, y = node.inputs[0], node.outputs[0]
    zero = raw_ops.Equal(x, raw_ops.ZerosLike(x))
    safe = raw_ops.Select(zero, raw_ops.OnesLike(x), x)
    slope = raw_ops.Sub(
        raw_ops.BesselI0e(safe), raw_ops.Mul(y, raw_ops.AddV2(raw_ops.Sign(safe), raw_ops.Reciprocal(safe)))
    )
    half = raw_ops.Mul(raw_ops.OnesLike(x), 0.5)
    return raw_ops.Mul(grad, raw_ops.Select(zero, half, slope))


unary("BesselI0e", torch.special.i0e, FLOATING, _i0e_gradient)
unary("BesselI1e", torch.special.i1e, FLOATING, _i1e_gradient)

# ---- the normal distribution's quantiles


def _ndtri_gradient(node, grad):
    """One over the density at the quantile."""
    half_square = raw_ops.Mul(raw_ops.Square(node.outputs[0]), 0.5)
    return raw_ops.Mul(grad, raw_ops.Mul(raw_ops.Exp(half_square), math.sqrt(2.0 * math.pi)))


unary("Ndtri", torch.special.ndtri, PRECISE, _ndtri_gradient)
