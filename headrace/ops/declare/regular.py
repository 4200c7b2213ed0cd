"""Constructors for the regular ops: element-wise ones of one or two inputs with broadcasting, and partial values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import REAL, DType
from headrace.core.registry import REGISTRY, Fits, OpDef, op
from headrace.core.shape import TensorShape, broadcast_shape
from headrace.core.wording import in_brackets
from headrace.graph import context, raw_ops
from headrace.graph.handle import shape_for_gradient
from headrace.graph.operation import Tensor

WIDE_UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)  # torch stores these but hardly computes with them
_FEW = 512
_FOLDED = 4096  # the largest constant, in elements, worth computing while building


def unary(
    name: str, kernel: Callable[..., Any], types: Sequence[DType], gradient: Callable[..., Any] | None = None,
    out: str = "T", array: Callable[..., Any] | None = None, fits: Fits | None = None, **traits: bool,
) -> OpDef:  # fmt: skip
    """An element-wise op of one input ``x``: same shape out; ``gradient(node, grad)`` gives one tensor.

    ``array`` is its kernel on numpy arrays of real numbers, ``fits`` says for which (`OpDef.array_kernel`).
    """
    op_def = op(f"{name}(x: T) -> (y: {out})", T=types, **traits)
    op_def.shape(lambda x: x)
    op_def.kernel(kernel)
    widen(op_def, kernel)
    if gradient is not None:
        op_def.gradient(gradient)
    if array is not None:
        op_def.array_kernel(array, fits, T=[t for t in types if t in REAL])
    return op_def


def binary(
    name: str, kernel: Callable[..., Any], types: Sequence[DType], gradient: Callable[..., Any] | None = None,
    out: str = "T", names: tuple[str, str] = ("x", "y"), array: Callable[..., Any] | None = None,
    bits: Callable[..., Any] | None = None, **traits: bool,
) -> OpDef:  # fmt: skip
    """An element-wise op of two inputs that broadcast; ``gradient`` gives two tensors of the output's shape.

    ``array`` is its kernel on numpy arrays of real numbers, ``bits`` that on the bits of uint64 (`widen`).
    """
    op_def = op(f"{name}({names[0]}: T, {names[1]}: T) -> (z: {out})", T=types, **traits)
    op_def.shape(broadcast)
    op_def.refuse(refuse_broadcast)
    op_def.kernel(kernel)
    widen(op_def, kernel, bits)
    if gradient is not None:
        op_def.gradient(lambda node, grad: unbroadcast(node, gradient(node, grad)))
    if array is not None:
        op_def.array_kernel(array, T=[t for t in types if t in REAL])
    return op_def


def few(shapes: Sequence[Sequence[int]], attrs: dict[str, Any]) -> bool:
    """Whether an array kernel with exponentials fits: of more numbers torch's take a half to a third of the time of numpy's.

    Measured on 64-bit Arm.
    """
    return math.prod(shapes[0]) <= _FEW


def widen(op_def: OpDef, kernel: Callable[..., Any], bits: Callable[..., Any] | None = None) -> None:
    """Lets an op compute unsigned integers wider than 8 bits: through int64, back into the type they came in.

    Sums, products and bit patterns are exact.  ``bits``: for uint64, where order and quotients matter and int64 has others above
    2**63, a kernel on the same bits as int64 (declare/unsigned.py).
    """
    allowed = [t for t in WIDE_UNSIGNED if t in op_def.signature.allowed.get("T", ())]
    if not allowed:
        return

    @op_def.kernel(T=allowed)
    def _(*arguments):
        flat = [t for a in arguments for t in (a if isinstance(a, list) else [a])]
        dtype = next(t.dtype for t in flat if isinstance(t, torch.Tensor))
        call = bits if bits is not None and dtype is torch.uint64 else kernel
        result = call(*[_as_int64(a) for a in arguments])
        return result.to(dtype) if result.dtype is torch.int64 else result


def _as_int64(argument: Any) -> Any:
    if isinstance(argument, list):
        return [_as_int64(a) for a in argument]
    return argument.to(torch.int64) if isinstance(argument, torch.Tensor) else argument


def broadcast(x: TensorShape, y: TensorShape, *attrs: Any) -> TensorShape:
    """The shape rule of two inputs that broadcast."""
    try:
        return broadcast_shape(x, y)
    except ValueError:
        pairs = zip(reversed(x.tuple or ()), reversed(y.tuple or ()), strict=False)
        a, b = next((a, b) for a, b in pairs if None not in (a, b) and a != b and 1 not in (a, b))
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}") from None


def refuse_broadcast(x: Any, y: Any, *attrs: Any) -> None:
    """Refuses two inputs that do not broadcast, in the words of TensorFlow's kernels."""
    for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False):
        if a != b and 1 not in (a, b):
            raise ValueError(f"Incompatible shapes: {in_brackets(x.shape)} vs. {in_brackets(y.shape)}")


