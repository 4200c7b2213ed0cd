"""A worker's own copies of variables: what the loss depends on reads these instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.graph.body import ancestors
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor
from headrace.library.scope import colocate_with, control_dependencies
from headrace.library.state.variable import Variable


def read(variable: Any) -> Tensor:
    """The value now; not the read that all of a program share, which may have been rewired."""
    with colocate_with(variable.op, ignore_existing=True):
        return variable.read_value()  # type: ignore[no-any-return]


def copy(variable: Variable, after: Sequence[Operation] = ()) -> Variable:
    """A copy on this worker.  It begins as the variable when local variables are initialised, ``after`` these have run."""

    def initial() -> Tensor:
        with control_dependencies(after):
            return read(variable)

    return type(variable)(
        initial, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name=variable.op.name,
        dtype=variable.dtype.base_dtype, expected_shape=variable.shape,
    )  # fmt: skip


def rewire(ends: Iterable[Operation], copies: dict[Any, Variable]) -> dict[Tensor, Tensor]:
    """What the ends depend on reads copies instead of their variables, and is placed with the copies.

    Returns which tensors were replaced by which.
    """
    instead: dict[Tensor, Tensor] = {}
    shared = set()
    groups: dict[str, Variable] = {}
    for variable, own in copies.items():
        instead[variable._variable] = own._variable
        instead[variable._snapshot] = own._snapshot
        groups[f"loc:@{variable.op.name}"] = own
        shared |= {variable.op, variable._snapshot.op}
    for op in ancestors(ends) - shared:
        for i, tensor in enumerate(op.inputs):
            if tensor in instead:
                op._update_input(i, instead[tensor])
        for group_name in groups.keys() & set(op.colocation):
            own = groups[group_name]
            op.colocation = tuple(f"loc:@{own.op.name}" if one == group_name else one for one in op.colocation)
            op._set_device(own.device)
    return instead
