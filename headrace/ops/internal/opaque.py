"""How much of a max pool the compiler may see.

With a pool and its gradient in one graph, inductor fuses the two and recomputes the pool for every window (measured on a
GPU: 1.27 ms for AlexNet's where 0.42 suffice).  So on CUDA the positions of the maxima are made to be stored in between,
each as one byte, its offset in the window; inductor's own kernels on either side are then faster than the library's
(GoogLeNet's pools on an H200 take 7.1 ms in the library).  On the CPU inductor spends over a minute simplifying the
indices, so there the pool is a custom op, which stays a library call.  Outside tracing the plain functions are used: a
custom op costs more to call.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch

from headrace.resources.calling.torch_op import defines, torch_op

aten = torch.ops.aten
MOST_OFFSETS = 25


def is_traced(tensor: torch.Tensor) -> bool:
    """Whether this is a stand-in of the tracer."""
    return type(tensor) is not torch.Tensor


def max_pool2d(x: Any, window: Any, stride: Any, padding: Any, ceil: bool) -> Any:
    """(maxima, flat spatial positions) of a channels-first tensor."""
    if is_traced(x) and x.device.type == "cpu":
        return _custom()[0](x, list(window), list(stride), list(padding), ceil)
    if is_traced(x) and x.device.type == "cuda":
        return _stored_offsets(x, list(window), list(stride), list(padding), ceil)
    return aten.max_pool2d_with_indices.default(x, window, stride, padding, (1, 1), ceil)


def max_pool2d_backward(grad: Any, x: Any, window: Any, stride: Any, padding: Any, ceil: bool, indices: Any) -> Any:
    if is_traced(x) and x.device.type == "cpu":
        return _custom()[1](grad, x, list(window), list(stride), list(padding), ceil, indices)
    if is_traced(x) and x.device.type == "cuda" and _windows(window, stride) <= MOST_OFFSETS:
        return _gather()(grad, indices, [int(n) for n in x.shape[2:]], list(window), list(stride), list(padding))
    return aten.max_pool2d_with_indices_backward.default(grad, x, window, stride, padding, (1, 1), ceil, indices)


def _stored_offsets(x: Any, window: list[int], stride: list[int], padding: list[int], ceil: bool) -> Any:
    """The pool in the compiler's own terms, with the offsets stored; positions follow from them where they are used."""
    from torch._inductor import inductor_prims as prims

    if window[0] * window[1] > MOST_OFFSETS:  # what inductor unrolls; not far beyond, an offset does not fit a byte
        y, indices = aten.max_pool2d_with_indices.default(x, window, stride, padding, (1, 1), ceil)
        _keep()(indices)
        return y, indices
    y, offsets = prims._low_memory_max_pool_with_offsets(x, window, stride, padding, [1, 1], ceil)
    _keep()(offsets)
    size = [int(n) for n in x.shape[2:]]
    return y, prims._low_memory_max_pool_offsets_to_indices(offsets, window, size, stride, padding, [1, 1])


@defines("max_pool2d", "max_pool2d_backward")
def _custom() -> tuple[Any, Any]:
    """The two custom ops, made on first use."""

    def forward(x, window, stride, padding, ceil):  # type: ignore[no-untyped-def]
        return aten.max_pool2d_with_indices.default(x, window, stride, padding, (1, 1), ceil)

    def backward(grad, x, window, stride, padding, ceil, indices):  # type: ignore[no-untyped-def]
        return aten.max_pool2d_with_indices_backward.default(grad, x, window, stride, padding, (1, 1), ceil, indices)

    places = "int[] window, int[] stride, int[] padding, bool ceil"
    return (
        torch_op(f"max_pool2d(Tensor x, {places}) -> (Tensor, Tensor)", forward),
        torch_op(f"max_pool2d_backward(Tensor grad, Tensor x, {places}, Tensor indices) -> Tensor", backward),
    )


def _windows(window: Sequence[int], stride: Sequence[int]) -> int:
    """In how many windows an element may be."""
    return math.prod(-(-k // s) for k, s in zip(window, stride, strict=True))


@defines("max_pool2d_gather")
def _gather() -> Any:
    """An op that gives an element the gradients of those windows around it whose maximum it is.

    Inductor's own way limits the number of each window to those that exist, and then writes and simplifies that limit wherever
    the number is used: a fifth of the time in which AlexNet's kernels are written.  Here windows that do not exist are not read.
    """
    from torch._inductor.ir import Pointwise
    from torch._inductor.lowering import register_lowering
    from torch._inductor.virtualized import ops
    from torch.utils._sympy.functions import FloorDiv

    def library(grad, indices, size, window, stride, padding):  # type: ignore[no-untyped-def]
        x = fake(grad, indices, size, window, stride, padding)
        whole = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(size, padding, window, stride, strict=True)]
        ceil = list(grad.shape[2:]) != whole  # the last windows may be incomplete
        return aten.max_pool2d_with_indices_backward.default(grad, x, window, stride, padding, (1, 1), ceil, indices)

    def fake(grad, indices, size, window, stride, padding):  # type: ignore[no-untyped-def]
        last = grad.is_contiguous(memory_format=torch.channels_last)
        x = grad.new_empty((*grad.shape[:2], *size))
        return x.contiguous(memory_format=torch.channels_last) if last else x

    def lowering(grad, indices, size, window, stride, padding):  # type: ignore[no-untyped-def]
        grad.realize_hint()  # it is read once for each window
        gradient_at, position_at = grad.make_loader(), indices.make_loader()
        counts = [int(n) for n in grad.get_size()[2:]]

        def number(x):  # type: ignore[no-untyped-def]
            return ops.index_expr(x, torch.int32)

        def windows(axis, x):  # type: ignore[no-untyped-def]
            """The numbers of the windows that may hold the element ``x`` of an axis; for each, what must hold for it to exist."""
            for back in range(-(-window[axis] // stride[axis])):
                place = FloorDiv(x + padding[axis], stride[axis]) - back
                last = (size[axis] - 1 + padding[axis]) // stride[axis] - back
                exists = [ops.ge(number(place), number(0))] if back else []
                yield place, exists + [ops.lt(number(place), number(counts[axis]))] * (last >= counts[axis])

        def element(index):  # type: ignore[no-untyped-def]
            *image, h, w = index
            here, none = number(h * size[1] + w), ops.constant(0.0, grad.get_dtype())
            total = None
            for (row, row_exists), (column, column_exists) in itertools.product(windows(0, h), list(windows(1, w))):
                window_at = [*image, row, column]

                def part(window_at=window_at):  # type: ignore[no-untyped-def]
                    position = ops.to_dtype(position_at(window_at), torch.int32)
                    return ops.where(ops.eq(position, here), gradient_at(window_at), none)

                exists = [*row_exists, *column_exists]
                value = ops.masked(functools.reduce(ops.and_, exists), part, 0.0) if exists else part()
                total = value if total is None else ops.add(total, value)
            return total

        return Pointwise.create(
            device=grad.get_device(), dtype=grad.get_dtype(), inner_fn=element, ranges=[*grad.get_size()[:2], *size]
        )

    places = "int[] size, int[] window, int[] stride, int[] padding"
    op = torch_op(f"max_pool2d_gather(Tensor grad, Tensor indices, {places}) -> Tensor", library, fake)
    register_lowering(op, type_promotion_kind=None)(lowering)
    return op


@defines("keep")
def _keep() -> Any:
    """A custom op that claims to change its argument, so that the compiler must store it, and does nothing."""

    def keep(x):  # type: ignore[no-untyped-def]
        return None

    return torch_op("keep(Tensor(a!) x) -> ()", keep)
