"""Where tasks go: parameter servers are spread over the nodes, workers are kept near each other."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

import ray
from ray.util.placement_group import PlacementGroup, placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from headrace.cluster.ray_engine.room import Resources, described, shortage

SPREAD: Final = "SPREAD"
PACK: Final = "PACK"
BUSY_SECONDS: Final = 60.0  # for other jobs to free what this one asks for
MOMENT: Final = 0.5


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
                f"the Ray cluster had no room for {count} tasks with {described(resources)} each in {seconds:g} s; it has "
                f"{described(ray.cluster_resources())}, of which {described(ray.available_resources())} are free"
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
