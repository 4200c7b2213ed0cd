"""Updates that take a gradient as the two factors of a product and accumulate it in place.  Made by the planner only.

A compiler would make the product in a buffer of its own and then add it.  So compiled code calls the accumulation instead.
"""

from __future__ import annotations

from headrace.core.dtypes import FLOATING
from headrace.core.registry import op
from headrace.ops.internal import opaque
from headrace.resources.calling.torch_op import defines, torch_op
from headrace.resources.state.variable import locked, mark_all

apply_product = op(
    "_ApplyProduct(var: ref T, alpha: T, a: T, b: T; use_locking: bool = False, transpose_a: bool = False, "
    "transpose_b: bool = False) -> (out: ref T)",
    T=FLOATING, writes=True, stateful=True, opaque_on_cpu=True,
)  # fmt: skip
apply_product.not_differentiable()
apply_product.shape(lambda var, alpha, a, b, use_locking, transpose_a, transpose_b: var)


def accumulate(buffer, a, b):
    """buffer += a b"""
    if opaque.is_traced(buffer):
        _accumulate()(buffer, a, b)
    else:
        buffer.addmm_(a, b)


def _add_product(buffer, a, b):
    buffer.addmm_(a, b)


@defines("accumulate")
def _accumulate():
    """The call that a compiler sees, made on first use."""
    return torch_op("accumulate(Tensor(a!) buffer, Tensor a, Tensor b) -> ()", _add_product, lambda buffer, a, b: None)


def _scaled(a, b, factor):
    """The factors with the smaller one multiplied."""
    return (a * factor, b) if a.numel() < b.numel() else (a, b * factor)


@apply_product.kernel
def _(var, alpha, a, b, use_locking, transpose_a, transpose_b):
    a, b = _scaled(a.mT if transpose_a else a, b.mT if transpose_b else b, -alpha)
    try:
        with locked([var], use_locking):
            accumulate(var.value, a, b)
    finally:
        mark_all((var,))
    return var


apply_momentum = op(
    "_ApplyMomentumProduct(var: ref T, accum: ref T, lr: T, a: T, b: T, momentum: T; use_locking: bool = False, "
    "transpose_a: bool = False, transpose_b: bool = False) -> (out: ref T)",
    T=FLOATING, writes=True, stateful=True, opaque_on_cpu=True,
)  # fmt: skip
apply_momentum.not_differentiable()
apply_momentum.shape(lambda var, *others: var)


@apply_momentum.kernel
def _(var, accum, lr, a, b, momentum, use_locking, transpose_a, transpose_b):
    a, b = a.mT if transpose_a else a, b.mT if transpose_b else b
    try:
        with locked([var, accum], use_locking):
            accumulate(accum.value.mul_(momentum), a, b)
            var.value.addcmul_(accum.value, lr, value=-1)
    finally:
        mark_all((var, accum))
    return var
