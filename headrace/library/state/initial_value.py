"""Initial values that depend on other variables.

    w = tf.Variable(v.value() * 2)

One run of ``global_variables_initializer`` sets v and w in no particular order, so w's initial value must not read v
before it is set.  ``guard`` rebuilds the part of the graph between v and the initial value on top of "v's value, or its
initial value while it has none".
"""

from __future__ import annotations

from typing import Any

from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor

_SAFE_READERS = ("IsVariableInitialized", "_InitializedValue")  # these may meet a variable that has no value yet


def guard(scope: str, tensor: Tensor) -> Tensor:
    """``tensor`` with its reads of variables made safe; ``scope`` (ending in "/") names the nodes that are made."""
    cone = _ancestors(tensor.op)
    if not any(_is_variable(op) for op in cone):
        return tensor
    graph = tensor.graph
    owners = {
        v.op: v
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
        for v in graph.get_collection(key)
        if hasattr(v, "initialized_value")
    }
    safe: dict[Tensor, Tensor] = {}
    for op in cone:  # producers come first
        if _is_variable(op):
            owner: Any = owners.get(op)
            if owner is not None:
                with graph.colocate_with(None, ignore_existing=True):  # it is where its variable is
                    safe[op._outputs[0]] = owner.initialized_value()
        elif any(arg.resource for arg in op.op_def.signature.inputs):
            if op.type == "ReadVariableOp" and op.inputs[0] in safe:
                safe[op._outputs[0]] = safe[op.inputs[0]]
        elif op.type not in _SAFE_READERS and any(t in safe for t in op.inputs):
            inputs = [safe.get(t, t) for t in op.inputs]
            dtypes = [t.dtype for t in op._outputs]
            copy = graph.create_op(op.op_def, inputs, dtypes, name=f"{op.name}_{scope}", attrs=dict(op.attrs))
            copy.colocation = op.colocation
            copy._set_device(op.device)
            safe.update(zip(op._outputs, copy._outputs, strict=True))
    return safe.get(tensor, tensor)


def _is_variable(op: Operation) -> bool:
    return op.type in ("VariableV2", "VarHandleOp")


def _ancestors(op: Operation) -> list[Operation]:
    """The op and everything its inputs come from, in the order they were made."""
    seen = {op}
    stack = [op]
    while stack:
        for tensor in stack.pop().inputs:
            if tensor.op not in seen:
                seen.add(tensor.op)
                stack.append(tensor.op)
    return sorted(seen, key=lambda o: o._id)
