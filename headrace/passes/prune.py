"""Prune: client graph, feeds, fetches, targets -> the backward closure that must run (OSDI 3.2, white paper 4.2).

A fed tensor is replaced by a feed node, so nothing behind it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headrace.core.registry import REGISTRY
from headrace.graph.body import FuncGraph
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.passes.step_graph import LATE, SAVED, Node, StepGraph, Value


def prune(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], late: Collection[int] = ()
) -> StepGraph:
    """feeds {b}, fetches {f} of Fig. 6 -> only what lies between them.

    ``late``: the feeds of a body that come after effects.  Nodes that wait for one of these go on waiting for it.
    """
    values: dict[Tensor, Value] = {}
    nodes: list[Node] = []
    feed_values = []
    for tensor in feeds:
        node = _feed_node(tensor)
        nodes.append(node)
        values[tensor] = node.outputs[0]
        feed_values.append(node.outputs[0])
    late_nodes = {feeds[i].op: feed_values[i].op for i in late}
    for node in late_nodes.values():
        node.attrs[LATE] = True
    nodes_of: dict[Operation, Node] = {}
    closure = _closure([t.op for t in fetches if t not in values] + list(targets), values)
    inside = {op.name for op in closure}
    for op in closure:
        prefix = op.graph.prefix
        attrs = {**op.attrs, SAVED: True} if op.op_def.traits.random and _saves(op.graph) else op.attrs
        node = Node(prefix + op.name, op.op_def, [], attrs, op._id, None, op.device, op.source, op)
        node.colocation = _groups(op.colocation, prefix, inside) if prefix else op.colocation
        node.add_outputs([(t.dtype, t._shape) for t in op._outputs])
        nodes_of[op] = node
        nodes.append(node)
        for tensor, value in zip(op._outputs, node.outputs, strict=True):
            values.setdefault(tensor, value)
    nodes_of |= late_nodes
    for op in closure:  # only now: in a loop of primitives a node may use a value that a later node makes
        node = nodes_of[op]
        node.inputs = [values[t] for t in op.inputs]
        node.control_inputs = [nodes_of[c] for c in op._control_inputs if c in nodes_of]
    graph = StepGraph(nodes, feed_values, [values[t] for t in fetches], [nodes_of[op] for op in targets])
    if any(n.op_def.traits.primitive for n in nodes):
        graph.sort()
    return graph


def _saves(graph: Graph) -> bool:
    root = graph.root if isinstance(graph, FuncGraph) else graph
    return root.saves_generators


def _groups(colocation: Sequence[str], prefix: str, inside: set[str]) -> tuple[str, ...]:
    """Colocation groups of a function's nodes: those named after a node inside get the prefix of the function."""
    names = (group.removeprefix("loc:@") for group in colocation)
    return tuple(f"loc:@{prefix}{name}" if name in inside else f"loc:@{name}" for name in names)


def _feed_node(tensor: Tensor) -> Node:
    node = Node(
        f"_feed/{tensor.op.name}/{tensor.value_index}", REGISTRY.get("_Feed"), [],
        {"dtype": tensor.dtype.base_dtype, "shape": tensor._shape}, tensor.op._id, source=tensor.op.source,
        device=tensor.op.device, origin=tensor.op,
    )  # fmt: skip
    # A body is given the handles of variables themselves; a client feeds values.
    dtype = tensor.dtype if tensor.op.op_def.traits.argument else tensor.dtype.base_dtype
    return node.add_outputs([(dtype, tensor._shape)])


def _closure(roots: list[Operation], fed: dict[Tensor, Value]) -> list[Operation]:
    """Everything the roots need, dependencies first (iterative: graphs are deeper than Python's stack)."""
    order: list[Operation] = []
    state: dict[Operation, int] = {}
    for root in roots:
        if root in state:
            continue
        stack = [(root, iter(_needs(root, fed)))]
        state[root] = 1
        while stack:
            op, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                order.append(op)
            elif following not in state:
                state[following] = 1
                stack.append((following, iter(_needs(following, fed))))
    return order


def _needs(op: Operation, fed: dict[Tensor, Value]) -> list[Operation]:
    needed = [t.op for t in op.inputs if t not in fed]
    # An op all of whose outputs are fed does not run, so neither does waiting for it.
    needed += [c for c in op._control_inputs if not c._outputs or any(t not in fed for t in c._outputs)]
    return needed
