"""Names of TensorFlow's private modules that stand for public ones, or for a line or two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.graph.operation import Tensor
from headrace.library.control.dependency import identity
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.variable import Variable as VariableV1

__all__ = ["VariableV1", "with_dependencies"]


def __getattr__(name: str) -> DType:
    """The types of references, ``float32_ref`` and the like."""
    if name.endswith("_ref"):
        return as_dtype(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any, name: str | None = None) -> Tensor:
    """The tensor, once the dependencies have run."""
    values = [*dependencies, output_tensor]
    with name_scope(name, "control_dependency", values) as scope, control_dependencies(dependencies):
        return identity(output_tensor, name=scope)
