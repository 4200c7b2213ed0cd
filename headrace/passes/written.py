"""Which variables a step may write, which nodes it has, whether it saves: what a save beside other steps must know of them."""

from __future__ import annotations

from headrace.passes.bodies import bodies_of
from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value


def written(graph: StepGraph) -> set[Node]:
    """The handles of the variables that nodes of the step, or of bodies inside it, write."""
    return {value.op for value in _written(graph, set()) if value.op.op_def.traits.handle}


def _written(graph: StepGraph, seen: set[StepGraph]) -> set[Value]:
    """Handles, and arguments of the graph that stand for handles."""
    values: set[Value] = set()
    seen.add(graph)
    for node in graph.nodes:
        if node.op_def.traits.writes:
            values.update(root(node.inputs[p]) for p in ref_positions(node))
        for body in _bodies(node):
            if body in seen:  # a function that calls itself, with the arguments it has
                continue
            first = len(node.inputs) - len(body.feeds)
            outside = dict(zip(body.feeds, node.inputs[first:], strict=True))
            values.update(root(outside.get(value, value)) for value in _written(body, seen))
    return values


def _bodies(node: Node) -> list[StepGraph]:
    """The bodies that a node holds, or calls."""
    function = node.attrs.get("f")
    return [*bodies_of(node), *([function] if isinstance(function, StepGraph) else [])]


def may_write(node: Node) -> bool:
    """Whether a node writes variables; one that holds bodies may."""
    return node.op_def.traits.writes or bool(_bodies(node))


def all_names(graph: StepGraph, seen: set[StepGraph] | None = None) -> set[str]:
    """The names of the nodes of a step, also of those inside bodies."""
    seen = set() if seen is None else seen
    seen.add(graph)
    names = {node.name for node in graph.nodes}
    for node in graph.nodes:
        for body in _bodies(node):
            if body not in seen:
                names |= all_names(body, seen)
    return names


def saves(graph: StepGraph) -> bool:
    """Whether a node of the step makes files of variables; one inside a conditional or a loop does not count."""
    return any(node.op_def.traits.saves for node in graph.nodes)
