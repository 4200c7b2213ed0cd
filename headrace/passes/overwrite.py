"""Overwrite: a variable that was read before it is assigned has memory of its shape, so that the value is written into it.

    %r = _Read(%v)   %m = Mul(%r, 0.9)   Assign(%v, %m) ^%r      ->      _Overwrite(%v, %m) ^%r

``Assign`` may give a variable its first value, or another buffer, which a compiler cannot do.  This is for compiled steps on
accelerators: the step of an optimizer that assigns its moments would fall into pieces, and each would return copies of them.
"""

from __future__ import annotations

from headrace.core.dtypes import NUMERIC
from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph

ASSIGN, READ, END = Ops("Assign", "_AssignOwn"), Ops("_Read"), Ops("DestroyResourceOp")


def overwrite(graph: StepGraph) -> StepGraph:
    """Changes the nodes in place."""
    gone = {root(n.inputs[0]) for n in graph.nodes if n in END}
    assigns = [
        n for n in graph.nodes
        if n in ASSIGN and "device:CPU" not in n.device and _fits(n) and root(n.inputs[0]) not in gone
    ]  # fmt: skip
    if assigns:
        bits = {root(n.inputs[0]): 1 << i for i, n in enumerate(assigns)}
        read: dict[Node, int] = {}  # which of these variables were read on the way to a node
        for node in graph.nodes:
            found = bits.get(root(node.inputs[0]), 0) if node in READ else 0
            for before in node.predecessors():
                found |= read.get(before, 0)
            read[node] = found
        for node in assigns:
            if read[node] & bits[root(node.inputs[0])]:
                node.op_def = REGISTRY.get("_Overwrite")
                node.attrs = {name: node.attrs[name] for name in ("T", "use_locking")}
    return graph


def _fits(node: Node) -> bool:
    """Whether the value is known to have the variable's shape, which no earlier assignment may have changed."""
    ref, value = node.inputs
    shape = ref.shape.tuple
    if not node.attrs.get("validate_shape", True):
        return False
    return value.dtype.base_dtype in NUMERIC and shape is not None and None not in shape and value.shape.tuple == shape
