"""Strands: nodes grouped by the set of asynchronous nodes they depend on.

Nodes that can never block and wait for the same asynchronous nodes become ready together, so each group runs as one
straight-line function.  An asynchronous node is a strand of its own.  Pure: no threads, no kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.passes.step_graph import Node, Value


@dataclass(slots=True)
class Strand:
    """Nodes that run together.  ``after`` lists strands that must be done first; values cross strands by slot."""

    index: int
    nodes: list[Node]
    asynchronous: bool
    after: set[int] = field(default_factory=set)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)


def cut(nodes: list[Node], fetches: list[Value], is_async: Callable[[Node], bool]) -> list[Strand]:
    """``nodes`` in topological order -> strands in a valid order, with what flows between them."""
    ancestors: dict[Node, frozenset[Node]] = {}
    groups: dict[object, list[Node]] = {}
    for node in nodes:
        waits_for: frozenset[Node] = frozenset()
        for p in node.predecessors():
            waits_for |= ancestors[p] | ({p} if is_async(p) else frozenset())
        ancestors[node] = waits_for
        groups.setdefault(node if is_async(node) else waits_for, []).append(node)
    strands = [Strand(i, members, is_async(members[0])) for i, members in enumerate(groups.values())]
    owner = {n: s for s in strands for n in s.nodes}
    for strand in strands:
        inside = set(strand.nodes)
        seen: dict[Value, None] = {}
        for node in strand.nodes:
            for p in node.predecessors():
                if p not in inside:
                    strand.after.add(owner[p].index)
            for value in node.inputs:
                if value.op not in inside:
                    seen[value] = None
        strand.inputs = list(seen)
    wanted = {v for s in strands for v in s.inputs} | set(fetches)
    for strand in strands:
        strand.outputs = [v for n in strand.nodes for v in n.outputs if v in wanted]
    return strands


def crossing(strands: list[Strand]) -> set[Value]:
    """The values that one strand makes and another takes."""
    return {v for s in strands for v in s.inputs} if len(strands) > 1 else set()
