"""Dereference: ops on resource variables become the ops on references that do the same, so later passes know one set of ops.

    %h = VarHandleOp   %r = ReadVariableOp(%h) ^%w   ResourceApplyAdam(%h, ...)   %g = ResourceGather(%h, %i)
    ->
    %h = VariableV2    %r = _Read(%h) ^%w            ApplyAdam(%h, ...)           %g = GatherV2(_Read(%h), %i, 0)

A read of a resource variable takes place where its node is: after what the node waits for, before what waits for the node.  The
mark ``_place`` says so, and keeps ``late_reads`` from moving it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.passes.step_graph import Node, StepGraph, Value


def dereference(graph: StepGraph) -> StepGraph:
    """Afterwards no node has the trait ``by_ref``, and every handle of a variable is a reference."""
    added: list[Node] = []
    _share_variables(graph)
    for node in graph.nodes:
        if node.op_def.traits.by_ref:
            _replace(node, REGISTRY.get(node.op_def.traits.by_ref), added)
        for value in node.outputs:  # of a body: an argument that is a handle
            if value.dtype._is_ref_dtype:
                value.dtype = value.dtype.base_dtype._as_ref
    if added:
        graph.nodes = graph.nodes + added
        graph.sort()
    return graph


def _share_variables(graph: StepGraph) -> None:
    """Makes handles of one name one handle: what writes through the one must not overtake what reads through the other."""
    first: dict[tuple[str, str], Node] = {}
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op_def.traits.handle and node.op_def.traits.by_ref:
            key = node.attrs["container"], node.attrs["shared_name"] or node.name
            other = first.setdefault(key, node)
            if other is not node and other.outputs[0].dtype is node.outputs[0].dtype:
                values[node.outputs[0]], nodes[node] = other.outputs[0], other
    if nodes:
        graph.replace(values, nodes)
        graph.nodes = [n for n in graph.nodes if n not in nodes]


def _replace(node: Node, op_def: OpDef, added: list[Node]) -> None:
    signature = op_def.signature
    old = node.attrs
    if not signature.inputs:  # the handle itself
        node.op_def = op_def
        return
    handle = node.inputs[0]
    attrs: dict[str, Any] = {}
    for attr in (*signature.attrs, *signature.inferred):
        attrs[attr.name] = old.get(attr.name, attr.default)
    attrs[signature.inputs[0].type_attr or ""] = handle.dtype.base_dtype
    if "validate_shape" in attrs:  # a handle of no fixed shape may be given values of any
        attrs["validate_shape"] = handle.shape.is_fully_defined()
    if op_def.traits.reads_buffer:
        attrs["_place"] = True
    elif not signature.inputs[0].ref:
        _read_first(node, handle, added)
        node.colocation = (*node.colocation, f"loc:@{handle.op.name}")  # it works where the variable is
        if len(signature.inputs) > len(node.inputs):
            _append_axis(node, attrs, added)
    node.op_def, node.attrs = op_def, attrs
    if signature.outputs and not node.outputs:
        node.add_outputs([(handle.dtype.base_dtype._as_ref, handle.shape)])


def _read_first(node: Node, handle: Value, added: list[Node]) -> None:
    """For an op that takes a value: a read in its place, which waits for what the op waits for, its other inputs among it."""
    base = handle.dtype.base_dtype
    waits = dict.fromkeys([*node.control_inputs, *(v.op for v in node.inputs[1:])])
    read = Node(
        f"{node.name}/_read", REGISTRY.get("_Read"), [handle], {"T": base, "_place": True}, node.order - 0.5,
        list(waits), "", node.source, node.origin,
    )  # fmt: skip
    node.inputs = [read.add_outputs([(base, handle.shape)]).outputs[0], *node.inputs[1:]]
    added.append(read)


def _append_axis(node: Node, attrs: dict[str, Any], added: list[Node]) -> None:
    """A gather from a variable is along the first axis after the batch."""
    value = np.array(attrs["batch_dims"], np.int32)
    axis = Node(
        f"{node.name}/_axis", REGISTRY.get("Const"), [], {"value": value, "dtype": dtypes.int32}, node.order - 0.5,
        device=node.device, source=node.source, origin=node.origin,
    )  # fmt: skip
    attrs["Taxis"] = dtypes.int32
    node.inputs = [*node.inputs, axis.add_outputs([(dtypes.int32, TensorShape([]))]).outputs[0]]
    added.append(axis)
