"""Credit: how far partitions may run ahead of each other in a loop that spans them.

    P: i -> _SendMany(a; "P>Q")      ->      P: i -> _RecvMany("Q is done")   _SendMany(a; "P>Q")
    Q: i -> _RecvMany("P>Q")                 Q: i -> _RecvMany("P>Q")   _SendMany("Q is done")

Each iteration of P takes a credit, a message without values, before all else.  Q has sent ``parallel_iterations`` of them when
the step begins, and sends one in each of its iterations, after all that it takes, sends, or waits for.  An iteration of P so
waits for the end of an earlier one of Q, never for one of the same number: a loop that ends without credits ends with them.
Nodes that only compute are not waited for, so that passes may move them out of the loop: Q does not go on without them.
What a loop leaves is what it found, so a loop inside another begins each time with all its credits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.core.registry import REGISTRY
from headrace.passes.bodies import bodies_within, held_bodies
from headrace.passes.match import Ops
from headrace.passes.partition.homes import is_free
from headrace.passes.step_graph import Node, StepGraph

_TRANSFER = Ops("_SendMany", "_RecvMany")
_SEND = Ops("_SendMany")
_DONE = " is done"

Ahead = Mapping[str, Sequence[str]]  # the partitions that each waits for


def producers(bodies: Mapping[str, StepGraph]) -> Ahead:
    """In a loop without a condition: which parts send to which others and get nothing back that would slow them down anyway."""
    sends = {part: _destinations(body) for part, body in bodies.items()}
    return {part: [q for q in bodies if q in sends[part] and part not in sends[q]] for part in bodies}


def _destinations(body: StepGraph) -> set[str]:
    """The partitions to which a part of a body sends something that is no credit, from inner bodies too."""
    return {
        node.attrs["destination"]
        for graph in (body, *bodies_within(body))
        for node in graph.nodes
        if node in _SEND and _DONE not in node.attrs["key"]
    }


def keep_together(
    loop: Node, prefix: str, bodies: Mapping[str, StepGraph], ahead: Ahead, device_of: Callable[[str], str]
) -> dict[Node, str]:
    """Adds credits to the parts of a body.  The nodes that send those of the beginning, with their partitions."""
    first: dict[Node, str] = {}
    done: dict[str, list[Node]] = {}
    takes: dict[str, Node] = {}
    for part, others in ahead.items():
        keys = []
        for other in others:
            key = f"{prefix}{loop.name}/{other}{_DONE} for {part}"
            keys.append(key)
            done.setdefault(other, []).append(_credit(loop, key, part, device_of(other), 1))
            allowed = max(loop.attrs.get("parallel_iterations", 10), 1)
            first[_credit(loop, key, part, device_of(other), allowed)] = other
        if keys:
            takes[part] = Node(
                f"_recv/{prefix}{loop.name}/credits", REGISTRY.get("_RecvMany"), [],
                {"keys": tuple(keys), "T": (), "shapes": ()}, loop.order, device=device_of(part), source=loop.source,
            )  # fmt: skip
    for part, nodes in done.items():
        body = bodies[part]
        before = [n for n in body.nodes if n.op_def.traits.has_effect or held_bodies(n)]
        for node in nodes:
            node.control_inputs = list(before)
        body.nodes += nodes
        body.targets += nodes
    for part, take in takes.items():
        _begin_with(take, bodies[part])
    return first


def _begin_with(take: Node, body: StepGraph) -> None:
    for node in body.nodes:
        traits = node.op_def.traits
        inside = any(not p.op_def.traits.feed and not is_free(p) for p in node.predecessors())
        if node in _TRANSFER or not (inside or traits.feed or traits.handle or is_free(node)):
            node.control_inputs.append(take)
    body.nodes.insert(0, take)


def _credit(loop: Node, key: str, destination: str, device: str, times: int) -> Node:
    attrs = {"key": key, "destination": destination, "T": (), "times": times}
    return Node(
        f"_send/{key}/{times}", REGISTRY.get("_SendMany"), [], attrs, loop.order, device=device, source=loop.source
    )
