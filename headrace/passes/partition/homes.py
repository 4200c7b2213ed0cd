"""Homes: in which partition each node of a placed step is, and where the values of conditionals and loops are.

A node is in the partition of its device.  What holds something that cannot travel (a handle, a stash, an array of tensors) is in
the partition of what made that.  A conditional or loop whose bodies have nodes in several partitions *spans* them: each
gets its part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.core.errors import InvalidArgumentError
from headrace.passes.bodies import bodies_of
from headrace.passes.step_graph import Node, StepGraph, Value

PartOf = Callable[[str], str]  # the partition of a device
_NO_TRAVEL = ("resource", "variant")


@dataclass(slots=True)
class Span:
    """A conditional or loop over several partitions: where its inputs are needed and where its outputs are.

    ``feeds`` and ``fetches`` say it of its bodies, ``inputs`` and ``outputs`` of the node.  The first of several is the home.
    """

    parts: list[str]
    feeds: list[list[str]] = field(default_factory=list)
    fetches: list[list[str]] = field(default_factory=list)
    inputs: list[list[str]] = field(default_factory=list)
    outputs: list[list[str]] = field(default_factory=list)


def is_free(node: Node) -> bool:
    """Whether each partition that uses the node has its own."""
    return node.op_def.traits.constant and not node.control_inputs


def stays(value: Value) -> bool:
    """Whether the value cannot go to another partition."""
    return value.dtype._is_ref_dtype or value.dtype.name in _NO_TRAVEL


class Homes:
    """Of all nodes of a step and of its bodies."""

    def __init__(self, part_of: PartOf) -> None:
        self._part_of = part_of
        self.of_node: dict[Node, str] = {}
        self.spans: dict[Node, Span] = {}
        self._fixed: dict[Value, str] = {}  # of feeds that cannot travel

    def settle(self, graph: StepGraph) -> None:
        """Finds the homes of the nodes, those in bodies too."""
        feeds = {v.op for v in graph.feeds}
        for node in graph.nodes:
            if node in feeds:
                continue
            home = self._part_of(node.device)
            for value in node.inputs:
                if stays(value) and (fixed := self.of_value(value)) is not None:
                    home = fixed
                    break
            self._put(node, home)
            if isinstance(node.attrs.get("f"), StepGraph):
                self._check_recursion(node)
            elif bodies_of(node):
                self._settle_bodies(node)

    def _put(self, node: Node, home: str) -> None:
        self.of_node[node] = home
        if self._part_of(node.device) != home:
            node.device = home  # it goes with what cannot travel; a partition has the name of its first device

    def of_value(self, value: Value) -> str | None:
        """The partition that a value is in; None if it may be anywhere: a constant, a feed."""
        if value in self._fixed:
            return self._fixed[value]
        node = value.op
        if node in self.spans:
            return self.spans[node].outputs[value.value_index][0]
        return None if is_free(node) else self.of_node.get(node)

    def parts(self, node: Node) -> list[str]:
        """The partitions in which a node runs."""
        if node in self.spans:
            return self.spans[node].parts
        home = None if is_free(node) else self.of_node.get(node)
        return [] if home is None else [home]

    def needed(self, node: Node, position: int) -> list[str]:
        """The partitions that need an input of a node."""
        span = self.spans.get(node)
        return self.parts(node) if span is None else span.inputs[position]

    def uses(self, bodies: Sequence[StepGraph]) -> dict[Value, list[str]]:
        """In which partitions nodes use each feed."""
        used: dict[Value, dict[str, None]] = {feed: {} for body in bodies for feed in body.feeds}
        for body in bodies:
            for node in body.nodes:
                for i, value in enumerate(node.inputs):
                    if value in used:
                        used[value].update(dict.fromkeys(self.needed(node, i)))
        return {value: list(parts) for value, parts in used.items()}

    # ---- bodies

    def _settle_bodies(self, node: Node) -> None:
        bodies = bodies_of(node)
        first = 1 if "then_branch" in node.attrs or "cond" not in node.attrs else 0
        for body in bodies:
            for feed, outer in zip(body.feeds, node.inputs[first:], strict=True):
                if stays(outer) and (home := self.of_value(outer)) is not None:
                    self._fixed[feed] = home
            self.settle(body)
        parts: dict[str, None] = {}
        for body in bodies:
            fed = {v.op for v in body.feeds}
            for inner in body.nodes:
                if inner not in fed:
                    parts.update(dict.fromkeys(self.parts(inner)))
        if len(parts) > 1:
            is_loop = "body" in node.attrs
            self.spans[node] = self._loop(node, list(parts)) if is_loop else self._conditional(node, list(parts))
        elif parts:
            (home,) = parts
            self._put(node, home)

    def _conditional(self, node: Node, parts: list[str]) -> Span:
        then, other = bodies_of(node)
        span = Span(parts)
        for pair in zip(then.fetches, other.fetches, strict=True):
            span.fetches.append([next((h for v in pair if (h := self.of_value(v)) is not None), parts[0])])
        span.feeds = self._feeds([then, other], span.fetches, parts)
        span.inputs = [parts, *span.feeds]
        span.outputs = span.fetches
        return span

    def _loop(self, node: Node, parts: list[str]) -> Span:
        body: StepGraph = node.attrs["body"]
        span = Span(parts)
        uses = self.uses([body])
        decides = node.attrs.get(PREDICATE)
        for i, (feed, value) in enumerate(zip(body.feeds, body.fetches, strict=False)):
            used = uses.get(feed, [])
            home = self.of_value(value)
            if home is None:
                home = used[0] if used else parts[0]
            if i == decides:
                span.fetches.append([home, *(p for p in parts if p != home)])
            elif value is feed:  # the same in each iteration: every partition that uses it has it
                span.fetches.append([home, *(p for p in used if p != home)])
            else:
                span.fetches.append([home])
        count = len(body.fetches)
        span.feeds = [*span.fetches, *self._feeds([body], span.fetches, parts)[count:]]
        counted = "cond" not in node.attrs
        span.inputs = [parts, *span.feeds] if counted else span.feeds
        span.outputs = span.fetches if counted else [parts, *span.fetches]
        return span

    def _feeds(self, bodies: Sequence[StepGraph], fetches: list[list[str]], parts: list[str]) -> list[list[str]]:
        """Where each feed of the bodies is used; one that is a result, where that is wanted."""
        uses = self.uses(bodies)
        homes: dict[Value, dict[str, None]] = {}
        for body in bodies:
            for value, where in zip(body.fetches, fetches, strict=True):
                homes.setdefault(value, {}).update(dict.fromkeys(where))
        at: list[list[str]] = []
        for feeds in zip(*(body.feeds for body in bodies), strict=True):
            merged: dict[str, None] = {}
            for feed in feeds:
                fixed = self._fixed.get(feed)
                everywhere = [*uses.get(feed, ()), *homes.get(feed, ())] if fixed is None else [fixed]
                merged.update(dict.fromkeys(everywhere))
            at.append(list(merged) or parts[:1])
        return at

    def _check_recursion(self, node: Node) -> None:
        homes: dict[str, Node] = {}
        stack, seen = [node.attrs["f"]], set()
        while stack:
            body = stack.pop()
            if body in seen:
                continue
            seen.add(body)
            for inner in body.nodes:
                if not is_free(inner) and not inner.op_def.traits.feed and not bodies_of(inner):
                    homes.setdefault(self._part_of(inner.device), inner)
                stack += [a for a in inner.attrs.values() if isinstance(a, StepGraph)]
        if len(homes) > 1:
            (a, first), (b, second), *_ = homes.items()
            raise InvalidArgumentError(
                None, node.origin,
                f"A function that calls itself must be on one device, but of the one called by {node.name} (made at "
                f"{node.source}) {first.name} is in {a} and {second.name} is in {b}",
            )  # fmt: skip
        if homes:
            (home,) = homes
            self._put(node, home)


PREDICATE = "_predicate"  # of a loop that spans partitions: the variable that says whether it goes on (rotate.py)
