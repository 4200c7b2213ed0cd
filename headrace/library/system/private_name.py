"""Names of TensorFlow's private modules that stand for public ones, or for a line or two of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.graph.operation import Tensor
from headrace.library.compat import as_str
from headrace.library.control.dependency import identity
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.variable import Variable as VariableV1

__all__ = ["RegisterShape", "VariableV1", "prepend_name_scope", "strip_name_scope", "with_dependencies"]
_MARK = r"^(\^|loc:@|)"  # what a name may begin with: a control input, a colocation


def __getattr__(name: str) -> DType:
    """The types of references, ``float32_ref`` and the like."""
    if name.endswith("_ref"):
        return as_dtype(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class RegisterShape:
    """A decorator of functions that gave the shapes of an op's outputs before TensorFlow 1.0; ops say them themselves now.

    Args:
      op_type: The op.
    """

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Any) -> Any:
        """The function, as it is."""
        return f


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any, name: str | None = None) -> Tensor:
    """The tensor, once the dependencies have run."""
    values = [*dependencies, output_tensor]
    with name_scope(name, "control_dependency", values) as scope, control_dependencies(dependencies):
        return identity(output_tensor, name=scope)


def prepend_name_scope(name: Any, import_scope: str | None) -> Any:
    """The name of a node inside a scope; ``^`` and ``loc:@`` stay in front.  No scope leaves the name as it is."""
    if not import_scope:
        return name
    return re.sub(_MARK, lambda mark: f"{mark[0]}{import_scope.rstrip('/')}/", as_str(name))


def strip_name_scope(name: Any, export_scope: str | None) -> Any:
    """The name of a node without a scope in front of it, the opposite of `prepend_name_scope`."""
    if not export_scope:
        return name
    return re.sub(rf"{_MARK}{re.escape(export_scope.rstrip('/'))}/+", r"\1", as_str(name))
