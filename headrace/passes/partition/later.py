"""Later: a partition whose feeds come while it runs, and whose fetches are wanted before it ends (``Session.partial_run``).

    feed %x   %y = Exp(%x)   fetch %y      ->      %x = _RecvMany("feed x:0")   %y = Exp(%x)   _SendMany(%y; "fetch y:0")

What is fed is a message to the partition; what is fetched is one to the partition itself, which the client takes from there.
Each fetch waits for the feeds that it needs and for no others, so what crosses partitions must not be gathered.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.partition.partition import Partition
from headrace.passes.portable import Portable
from headrace.passes.step_graph import LATE, Node, StepGraph, Value

RECV = Ops("_RecvMany")


def feed_key(name: str) -> str:
    """Under which a partition takes a feed."""
    return f"feed {name}"


def fetch_key(name: str) -> str:
    """Under which a partition leaves a fetch."""
    return f"fetch {name}"


def feed_later(one: Partition, feeds: Sequence[str], fetches: Sequence[str], shared: Sequence[bool]) -> None:
    """Turns what the partition is fed into messages that it takes, and what is fetched into messages that it leaves.

    ``feeds`` and ``fetches`` are the names of the step's.  ``shared[i]``: fetch i of the partition may share memory with state.
    """
    graph = one.graph
    taken: dict[Value, Value] = {}
    for value, position in zip(graph.feeds, one.feeds, strict=True):
        taken[value] = _recv(value, feeds[position])
    replaced = {value.op: other.op for value, other in taken.items()}
    graph.nodes = [replaced.get(node, node) for node in graph.nodes]
    for node in graph.nodes:
        node.inputs = [taken.get(v, v) for v in node.inputs]
        node.control_inputs = [replaced.get(c, c) for c in node.control_inputs]
        if node in RECV:
            node.attrs[LATE] = True
    for value, position, owned in zip(graph.fetches, one.fetches, shared, strict=True):
        left = taken.get(value, value)
        if owned:
            left = _own(left, fetches[position])
            graph.nodes.append(left.op)
        graph.nodes.append(_send(left, fetches[position], one.name))
        graph.targets.append(graph.nodes[-1])
    graph.feeds, graph.fetches = [], []
    graph.sort()


def left_fetches(data: Portable) -> list[str]:
    """The keys under which a partition leaves fetches."""
    nodes = [node for node in data.graphs[0]["nodes"] if node["op"] == "_SendMany"]
    keys = [value for node in nodes for name, value in node["attrs"] if name == "key"]
    return [key for key in keys if key.startswith(fetch_key(""))]


def needed_feeds(graph: StepGraph) -> dict[Node, int]:
    """The feeds that each node of a step needs, as a number: bit i stands for feed i."""
    needs = {value.op: 1 << i for i, value in enumerate(graph.feeds)}
    changed = True
    while changed:  # once more for what comes round a loop of primitives
        changed = False
        for node in graph.nodes:
            before = needs.get(node, 0)
            after = before
            for needed in node.predecessors():
                after |= needs.get(needed, 0)
            if after != before:
                needs[node], changed = after, True
    return needs


def _recv(value: Value, name: str) -> Value:
    fed, dtype = value.op, value.dtype.base_dtype
    node = Node(
        f"_recv/feed/{name}", REGISTRY.get("_RecvMany"), [],
        {"keys": (feed_key(name),), "T": (dtype,), "shapes": (value.shape,)}, fed.order, None, fed.device, fed.source, fed.origin,
    )  # fmt: skip
    return node.add_outputs([(dtype, value.shape)]).outputs[0]


def _own(value: Value, name: str) -> Value:
    node = Node(
        f"_own/fetch/{name}", REGISTRY.get("_Own"), [value], {"T": value.dtype.base_dtype}, value.op.order, None,
        value.op.device, value.op.source, value.op.origin,
    )  # fmt: skip
    return node.add_outputs([(value.dtype.base_dtype, value.shape)]).outputs[0]


def _send(value: Value, name: str, partition: str) -> Node:
    attrs = {"key": fetch_key(name), "destination": partition, "T": (value.dtype.base_dtype,), "times": 1}
    maker = value.op
    return Node(
        f"_send/fetch/{name}", REGISTRY.get("_SendMany"), [value], attrs, maker.order, None, partition, maker.source,
        maker.origin,
    )  # fmt: skip
