"""How a pass names the ops that it is about: once, at the top of its module.

What holds of many ops is a trait (core/registry.py), and passes ask for that.  A rewrite of one op (a product, a pool and its
gradient) has to name it.
"""

from __future__ import annotations

from headrace.passes.step_graph import Node


class Ops:
    """Op types by name: ``PRODUCT = Ops("MatMul")`` at the top of a pass, ``if node in PRODUCT`` in it."""

    __slots__ = ("_names",)

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __contains__(self, node: Node) -> bool:
        return node.op_def.name in self._names

    def __repr__(self) -> str:
        return f"Ops({', '.join(sorted(self._names))})"
