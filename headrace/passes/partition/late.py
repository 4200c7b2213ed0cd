"""Late: large weights cross shortly before they are used (white paper 5.2).

    %w1 ... %w20 @A   used one after another @B      ->      the copy of %w3 @A waits for the first user of %w1 @B

Without this pass A sends all weights in the first round, and B holds each until it has used it.  With it about two are on
their way.  Each one that comes late is a round of its own: a wait in both partitions, and a signal from B to A.
"""

from __future__ import annotations

from headrace.core.registry import REGISTRY
from headrace.passes.partition.homes import Homes, stays
from headrace.passes.step_graph import Node, StepGraph, Value

LEAST = 1 << 20  # bytes: the copy of a smaller value costs less than the wait for it
AHEAD = 2  # values on their way: one that is used, and the next


def delay(graph: StepGraph, homes: Homes) -> None:
    """Adds the copies and their control edges to a step whose homes are settled."""
    for (source, _), users in _large(graph, homes).items():
        ordered = list(users.items())  # by first use, since nodes are in order
        for (_, earlier), (value, nodes) in zip(ordered, ordered[AHEAD:], strict=False):
            first = earlier[0]
            copy = Node(
                f"_late/{value.op.name}/{nodes[0].name}", REGISTRY.get("_Own"), [value], {"T": value.dtype.base_dtype},
                first.order, [first], value.op.device, value.op.source, value.op.origin,
            )  # fmt: skip
            late = copy.add_outputs([(value.dtype.base_dtype, value.shape)]).outputs[0]
            homes.of_node[copy] = source
            graph.nodes.append(copy)
            for node in nodes:
                node.inputs = [late if v is value else v for v in node.inputs]
    graph.sort()


def _large(graph: StepGraph, homes: Homes) -> dict[tuple[str, str], dict[Value, list[Node]]]:
    """The large values that wait for nothing, with their users in another partition; by both partitions."""
    early: set[Node] = set()
    crossing: dict[tuple[str, str], dict[Value, list[Node]]] = {}
    for node in graph.nodes:
        traits = node.op_def.traits
        if (traits.reads_buffer or traits.handle or traits.identity) and early.issuperset(node.predecessors()):
            early.add(node)
        here = homes.parts(node)
        for value in dict.fromkeys(node.inputs):
            source = homes.of_value(value)
            if value.op in early and source is not None and len(here) == 1 and source != here[0] and _is_large(value):
                crossing.setdefault((source, here[0]), {}).setdefault(value, []).append(node)
    return crossing


def _is_large(value: Value) -> bool:
    elements = value.shape.num_elements()
    return not stays(value) and elements is not None and elements * value.dtype.size >= LEAST
