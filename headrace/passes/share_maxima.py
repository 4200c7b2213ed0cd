"""Share maxima: a max pool and its gradient look for the maxima once.

    %y = MaxPool(%x)                     %y, %i = _MaxPoolLocated(%x)
    %d = MaxPoolGrad(%x, %y, %g)   ->    %d = _MaxPoolLocatedGrad(%x, %i, %g)

For interpreted steps: a compiler sees both and shares by itself.  The places of the maxima are kept until the gradient has run.
"""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import int64
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

POOL, BACK = Ops("MaxPool"), Ops("MaxPoolGrad")
WINDOW = ("ksize", "strides", "padding", "explicit_paddings", "data_format")


def share_maxima(graph: StepGraph) -> StepGraph:
    """Shares where both are on one device and the window has one channel."""
    backs: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        if node in BACK and node.inputs[1].op in POOL and _belong(node.inputs[1].op, node):
            backs.setdefault(node.inputs[1], []).append(node)
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for output, of_output in backs.items():
        pool = output.op
        located = _made(pool, "_MaxPoolLocated", pool.inputs)
        located.add_outputs([(output.dtype, output.shape), (int64, TensorShape(None))])
        values[output], nodes[pool] = located.outputs[0], located
        for back in of_output:
            made = _made(back, "_MaxPoolLocatedGrad", [back.inputs[0], located.outputs[1], back.inputs[2]])
            made.add_outputs([(back.outputs[0].dtype, back.outputs[0].shape)])
            values[back.outputs[0]], nodes[back] = made.outputs[0], made
    if nodes:
        graph.nodes = [nodes.get(node, node) for node in graph.nodes]
        graph.replace(values, nodes)
    return graph


def _belong(pool: Node, back: Node) -> bool:
    window: list[Any] = [pool.attrs[name] for name in WINDOW]
    channels = 1 if pool.attrs["data_format"] == "NCHW" else 3
    return (
        back.inputs[0] is pool.inputs[0]
        and back.device == pool.device
        and [back.attrs[name] for name in WINDOW] == window
        and pool.attrs["ksize"][channels] == 1
        and pool.attrs["T"].is_floating
    )


def _made(node: Node, name: str, inputs: list[Value]) -> Node:
    attrs = {"T": node.attrs["T"], **{name: node.attrs[name] for name in WINDOW}}
    return Node(
        node.name, REGISTRY.get(name), list(inputs), attrs, node.order, list(node.control_inputs), node.device, node.source,
        node.origin,
    )  # fmt: skip
