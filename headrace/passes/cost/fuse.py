"""Compiled steps: what fusing takes away.  An estimate, for a compiler decides what it fuses when it sees the code.

Products, convolutions, pools, rows of tables and loops stay kernels of their own.  All between them is fused: nodes that
are connected without one of those between them are one kernel, which reads what comes from outside once and writes what is used
outside once.  Its float operations cost nothing beside its bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from headrace.core.device import type_of
from headrace.passes.bodies import held_bodies
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.use import CONVOLUTION, POOLING, PRODUCT, RANDOM, ROWS, use_of
from headrace.passes.cost.work import NOTHING, size_of
from headrace.passes.step_graph import Node, Value

_APART: Final = frozenset((PRODUCT, CONVOLUTION, POOLING, ROWS, RANDOM))


class FusedCosts:
    """Seconds of the nodes of one compiled step; those of a fused kernel are with its first node."""

    def __init__(self, nodes: Sequence[Node], fetches: Collection[Value], model: CostModel) -> None:
        self._model = model
        self._apart = {n for n in nodes if use_of(n) in _APART or held_bodies(n)}
        self._kernel: dict[Node, Node] = {}  # of a fused node: another one of its kernel, or itself
        self._join(nodes)
        self._bytes: dict[Node, float] = {}  # by the first node of each kernel
        self._count(nodes, fetches)

    def seconds(self, node: Node) -> float:
        """What the device takes for the node, the rest of its kernel included if it is the first."""
        device_type = type_of(node.device)
        if node in self._apart:
            return self._model.working(node, device_type)
        moved = self._bytes.get(node)
        if moved is None:
            return 0.0
        rates = self._model.machine.rates_of(device_type)
        return rates.queued + moved / rates.bandwidth

    def _join(self, nodes: Sequence[Node]) -> None:
        """Fused nodes are one kernel if a value goes between them and no path between them leads through a node apart."""
        rounds: dict[Node, int] = {}
        for node in nodes:
            before = [p for p in node.predecessors() if p in rounds]
            rounds[node] = max((rounds[p] + (p in self._apart) for p in before), default=0)
            if node in self._apart or self._model.work(node) is NOTHING:
                continue
            self._kernel[node] = node
            for one in before:
                if one in self._kernel and rounds[one] == rounds[node]:
                    self._kernel[self._first(node)] = self._first(one)

    def _first(self, node: Node) -> Node:
        while self._kernel[node] is not node:
            node = self._kernel[node]
        return node

    def _count(self, nodes: Sequence[Node], fetches: Collection[Value]) -> None:
        outside = set(fetches)
        read: set[tuple[Node, Value]] = set()
        for node in nodes:
            mine = self._first(node) if node in self._kernel else None
            for value in node.inputs:
                source = self._first(value.op) if value.op in self._kernel else None
                if source is mine:
                    continue
                outside.add(value)
                if mine is not None:
                    read.add((mine, value))
        for kernel, value in read:
            self._bytes[kernel] = self._bytes.get(kernel, 0.0) + size_of(value)
        for node in self._kernel:
            kernel, work = self._first(node), self._model.work(node)
            state = max(work.read - sum(map(size_of, node.inputs)), 0.0) if node.op_def.traits.writes else 0.0
            written = sum(size_of(value) for value in node.outputs if value in outside)
            self._bytes[kernel] = self._bytes.get(kernel, 0.0) + 2 * state + written
