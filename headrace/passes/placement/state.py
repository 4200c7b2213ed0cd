"""State: where variables and other state go that ask for no device, by simulating the client's whole graph as one step.

Steps see a part of the graph each, and state has one home for all of them, so the whole graph decides, once.  What is computed
without state and feeds runs once and costs nothing here: the initial values of variables.  What handles strings, as savers do,
is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from headrace.core.dtypes import string
from headrace.graph.operation import Operation
from headrace.passes.choose_device import COLOCATED, Ask, Chooser
from headrace.passes.cost.work import client_bodies
from headrace.passes.placement.policy import STATE_GAIN, Policy
from headrace.passes.placement.step import in_time, may_move

K = TypeVar("K", bound=Hashable)  # what a group is known by


class Advised(NamedTuple):
    """Where a group goes; ``why``: what is gained, if that is not the first device that it may have."""

    device: str
    why: str


def state_homes(
    ops: Sequence[Operation], group_of: Callable[[Operation], K | None], asks_of: Mapping[K, Sequence[Ask]],
    chooser: Chooser, policy: Policy,
) -> dict[K, Advised]:  # fmt: skip
    """The devices of groups that may be on several.  ``group_of``: the group of a node; None for one that is alone."""
    if len(policy.candidates(list(chooser.names))) < 2:
        return {}
    draft = policy.draft(state=True)
    units: dict[K, int] = {}
    cache: dict[tuple[tuple[str, ...], bool], list[int]] = {}

    def feasible(asks: Sequence[Ask], lasts: bool = False) -> list[int]:
        names = tuple(chooser.feasible(asks))
        names = names if may_move(ask.node for ask in asks) else names[:1]
        if (names, lasts) not in cache:
            cache[names, lasts] = (policy.homes if lasts else policy.candidates)(names)
        return cache[names, lasts]

    for key, asks in asks_of.items():
        units[key] = draft.unit(feasible(asks, True), any(ask.node.op_def.traits.handle for ask in asks))
    if not draft.is_free:
        return {}
    live = _recurring(ops)
    for op in ops:
        traits = op.op_def.traits
        if traits.feed or traits.constant or _has_strings(op):
            continue
        group = group_of(op)
        if group is None or group not in units:
            unit = draft.unit(feasible([Ask(op, op.device, COLOCATED)]))
            for inner in _within(op):
                within = group_of(inner)
                if within is not None and within in units:
                    draft.join(unit, feasible(asks_of[within], True))
            draft.put(op, unit)
            if _calls_itself(op):
                for tied in (unit, *(units[g] for t in op.inputs if (g := group_of(t.op)) is not None and g in units)):
                    draft.join(tied, feasible([Ask(op, op.device, COLOCATED)])[:1])
        else:
            draft.put(op, units[group])
    problem = draft.problem({op for op in draft.nodes if op not in live})
    decision = policy.decide(problem, STATE_GAIN)
    decision.check_state()
    gain = (
        f"placed by {policy.name} over the whole graph: {in_time(decision.outcome.seconds)} for all of it, "
        f"{in_time(decision.plain.seconds)} with all nodes on the first device that they may have"
    )
    placed = {group_of(op): draft.unit_of(op) for op in draft.nodes}
    return {
        key: Advised(decision.device(unit), gain if decision.is_moved(unit) else "")
        for key, unit in placed.items()
        if key is not None
    }


def _recurring(ops: Iterable[Operation]) -> set[Operation]:
    """The nodes that steps run again and again: they depend on state or on what is fed."""
    live: set[Operation] = set()
    for op in ops:
        traits = op.op_def.traits
        if traits.writes:
            values = op.inputs[1:]
            recurs = any(t.op in live and not t.op.op_def.traits.handle for t in values)
        else:
            recurs = traits.feed or traits.handle or traits.waits or any(t.op in live for t in op.inputs)
        if recurs and not _has_strings(op):
            live.add(op)
    return live


def _within(op: Operation) -> list[Operation]:
    """The nodes in the bodies of a conditional or loop."""
    found: list[Operation] = []
    bodies: list[Any] = [body for body in client_bodies(op) if not body.name]
    while bodies:
        for inner in bodies.pop().get_operations():
            found.append(inner)
            bodies += [body for body in client_bodies(inner) if not body.name]
    return found


def _calls_itself(op: Operation) -> bool:
    """Whether the node holds a function that calls itself, which must be on one device with the state that it uses."""
    bodies, seen = list(client_bodies(op)), set[Any]()
    while bodies:
        body = bodies.pop()
        if body.recursive:
            return True
        if body not in seen:
            seen.add(body)
            bodies += [inner for node in body.get_operations() for inner in client_bodies(node)]
    return False


def _has_strings(op: Operation) -> bool:
    return any(t.dtype.base_dtype is string for t in (*op.inputs, *op.outputs))