def unbroadcast(node: Any, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Sums gradients of the output's shape back to the shapes of the node's (first two) inputs."""
    x, y = node.inputs[0], node.inputs[1]
    a, b = x.shape.tuple, y.shape.tuple
    if a is not None and a == b and None not in a:
        return list(grads)
    return [
        None if g is None else _sum_back(g, t, _axes_to_sum(mine, other))
        for g, t, mine, other in ((grads[0], x, a, b), (grads[1], y, b, a))
    ]


def _axes_to_sum(
    mine: tuple[int | None, ...] | None, other: tuple[int | None, ...] | None
) -> tuple[int, list[int]] | None:
    """How many leading dimensions of the result ``mine`` lacks, and which others were broadcast; None if unknown."""
    if mine is None or other is None:
        return None
    lacking = max(0, len(other) - len(mine))
    padded = (1,) * (len(mine) - len(other)) + other[lacking:]
    stretched = []
    for i, (own, partner) in enumerate(zip(mine, padded, strict=True)):
        if own == 1 and partner != 1:
            stretched.append(i)
        elif own is None and partner != 1:
            return None
    return lacking, stretched


def _sum_back(grad: Tensor, like: Tensor, axes: tuple[int, list[int]] | None) -> Tensor:
    if axes is None:
        return sum_to_shape(grad, like)
    lacking, stretched = axes
    summed = [*range(lacking), *(lacking + axis for axis in stretched)]
    if not summed:
        return grad
    dims = like.shape.tuple
    if dims is None or None in dims or context.executing_eagerly():
        grad = raw_ops.Sum(grad, np.arange(lacking, dtype=np.int32)) if lacking else grad
        return raw_ops.Sum(grad, np.array(stretched, np.int32), keep_dims=True) if stretched else grad
    # Reshape(Sum(g)), as in TensorFlow: programs that walk gradients (K-FAC) look for these two nodes.
    return raw_ops.Reshape(raw_ops.Sum(grad, np.array(summed, np.int32)), np.array(dims, np.int32))


def sum_to_shape(grad: Tensor, like: Tensor) -> Tensor:
    """``grad`` summed over the dimensions along which ``like`` was broadcast."""
    g, t = grad.shape.tuple, like.shape.tuple
    if g is not None and t is not None and None not in g and g == t:
        return grad
    return raw_ops._SumToShape(grad, shape_for_gradient(like))


def conjugate(x: Tensor) -> Tensor:
    """What a derivative is multiplied by: the conjugate for complex types, else the tensor itself."""
    return raw_ops.Conj(x) if x.dtype.base_dtype.is_complex else x


def follow(op_def: OpDef, compute: Callable[..., Any]) -> None:
    """Follows small integers through an element-wise op while the graph is built; unknown elements stay unknown."""

    def on_elements(*values):
        return None if any(v is None for v in values) else compute(*values)

    vectorized = np.frompyfunc(on_elements, len(op_def.signature.inputs), 1)

    @op_def.value
    def _(node, *inputs):
        value = whole_value(node, inputs)
        if value is not None or any(v is None for v in inputs) or not node.outputs[0].dtype.base_dtype.is_integer:
            return value
        try:
            return np.asarray(vectorized(*inputs), dtype=object)
        except (ValueError, ArithmeticError):  # shapes or values that cannot work fail when they run, naming the values
            return None


def whole_value(node: Any, inputs: Sequence[Any]) -> Any:
    """The node's value when all its inputs are known and small, else None."""
    if any(v is None or v.dtype == object or v.size > _FOLDED for v in inputs) or REGISTRY.evaluate is None:
        return None
    values = REGISTRY.evaluate(node.op_def, inputs, node.attrs)
    return None if values is None else values[0]
