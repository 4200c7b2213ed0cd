"""The stash: what a conditional or a loop keeps of its forward run for its gradient.

A stash is a chain of frames, one for each iteration: ``()`` when empty, else ``(rest, values)``.  Pushing shares the rest, so it
costs the same however long the chain is, and nothing is copied.  The gradient of a stash is a stash too.  It holds the gradients
of those values that have one.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.resources.calling.value import tensor_held

# What it is for tells it from stashes of other devices: no pass takes one for the other.
empty = op('_EmptyStash(; purpose: string = "") -> (stash: variant[0])', opaque=True)
empty.not_differentiable()
empty.kernel(lambda purpose: ())

push = op(
    "_PushStash(rest: variant, values: list(T)) -> (stash: variant[0])",
    T=ANY,
    view=True,
    opaque=True,
    takes_numbers=True,
    takes_arrays=True,
)
push.inline_kernel("({0}, {1})")
push.kernel(lambda rest, values: (rest, values))

pop = op(
    "_PopStash(stash: variant; T: list(type)) -> (rest: variant, values: list(T))",
    T=ANY, view=True, opaque=True, takes_numbers=True, takes_arrays=True,
)  # fmt: skip
pop.shape(lambda stash, T: [(), *[None] * len(T)])
pop.inline_kernel("({0})")
pop.kernel(lambda stash, T: stash)


def _differentiable(dtype):
    return dtype.is_floating or dtype.is_complex or dtype.name == "variant"


@push.gradient
def _(node, grad):
    dtypes = [t.dtype.base_dtype for t in node.inputs[1:]]
    popped = raw_ops._PopStash(grad, T=[dtype for dtype in dtypes if _differentiable(dtype)])
    values = iter(popped.values)
    return [popped.rest, *(next(values) if _differentiable(dtype) else None for dtype in dtypes)]


@pop.gradient
def _(node, *grads):
    differentiable = [
        g for g, t in zip(grads[1:], node.outputs[1:], strict=True) if _differentiable(t.dtype.base_dtype)
    ]
    return [raw_ops._PushStash(grads[0], differentiable)]


class Swapped:
    """A tensor of an accelerator that waits in the host's memory."""

    __slots__ = ("device", "value")

    def __init__(self, value):
        self.device = value.device
        self.value = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
        self.value.copy_(value, non_blocking=True)  # queued on the device, like everything that will use it

    def back(self):
        return self.value.to(self.device, non_blocking=True)

    def zeros(self):
        return torch.zeros_like(self.value, device=self.device)

    def add(self, other):
        return self.back() + (other.back() if isinstance(other, Swapped) else other)


swap_out = op("_SwapOut(value: T) -> (swapped: variant[0])", T=ANY, view=True, opaque=True)
swap_out.kernel(lambda value: Swapped(value) if value.is_cuda else value)
swap_out.gradient(lambda node, grad: [_swapped_in(grad, node.inputs[0])])

swap_in = op("_SwapIn(swapped: variant; T: type) -> (value: T)", T=ANY, view=True, opaque=True)
swap_in.shape(lambda swapped, T: None)
swap_in.kernel(lambda swapped, T: swapped.back() if isinstance(swapped, Swapped) else swapped)
swap_in.gradient(lambda node, grad: [raw_ops._SwapOut(grad)])


def _swapped_in(swapped, like):
    value = raw_ops._SwapIn(swapped, T=like.dtype.base_dtype)
    value.set_shape(like.shape)
    return value


zeros = op("_ZerosVariant(x: variant) -> (y: variant[0])", opaque=True)
zeros.gradient(lambda node, grad: [None])
zeros.kernel(lambda x: zeros_of(x))

add = op("_AddVariants(x: variant, y: variant) -> (z: variant[0])", view=True, opaque=True)
add.gradient(lambda node, grad: [grad, grad])
add.kernel(lambda x, y: sum_of(x, y))


def _frames(stash):
    frames = []
    while stash:
        stash, values = stash
        frames.append(values)
    return frames[::-1]


def _chain(frames):
    stash = ()
    for values in frames:
        stash = (stash, values)
    return stash


def zeros_of(value):
    """The zero gradient of a value."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.zeros_like(value)
    if isinstance(value, tuple):
        return _chain([[zeros_of(v) for v in values if _has_gradient(v)] for values in _frames(value)])
    return value.zeros()


def _has_gradient(value):
    if isinstance(value, torch.Tensor):
        return value.is_floating_point() or value.is_complex()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "fc"
    return not isinstance(value, int)


def sum_of(x, y):
    """The sum of two gradients of one value."""
    x, y = tensor_held(x), tensor_held(y)
    if isinstance(x, torch.Tensor):
        return y.add(x) if isinstance(y, Swapped) else x + y
    if isinstance(x, tuple):
        pairs = zip(_frames(x), _frames(y), strict=True)
        return _chain([[sum_of(a, b) for a, b in zip(f, g, strict=True)] for f, g in pairs])
    return x.add(y)


# ---- rows that a loop collects (passes/defer_sums.py)

push_row = op(
    "_PushRow(rest: variant, value: T) -> (rows: variant[0])", T=ANY, view=True, opaque=True, takes_arrays=True
)
push_row.not_differentiable()
push_row.inline_kernel("({0}, {1})")
push_row.kernel(lambda rest, value: (rest, value))

join_rows = op("_JoinRows(rows: variant; axis: int, other: int, T: type) -> (joined: T)", T=ANY, opaque=True)
join_rows.shape(lambda rows, axis, other, T: [None, other] if axis == 0 else [other, None])
join_rows.not_differentiable()


@join_rows.kernel
def _(rows, axis, other, T, *, device):  # noqa: N803
    values = []
    while rows:
        rows, value = rows
        values.append(value)
    if not values:
        return torch.zeros((0, other) if axis == 0 else (other, 0), dtype=T, device=device)
    return torch.cat([tensor_held(value) for value in values], axis)
