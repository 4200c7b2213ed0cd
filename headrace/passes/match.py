"""How a pass names the ops that it is about: once, at the top of its module.

What holds of many ops is a trait (core/registry.py), and passes ask for that.  A rewrite of one op (a product, a pool and its
gradient) has to name it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.passes.step_graph import Node, Value


class Ops:
    """Op types by name: ``PRODUCT = Ops("MatMul")`` at the top of a pass, ``if node in PRODUCT`` in it."""

    __slots__ = ("_names",)

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __contains__(self, node: Node) -> bool:
        return node.op_def.name in self._names

    def __repr__(self) -> str:
        return f"Ops({', '.join(sorted(self._names))})"


CAST = Ops("Cast")


def array_of(value: Value) -> np.ndarray[Any, Any] | None:
    """The value of a constant, also of one that is cast; None if it is no constant."""
    node = value.op.inputs[0].op if value.op in CAST else value.op
    return np.asarray(node.attrs["value"]) if node.op_def.traits.constant else None


def number_of(value: Value) -> float | None:
    """The number that all elements of a constant equal, unless it is 0."""
    number = same_number(array_of(value))
    return float(number) if number else None


def same_number(array: np.ndarray[Any, Any] | None) -> Any:
    """The number that all elements equal, or None."""
    if array is None or not array.size or array.dtype == object:
        return None
    first = array.flat[0]
    return first if array.size == 1 or bool((array == first).all()) else None
