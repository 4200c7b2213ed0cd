"""What a plan runs, as a GraphDef (``RunMetadata.partition_graphs``): the nodes that the passes left, with their devices."""

from __future__ import annotations

from typing import Any

from headrace.core.proto import protos
from headrace.graph import attr_value
from headrace.passes.step_graph import Node, Value
from headrace.runtime.drive.plans import StepPlan


def partition_graph(plan: StepPlan, host: str) -> Any:
    """The nodes of a plan as a GraphDef.  ``host``: the device of nodes without one.

    Bodies of conditionals and loops, and other attributes that have no form in a message, are left out.
    """
    nodes = step_nodes(plan)
    graph_def = protos().GraphDef()
    for node in nodes.values():
        node_def = graph_def.node.add(name=node.name, op=node.type, device=node.device or host)
        for value in node.inputs:
            name, index = producer(value, nodes)
            node_def.input.append(f"{name}:{index}" if index else name)
        node_def.input.extend(f"^{before.name}" for before in node.control_inputs)
        _put_attrs(node_def, node)
    return graph_def


def step_nodes(plan: StepPlan) -> dict[str, Node]:
    """The nodes that a plan runs, by name, those of all its strands together."""
    if not plan.parts:
        return {node.name: node for node in plan.graph.nodes}
    fed = {value.op.name for value in plan.feeds}
    strands = [part.strand.nodes if part.plan is None else part.plan.graph.nodes for part in plan.parts]
    members = [n for strand in strands for node in strand for n in (*node.predecessors(), node)]
    nodes = [*(value.op for value in plan.feeds), *members]
    return {n.name: n for n in nodes if n.name in fed or not n.op_def.traits.feed}  # others stand for another strand's


def producer(value: Value, nodes: dict[str, Node]) -> tuple[str, int]:
    """The name of the node that makes a value, and which of its outputs that is; "_feed/x/1" stands for output 1 of x."""
    name, index = value.op.name, str(value.value_index)
    while name not in nodes and name.startswith("_feed/"):
        name, _, index = name.removeprefix("_feed/").rpartition("/")
    return name, int(index)


def _put_attrs(node_def: Any, node: Node) -> None:
    signature = node.op_def.signature
    kinds = {a.name: a.kind for a in (*signature.attrs, *signature.inferred)}
    for name, value in node.attrs.items():
        try:
            if name == "value" and kinds.get(name) == "tensor" and "dtype" in node.attrs:
                encoded = protos().AttrValue(tensor=attr_value.tensor(value, node.attrs["dtype"]))
            else:
                encoded = attr_value.encode(value, kinds.get(name, "any"))
        except TypeError:  # a body, a Python function
            continue
        node_def.attr[name].CopyFrom(encoded)
