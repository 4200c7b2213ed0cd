"""Inline: calls of functions -> the nodes of their bodies; a function costs nothing once the step is planned.

    %y = PartitionedCall(%x; f: x -> exp(x) * 2)      ->      %y/Exp = Exp(%x)   %y/mul = Mul(%y/Exp, 2)

What acts on state waits for all that the call waited for, its inputs included: a call begins when it has them.

A function that calls itself stays a call (passes/instantiate.py).  What a gradient stashed and takes out again is passed
directly (passes/pass_on.py).
"""

from __future__ import annotations

from headrace.core.device import DeviceSpec
from headrace.core.registry import REGISTRY
from headrace.graph.body import FuncGraph
from headrace.graph.functional import is_call
from headrace.passes.pass_on import pass_stashes
from headrace.passes.prune import prune
from headrace.passes.step_graph import Node, StepGraph


def inline(graph: StepGraph) -> StepGraph:
    """Inlines until only recursive calls are left.  Where a call may be dead, or in a frame, it stays whole."""
    if any(n.op_def.traits.primitive for n in graph.nodes):
        return graph
    inlined = False
    while calls := [n for n in graph.nodes if is_call(n) and not n.attrs["f"].recursive]:
        inlined = True
        late = _after_effects(graph)
        for node in calls:
            _take_body(graph, node, late)
        graph.sweep()
        graph.sort()
    if inlined:
        pass_stashes(graph)
    return graph


def _after_effects(graph: StepGraph) -> set[Node]:
    """The nodes that have an effect, or wait for one that has: a node that does not wait for them may come too early."""
    late: set[Node] = set()
    for node in graph.nodes:
        if node.op_def.traits.has_effect or not late.isdisjoint(node.predecessors()):
            late.add(node)
    return late


def _take_body(graph: StepGraph, call: Node, late: set[Node]) -> None:
    f: FuncGraph = call.attrs["f"]
    outputs = f.outputs[: len(call.outputs)]
    body = prune(f.inputs, outputs, f.control_outputs)
    arguments = dict(zip(body.feeds, call.inputs, strict=True))
    fed = {v.op for v in body.feeds}
    prefix = f.prefix
    nodes = [n for n in body.nodes if n not in fed]
    before = list(dict.fromkeys([*call.control_inputs, *(v.op for v in call.inputs if v.op in late)]))
    for node in nodes:
        node.name = f"{call.name}/{node.name.removeprefix(prefix)}"
        node.colocation = tuple(f"loc:@{call.name}/{c.removeprefix(f'loc:@{prefix}')}" if prefix in c else c
                                for c in node.colocation) or call.colocation  # fmt: skip
        node.device = merged_device(call.device, node.device)
        node.order = call.order + 0.5 * node.order / (len(f._nodes) + 1)
        node.inputs = [arguments.get(v, v) for v in node.inputs]
        node.control_inputs = [c for c in node.control_inputs if c not in fed]
        if not node.op_def.traits.pure or any(v.dtype._is_ref_dtype for v in node.inputs):
            node.control_inputs += [c for c in before if c not in node.control_inputs]
    results = [arguments.get(v, v) for v in body.fetches]
    visible = call.attrs["visible"]
    waits = [*body.targets, *(v.op for v in results[:visible]), *call.control_inputs]
    done = Node(
        f"{call.name}/_done", REGISTRY.get("NoOp"), [], {}, call.order + 0.5, list(dict.fromkeys(waits)), call.device,
        call.source, call.origin,
    )  # fmt: skip
    if call in late:
        late.update([*nodes, done])
    graph.nodes = [n for n in graph.nodes if n is not call] + [*nodes, done]
    graph.replace(dict(zip(call.outputs, results, strict=True)), {call: done})


def merged_device(outer: str, inner: str) -> str:
    """The device of a body's node: what the node asks for, completed by what the call asks for."""
    if not outer or not inner:
        return outer or inner
    return DeviceSpec.from_string(outer).make_merged_spec(DeviceSpec.from_string(inner)).to_string()
