"""Comparing a graph with a checkpoint before anything is restored: names, dtypes and shapes.

The nodes themselves say what is wanted: each assignment that the restore waits for, and the Restore node its value comes from.
So it works for savers that were imported with their graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.core import errors
from headrace.graph.graph import Graph
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation, Tensor
from headrace.resources.file.bundle.checkpoint import Checkpoint
from headrace.resources.file.bundle.extents import parse_shape_and_slice
from headrace.resources.file.bundle.opening import open_checkpoint

_PASS_ON = ("Identity", "Reshape")


def check_restore(graph: Graph, restore_op_name: str, prefix: str) -> None:
    """NotFoundError or InvalidArgumentError, with the variable and what was expected and found, if the two do not fit."""
    tensors = list(_restored_tensors(graph.get_operation_by_name(restore_op_name)))
    with open_checkpoint(prefix) as checkpoint:
        for variable, reshaped, restore, index in tensors:
            _check(checkpoint, variable, reshaped, restore, index)


def _restored_tensors(restore_op: Operation) -> Iterator[tuple[Tensor, bool, Operation, int]]:
    """For each assignment: the variable, whether the value is reshaped, the Restore node and which output of it."""
    pending, seen = [restore_op], {restore_op}
    while pending:
        op = pending.pop()
        if op.type in ("Assign", "AssignVariableOp"):
            value, reshaped = op.inputs[1], False
            while value.op.type in _PASS_ON:
                reshaped |= value.op.type == "Reshape"
                value = value.op.inputs[0]
            if value.op.type == "RestoreV2":
                yield op.inputs[0], reshaped, value.op, value.value_index
        for before in op.control_inputs:
            if before not in seen:
                seen.add(before)
                pending.append(before)


def assignments(graph: Graph, restore_op_name: str) -> dict[str, list[Operation]] | None:
    """The ops that give variables what was read, by the variable's name; None if other things than variables are restored."""
    takers: dict[str, list[Operation]] = {}
    pending = [graph.get_operation_by_name(restore_op_name)]
    seen = set(pending)
    while pending:
        op = pending.pop()
        if op.type in ("Assign", "AssignVariableOp"):
            takers.setdefault(op.inputs[0].op.name, []).append(op)
            continue
        if op.type != "NoOp":
            return None
        for before in op.control_inputs:
            if before not in seen:
                seen.add(before)
                pending.append(before)
    return takers


def _check(checkpoint: Checkpoint, variable: Tensor, reshaped: bool, restore: Operation, index: int) -> None:
    names, slices = constant_value(restore.inputs[1]), constant_value(restore.inputs[2])
    if names is None or slices is None:
        return
    name, spec = names[index].decode(), slices[index].decode()
    try:
        entry = checkpoint.entry(name)
    except errors.NotFoundError as e:
        raise errors.NotFoundError(None, None, f"{e.message} (for what was made at {variable.op.source})") from None
    dtype = restore.outputs[index].dtype
    if entry.dtype != dtype:
        raise _mismatch(checkpoint, variable, name, f"dtype {dtype.name}", f"dtype {entry.dtype.name}")
    declared = variable.op.attrs.get("shape", variable.shape)
    if spec:
        full = parse_shape_and_slice(spec)[0]
        if full != entry.shape:
            raise _mismatch(checkpoint, variable, name, f"shape {list(full)}", f"shape {list(entry.shape)}")
    elif reshaped:
        if declared.is_fully_defined() and math.prod(declared.as_list()) != math.prod(entry.shape):
            raise _mismatch(
                checkpoint, variable, name, f"as many elements as shape {declared}", f"shape {list(entry.shape)}"
            )
    elif not declared.is_compatible_with(list(entry.shape)):
        raise _mismatch(checkpoint, variable, name, f"shape {declared}", f"shape {list(entry.shape)}")


def _mismatch(
    checkpoint: Checkpoint, variable: Tensor, name: str, expected: str, found: str
) -> errors.InvalidArgumentError:
    made = f"made at {variable.op.source}"
    message = f"{name}: the graph expects {expected} ({made}), the checkpoint {checkpoint.prefix} has {found}"
    return errors.InvalidArgumentError(None, None, message)
