"""Assertions, which stop the step.  They run where their values are: while they hold, only a verdict leaves the device."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY, FLOATING
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.summarise import summarise

assertion = op(
    "Assert(condition: bool, data: list(T); summarize: int = 3) -> ()",
    T=ANY, stateful=True, opaque=True, takes_arrays=True, lenient=True,
)  # fmt: skip


@assertion.shape
def _(condition, data, summarize):
    condition.with_rank(0)
    return []


@assertion.kernel
def _(condition, data, summarize):
    if not condition:
        parts = " ".join(f"[{summarise(value, summarize)}]" for value in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {parts}")


numerics = op(  # stateful: failing is its effect, so nothing may drop it
    "CheckNumerics(tensor: T; message: string) -> (output: T)", T=FLOATING, view=True, opaque=True, stateful=True
)
numerics.shape(lambda tensor, message: tensor)


@numerics.gradient
def _(node, grad):
    message = "Not a number (NaN) or infinity (Inf) values detected in gradient. "
    return [raw_ops.CheckNumerics(grad, message + node.attrs["message"])]


@numerics.kernel
def _(tensor, message):
    if torch.isfinite(tensor).all():
        return tensor
    names = [name for name, test in (("Inf", torch.isinf), ("NaN", torch.isnan)) if test(tensor).any()]
    raise InvalidArgumentError(None, None, f"{message} : Tensor had {' and '.join(names)} values")


ensure = op("EnsureShape(input: T; shape: shape) -> (output: T)", T=ANY, view=True)
ensure.shape(lambda input, shape: input.merge_with(shape))
ensure.gradient(lambda node, grad: [grad])


@ensure.kernel
def _(input, shape):
    actual = tuple(input.shape)
    if shape is not None and (
        len(actual) != len(shape) or any(w is not None and w != f for w, f in zip(shape, actual, strict=True))
    ):
        expected = ["?" if w is None else w for w in shape]
        raise InvalidArgumentError(
            None, None, f"Shape of tensor {list(actual)} is not compatible with expected shape {expected}."
        )
    return input
