"""What is in force in a thread for the default graph, so that another thread builds on as if it were the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.graph import context
from headrace.library.state.variable_creator import creators_in_force
from headrace.library.state.variable_scope import VariableScope, scope_state, set_scope_state


@dataclass(frozen=True, slots=True)
class ThreadState:
    """Name scope, devices, control dependencies and colocation; the variable scope; the creators of variables."""

    scopes: dict[str, Any]
    variable_scope: VariableScope
    counts: dict[str, int]
    creators: list[Any]


def take() -> ThreadState:
    """The state of this thread."""
    scopes = context.get_default_graph()._scopes
    in_force = {name: getattr(scopes, name) for name in ("name", "control", "devices", "colocation")}
    return ThreadState(in_force, *scope_state(), list(creators_in_force()))


def apply(state: ThreadState) -> None:
    """Makes this thread's state the one that was taken."""
    scopes = context.get_default_graph()._scopes
    for name, value in state.scopes.items():
        if hasattr(scopes, name):
            setattr(scopes, name, value)
    set_scope_state(state.variable_scope, state.counts)
    creators_in_force()[:] = state.creators


def apply_counts(counts: dict[str, int]) -> None:
    """Takes over which names of variable scopes were opened, and nothing else."""
    current, _ = scope_state()
    set_scope_state(current, counts)
