"""How much of a max pool the compiler may see.

With a pool and its gradient in one graph, inductor fuses the two and recomputes the pool for every window (measured on a
GPU: 1.27 ms for AlexNet's where 0.42 suffice).  So on CUDA the positions of the maxima are made to be stored in between,
each as one byte, its offset in the window; inductor's own kernels on either side are then faster than the library's
(GoogLeNet's pools on an H200 take 7.1 ms in the library).  On the CPU inductor spends over a minute simplifying the
indices, so there the pool is a custom op, which stays a library call.  Outside tracing the plain functions are used: a
custom op costs more to call.
"""

from __future__ import annotations

from typing import Any

import torch

from headrace.resources.torch_op import defines

aten = torch.ops.aten
MOST_OFFSETS = 25
_library = torch.library.Library("headrace", "FRAGMENT")


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

    # Not ``torch.library.custom_op``: calling one of those imports the compiler.
    for name, implementation, schema in (
        ("max_pool2d", forward, "(Tensor x, int[] window, int[] stride, int[] padding, bool ceil) -> (Tensor, Tensor)"),
        (
            "max_pool2d_backward", backward,
            "(Tensor grad, Tensor x, int[] window, int[] stride, int[] padding, bool ceil, Tensor indices) -> Tensor",
        ),
    ):  # fmt: skip
        _library.define(name + schema, tags=torch.Tag.pt2_compliant_tag)
        _library.impl(name, implementation, "CompositeExplicitAutograd")
        torch.library.register_fake(f"headrace::{name}", implementation, lib=_library)
    return torch.ops.headrace.max_pool2d.default, torch.ops.headrace.max_pool2d_backward.default


@defines("keep")
def _keep() -> Any:
    """A custom op that claims to change its argument, so that the compiler must store it, and does nothing."""

    def keep(x):  # type: ignore[no-untyped-def]
        return None

    op = torch.library.custom_op("headrace::keep", keep, mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
    op.register_fake(keep)
    return op
