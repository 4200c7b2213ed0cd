"""A step's seconds from those of its nodes, one after the other on one device and the host beside it.

A device that works beside the thread that calls it gets behind or waits: the thread begins a node as soon as it has begun those
before, the device works on it when it is through with those before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.core.device import type_of
from headrace.passes.cost.fuse import FusedCosts
from headrace.passes.cost.model import CostModel
from headrace.passes.step_graph import Node, Value

HOST: Final = "CPU"


@dataclass(frozen=True, slots=True)
class StepCost:
    """``seconds``: of the step.  ``calling``: those of the thread that runs it.  ``working``: those of each type of device.

    ``measured``: which part of the seconds of all nodes comes from nodes that were measured.
    """

    seconds: float
    calling: float
    working: dict[str, float]
    measured: float


def step_cost(
    nodes: Sequence[Node], model: CostModel, feeds: Iterable[Value] = (), fetches: Iterable[Value] = (), compiled: bool = False
) -> StepCost:  # fmt: skip
    """Of nodes in the order to run.  ``compiled``: those on accelerators are, as one region that is begun by one launch."""
    fetches = list(fetches)
    fused = FusedCosts([n for n in nodes if _type(n) != HOST], fetches, model) if compiled else None
    calling = model.machine.step + _crossing(nodes, feeds, fetches, model)
    free = 0.0  # when the accelerator has done all that was begun
    working: dict[str, float] = {}
    seen = 0.0
    begun = False
    for node in nodes:
        where = _type(node)
        if where == HOST:
            seconds = model.working(node, HOST)
            calling += seconds
        else:
            seconds = fused.seconds(node) if fused is not None else model.working(node, where)
            if fused is None:
                calling += model.calling(node, where)
            elif not begun:
                calling += model.machine.rates_of(where).launch
                begun = True
            free = max(free, calling) + seconds
        working[where] = working.get(where, 0.0) + seconds
        if model.is_measured(node, where):
            seen += seconds
    total = sum(working.values())
    return StepCost(max(calling, free), calling, working, seen / total if total else 0.0)


def _type(node: Node) -> str:
    traits = node.op_def.traits
    return HOST if traits.host or not node.device else type_of(node.device)


def _crossing(nodes: Sequence[Node], feeds: Iterable[Value], fetches: Iterable[Value], model: CostModel) -> float:
    """Copies of what is fed to accelerators, and of what is fetched from them."""
    fed = set(feeds)
    taken = {
        value: node.device for node in nodes if fed and _type(node) != HOST for value in node.inputs if value in fed
    }
    given = {value: value.op.device for value in fetches if _type(value.op) != HOST}
    return sum(model.transfer(value, _host(device), device) for value, device in [*taken.items(), *given.items()])


def _host(device: str) -> str:
    return f"{device.rpartition('/device:')[0]}/device:{HOST}:0"
