"""torch functions that the compiler must call as they are, not take apart.

Inductor lowers a max pool and its gradient into loops of its own; with both in one graph it recomputes the pool for every window
(measured on a GPU: 1.27 ms where the library's kernels take 0.42), and on the CPU spends over a minute simplifying the indices.
Wrapped as custom ops they stay library calls.  Outside tracing the plain functions are used: a custom op costs more to call.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

aten = torch.ops.aten


def is_traced(tensor: torch.Tensor) -> bool:
    """Whether this is a stand-in of the tracer."""
    return type(tensor) is not torch.Tensor


def max_pool2d(x: Any, window: Any, stride: Any, padding: Any, ceil: bool) -> Any:
    """(maxima, flat spatial positions) of a channels-first tensor."""
    if is_traced(x) and x.device.type != "meta":
        return _custom()[0](x, list(window), list(stride), list(padding), ceil)
    return aten.max_pool2d_with_indices.default(x, window, stride, padding, (1, 1), ceil)


def max_pool2d_backward(grad: Any, x: Any, window: Any, stride: Any, padding: Any, ceil: bool, indices: Any) -> Any:
    if is_traced(x) and x.device.type != "meta":
        return _custom()[1](grad, x, list(window), list(stride), list(padding), ceil, indices)
    return aten.max_pool2d_with_indices_backward.default(grad, x, window, stride, padding, (1, 1), ceil, indices)


@cache
def _custom() -> tuple[Any, Any]:
    """The two custom ops, made on first use."""

    def forward(x, window, stride, padding, ceil):  # type: ignore[no-untyped-def]
        return aten.max_pool2d_with_indices.default(x, window, stride, padding, (1, 1), ceil)

    def backward(grad, x, window, stride, padding, ceil, indices):  # type: ignore[no-untyped-def]
        return aten.max_pool2d_with_indices_backward.default(grad, x, window, stride, padding, (1, 1), ceil, indices)

    pool = torch.library.custom_op(
        "headrace::max_pool2d", forward, mutates_args=(),
        schema="(Tensor x, int[] window, int[] stride, int[] padding, bool ceil) -> (Tensor, Tensor)",
    )  # fmt: skip
    pool.register_fake(forward)
    back = torch.library.custom_op(
        "headrace::max_pool2d_backward", backward, mutates_args=(),
        schema="(Tensor grad, Tensor x, int[] window, int[] stride, int[] padding, bool ceil, Tensor indices) -> Tensor",
    )  # fmt: skip
    back.register_fake(backward)
    return pool, back
