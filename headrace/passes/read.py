"""Read: makes every read of mutable state a node of its own.

    %v = VariableV2 ...   %r = Identity(%v)   %y = Neg(%v)      ->      %r = _Read(%v)   %v/_read = _Read(%v)   %y = Neg(%v/_read)

A value read from an assignment's output is read right after that assignment.  A read is where the variable is; an Identity on
another device (``caching_device``) is a copy after the read:

    %r = Identity(%v) @CPU:1      ->      %r/_read = _Read(%v) @CPU:0   %r = Identity(%r/_read) @CPU:1
"""

from __future__ import annotations

from typing import Any

from headrace.core.registry import REGISTRY
from headrace.graph.operation import Operation
from headrace.passes.step_graph import Node, StepGraph, Value


def insert_reads(graph: StepGraph) -> StepGraph:
    """Afterwards a ref value is used only by inputs declared ``ref``."""
    read = REGISTRY.get("_Read")
    shared: dict[Value, Value] = {}
    reads: list[Node] = []

    def reader(value: Value) -> Value:
        snapshot = shared.get(value)
        if snapshot is None:
            base = value.dtype.base_dtype
            node = Node(
                f"{value.op.name}/_read" + (f"_{value.value_index}" if value.value_index else ""), read, [value],
                {"T": base}, value.op.order + 0.5, device=value.op.device, source=value.op.source, origin=value.op.origin,
            )  # fmt: skip
            snapshot = shared[value] = node.add_outputs([(base, value.shape)]).outputs[0]
            reads.append(node)
        return snapshot

    for node in graph.nodes:
        if not any(v.dtype._is_ref_dtype for v in node.inputs):
            continue
        if node.op_def.traits.identity:  # the snapshot of a variable is itself the read
            place = {k: a for k, a in node.attrs.items() if k == "_place"}
            attrs = {"T": node.outputs[0].dtype, **place}
            if node.device == node.inputs[0].op.device:
                node.op_def, node.attrs = read, attrs
            else:
                reads.append(_read_before(node, attrs))
            continue
        accepts = ref_positions(node)
        node.inputs = [
            reader(v) if v.dtype._is_ref_dtype and i not in accepts else v for i, v in enumerate(node.inputs)
        ]
    graph.fetches = [reader(v) if v.dtype._is_ref_dtype else v for v in graph.fetches]
    if reads:
        graph.nodes = graph.nodes + reads
        graph.sort()
    return graph


def _read_before(copy: Node, attrs: dict[str, Any]) -> Node:
    """The read whose value ``copy`` takes to its own device; it waits for what the copy waits for."""
    (handle,) = copy.inputs
    node = Node(
        f"{copy.name}/_read", REGISTRY.get("_Read"), [handle], attrs, copy.order - 0.25, list(copy.control_inputs),
        handle.op.device, copy.source, copy.origin,
    )  # fmt: skip
    copy.inputs = node.add_outputs([(copy.outputs[0].dtype, handle.shape)]).outputs
    return node


def ref_positions(node: Node | Operation) -> set[int]:
    """The positions of inputs that take the handle itself."""
    signature = node.op_def.signature
    if not any(a.ref for a in signature.inputs):
        return set()
    positions: set[int] = set()
    position = 0
    for arg in signature.inputs:
        count = 1
        if arg.number_attr:
            count = node.attrs[arg.number_attr]
        elif arg.type_list_attr:
            count = len(node.attrs[arg.type_list_attr])
        if arg.ref:
            positions.update(range(position, position + count))
        position += count
    return positions
