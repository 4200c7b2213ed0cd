"""Schedule: a linear order for a strand, and the reads whose value must be copied to survive a later write.

Ready nodes run in the order the user made them (white paper 4.1), writes to state last, so that almost every consumer of a
read has run before the write and reads need not copy.  What cannot be ordered so is copied, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.registry import REGISTRY
from headrace.passes.read import ref_positions
from headrace.passes.step_graph import Node, Value, topological


def schedule(nodes: list[Node]) -> list[Node]:
    """Topological; writes as late as possible."""
    return topological(nodes, lambda n: (n.op_def.traits.writes, n.order))


def order_reads(order: Sequence[Node]) -> None:
    """Adds a control edge from each read to the later writes of the same state, so that no regrouping swaps them."""
    read = REGISTRY.get("_Read")
    readers: dict[Value, list[Node]] = {}
    for node in order:
        if node.op_def is read:
            readers.setdefault(root(node.inputs[0]), []).append(node)
        elif node.op_def.traits.writes:
            for p in ref_positions(node):
                handle = root(node.inputs[p])
                known = set(node.predecessors())
                node.control_inputs += [r for r in readers.pop(handle, ()) if r not in known]


def protect_reads(order: Sequence[Node], escaping: set[Value]) -> list[Node]:
    """Turns reads whose value (or a view of it) is needed after a later write to the same state into copies.

    ``escaping`` values are needed after the whole order has run.  Returns the reads that became copies.
    """
    writes: dict[Value, list[int]] = {}
    for i, node in enumerate(order):
        if node.op_def.traits.writes:
            for p in ref_positions(node):
                writes.setdefault(root(node.inputs[p]), []).append(i)
    if not writes:
        return []
    last = last_use(order, escaping)
    read, copy = REGISTRY.get("_Read"), REGISTRY.get("_ReadCopy")
    copied = []
    for i, node in enumerate(order):
        if node.op_def is read:
            until = last.get(node.outputs[0], i)
            # A write that takes a view of what it overwrites (assign(v, v[::-1])) counts: it must not see its own effect.
            if any(i < w <= until for w in writes.get(root(node.inputs[0]), ())):
                node.op_def = copy
                copied.append(node)
    return copied


def copy_escaping_reads(order: Sequence[Node], escaping: set[Value]) -> None:
    """Copies the reads whose value leaves a body: whoever gets it does not know that a variable is behind it."""
    last = last_use(order, escaping)
    read, copy = REGISTRY.get("_Read"), REGISTRY.get("_ReadCopy")
    for node in order:
        if node.op_def is read and last.get(node.outputs[0], -1) == len(order):
            node.op_def = copy


def last_use(order: Sequence[Node], escaping: set[Value]) -> dict[Value, int]:
    """The last position at which a value, or anything that may share its memory, is used."""
    end = len(order)
    last: dict[Value, int] = dict.fromkeys(escaping, end)
    for i in range(end - 1, -1, -1):
        node = order[i]
        reach = i
        if node.op_def.traits.view:
            reach = max([i] + [last.get(v, i) for v in node.outputs])
        for value in node.inputs:
            if last.get(value, -1) < reach:
                last[value] = reach
    return last


def root(value: Value) -> Value:
    """The handle a ref value stands for: assignments pass their first input's handle on."""
    while value.op.inputs and value.dtype._is_ref_dtype:
        value = value.op.inputs[0]
    return value
