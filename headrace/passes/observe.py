"""Observe: beside each node that is watched, one that keeps a copy of what it gave; at the end, one for each task that hands the
copies to the client, as one fetch more.

    %y = Exp(%x)      ->      %y = Exp(%x)   _Observe(%y)   %rows = _Observed() after _Observe

A body is observed like a step.  What it gave comes once for each time that it ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from headrace.core.device import task_of
from headrace.core.dtypes import resource, string, variant
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.bodies import bodies_within, held_bodies
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

OBSERVE = Ops("_Observe")


@dataclass(frozen=True)
class Observe:
    """What is observed of a step.  ``key``: by which tasks keep copies apart.  ``patterns``: of the names of tensors or nodes.

    ``plain``: the nodes are those of the user's graph, none of them simplified away.
    """

    key: str
    patterns: tuple[str, ...]
    plain: bool = False
    names: frozenset[str] = frozenset()  # of tensors, beside those that patterns fit

    @cached_property
    def _match(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{one})(?::\\d+)?" for one in self.patterns))

    def wants(self, name: str) -> bool:
        """Whether the tensor of this name is observed: a pattern fits its whole name, or that of its node."""
        return name in self.names or self._match.fullmatch(name) is not None


def observe(graph: StepGraph, wish: Observe) -> StepGraph:
    """Adds a node beside each value that is wanted."""
    added = [
        _observer(value, name, wish)
        for node in graph.nodes
        for value in node.outputs
        if _has_value(value) and wish.wants(name := shown_name(value))
    ]
    if added:
        graph.nodes += added
        graph.targets += added
        graph.sort()
    return graph


def collect(graph: StepGraph, wish: Observe) -> None:
    """Adds, to a placed step, one fetch for each task that observes something."""
    before: dict[str, list[Node]] = {}
    homes: dict[str, str] = {}
    for node in graph.nodes:
        for one in _observers(node):
            task = task_of(one.device)
            one.attrs["device"] = one.device
            homes.setdefault(task, one.device)
            before.setdefault(task, []).append(node)
    for task, nodes in before.items():
        attrs = {"key": wish.key}
        order = 1 + max(node.order for node in graph.nodes)
        name = f"_observed/{len(graph.nodes)}"
        node = Node(name, REGISTRY.get("_Observed"), [], attrs, order, list(dict.fromkeys(nodes)), homes[task])
        node.add_outputs([(string, TensorShape([None, None]))])
        graph.nodes.append(node)
        graph.fetches.append(node.outputs[0])


def _observers(node: Node) -> Iterator[Node]:
    """The node, if it observes, or those in its bodies that do."""
    if node in OBSERVE:
        yield node
    for body in held_bodies(node):
        for graph in (body, *bodies_within(body)):
            yield from (one for one in graph.nodes if one in OBSERVE)


def _has_value(value: Value) -> bool:
    """A primitive of control flow and an argument of a body only hand on what is computed; a handle has no value of its own."""
    traits, origin = value.op.op_def.traits, value.op.origin
    if traits.primitive or traits.handle or (origin is not None and origin.op_def.traits.argument):
        return False
    return value.dtype.base_dtype not in (resource, variant)


def shown_name(value: Value) -> str:
    """The name that the user knows the tensor by."""
    node = value.op
    if node.op_def.traits.feed and node.origin is not None and node.name.startswith("_feed/"):
        return f"{node.origin.name}:{node.name.rpartition('/')[2]}"
    return value.name


def _observer(value: Value, name: str, wish: Observe) -> Node:
    node = value.op
    made_by = node.origin or node
    attrs = {
        "T": value.dtype.base_dtype, "key": wish.key, "tensor": name, "what": made_by.type, "line": str(node.source),
        "device": "",
    }  # fmt: skip
    order = node.order + 1e-6 * (value.value_index + 1)
    definition = REGISTRY.get("_Observe")
    own = f"{node.name}/_observe_{value.value_index}"
    return Node(own, definition, [value], attrs, order, None, node.device, node.source, node.origin)
