"""The null device: kernels that would only compute are not run there, so that what a step takes is the runtime's own time.

Its tensors are torch's meta tensors: they have shapes and no memory.  Where a value leaves the device it becomes zeros.  Updates
of variables are left out too.  What gives a variable its first value, stashes, loops, and kernels whose results have shapes
that are not known beforehand run on the meta tensors; that computes nothing either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from headrace.core.registry import Kernel
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.resources.calling.value import TORCH_DTYPES


def null_kernel(node: Node) -> Kernel | None:
    """A kernel that gives tensors of the node's inferred shapes without looking at its arguments; None if the op must run."""
    call = _updating(node) or _giving(node)
    return call and Kernel(call, "meta", (), wants_state=False, wants_device=False, wants_node=False)


def _updating(node: Node) -> Callable[..., Any] | None:
    """What stands for an update of variables that have values."""
    traits, outputs = node.op_def.traits, node.outputs
    if not traits.writes or traits.opaque or len(outputs) > 1 or not all(v.dtype._is_ref_dtype for v in outputs):
        return None

    def update(ref: Any, *arguments: Any) -> Any:
        for variable in ref if isinstance(ref, list) else [ref]:
            variable.value  # noqa: B018 - one without a value is an error
        return ref

    return update


def _giving(node: Node) -> Callable[..., Any] | None:
    """A function that gives the same tensors in every step: a meta tensor has nothing that could be changed."""
    traits = node.op_def.traits
    if traits.host_output or (traits.stateful and not traits.random) or not node.outputs:
        return None
    if any(isinstance(attr, StepGraph) for attr in node.attrs.values()):
        return None
    if not all(v.shape.is_fully_defined() and v.dtype in TORCH_DTYPES for v in node.outputs):
        return None
    outputs: list[Any] = []
    rest = [_empty(v) for v in node.outputs]
    for out in node.op_def.signature.outputs:
        if out.is_list:
            count = node.attrs[out.number_attr] if out.number_attr else len(node.attrs[out.type_list_attr or ""])
            outputs.append(rest[:count])
            rest = rest[count:]
        else:
            outputs.append(rest.pop(0))
    result = outputs[0] if len(outputs) == 1 else tuple(outputs)
    return lambda *arguments: result


def _empty(value: Value) -> torch.Tensor:
    return torch.empty([d or 0 for d in value.shape.as_list()], dtype=TORCH_DTYPES[value.dtype], device="meta")
