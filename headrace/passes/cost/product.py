"""How many float operations nodes take: TensorFlow's counts, and those of the products that only the planner makes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from headrace.graph.operation import Operation
from headrace.passes.cost.float_operation import UnknownShape, float_operations
from headrace.passes.step_graph import Value


def all_float_operations(node: Operation) -> int | None:
    """The number of float operations; None for a type that is not counted; UnknownShape where shapes are open."""
    rule = _RULES.get(node.type)
    return float_operations(node) if rule is None else rule(node)


def _dims(value: Value) -> tuple[int, ...]:
    dims = value.shape.tuple
    if dims is None or None in dims:
        raise UnknownShape(value.name)
    return tuple(d for d in dims if d is not None)


def _product(a: int, b: int) -> Callable[[Any], int]:
    """Of the inputs with these numbers."""

    def count(node: Any) -> int:
        left, right = _dims(node.inputs[a]), _dims(node.inputs[b])
        columns = right[-2 if node.attrs.get("transpose_b") else -1]
        return 2 * prod(left) * columns

    return count


def _attention(passes: float) -> Callable[[Any], int]:
    """Two products of query by key and weights by value in each pass."""

    def count(node: Any) -> int:
        query, value = _dims(node.inputs[0]), _dims(node.inputs[2])
        pairs = prod(query[:-1]) * value[-2]
        return int(2 * passes * pairs * (query[-1] + value[-1]))

    return count


def _einsum(node: Any) -> int:
    inputs = node.attrs["equation"].partition("->")[0].replace(" ", "").split(",")
    if any("." in names for names in inputs):
        raise UnknownShape(node.name)
    sizes: dict[str, int] = {}
    for names, value in zip(inputs, node.inputs, strict=True):
        sizes.update(zip(names, _dims(value), strict=True))
    return 2 * prod(sizes.values())


_RULES: dict[str, Callable[[Any], int]] = {
    "_ApplyProduct": _product(2, 3),
    "_ApplyMomentumProduct": _product(3, 4),
    "_AddProduct": _product(1, 2),
    "_Attention": _attention(1),
    "_AttentionGrad": _attention(3),  # forward once more, and two products for each of its own
    "_AttentionForward": _attention(1),
    "_AttentionBackward": _attention(2.5),  # the scores once more, and two products for each of forward's
    "Einsum": _einsum,
}
