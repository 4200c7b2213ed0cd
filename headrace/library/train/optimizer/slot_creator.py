"""Slots: variables that an optimizer keeps beside another variable, named after it (``W/Momentum``, ``W/Adam_1``).

A slot of one shard of a partitioned variable is itself a shard, so that checkpoints join slots as they join shards.
"""

from __future__ import annotations

import contextlib
from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.core.shape import as_shape
from headrace.graph import raw_ops
from headrace.graph.convert import constant
from headrace.library.control import replica
from headrace.library.scope import colocate_with
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_def import SaveSliceInfo
from headrace.library.state.variable_scope import get_variable, get_variable_scope, variable_scope


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot of ``primary`` that starts at the tensor ``val``."""
    return _create(primary, val, None, None, name, val.get_shape().is_fully_defined(), colocate_with_primary)


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """A slot of the shape and dtype, filled by ``initializer(shape, dtype=dtype)``."""
    shape = as_shape(shape)
    return _create(primary, initializer, shape, dtype, name, shape.is_fully_defined(), colocate_with_primary)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """A slot of ``primary``'s shape that starts at zero."""
    dtype = primary.dtype.base_dtype if dtype is None else as_dtype(dtype)
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), shape, dtype, name, colocate_with_primary)
    initial = primary.initialized_value() if hasattr(primary, "initialized_value") else primary
    zeros = raw_ops.Fill(raw_ops.Shape(initial), constant(0, dtype), name="zeros")
    return create_slot(primary, zeros, name, colocate_with_primary)


def place_beside(primary: Any) -> Any:
    """Where a slot is made: on the device of the variable or, as of that, with a copy on each device of the copies."""
    mode = replica.current()
    if mode is None or mode.strategy._is_default:
        return colocate_with(primary)
    return mode.strategy.extended.colocate_vars_with(primary)


def _create(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, validate_shape: bool, colocate: bool
) -> Any:
    place = place_beside(primary) if colocate else contextlib.nullcontext()
    with variable_scope(None, f"{primary.op.name}/{name}"), place:
        scope = get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # a slot of a shard is not divided again
        try:
            slot = get_variable(
                "", shape=shape, dtype=dtype, initializer=initializer, trainable=False, validate_shape=validate_shape,
                use_resource=getattr(primary, "_use_resource", None),
            )  # fmt: skip
        finally:
            scope.set_partitioner(partitioner)
    info = getattr(primary, "_save_slice_info", None)
    if info is not None:
        own = slot.op.name[len(primary.op.name) + 1 :]
        rank = slot.shape.ndims
        slot._set_save_slice_info(
            SaveSliceInfo(
                f"{info.full_name}/{own}", info.full_shape[:rank], info.var_offset[:rank], info.var_shape[:rank]
            )
        )
    return slot
