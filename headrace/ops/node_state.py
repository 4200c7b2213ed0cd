"""The states that nodes of a session keep, such as random generators, as tensors: to save them, and to go on from them."""

from __future__ import annotations

from headrace.core.errors import UnimplementedError
from headrace.core.registry import op
from headrace.ops.shared.string_array import array_of

_TRAITS = {"stateful": True, "host": True, "opaque": True}


def _states_of(context):
    if context.node_states is None:
        raise UnimplementedError(
            None, None, "the states of random ops belong to a session; run eagerly, they cannot be saved or restored"
        )
    return context.node_states


node_states = op("_NodeStates() -> (names: string, states: string)", reads=True, saves_generators=True, **_TRAITS)
node_states.shape(lambda: ((None,), (None,)))
node_states.state(_states_of)


@node_states.kernel
def _(*, state):
    saved = sorted(state.saved().items())
    return array_of([name.encode() for name, _ in saved]), array_of([data for _, data in saved])


restore = op("_RestoreNodeStates(names: string, states: string) -> ()", **_TRAITS)
restore.state(_states_of)


@restore.shape
def _(names, states):
    names.merge_with(states).with_rank(1)
    return []


@restore.kernel
def _(names, states, *, state):
    state.restore({name.decode(): data for name, data in zip(names, states, strict=True)})
