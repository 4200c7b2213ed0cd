"""Trim: control edges that order nothing, and nodes that only pass a value on.

    %a = Exp(%x)   %b = Identity(%y) ^%a   %c = Neg(%b)      ->      %c = Neg(%y)

A control edge matters only if a node at its far end, or behind it, changes or waits for something outside the step, or if a
node that waits is ahead of it.  The edges that gate gradients (TF1's GATE_OP) order pure nodes, and would hide products from
the passes that look for them.
"""

from __future__ import annotations

from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value


def trim(graph: StepGraph) -> StepGraph:
    """Reads of state (an Identity of a handle) stay: they are places in the order.

    So does an Identity of what was read of a variable that the step writes: it keeps the value of its own place.
    One on another device than its input is a copy, and stays.
    """
    effects = graph.after_effects()
    written = written_handles(graph)
    before_waits = _before_waits(graph)
    values: dict[Value, Value] = {}
    dropped = False
    for node in graph.nodes:
        if node.control_inputs and node not in before_waits:  # other steps may change what is to be read before a wait
            controls = [c for c in node.control_inputs if c in effects or _reads(c)]
            dropped = dropped or len(controls) < len(node.control_inputs)
            node.control_inputs = controls
        if node.inputs and values:
            node.inputs = [values.get(v, v) for v in node.inputs]
        passes_on = node.op_def.traits.identity and not node.control_inputs and len(node.outputs) == 1
        if not passes_on or node in graph.targets or holds(node.inputs[0], written):
            continue
        if may_stand_for(node.inputs[0].op, node):
            values[node.outputs[0]] = node.inputs[0]
    if values or dropped:
        graph.fetches = [values.get(v, v) for v in graph.fetches]
        graph.sweep()
    return graph


def may_stand_for(node: Node, other: Node) -> bool:
    """Whether a node may do the work of another one: the user did not ask for another device for it."""
    if not other.device and not other.colocation:
        return True
    return other.device == node.device and other.colocation in ((), node.colocation)


def _before_waits(graph: StepGraph) -> set[Node]:
    """The nodes that wait, and all they depend on."""
    before: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in before or node.op_def.traits.waits:
            before.add(node)
            before.update(node.predecessors())
    return before


def written_handles(graph: StepGraph) -> set[Value]:
    return {root(n.inputs[p]) for n in graph.nodes if n.op_def.traits.writes for p in ref_positions(n)}


def holds(value: Value, written: set[Value]) -> bool:
    """Whether the value is a handle, or was read from a handle that is written."""
    if value.dtype._is_ref_dtype:
        return True
    op = value.op
    return bool(written) and op.op_def.traits.identity and _reads(op) and root(op.inputs[0]) in written


def _reads(node: Node) -> bool:
    """Whether the node itself reads state: a node that waits for it must see the error if there is no value yet."""
    return any(v.dtype._is_ref_dtype for v in node.inputs)
