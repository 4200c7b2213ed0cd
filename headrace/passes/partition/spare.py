"""Spare: partitions on other tasks that have nothing to do unless one partition's condition says so.

    @worker: %p = Equal(...)   If(%p)         @ps: %p' = _RecvMany("worker>ps 0")   If(%p') {exchange} else {}

All that the partition of the server does is under a conditional, one branch is empty, and the worker decides: a step that
exchanges only now and then.  Where it does not, the server need not hear of the step (`PartitionedStep`).

Either all other partitions are spared in a step or none: what is begun somewhere is begun everywhere, as saves count on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.passes.match import Ops
from headrace.passes.partition.partition import Partition
from headrace.passes.step_graph import Node

SEND, RECV = Ops("_SendMany"), Ops("_RecvMany")
CONDITIONAL, NOTHING = Ops("If", "StatelessIf"), Ops("NoOp")
BRANCHES = {True: "then_branch", False: "else_branch"}


@dataclass(frozen=True, slots=True)
class Spared:
    """A partition does nothing in a step in which it is sent ``value`` under ``key``."""

    key: str
    value: bool


def spared(decides: Partition, others: Sequence[Partition]) -> list[Spared] | None:
    """When each of the other partitions does nothing; None unless ``decides`` spares all of them or none."""
    found = [_spared(one) for one in others]
    sends = {node.attrs["key"]: node for node in decides.graph.nodes if node in SEND}
    if not found or any(one is None or one.key not in sends for one in found):
        return None
    whole = [one for one in found if one is not None]
    conditions = {(tuple(sends[one.key].inputs), one.value) for one in whole}
    return whole if len(conditions) == 1 else None


def _spared(part: Partition) -> Spared | None:
    if part.feeds or part.fetches:
        return None
    busy = [node for node in part.graph.nodes if not _does_nothing(node)]
    takes = [node for node in busy if node in RECV]
    conditionals = [node for node in busy if node in CONDITIONAL]
    if len(takes) != 1 or not conditionals or len(busy) != 1 + len(conditionals):
        return None
    (take,) = takes
    if len(take.outputs) != 1 or len(take.attrs["keys"]) != 1:
        return None
    if any(node.inputs[0] is not take.outputs[0] or take.outputs[0] in node.inputs[1:] for node in conditionals):
        return None
    for value, branch in BRANCHES.items():
        if all(_does_nothing(inner) for node in conditionals for inner in node.attrs[branch].nodes):
            return Spared(take.attrs["keys"][0], value)
    return None


def _does_nothing(node: Node) -> bool:
    traits = node.op_def.traits
    return traits.constant or traits.feed or (traits.handle and not node.predecessors()) or node in NOTHING
