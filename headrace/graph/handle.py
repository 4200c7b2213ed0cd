"""Values and shapes of what may be the handle of a variable."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.convert import make_constant
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


def shape_for_gradient(tensor: Tensor, name: str | None = None) -> Tensor:
    """The shape of a value: as in TensorFlow a constant if it is known, so that neither the value nor what it waits for runs."""
    if tensor._shape.is_fully_defined() and not context.executing_eagerly():
        return make_constant(np.array(tensor._shape.tuple, np.int32), dtypes.int32, name=name or "Shape")
    shape: Tensor = raw_ops.Shape(tensor, name=name)
    return shape
