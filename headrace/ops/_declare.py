"""Constructors for the regular ops: element-wise ones of one or two inputs with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.registry import OpDef, op
from headrace.core.shape import TensorShape, broadcast_shape
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor


def unary(
    name: str, kernel: Callable[..., Any], types: Sequence[DType], gradient: Callable[..., Any] | None = None,
    out: str = "T", **traits: bool,
) -> OpDef:  # fmt: skip
    """An element-wise op of one input ``x``: same shape out; ``gradient(node, grad)`` gives one tensor."""
    op_def = op(f"{name}(x: T) -> (y: {out})", T=types, **traits)
    op_def.shape(lambda x: x)
    op_def.kernel(kernel)
    if gradient is not None:
        op_def.gradient(gradient)
    return op_def


def binary(
    name: str, kernel: Callable[..., Any], types: Sequence[DType], gradient: Callable[..., Any] | None = None,
    out: str = "T",
) -> OpDef:  # fmt: skip
    """An element-wise op of two inputs that broadcast; ``gradient(node, grad)`` gives two tensors of the *output's* shape."""
    op_def = op(f"{name}(x: T, y: T) -> (z: {out})", T=types)
    op_def.shape(broadcast)
    op_def.kernel(kernel)
    if gradient is not None:
        op_def.gradient(lambda node, grad: unbroadcast(node, gradient(node, grad)))
    return op_def


def broadcast(x: TensorShape, y: TensorShape) -> TensorShape:
    return broadcast_shape(x, y)


def unbroadcast(node: Any, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Sums gradients of the output's shape back to the shapes of the node's (first two) inputs."""
    x, y = node.inputs[0], node.inputs[1]
    a, b = x.shape.tuple, y.shape.tuple
    if a is not None and a == b and None not in a:
        return list(grads)
    return [None if g is None else sum_to_shape(g, t) for g, t in zip(grads, (x, y), strict=True)]


def sum_to_shape(grad: Tensor, like: Tensor) -> Tensor:
    """``grad`` summed over the dimensions along which ``like`` was broadcast."""
    g, t = grad.shape.tuple, like.shape.tuple
    if g is not None and t is not None and None not in g and g == t:
        return grad
    return raw_ops._SumToShape(grad, raw_ops.Shape(like))
