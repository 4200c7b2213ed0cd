"""_Vjp: the gradient of an op without a rule, by ``torch.func.vjp`` of its kernel."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import REGISTRY, op
from headrace.resources.invoke import invoke

vjp = op(
    "_Vjp(inputs: list(Tin), grads: list(Tgrad); op_type: string, op_attrs: any, wanted: list(int), Tout: list(type)) "
    "-> (output: list(Tout))",
    Tin=ANY, Tgrad=ANY, Tout=ANY,
)  # fmt: skip


@vjp.shape
def _(inputs, grads, op_type, op_attrs, wanted, Tout):  # noqa: N803
    return [inputs[i] for i in wanted]


@vjp.kernel
def _(inputs, grads, op_type, op_attrs, wanted, Tout):  # noqa: N803
    op_def = REGISTRY.get(op_type)

    def function(*chosen):
        values = list(inputs)
        for i, value in zip(wanted, chosen, strict=True):
            values[i] = value
        outputs = invoke(op_def, values, op_attrs, device=chosen[0].device)
        return tuple(o for o in outputs if o.is_floating_point() or o.is_complex())

    _, pull = torch.func.vjp(function, *[inputs[i] for i in wanted])
    return list(pull(tuple(grads)))
