"""Assertions, which stop the step.  They run where their values are: while they hold, only a verdict leaves the device."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY, FLOATING
from headrace.core.errors import NOT_FINITE, InvalidArgumentError
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


# Beside a node of a step whose numbers are checked (passes/check_numbers.py), with what that node computed with.
check = op(
    "_CheckNumbers(value: V, inputs: list(T); what: string, names: list(string)) -> ()",
    V=FLOATING, T=ANY, stateful=True, opaque=True, lenient=True,
)  # fmt: skip
check.not_differentiable()
check.shape(lambda value, inputs, what, names: [])


@check.kernel
def _(value, inputs, what, names):
    if torch.isfinite(value).all():
        return
    lines = [f"{NOT_FINITE}{what} gives {_strange(value)}; its inputs are"]
    lines += [f"\t {name}: {_range(tensor)}" for name, tensor in zip(names, inputs, strict=True)] or ["\t none"]
    raise InvalidArgumentError(None, None, "\n".join(lines))


def _strange(value):
    """How many of its numbers are none, or infinite; empty if none are."""
    counts = {"NaN": int(torch.isnan(value).sum()), "infinity": int(torch.isinf(value).sum())}
    found = " and ".join(f"{count} times {name}" for name, count in counts.items() if count)
    return found and f"{found} in {value.numel()} numbers"


def _range(value):
    described = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if not value.numel():
        return f"{described}, empty"
    strange = _strange(value) if value.is_floating_point() else ""
    return f"{described}, {strange or f'{value.min().item():.4g} to {value.max().item():.4g}'}"


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
