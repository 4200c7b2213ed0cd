"""How many float operations a node takes, by its type and the static shapes around it.

TensorFlow counts some forty types of ops and no others; so does this.  A product and the sum it goes into are two.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from headrace.graph.operation import Operation, Tensor


class UnknownShape(Exception):
    """A shape that the count needs is not fully known."""


def float_operations(node: Operation) -> int | None:
    """The number of float operations; None for a type that is not counted; UnknownShape where shapes are open."""
    rule = _RULES.get(node.type)
    return None if rule is None else rule(node)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    dims = tensor.shape.tuple
    if dims is None or None in dims:
        raise UnknownShape(tensor.name)
    return tuple(d for d in dims if d is not None)


def _size(tensor: Tensor) -> int:
    return math.prod(_shape(tensor))


def _each(number: int) -> Callable[[Operation], int]:
    """That many for each element of the output."""
    return lambda node: number * _size(node.outputs[0])


def _reduction(per_output: int) -> Callable[[Operation], int]:
    """One less than there are elements for each output, and that many when it is finished."""
    return lambda node: _size(node.inputs[0]) + (per_output - 1) * _size(node.outputs[0])


def _product(node: Operation) -> int:
    turned = node.attrs.get("transpose_a", node.attrs.get("adj_x", False))
    return 2 * _size(node.outputs[0]) * _shape(node.inputs[0])[-2 if turned else -1]


def _convolution(node: Operation) -> int:
    return 2 * _size(node.outputs[0]) * math.prod(_shape(node.inputs[1])[:-1])


def _depthwise(node: Operation) -> int:
    return 2 * _size(node.outputs[0]) * math.prod(_shape(node.inputs[1])[:2])


def _convolution_gradient(
    image: Callable[[Operation], Tensor], kernel: Callable[[Operation], Tensor]
) -> Callable[[Operation], int]:
    def count(node: Operation) -> int:
        shape = _shape(image(node))
        strides: int = math.prod(node.attrs["strides"])
        return 2 * math.prod(shape) * _size(kernel(node)) // (shape[-1] * strides)

    return count


def _window(node: Operation) -> int:
    return math.prod(node.attrs["ksize"])


_ELEMENT_WISE = {
    1: "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow _PowerOf Equal NotEqual Less LessEqual Greater GreaterEqual Neg Reciprocal "
    "Square Log BiasAdd AssignAdd AssignSub",
    2: "SquaredDifference Rsqrt",
    4: "RsqrtGrad",
    5: "Softmax",
}
_RULES: dict[str, Callable[[Operation], int]] = {
    **{name: _each(number) for number, names in _ELEMENT_WISE.items() for name in names.split()},
    "AddN": lambda node: (len(node.inputs) - 1) * _size(node.outputs[0]),
    "L2Loss": lambda node: 3 * _size(node.inputs[0]) - 1,
    "Sum": _reduction(0),
    "Mean": _reduction(1),
    "ArgMax": _reduction(0),
    "ArgMin": _reduction(0),
    "BiasAddGrad": _reduction(0),
    "MatMul": _product,
    "BatchMatMul": _product,
    "BatchMatMulV2": _product,
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "Conv2DBackpropInput": _convolution_gradient(lambda node: node.outputs[0], lambda node: node.inputs[1]),
    "Conv2DBackpropFilter": _convolution_gradient(lambda node: node.inputs[0], lambda node: node.outputs[0]),
    "DepthwiseConv2dNative": _depthwise,
    "Dilation2D": _depthwise,
    "MaxPool": lambda node: _window(node) * _size(node.outputs[0]),
    "AvgPool": lambda node: _window(node) * _size(node.outputs[0]),
    "MaxPoolGrad": lambda node: (_window(node) + 1) * _size(node.inputs[1]),
    "_MaxPoolLocated": lambda node: _window(node) * _size(node.outputs[0]),
    "_MaxPoolLocatedGrad": lambda node: _size(node.inputs[2]),
    "AvgPoolGrad": lambda node: 2 * _window(node) * _size(node.inputs[1]),
}
