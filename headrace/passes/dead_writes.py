"""Dead writes: an assignment that a later one in the same step overwrites, with no read in between, is not made.

    %a = Assign(%v, %x)   %b = Assign(%v, %y) ^%a      ->      %a = NoOp()   %b = Assign(%v, %y) ^%a

What resets a state and then sets it does this (a recurrent network's state at the start of a sequence).  Whatever waits for
the first assignment still waits for what that waited for.  State kept in values rather than variables (tensor arrays, the
records of loops) needs no such pass: what nobody uses is pruned like any other value.
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value


def dead_writes(graph: StepGraph) -> StepGraph:
    """Only where both assignments have the variable's own static shape, and only if everything else has its place."""
    uses: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for handle in {root(node.inputs[p]) for p in ref_positions(node)}:
            uses.setdefault(handle, []).append(node)
    changed = False
    for handle, nodes in uses.items():
        writes = [n for n in nodes if _overwrites(n, handle)]
        for first in writes if len(writes) > 1 else ():
            later = next((n for n in writes if n is not first and _dead(graph, first, n, nodes)), None)
            if later is not None:
                _drop(graph, first, later)
                nodes.remove(first)
                changed = True
    if changed:
        graph.sweep()
    return graph


def _overwrites(node: Node, handle: Value) -> bool:
    if node.type != "Assign" or not handle.shape.is_fully_defined():
        return False
    return node.inputs[1].shape.tuple == handle.shape.tuple


def _dead(graph: StepGraph, first: Node, later: Node, nodes: list[Node]) -> bool:
    """Whether ``later`` follows, and nothing between could see what ``first`` wrote, here or in another step."""
    after = _following(graph, first)
    if later not in after:
        return False
    if any(n.op_def.traits.has_effect for n in after & _preceding(later)):
        return False  # it may tell another step to look
    placed = _following(graph, later) | _preceding(first) | {first, later}
    if any(n not in placed for n in nodes):
        return False
    passed = first.outputs[0]  # the handle that the assignment passes on
    if passed in graph.fetches:
        return False
    return all(n is later for n in graph.nodes if passed in n.inputs)


def _following(graph: StepGraph, start: Node) -> set[Node]:
    found = {start}
    for node in graph.nodes:  # in a topological order
        if node not in found and any(p in found for p in node.predecessors()):
            found.add(node)
    return found - {start}


def _preceding(end: Node) -> set[Node]:
    found: set[Node] = set()
    stack = list(end.predecessors())
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(node.predecessors())
    return found


def _drop(graph: StepGraph, first: Node, later: Node) -> None:
    effects = graph.after_effects()
    handle = first.inputs[0]
    later.inputs = [handle if v is first.outputs[0] else v for v in later.inputs]
    if first not in later.control_inputs:
        later.control_inputs.append(first)
    waits = [v.op for v in first.inputs if v.op in effects]
    first.op_def, first.inputs, first.attrs, first.outputs = REGISTRY.get("NoOp"), [], {}, []
    first.control_inputs = list(dict.fromkeys([*first.control_inputs, *waits]))
