"""StepGraph: the part of a client graph that a step runs, in a form that passes may rewrite freely.

Nodes keep the source line and name of the client node they came from, so errors still name the user's program.  Nodes have the
attributes of client nodes (name, op_def, inputs, attrs, outputs ...), so the text form and ``verify_graph`` serve both.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.registry import OpDef
from headrace.core.shape import TensorShape
from headrace.core.source import UNKNOWN, Source
from headrace.graph.text import to_text

# An attribute of nodes whose values come after something that they do not name.  What waits for one is not moved before it.
# Feeds of a body: they come after effects outside, or in the iteration before.  Feeds of a partial run, and what its partitions
# take from others: they come while the step runs, and nothing waits for one that it does not need.
LATE = "_late"

# An attribute of random ops whose generators are saved: nothing else may draw their numbers.
SAVED = "_saved"

_maker = attrgetter("op")


class Value:
    """One output of a node."""

    __slots__ = ("_static_value", "dtype", "op", "shape", "value_index")

    def __init__(self, op: Node, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.shape = shape
        self._static_value: Any = None

    @property
    def _shape(self) -> TensorShape:  # the name static inference knows
        return self.shape

    @property
    def name(self) -> str:
        return f"{self.op.name}:{self.value_index}"

    def __repr__(self) -> str:
        return f"<value {self.name}>"


class Node:
    """A node of a step graph.  ``order`` is the client's creation order, the tie-break of the schedule (white paper 4.1)."""

    __slots__ = (
        "attrs", "colocation", "control_inputs", "device", "inputs", "name", "op_def", "order", "origin", "outputs",
        "source",
    )  # fmt: skip

    def __init__(
        self, name: str, op_def: OpDef, inputs: list[Value], attrs: dict[str, Any], order: float,
        control_inputs: list[Node] | None = None, device: str = "", source: Source = UNKNOWN, origin: Any = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.op_def = op_def
        self.inputs = inputs
        self.attrs = attrs
        self.order = order
        self.control_inputs = control_inputs or []
        self.device = device
        self.source = source
        self.origin = origin
        self.colocation: tuple[str, ...] = ()
        self.outputs: list[Value] = []

    @property
    def type(self) -> str:
        return self.op_def.name

    def add_outputs(self, types: Iterable[tuple[DType, TensorShape]]) -> Node:
        self.outputs = [Value(self, i, dtype, shape) for i, (dtype, shape) in enumerate(types)]
        return self

    def again(self) -> Node:
        """The node once more, without inputs: a feed, a constant or a handle."""
        copy = Node(self.name, self.op_def, [], self.attrs, self.order, None, self.device, self.source, self.origin)
        copy.colocation = self.colocation
        return copy.add_outputs((v.dtype, v.shape) for v in self.outputs)

    def predecessors(self) -> list[Node]:
        before: list[Node] = list(map(_maker, self.inputs))
        return before + self.control_inputs if self.control_inputs else before

    def __repr__(self) -> str:
        return f"<node {self.name} {self.type}>"


def behind_identities(value: Value) -> Value:
    """The value that identities hand on."""
    while value.op.op_def.traits.identity:
        value = value.op.inputs[0]
    return value


class StepGraph:
    """Nodes in a topological order, the values fed and fetched, and the nodes that must run."""

    def __init__(self, nodes: list[Node], feeds: list[Value], fetches: list[Value], targets: list[Node]) -> None:
        self.nodes = nodes
        self.feeds = feeds
        self.fetches = fetches
        self.targets = targets
        # Of a body: which feeds and fetches are passed on the host whatever the device (passes/instantiate.py).
        self.host_feeds: list[bool] = []
        self.host_fetches: list[bool] = []
        self.moved = False  # whether a policy has put a node elsewhere than on its first device (passes/place.py)
        self.unrolled = 0  # nodes that loops of this graph have become (passes/unroll.py)
        self.results: tuple[int, ...] | None = None  # of a function that calls itself: which of its results these are

    def get_operations(self) -> list[Node]:
        return list(self.nodes)

    def users(self) -> dict[Value, list[Node]]:
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in node.inputs:
                if value in users:
                    users[value].append(node)
                else:
                    users[value] = [node]
        return users

    def after_effects(self) -> set[Node]:
        """Nodes that change something outside the step, or wait for one that does or for what comes `LATE`."""
        after: set[Node] = set()
        for node in self.nodes:
            effect = node.op_def.traits.has_effect or LATE in node.attrs
            if effect or (after and not after.isdisjoint(node.predecessors())):
                after.add(node)
        return after

    def replace(self, values: dict[Value, Value], nodes: dict[Node, Node]) -> None:
        """Replaces values and nodes wherever they are used: as inputs, control inputs, fetches and targets."""
        if not values and not nodes:
            return
        old_values, old_nodes = values.keys(), nodes.keys()
        for node in self.nodes:
            if not old_values.isdisjoint(node.inputs):
                node.inputs = [values.get(v, v) for v in node.inputs]
            if node.control_inputs and not old_nodes.isdisjoint(node.control_inputs):
                node.control_inputs = list(dict.fromkeys(nodes.get(c, c) for c in node.control_inputs))
        self.fetches = [values.get(v, v) for v in self.fetches]
        self.targets = [nodes.get(n, n) for n in self.targets]

    def sweep(self) -> None:
        """Drops the nodes that neither a fetch nor a target needs; all feeds stay."""
        live: set[Node] = set()
        stack = [v.op for v in self.fetches] + list(self.targets) + [v.op for v in self.feeds]
        while stack:
            node = stack.pop()
            if node not in live:
                live.add(node)
                stack.extend(node.predecessors())
        self.nodes = [n for n in self.nodes if n in live]

    def sort(self, priority: Callable[[Node], Any] = attrgetter("order")) -> None:
        """Restores a topological order, ready nodes by smallest priority first."""
        self.nodes = topological(self.nodes, priority)

    def to_text(self) -> str:
        lines = [to_text(self.nodes)]
        if self.fetches:
            lines.append(
                "fetch "
                + ", ".join(f"%{v.op.name}" + (f":{v.value_index}" * bool(v.value_index)) for v in self.fetches)
            )
        if self.targets:
            lines.append("run " + ", ".join(f"%{n.name}" for n in self.targets))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<step graph of {len(self.nodes)} nodes>"


def topological(nodes: list[Node], priority: Callable[[Node], Any]) -> list[Node]:
    """The nodes in a topological order: of those that are ready, the one of smallest priority comes next.

    Goes through the nodes by priority, which is mostly a topological order already, and puts those that are not ready aside.
    """
    order = sorted(nodes, key=priority)
    done: dict[Node, None] = {}
    missing: dict[int, set[Node]] = {}  # what a node put aside waits for, by its position
    waiting: dict[Node, list[int]] = {}  # the nodes put aside that wait for a node
    for i, node in enumerate(order):
        before = node.predecessors()
        if not done.keys() >= set(before):
            # The nodes that close a loop come later.
            needed = {p for p in before if p not in done and p.op_def.traits.primitive != "next"}
            if needed:
                missing[i] = needed
                for p in needed:
                    waiting.setdefault(p, []).append(i)
                continue
        done[node] = None
        if node in waiting:
            _release(node, order, done, missing, waiting)
    if len(done) != len(nodes):
        stuck = [n.name for n in nodes if n not in done]
        raise ValueError(f"the graph has a cycle through {', '.join(stuck[:5])}")
    return list(done)


def _release(
    node: Node, order: list[Node], done: dict[Node, None], missing: dict[int, set[Node]], waiting: dict[Node, list[int]]
) -> None:
    """Appends the nodes put aside that are ready now that ``node`` is done, and those that are ready after them."""
    ready: list[int] = []
    while True:
        for i in waiting.pop(node, ()):
            missing[i].discard(node)
            if not missing[i]:
                heapq.heappush(ready, i)
        if not ready:
            return
        node = order[heapq.heappop(ready)]
        done[node] = None
