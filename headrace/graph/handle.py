"""Values and shapes of what may be the handle of a variable."""

from __future__ import annotations

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor

READS = ("Identity", "ReadVariableOp")  # the types of nodes that read a reference, or a resource variable


def value_of(tensor: Tensor) -> Tensor:
    """The value behind the handle of a variable, read here; any other tensor itself."""
    if not tensor.dtype._is_ref_dtype:
        return tensor
    value: Tensor
    if tensor.dtype._is_resource:
        value = raw_ops.ReadVariableOp(tensor, dtype=tensor.dtype.base_dtype)
    else:
        value = raw_ops.Identity(tensor)
    return value


def shape_of(tensor: Tensor) -> Tensor:
    """The shape of a value, or of the variable behind a handle."""
    handle = tensor.dtype._is_ref_dtype and tensor.dtype._is_resource
    shape: Tensor = raw_ops.VariableShape(tensor) if handle else raw_ops.Shape(tensor)
    return shape
