"""Fold shapes: nodes whose integer value is determined by static shapes -> constants.

%s = Shape(%x : float32[32,10])      ->      %s = Const {value=[32, 10]}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.registry import REGISTRY
from headrace.passes.step_graph import Node, StepGraph, Value


def fold_shapes(graph: StepGraph) -> StepGraph:
    """Applies each op's own ``value`` rule, which sees only shapes.  A node that depends on side effects stays: they must run."""
    const = REGISTRY.get("Const")
    effects = graph.after_effects()
    replaced: dict[Value, Value] = {}
    gone: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if replaced:
            node.inputs = [replaced.get(v, v) for v in node.inputs]
        value = None
        if node.op_def.traits.host_output and not node.op_def.traits.constant:
            value = _static(node)
        if value is None or len(node.outputs) != 1:
            nodes.append(node)
            continue
        dtype = node.outputs[0].dtype.base_dtype
        # The constant still waits for the effects the node waited for, so that they run, and run first.
        controls = [*node.control_inputs, *(v.op for v in node.inputs if v.op in effects)]
        folded = Node(node.name, const, [], {"value": value.astype(dtype.as_numpy_dtype), "dtype": dtype}, node.order,
                    controls, node.device, node.source)  # fmt: skip
        folded.colocation = node.colocation
        folded.add_outputs([(dtype, node.outputs[0].shape)])
        nodes.append(folded)
        replaced[node.outputs[0]] = folded.outputs[0]
        gone[node] = folded
    if gone:
        graph.nodes = nodes
        graph.replace(replaced, gone)
        graph.sweep()
    return graph


def _static(node: Node) -> Any:
    rule = node.op_def.value_fn
    if rule is None:
        return None
    value = rule(node, *[None] * len(node.inputs))
    if value is None or isinstance(value, tuple):
        return None
    array = np.asarray(value)
    if array.dtype == object and any(v is None for v in array.flat):
        return None
    return array
