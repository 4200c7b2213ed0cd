"""Where tasks go: parameter servers are spread over the nodes, workers are kept near each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

import ray
from ray.util.placement_group import PlacementGroup, placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

SPREAD: Final = "SPREAD"
PACK: Final = "PACK"
BUSY_SECONDS: Final = 60.0  # for other jobs to free what this one asks for
MOMENT: Final = 0.5
Resources = Mapping[str, float]


def shortage(tasks: Sequence[Resources], nodes: Sequence[Resources]) -> str | None:
    """What is missing if the tasks do not fit on the nodes, all being free; None if they fit.

    The largest task is placed first, on the first node with room.  That finds a way for tasks of equal size.
    """
    for resource in ("CPU", "GPU"):
        asked = sum(task.get(resource, 0) for task in tasks)
        there = sum(node.get(resource, 0) for node in nodes)
        if asked > there:
            return f"{asked:g} {resource}s are asked for, and the cluster has {there:g}"
    free = [dict(node) for node in nodes]
    for task in sorted(tasks, key=lambda task: (task.get("GPU", 0), task.get("CPU", 0)), reverse=True):
        for node in free:
            if all(node.get(name, 0) >= amount for name, amount in task.items()):
                for name, amount in task.items():
                    node[name] -= amount
                break
        else:
            nodes_have = "; ".join(_described(node) for node in nodes)
            return (
                f"no node has room for a task with {_described(task)}, beside the others; the nodes have {nodes_have}"
            )
    return None


def _described(resources: Resources) -> str:
    return " and ".join(f"{resources[name]:g} {name}s" for name in ("CPU", "GPU") if resources.get(name)) or "nothing"


def check_room(asked: Sequence[Resources]) -> None:
    """Refuses what the cluster could not hold if it were idle."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    problem = shortage(asked, nodes)
    if problem:
        raise ValueError(f"the Ray cluster is too small: {problem}")


class Bundle(NamedTuple):
    """What Ray keeps for one task: a place in a group."""

    group: PlacementGroup
    number: int
    resources: Resources


def reserve(resources: Resources, count: int, strategy: str, seconds: float) -> list[Bundle]:
    """Reserves bundles of equal size, all or none; a TimeoutError says what there is."""
    group: PlacementGroup = placement_group([dict(resources)] * count, strategy=strategy)
    end = monotonic() + seconds
    try:
        while not (placed := group.wait(MOMENT)) and monotonic() < end:
            pass  # a short wait lets Ctrl-C through
        if not placed:
            raise TimeoutError(
                f"the Ray cluster had no room for {count} tasks with {_described(resources)} each in {seconds:g} s; it has "
                f"{_described(ray.cluster_resources())}, of which {_described(ray.available_resources())} are free"
            )
    except BaseException:
        release(group)
        raise
    return [Bundle(group, number, resources) for number in range(count)]


def release(group: PlacementGroup) -> None:
    """Gives the bundles back; what still runs there is killed."""
    ray.util.remove_placement_group(group)


def in_bundle(bundle: Bundle) -> dict[str, Any]:
    """Options of an actor that takes the bundle."""
    return {
        "num_cpus": bundle.resources.get("CPU", 0),
        "num_gpus": bundle.resources.get("GPU", 0),
        "scheduling_strategy": PlacementGroupSchedulingStrategy(bundle.group, bundle.number),
    }
