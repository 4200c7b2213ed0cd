"""How much of a max pool the compiler may see.

With a pool and its gradient in one graph, inductor fuses the two and recomputes the pool for every window (measured on a
GPU: 1.27 ms for AlexNet's where 0.42 suffice).  So on CUDA the positions of the maxima are made to be stored in between;
inductor's own kernels on either side are then faster than the library's (GoogLeNet's pools on an H200 take 7.1 ms in the
library).  On the CPU inductor spends over a minute simplifying the indices, so there the pool is a custom op, which stays a
library call.  Outside tracing the plain functions are used: a custom op costs more to call.
"""

from __future__ import annotations

from typing import Any

import torch

from headrace.resources.calling.torch_op import defines, torch_op

aten = torch.ops.aten


def is_traced(tensor: torch.Tensor) -> bool:
    """Whether this is a stand-in of the tracer."""
    return type(tensor) is not torch.Tensor


def max_pool2d(x: Any, window: Any, stride: Any, padding: Any, ceil: bool) -> Any:
    """(maxima, flat spatial positions) of a channels-first tensor."""
    if is_traced(x) and x.device.type == "cpu":
        return _custom()[0](x, list(window), list(stride), list(padding), ceil)
    y, indices = aten.max_pool2d_with_indices.default(x, window, stride, padding, (1, 1), ceil)
    if is_traced(x) and x.device.type == "cuda":
        _keep()(indices)
    return y, indices


def max_pool2d_backward(grad: Any, x: Any, window: Any, stride: Any, padding: Any, ceil: bool, indices: Any) -> Any:
    if is_traced(x) and x.device.type == "cpu":
        return _custom()[1](grad, x, list(window), list(stride), list(padding), ceil, indices)
    return aten.max_pool2d_with_indices_backward.default(grad, x, window, stride, padding, (1, 1), ceil, indices)


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


@defines("keep")
def _keep() -> Any:
    """A custom op that claims to change its argument, so that the compiler must store it, and does nothing."""

    def keep(x):  # type: ignore[no-untyped-def]
        return None

    return torch_op("keep(Tensor(a!) x) -> ()", keep)
