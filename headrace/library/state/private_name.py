"""What programs import from TensorFlow's private modules of variables and initializers, under the names it has there."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from headrace.core.dtypes import DType, as_dtype, float32
from headrace.core.source import at
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable_scope import VariableScope, pure_variable_scope

__all__ = ["PartitionedVariable", "_assert_float_dtype", "_pure_variable_scope"]


def _assert_float_dtype(dtype: Any) -> DType:
    """The type, if it is one of floating point numbers."""
    checked = as_dtype(dtype)
    if not checked.is_floating:
        raise ValueError(f"Expected floating point type, got {checked.name} {at()}")
    return checked


def _pure_variable_scope(
    name_or_scope: str | VariableScope, reuse: Any = None, initializer: Any = None, regularizer: Any = None,
    caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None, old_name_scope: str | None = None,
    dtype: Any = float32, use_resource: bool | None = None, constraint: Any = None,
) -> AbstractContextManager[VariableScope]:  # fmt: skip
    """A variable scope that opens no name scope."""
    return pure_variable_scope(
        name_or_scope, reuse, old_name_scope, initializer=initializer, regularizer=regularizer,
        caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter, dtype=dtype,
        use_resource=use_resource, constraint=constraint,
    )  # fmt: skip
