"""The cost model: seconds of a node on a device, and of a value on its way between two (white paper 3.2.1).

What was measured counts; the rest is estimated from the node's work and the machine's rates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.passes.arrays import is_small, named_inputs
from headrace.passes.bodies import held_bodies
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.cost.product import all_float_operations
from headrace.passes.cost.rates import USUAL, Machine
from headrace.passes.cost.use import use_of
from headrace.passes.cost.work import NOTHING, Flops, Work, iterations, size_of, work_of
from headrace.passes.step_graph import Node, StepGraph, Value

CALL: Final = " call"  # after a type of device, in what was measured: what the thread takes that calls


class CostModel:
    """Remembers what it has worked out for a node, so one serves one graph.  Not thread-safe."""

    def __init__(
        self, machine: Machine = USUAL, measured: Measured | None = None, flops: Flops = all_float_operations
    ) -> None:
        self.machine = machine
        self._measured = measured
        self._flops = flops
        self._work: dict[Node, Work] = {}
        self._seconds: dict[tuple[Node, str], float] = {}
        self._keys: dict[Node, str | None] = {}  # in what was measured
        self._open: set[StepGraph] = set()  # the bodies that are being looked at

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
            working, calling = self.working(node, device_type), self.calling(node, device_type)
            known = self._seconds[node, device_type] = max(working, calling)
        return known

    def working(self, node: Node, device_type: str) -> float:
        """What the device takes for the node."""
        seen = self._seen(node, device_type)
        if seen is not None:
            return seen
        bodies = held_bodies(node)
        if bodies:
            return self._of_bodies(node, bodies, lambda n: self.working(n, device_type))
        work = self.work(node)
        if work is NOTHING:
            return 0.0
        rates = self.machine.rates_of(device_type)
        on_array = bool(rates.array) and may_be_array(node)
        return rates.working(work, _product_type(node), use_of(node), on_array)

    def calling(self, node: Node, device_type: str) -> float:
        """What the calling thread takes to begin the node on a device that works beside it; 0 where it works itself."""
        seen = self._seen(node, device_type + CALL)
        if seen is not None:
            return seen
        rates = self.machine.rates_of(device_type)
        if not rates.queued:
            return 0.0
        bodies = held_bodies(node)
        if bodies:
            return self._of_bodies(node, bodies, lambda n: self.calling(n, device_type))
        return rates.calling(self.work(node), use_of(node))

    def _of_bodies(self, node: Node, bodies: list[StepGraph], seconds: Callable[[Node], float]) -> float:
        """All iterations of a loop; of a conditional the branch that takes longer."""
        open_ones, bodies = self._open, [body for body in bodies if body not in self._open]
        open_ones.update(bodies)  # a function that calls itself counts once
        try:
            sums = [sum(map(seconds, body.nodes)) for body in bodies]
        finally:
            open_ones.difference_update(bodies)
        return iterations(node) * sum(sums) if "body" in node.attrs else max(sums, default=0.0)

    def is_measured(self, node: Node, device_type: str) -> bool:
        """Whether such a node has run on such a device."""
        return self._seen(node, device_type) is not None

    def transfer(self, value: Value, source: str, destination: str) -> float:
        """What a value takes from one device to another, by their full names; 0 to the same."""
        return 0.0 if source == destination else self.machine.link(source, destination).seconds(size_of(value))

    def _seen(self, node: Node, device_type: str) -> float | None:
        if not self._measured:
            return None
        if node not in self._keys:
            self._keys[node] = key_of(node)
        return self._measured.seconds(device_type, self._keys[node])


def may_be_array(node: Node) -> bool:
    """Whether the node runs on arrays where its neighbours do: it can, and its values are small (passes/arrays.py)."""
    kernel = node.op_def.find_array_kernel(node.attrs)
    if kernel is None:
        return False
    if not all(is_small(v.shape) for v in (*node.inputs, *node.outputs) if not v.dtype._is_ref_dtype):
        return False
    if kernel.fits is None:
        return True
    inputs = node.inputs if node.op_def.takes_tensors else [v for arg, v in named_inputs(node) if not arg.host]
    return kernel.fits([v.shape.tuple or () for v in inputs], node.attrs)


def _product_type(node: Node) -> str:
    """The type in which a node multiplies."""
    for value in node.outputs:
        if value.dtype.base_dtype.is_floating:
            return value.dtype.base_dtype.name
    return "float32"
