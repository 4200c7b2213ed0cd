"""Late read: a variable's value is read when it is used, so a use that waits for a write sees what was written.

    %r = _Read(%v)   %w = AssignAdd(%v, ...)   %y = Neg(%r) ^%w      ->      %r' = _Read(%v) ^%w   %y = Neg(%r')

This is TF1's rule for ``with tf.control_dependencies([write]): y = v * 2``: the node ``v/read`` was made once, with the
variable, but what counts is the order of the use.  Uses that do not wait for the write keep the earlier value.
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value


def late_reads(graph: StepGraph) -> StepGraph:
    """Moves only reads that wait for nothing; a read with control dependencies of its own, or a ``_place``, stays."""
    read = REGISTRY.get("_Read")
    floating = [
        n for n in graph.nodes if n.op_def.traits.reads_buffer and not n.control_inputs and not n.inputs[0].op.inputs
    ]
    written = {root(n.inputs[p]) for n in graph.nodes if n.op_def.traits.writes for p in ref_positions(n)}
    floating = [n for n in floating if n.inputs[0] in written and "_place" not in n.attrs]
    if not floating:
        return graph
    graph.sort()
    bits, masks = _writes_before(graph, {n.inputs[0] for n in floating})
    users = graph.users()
    framed = any(n.op_def.traits.primitive for n in graph.nodes)
    later_reads: dict[tuple[Node, tuple[Node, ...]], Node] = {}
    for node in floating:
        for user in users.get(node.outputs[0], ()):
            mask = masks[user]
            writes = tuple(w for w, bit in bits.items() if mask & bit and _touches(w, node.inputs[0])) if mask else ()
            if not writes:
                continue
            if (
                framed
            ):  # the write may be dead, or in a loop, and the user neither: the read waits for what the user waits for
                if user.op_def.traits.primitive == "merge":
                    continue
                others = (v.op for v in user.inputs if v is not node.outputs[0] and not v.op.op_def.traits.handle)
                writes = tuple(dict.fromkeys([*user.control_inputs, *others]))
            later = later_reads.get((node, writes))
            if later is None:
                later = later_reads[(node, writes)] = Node(
                    f"{node.name}/after_{len(later_reads)}", read, list(node.inputs), dict(node.attrs), user.order - 0.5,
                    list(writes), node.device, node.source, node.origin,
                ).add_outputs([(node.outputs[0].dtype, node.outputs[0].shape)])  # fmt: skip
            user.inputs = [later.outputs[0] if v is node.outputs[0] else v for v in user.inputs]
    if later_reads:
        graph.nodes = graph.nodes + list(later_reads.values())
        graph.sweep()
        graph.sort()
    return graph


def _touches(write: Node, handle: Value) -> bool:
    return any(root(write.inputs[p]) is handle for p in ref_positions(write))


def _writes_before(graph: StepGraph, handles: set[Value]) -> tuple[dict[Node, int], dict[Node, int]]:
    """A bit for each write to one of the handles; for each node the bits of the writes it waits for."""
    writes = [
        n for n in graph.nodes if n.op_def.traits.writes and any(root(n.inputs[p]) in handles for p in ref_positions(n))
    ]
    bits = {n: 1 << i for i, n in enumerate(writes)}
    masks: dict[Node, int] = {}
    for node in graph.nodes:
        mask = 0
        for p in node.predecessors():
            mask |= masks.get(p, 0) | bits.get(p, 0)  # what closes a loop of primitives comes later
        masks[node] = mask
    return bits, masks
