"""Partition: a placed step -> its partitions, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.core.errors import InvalidArgumentError
from headrace.passes.bodies import bodies_within, held_bodies
from headrace.passes.partition.cut import USUAL, Cutter, Cutting
from headrace.passes.partition.homes import Homes, PartOf, is_free
from headrace.passes.partition.late import delay
from headrace.passes.partition.rotate import rotate
from headrace.passes.step_graph import Node, StepGraph


@dataclass(slots=True)
class Partition:
    """What one device or task does in a step.  ``feeds`` and ``fetches`` are positions in those of the step.

    ``rounds`` are those of the step's messages, by their keys.
    """

    name: str
    graph: StepGraph
    feeds: list[int]
    fetches: list[int]
    rounds: Mapping[str, int]


def partition_names(graph: StepGraph, part_of: PartOf) -> list[str]:
    """The partitions in which something runs, bodies included; constants, handles and feeds do not count."""
    names: dict[str, None] = {}
    for one in (graph, *bodies_within(graph)):
        for node in one.nodes:
            traits = node.op_def.traits
            free = traits.constant or traits.feed or (traits.handle and not node.predecessors())
            if not free and not held_bodies(node):
                names[part_of(node.device)] = None
    return list(names)


def partition(graph: StepGraph, part_of: PartOf, how: Cutting = USUAL) -> list[Partition]:
    """Cuts the graph, which is used up."""
    homes = Homes(part_of)
    homes.settle(graph)
    _check_primitives(graph, homes)
    if homes.spans and rotate(graph, homes):
        homes = Homes(part_of)
        homes.settle(graph)
    if how.late:
        delay(graph, homes)
    fed = {v.op for v in graph.feeds}
    parts = list(dict.fromkeys(p for n in graph.nodes if n not in fed for p in homes.parts(n))) or ["/device:CPU:0"]
    uses = homes.uses([graph])
    feeds = [list(uses.get(v, ())) for v in graph.feeds]
    for i, value in enumerate(graph.feeds):
        if value in graph.fetches and not feeds[i]:
            feeds[i] = parts[:1]
    at = dict(zip(graph.feeds, feeds, strict=True))
    fetches = [[homes.of_value(v) or (at.get(v) or parts)[0]] for v in graph.fetches]
    cutter = Cutter(graph, homes, how=how)
    graphs = cutter.cut(feeds, fetches, parts)
    return [
        Partition(
            name, graphs[name], [i for i, where in enumerate(feeds) if name in where],
            [i for i, where in enumerate(fetches) if name in where], cutter.rounds,
        )
        for name in parts
    ]  # fmt: skip


def destinations(graph: StepGraph) -> set[str]:
    """The partitions to which one sends, from bodies too."""
    nodes = [node for one in (graph, *bodies_within(graph)) for node in one.nodes]
    return {node.attrs["destination"] for node in nodes if "destination" in node.attrs}


def _check_primitives(graph: StepGraph, homes: Homes) -> None:
    """Loops and conditionals made of primitives (Switch, Merge, Enter ...) must be in one partition."""
    if not any(n.op_def.traits.primitive for n in graph.nodes):
        return
    first: Node | None = None
    depth: dict[Node, int] = {}
    gated: set[Node] = set()
    for node in graph.nodes:
        primitive = node.op_def.traits.primitive
        before = [p for p in node.predecessors() if p in depth]
        level = max((depth[p] for p in before), default=0)
        inside = level > 0 or any(p in gated for p in before)
        if primitive in ("enter", "switch"):
            inside = True
        depth[node] = level + (primitive == "enter") - (primitive == "exit")
        if (inside and not (primitive == "merge" and not level)) or primitive == "switch":
            gated.add(node)
        if primitive == "exit" and depth[node] <= 0:
            gated.discard(node)
        if not (inside or primitive) or is_free(node):
            continue
        first = first or node
        if homes.of_node.get(node) != homes.of_node.get(first):
            raise InvalidArgumentError(
                None, node.origin,
                f"A loop or conditional made of Switch, Merge and Enter nodes must be on one device, but {first.name} (made at "
                f"{first.source}) is in {homes.of_node[first]} and {node.name} (made at {node.source}) in {homes.of_node[node]}. "
                "Put all its nodes on one device, or build it with tf.while_loop and tf.cond",
            )  # fmt: skip
