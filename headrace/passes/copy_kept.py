"""Copy kept: what a node keeps when the step is over (an element of a queue) gets memory of its own.

    QueueEnqueueV2(%q, %feed)      ->      %c = _Own(%feed)   QueueEnqueueV2(%q, %c)
    Assign(%v, %large)             ->      _AssignOwn(%v, %large)

A feed is the caller's memory, a read is a variable's, and a view may be either.  A value that nobody else uses is not copied.
A large one that is assigned may become the variable's first buffer.
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

ASSIGN = Ops("Assign")
_WITHOUT_MEMORY = ("resource", "variant")
LARGE = 64 << 20  # bytes: a copy of less is soon made


def copy_kept(graph: StepGraph) -> StepGraph:
    """Adds a copy before each use that keeps a value which something else may share."""
    keepers = [n for n in graph.nodes if n.op_def.traits.keeps]
    large = [n for n in graph.nodes if n in ASSIGN and _nbytes(n.inputs[1]) >= LARGE]
    if not keepers and not large:
        return graph
    users = graph.users()
    fetched = set(graph.fetches)
    for node in large:
        value = node.inputs[1]
        received = value.op.op_def.traits.asynchronous  # it is in a buffer of the transport, which needs it back
        if _is_fresh(value) and not received and len(users[value]) == 1 and value not in fetched:
            node.op_def = REGISTRY.get("_AssignOwn")
    for node in keepers:
        for i, value in enumerate(node.inputs):
            if value.dtype._is_ref_dtype or value.dtype.name in _WITHOUT_MEMORY:
                continue
            if _is_fresh(value) and len(users[value]) == 1 and value not in fetched:
                continue
            name = f"_own{len(graph.nodes)}/{value.op.name}/{value.value_index}"
            copy = Node(
                name, REGISTRY.get("_Own"), [value], {"T": value.dtype.base_dtype}, node.order, None, value.op.device,
                node.source, node.origin,
            )  # fmt: skip
            copy.add_outputs([(value.dtype, value.shape)])
            graph.nodes.append(copy)
            node.inputs[i] = copy.outputs[0]
    graph.sort()
    return graph


def _is_fresh(value: Value) -> bool:
    """Whether the value is memory that its node has just made."""
    traits = value.op.op_def.traits
    shared = traits.constant or traits.reads_buffer or traits.feed or traits.host_output or traits.view
    return not (shared or traits.identity or traits.compiled)


def _nbytes(value: Value) -> int:
    """The size where it is known; 0 otherwise."""
    elements = value.shape.num_elements()
    return 0 if elements is None else elements * value.dtype.size
