"""The cost model: seconds of a node on a device, and of a value on its way between two (white paper 3.2.1).

What was measured counts; the rest is estimated from the node's work and the machine's rates.
"""

from __future__ import annotations

from headrace.core.dtypes import bfloat16, float16
from headrace.passes.cost.float_operation import float_operations
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.cost.rates import USUAL, Machine
from headrace.passes.cost.work import NOTHING, Flops, Work, size_of, work_of
from headrace.passes.step_graph import Node, Value


class CostModel:
    """Remembers what it has worked out for a node, so one serves one graph.  Not thread-safe."""

    def __init__(
        self, machine: Machine = USUAL, measured: Measured | None = None, flops: Flops = float_operations
    ) -> None:
        self.machine = machine
        self._measured = measured
        self._flops = flops
        self._work: dict[Node, Work] = {}
        self._seconds: dict[tuple[Node, str], float] = {}

    def work(self, node: Node) -> Work:
        """What the node computes and moves."""
        work = self._work.get(node)
        if work is None:
            work = self._work[node] = work_of(node, self._flops)
        return work

    def seconds(self, node: Node, device_type: str) -> float:
        """What the node takes on a device of this type, once its inputs are there."""
        known = self._seconds.get((node, device_type))
        if known is None:
            known = self._seconds[node, device_type] = self._look(node, device_type)
        return known

    def is_measured(self, node: Node, device_type: str) -> bool:
        """Whether such a node has run on such a device."""
        return self._seen(node, device_type) is not None

    def transfer(self, value: Value, source: str, destination: str) -> float:
        """What a value takes from one device to another, by their full names; 0 to the same."""
        return 0.0 if source == destination else self.machine.link(source, destination).seconds(size_of(value))

    def _look(self, node: Node, device_type: str) -> float:
        seen = self._seen(node, device_type)
        if seen is not None:
            return seen
        work = self.work(node)
        return 0.0 if work is NOTHING else self.machine.rates_of(device_type).seconds(work, _product_type(node))

    def _seen(self, node: Node, device_type: str) -> float | None:
        return None if self._measured is None else self._measured.seconds(device_type, key_of(node))


def _product_type(node: Node) -> str:
    """The type in which a node multiplies."""
    for value in node.outputs:
        if value.dtype.base_dtype in (bfloat16, float16):
            return value.dtype.base_dtype.name
    return "float32"
