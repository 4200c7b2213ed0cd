"""Fold: pure nodes whose inputs are all constants -> constants, computed once while planning.

%a = Const {value=2}   %b = Const {value=3}   %c = Mul(%a, %b)      ->      %c = Const {value=6}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.core.registry import REGISTRY, OpDef
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

ASSIGN = Ops("Assign", "AssignVariableOp")
Evaluate = Callable[[OpDef, Sequence[Any], dict[str, Any]], Sequence[Any] | None]

LARGEST = 10 << 20  # bytes: a bigger result is cheaper to compute again than to keep (TF1's limit)
LARGEST_ONCE = (
    1 << 16
)  # bytes of a first value: a variable gets it once, and the plan would keep it beside the variable


def fold(graph: StepGraph, evaluate: Evaluate, largest: int = LARGEST) -> StepGraph:
    """``evaluate(op, arrays, attrs)`` runs a kernel; None from it means: leave the node alone.

    ``largest``: bytes of a result that is kept.
    """
    const = REGISTRY.get("Const")
    users = graph.users()
    replaced: dict[Value, Value] = {}
    gone: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if replaced and any(v in replaced for v in node.inputs):
            node.inputs = [replaced.get(v, v) for v in node.inputs]
        nodes.append(node)
        if not _foldable(node):
            continue
        arrays = evaluate(node.op_def, [v.op.attrs["value"] for v in node.inputs], node.attrs)
        size = sum(getattr(a, "nbytes", 0) for a in arrays or ())
        if arrays is None or size > largest or (size > LARGEST_ONCE and _is_assigned(node, users)):
            continue
        nodes.pop()
        for i, (value, array) in enumerate(zip(node.outputs, arrays, strict=True)):
            dtype = value.dtype.base_dtype
            name = node.name if i == 0 else f"{node.name}/output_{i}"
            # What had to run before the node or its inputs still runs before the users of the constant.
            controls = dict.fromkeys(c for n in (node, *(v.op for v in node.inputs)) for c in n.control_inputs)
            folded = Node(
                name, const, [], {"value": array, "dtype": dtype}, node.order, list(controls), node.device, node.source
            )
            folded.colocation = node.colocation
            folded.add_outputs([(dtype, value.shape)])
            nodes.append(folded)
            replaced[value] = folded.outputs[0]
            gone.setdefault(node, folded)
    if gone:
        graph.nodes = nodes
        graph.replace(replaced, gone)
        graph.sweep()
    return graph


def _is_assigned(node: Node, users: dict[Value, list[Node]]) -> bool:
    """Whether the node's value only becomes that of variables."""
    found = [user for value in node.outputs for user in users.get(value, ())]
    return bool(found) and all(user in ASSIGN for user in found)


def _foldable(node: Node) -> bool:
    traits = node.op_def.traits
    if not node.inputs or not node.outputs or not traits.pure or traits.host:
        return False
    if not node.inputs[0].op.op_def.traits.constant:  # of most nodes
        return False
    if not all(v.op.op_def.traits.constant and _is_plain(v) for v in node.inputs):
        return False
    # There are values that no constant can hold.
    return not any(v.dtype.base_dtype.name in ("variant", "resource") for v in node.outputs)


def _is_plain(value: Value) -> bool:
    """Whether the node is a constant whose array has the dtype of its output (not so for bfloat16)."""
    dtype = value.dtype.base_dtype
    stored_dtype = getattr(value.op.attrs["value"], "dtype", None)
    return stored_dtype == np.dtype(object) or as_dtype(stored_dtype) == dtype
