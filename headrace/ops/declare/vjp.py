"""_Vjp: the gradient of an op without a rule, by differentiating its kernel with torch."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import REGISTRY, op
from headrace.resources.calling.dispatch import with_autograd
from headrace.resources.calling.invoke import invoke

vjp = op(
    "_Vjp(inputs: list(Tin), grads: list(Tgrad); op_type: string, op_attrs: any, trainable: list(int), Tout: list(type)) "
    "-> (output: list(Tout))",
    Tin=ANY, Tgrad=ANY, Tout=ANY,
)  # fmt: skip


@vjp.shape
def _(inputs, grads, op_type, op_attrs, trainable, Tout):  # noqa: N803
    return [inputs[i] for i in trainable]


@vjp.kernel
@with_autograd
def _(inputs, grads, op_type, op_attrs, trainable, Tout):  # noqa: N803
    op_def = REGISTRY.get(op_type)

    def forward(*chosen):
        values = list(inputs)
        for i, value in zip(trainable, chosen, strict=True):
            values[i] = value
        outputs = invoke(op_def, values, op_attrs, device=chosen[0].device)
        return tuple(o for o in outputs if o.is_floating_point() or o.is_complex())

    chosen = [inputs[i] for i in trainable]
    if all(type(t) is torch.Tensor for t in (*chosen, *grads)):
        return _pulled(forward, chosen, grads)
    _, pull = torch.func.vjp(forward, *chosen)
    return list(pull(tuple(grads)))


def _pulled(forward, inputs, grads):
    """The gradients of the inputs by plain autograd.  torch.func would first import torch's compiler, which takes seconds."""
    nested = torch.is_grad_enabled() and any(t.requires_grad for t in (*inputs, *grads))
    with torch.enable_grad():
        leaves = [t.view_as(t) if nested and t.requires_grad else t.detach().requires_grad_() for t in inputs]
        outputs = [(o, g) for o, g in zip(forward(*leaves), grads, strict=True) if o.requires_grad]
        if not outputs:
            return [torch.zeros_like(t) for t in inputs]
        gradients = torch.autograd.grad(
            [o for o, _ in outputs], leaves, [g for _, g in outputs], create_graph=nested, allow_unused=True
        )
    return [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, gradients, strict=True)]
