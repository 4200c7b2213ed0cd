"""Whether tasks fit on the nodes of a Ray cluster.  Pure: asks Ray for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Resources = Mapping[str, float]  # "CPU", "GPU"


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
            nodes_have = "; ".join(described(node) for node in nodes)
            return f"no node has room for a task with {described(task)}, beside the others; the nodes have {nodes_have}"
    return None


def described(resources: Resources) -> str:
    """The CPUs and GPUs, in words."""
    return " and ".join(f"{resources[name]:g} {name}s" for name in ("CPU", "GPU") if resources.get(name)) or "nothing"
