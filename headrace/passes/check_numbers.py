"""Check numbers: beside each node that computes floating point, one that stops the step if a result is NaN or infinite.

    %y = Log(%x)      ->      %y = Log(%x)   _CheckNumbers(%y, %x)

The error is that of the node itself, with the user's line, and says what its inputs were.  A check comes right after its node, so
the first that fails is at the node where it began; on another device a value is used only when it has been checked.  Only for
finding mistakes: it makes a step several times slower.
"""

from __future__ import annotations

from headrace.core.dtypes import FLOATING, REAL
from headrace.core.registry import REGISTRY
from headrace.passes.step_graph import Node, StepGraph, Value


def check_numbers(graph: StepGraph) -> StepGraph:
    checks = {value: _check(value, node) for node in graph.nodes for value in node.outputs if _is_checked(node, value)}
    for node in graph.nodes:
        before = [checks[value] for value in node.inputs if value in checks and value.op.device != node.device]
        node.control_inputs = list(dict.fromkeys([*node.control_inputs, *before]))
    graph.nodes += checks.values()
    graph.targets += checks.values()
    graph.sort()
    return graph


def _is_checked(node: Node, value: Value) -> bool:
    """A primitive of control flow only hands on what another node computed."""
    return value.dtype in FLOATING and not node.op_def.traits.primitive


def _check(value: Value, node: Node) -> Node:
    inputs = [one for one in node.inputs if one.dtype in REAL]
    made_by = node.origin or node
    attrs = {
        "V": value.dtype, "T": [one.dtype for one in inputs], "what": f"{made_by.type} {made_by.name}",
        "names": [_shown(one) for one in inputs],
    }  # fmt: skip
    name = f"{node.name}/_check_{value.value_index}"
    order = node.order + 1e-6 * (value.value_index + 1)
    definition = REGISTRY.get("_CheckNumbers")
    return Node(name, definition, [value, *inputs], attrs, order, None, node.device, node.source, node.origin)


def _shown(value: Value) -> str:
    """The name that the user knows it by: that of the tensor, if it is fed."""
    return value.name if value.op.origin is None else f"{value.op.origin.name}:{value.value_index}"
