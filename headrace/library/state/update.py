"""Updates by optimizers and the like: one call for both kinds of variables."""

from __future__ import annotations

from typing import Any

from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops
from headrace.library.control.replica import Distributed
from headrace.library.state.resource_variable import ResourceVariable, UnreadVariable
from headrace.library.state.variable import Variable

_BY_HANDLE = {"Assign": "AssignVariableOp", "AssignAdd": "AssignAddVariableOp", "AssignSub": "AssignSubVariableOp"}


def update(op_type: str, variable: Any, *inputs: Any, **attrs: Any) -> Any:
    """Changes ``variable`` by the op ``op_type`` on references, or by its form on handles: the variable after that.

    The first inputs may be further variables of the same kind.
    """
    if variable.__class__ is not Variable and isinstance(variable, Distributed):
        *before, value = inputs
        return variable._updated_by(lambda copy, last: update(op_type, copy, *before, last, **attrs), value)  # type: ignore[attr-defined]
    if variable.__class__ is Variable or not isinstance(variable, ResourceVariable) or variable._snapshot is None:
        return getattr(raw_ops, op_type)(variable, *inputs, **attrs)
    form = _BY_HANDLE.get(op_type, f"Resource{op_type.lstrip('_')}")
    accepted = {"name", *REGISTRY.get(form).attr_names}
    operation = variable._update(form, *inputs, **{k: v for k, v in attrs.items() if k in accepted})
    return UnreadVariable(variable, operation, fetched=False)
