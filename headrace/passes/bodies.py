"""The instantiated bodies that nodes hold: which there are, and what crosses the border between a body and its holder.

Owns the positions: where a holder's inputs and outputs are among the feeds and fetches of its bodies.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.graph.body import Detached
from headrace.passes.step_graph import Node, StepGraph, Value

_OWN = ("then_branch", "else_branch", "cond", "body")
_NAMES = (*_OWN, "f")
_ANY = frozenset(_NAMES)


def bodies_of(node: Node) -> list[StepGraph]:
    """The bodies that this node alone holds; not those of functions, which other nodes hold too."""
    if _ANY.isdisjoint(node.attrs):
        return []
    return [a for name in _OWN if isinstance(a := node.attrs.get(name), StepGraph)]


def held_bodies(node: Node) -> list[StepGraph]:
    """All bodies that a node holds.  That of a function that calls itself is held by every call."""
    if _ANY.isdisjoint(node.attrs):
        return []
    return [a for name in _NAMES if isinstance(a := node.attrs.get(name), StepGraph)]


def bodies_within(graph: StepGraph) -> Iterator[StepGraph]:
    """Every body in the graph, and in its bodies, once: inner ones first."""
    return _within(graph, set())


def _within(graph: StepGraph, seen: set[StepGraph]) -> Iterator[StepGraph]:
    for holder in [node for node in graph.nodes if not _ANY.isdisjoint(node.attrs)]:
        for body in held_bodies(holder):
            if body not in seen:
                seen.add(body)
                yield from _within(body, seen)
                yield body


def nodes_within(graph: StepGraph) -> list[Node]:
    """The nodes of a graph, of its bodies, and of the functions of datasets in it."""
    nodes = [node for one in (graph, *bodies_within(graph)) for node in one.nodes]
    inner = [a.body for node in nodes for a in node.attrs.values() if isinstance(a, Detached)]
    return nodes + [node for body in inner for node in nodes_within(body)]


def border(node: Node) -> Iterator[tuple[Value, Value]]:
    """Pairs of one value: an input of a holder and the feed that stands for it, a fetch of a body and what it becomes.

    The next value of a loop variable is paired with the feed of the iteration after it.
    """
    attrs, bodies = node.attrs, held_bodies(node)
    if "body" in attrs:
        body: StepGraph = attrs["body"]
        first_in, first_out = (0, 1) if "cond" in attrs else (1, 0)
        for one in bodies:
            yield from zip(node.inputs[first_in:], one.feeds, strict=True)
        yield from zip(body.fetches, body.feeds, strict=False)
        yield from zip(node.outputs[first_out:], body.feeds, strict=False)
        return
    for one in bodies:
        yield from zip(node.inputs[0 if "f" in attrs else 1 :], one.feeds, strict=True)
        yield from zip(node.outputs, one.fetches, strict=True)
