"""Predict: what a placed step over several partitions takes, by the same simulation that decides where nodes go."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.passes.cost.model import CostModel
from headrace.passes.cost.step import StepCost
from headrace.passes.placement.draft import Draft
from headrace.passes.placement.problem import Site
from headrace.passes.placement.schedule import simulate
from headrace.passes.step_graph import StepGraph


def divided_cost(graph: StepGraph, sites: Sequence[Site], costs: CostModel) -> StepCost:
    """``sites``: all devices that nodes of the graph may be on.  The nodes are in an order in which they can run.

    ``calling`` is what the interpreters launch, of all tasks together; ``working`` what the devices take, by their types.
    """
    draft = Draft(sites, costs)
    number = {site.name: draft.unit([i]) for i, site in enumerate(sites)}
    for node in graph.nodes:
        draft.put(node, number.get(node.device, 0))
    problem = draft.problem(join=False)
    outcome = simulate(problem, list(range(len(sites))))
    launched = sum(problem.launch[node][unit] for node, unit in enumerate(problem.unit))
    working: dict[str, float] = {}
    for site, busy in zip(sites, outcome.busy, strict=True):
        if busy:
            working[site.device_type] = working.get(site.device_type, 0.0) + busy
    seen = total = 0.0
    for node in graph.nodes:
        device_type = sites[number.get(node.device, 0)].device_type
        seconds = costs.seconds(node, device_type)
        total += seconds
        seen += seconds * costs.is_measured(node, device_type)
    beside = costs.machine.step
    return StepCost(beside + outcome.seconds, beside + launched, working, seen / total if total else 0.0)
