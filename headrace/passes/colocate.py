"""Colocate: which nodes of a step and of its bodies must share a device, found by union-find (white paper 4.3).

- The members of a colocation group, ``colocate_with``.
- A handle, a resource or a variant and the nodes that take it: state stays where it was made.  Across the border of a body the
  value outside, the feed that stands for it and the next value of a loop variable are one.
- A node that only reads a variable, and asks for no device, and the variable.

A node that holds bodies hands state on without touching it: it is tied to none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.core.dtypes import resource, variant
from headrace.passes.bodies import border, held_bodies
from headrace.passes.read import ref_positions
from headrace.passes.step_graph import Node, StepGraph, Value

_Key = Node | Value  # a value that a holder gives stands for itself: the holder may give state of many devices


def is_state(value: Value) -> bool:
    """Whether the value stands for something that lives on a device."""
    base = value.dtype.base_dtype
    return value.dtype._is_ref_dtype or base is resource or base is variant


def takes_state(node: Node) -> bool:
    """Whether the node works on state that another node has made."""
    return any(map(is_state, node.inputs)) and not held_bodies(node)


def groups_of(graph: StepGraph) -> list[list[Node]]:
    """All nodes of the graph and its bodies, those that must share a device together, in the order of their first members."""
    union = _Union()
    _collect(graph, [], union, {})
    groups: dict[_Key, list[Node]] = {}
    for key in union.parent:
        if isinstance(key, Node):
            groups.setdefault(union.find(key), []).append(key)
    return list(groups.values())


class _Union:
    """Sets of nodes and values that share a device."""

    def __init__(self) -> None:
        self.parent: dict[_Key, _Key] = {}
        self.seen: set[StepGraph] = set()

    def find(self, key: _Key) -> _Key:
        parent = self.parent
        while (above := parent.setdefault(key, key)) is not key:
            parent[key] = key = parent.setdefault(above, above)
        return key

    def unite(self, a: _Key, b: _Key) -> None:
        """``b`` leads, so that a chain of users hangs on its maker."""
        self.parent[self.find(a)] = self.find(b)


def _collect(graph: StepGraph, around: Sequence[Mapping[str, Node]], union: _Union, leaders: dict[str, Node]) -> None:
    """``around``: the nodes by name of the graphs around this one, inner ones first."""
    union.seen.add(graph)
    for node in graph.nodes:
        union.parent.setdefault(node, node)
    scopes = [{n.name: n for n in graph.nodes}, *around]
    for node in graph.nodes:
        if node.colocation:
            _join(node, scopes, union, leaders)
        bodies = held_bodies(node)
        if not bodies:
            for value in _tied(node):
                union.unite(node, _key(value))
            continue
        for outer, inner in border(node):
            if is_state(inner):
                union.unite(_key(inner), _key(outer))
        for body in bodies:
            if body not in union.seen:
                _collect(body, scopes, union, leaders)


def _join(node: Node, scopes: Sequence[Mapping[str, Node]], union: _Union, leaders: dict[str, Node]) -> None:
    for group in node.colocation:
        name = group.removeprefix("loc:@")
        leader = next((names[name] for names in scopes if name in names), None)
        if leader is not None and held_bodies(leader) and takes_state(node):
            continue  # what the leader hands on may be on any of its devices
        # Its members share a device even if the node it is named after was pruned.
        union.unite(node, leader or leaders.setdefault(group, node))


def _tied(node: Node) -> list[Value]:
    """The inputs that must be where the node is."""
    if not any(map(is_state, node.inputs)):
        return []
    taken = ref_positions(node)
    reads = node.op_def.traits.identity and not node.device and not node.colocation
    return [
        v for i, v in enumerate(node.inputs) if is_state(v) and (reads or i in taken or not v.dtype._is_ref_dtype)
    ]  # fmt: skip


def _key(value: Value) -> _Key:
    return value if held_bodies(value.op) else value.op
