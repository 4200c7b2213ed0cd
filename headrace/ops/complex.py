"""Complex numbers: taking them apart and putting them together."""

from __future__ import annotations

import torch

from headrace.core import dtypes
from headrace.core.dtypes import COMPLEX
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.regular import broadcast, refuse_broadcast, unbroadcast

PARTS = (dtypes.float32, dtypes.float64)


def _part(name, kernel, gradient, names=("input", "output")):
    """A real function of a complex input."""
    argument, result = names
    definition = op(
        f"{name}({argument}: T; Tout: type = float32) -> ({result}: Tout)",
        T=COMPLEX, Tout=PARTS, view=name in ("Real", "Imag"),
    )  # fmt: skip
    definition.shape(lambda x, Tout: x)
    definition.gradient(gradient)
    definition.kernel(lambda x, Tout: kernel(x).to(Tout))


def _with_parts(real, imag, like):
    return raw_ops.Complex(real, imag, Tout=like.dtype.base_dtype)


def _as_real(node, grad):
    return _with_parts(grad, raw_ops.ZerosLike(grad), node.inputs[0])


def _as_imaginary(node, grad):
    return _with_parts(raw_ops.ZerosLike(grad), grad, node.inputs[0])


_part("Real", torch.real, _as_real)
_part("Imag", torch.imag, _as_imaginary)
# For z = x + iy the angle's gradient (-y, x) / |z|^2 is, as a complex number, i / conj(z).
_part("Angle", torch.angle, lambda node, grad: raw_ops.RealDiv(_as_imaginary(node, grad), raw_ops.Conj(node.inputs[0])))
_part(
    "ComplexAbs",
    torch.abs,
    lambda node, grad: raw_ops.Mul(_as_real(node, raw_ops.DivNoNan(grad, node.outputs[0])), node.inputs[0]),
    ("x", "y"),
)

conj = op("Conj(input: T) -> (output: T)", T=COMPLEX)
conj.shape(lambda input: input)
conj.gradient(lambda node, grad: raw_ops.Conj(grad))
conj.kernel(torch.conj_physical)

join = op("Complex(real: T, imag: T; Tout: type = complex64) -> (out: Tout)", T=PARTS, Tout=COMPLEX)
join.shape(broadcast)
join.refuse(refuse_broadcast)


@join.gradient
def _(node, grad):
    part = node.attrs["T"]
    return unbroadcast(node, (raw_ops.Real(grad, Tout=part), raw_ops.Imag(grad, Tout=part)))


@join.kernel
def _(real, imag, Tout):
    if real.shape != imag.shape:
        real, imag = torch.broadcast_tensors(real, imag)
    return torch.complex(real, imag).to(Tout)
