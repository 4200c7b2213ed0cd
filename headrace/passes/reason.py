"""Reasons: why each node of a placed step is where it is.

``place`` tells a ``Reasons`` what it decides, where it is handed one (``Options.reasons``); without one nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.device import same_or_matches
from headrace.passes.bodies import bodies_within, border, held_bodies
from headrace.passes.choose_device import Ask
from headrace.passes.colocate import is_state, takes_state
from headrace.passes.step_graph import Node, StepGraph, Value

# The causes.
ASKED = "asked"  # tf.device, or the device in an imported graph
COLOCATED = "colocated"  # colocate_with
RESOURCE = "resource"  # works on state, which stays where it was made
SHARED = "shared"  # must share a device with a node that asks for one
HOST = "host"  # runs on the host whatever the device
FALLBACK = "fallback"  # soft placement
DEFAULT = "default"  # nobody asks: the first device with a kernel
FED = "fed"  # the client supplies the value
FOLLOWS = "follows"  # nobody asks: goes with a node beside it
MOVED = "moved"  # nobody asks: put there by ConfigProto.placement, away from the default device


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node is on its device: one of the causes above, and the whole story in words."""

    cause: str
    text: str


class Reasons:
    """The reasons for one step, by node.  Filled while ``place`` runs."""

    def __init__(self) -> None:
        self.of_node: dict[Node, Reason] = {}
        self._asked: dict[Node, str] = {}
        self._holders: dict[Node, Node] = {}  # of the nodes of bodies
        self._handed_down: set[Node] = set()  # nodes of bodies that ask for what their holder asks for
        self._outer: dict[Value, Value] = {}  # what the feed of a body stands for
        self._first = ""

    def start(self, graph: StepGraph, devices: Sequence[str]) -> None:
        """Notes what each node asks for itself."""
        self._first = devices[0]
        for node in _nodes(graph):
            self._asked[node] = node.device
            for body in held_bodies(node):
                self._holders.update((inner, node) for inner in body.nodes if inner not in self._holders)
            if held_bodies(node):
                for outer, inner in border(node):
                    self._outer.setdefault(inner, outer)

    def note_inherited(self, graph: StepGraph) -> None:
        """Notes what nodes of bodies ask for because their holders do."""
        for node in _nodes(graph):
            if node.device != self._asked[node]:
                self._asked[node] = node.device
                self._handed_down.add(node)

    def note_fed(self, node: Node) -> None:
        asks = bool(self._asked[node]) and _meets(node.device, self._asked[node])
        self.of_node[node] = Reason(FED, "fed by the client" + (f", {self._ask(node)}" if asks else ""))

    def note_following(self, node: Node, where: str, other: Node | None) -> None:
        """``where`` says what a node that asks for nothing goes with."""
        self.of_node[node] = Reason(FOLLOWS, where if other is None else f"{where} {_name(other)}")

    def note_moved(self, node: Node, text: str) -> None:
        """``text`` says what the node costs here and elsewhere; "" if it is where it would be without a policy."""
        if text:
            self.of_node[node] = Reason(MOVED, text)

    def note_group(
        self, members: Sequence[Node], chosen: str, fell_back: bool, on_host: set[Node], heard: Ask | None = None
    ) -> None:
        """Nodes that share a device were placed.  ``on_host``: those of them that run on the host.

        ``heard``: the node of the whole graph whose wish that is.
        """
        asking = next((n for n in members if self._asked[n] and _meets(chosen, self._asked[n])), None)
        whose = ""
        if heard is not None and (asking is None or asking.origin is not heard.node):
            outside = not any(n.origin is heard.node for n in members)
            words = _asked_for(heard.node, heard.device) + (", which this step does not need" if outside else "")
            whose = f"{heard.node.name}, {words}"
        elif asking is not None:
            whose = f"{_name(asking)}, {self._ask(asking)}"
        for node in members:
            if fell_back:
                reason = self._fallback(node, members)
            else:
                reason = self._in_group(node, chosen, whose, node in on_host)
            self.of_node[node] = reason

    def _in_group(self, node: Node, chosen: str, whose: str, on_host: bool) -> Reason:
        asked = self._asked[node]
        leader = next((n for c in node.colocation if (n := c.removeprefix("loc:@")) != node.name), "")
        heard = bool(asked) and _meets(node.device, asked)
        instead = f", not {asked}, which it asks for" if asked and not heard else ""
        if on_host and node.device != chosen:
            return Reason(HOST, f"host op: the CPU beside {_short(chosen)}" + (f", {self._ask(node)}" if asked else ""))
        maker = self._maker(node)
        if maker is not None and leader == maker.name:
            return Reason(RESOURCE, f"follows the resource {leader}{instead}")
        if leader:
            return Reason(COLOCATED, f"colocated with {leader}{instead}")
        if heard:
            return Reason(ASKED, self._ask(node))
        if maker is not None and maker is not node:
            return Reason(RESOURCE, f"follows the resource {_name(maker)}{instead}")
        if whose:
            return Reason(SHARED, f"shares a device with {whose}{instead}")
        if on_host:
            return Reason(HOST, "host op")
        return Reason(DEFAULT, "default device" if chosen == self._first else "first device with a kernel for it")

    def _fallback(self, node: Node, members: Sequence[Node]) -> Reason:
        asking = node if self._asked[node] else next((n for n in members if self._asked[n]), node)
        whose = "" if asking is node else f" {_name(asking)}, which shares its device,"
        wish = self._asked[asking] or "no device"
        text = f"soft placement: no device with the kernels fits {wish},{whose} {self._ask(asking)}"
        return Reason(FALLBACK, text)

    def _maker(self, node: Node) -> Node | None:
        """The node that made the state that a node works on; None if it works on none."""
        if node.op_def.traits.feed:
            value = next((v for v in node.outputs if is_state(v)), None)
        else:
            value = next((v for v in node.inputs if is_state(v)), None) if takes_state(node) else None
        seen: set[Value] = set()
        while value is not None and value not in seen:
            seen.add(value)
            before = self._outer.get(value)
            if before is None and takes_state(value.op):
                before = next(v for v in value.op.inputs if is_state(v))
            if before is None:
                return value.op
            value = before
        return None

    def _ask(self, node: Node) -> str:
        """How a node came to ask for its device."""
        wish = self._asked[node]
        if node in self._handed_down:
            holder = self._holders[node]
            return f"{self._ask(holder)} around {_name(holder)}"
        origin: Any = node.origin
        if origin is not None and not origin.device:
            return f"{wish} asked for where its function is called"
        return f"{wish} asked for by the node (made at {node.source})" if origin is None else _asked_for(origin, wish)


def _asked_for(op: Any, wish: str) -> str:
    """How a node of the client's graph came to ask for its device."""
    line = op.graph.device_line(op)
    return (
        f"{wish} asked for by the node (made at {op.source})" if line is None else f"asked for by tf.device at {line}"
    )


def _nodes(graph: StepGraph) -> Iterator[Node]:
    for one in (*bodies_within(graph), graph):
        yield from one.nodes


def _name(node: Node) -> str:
    return node.origin.name if node.op_def.traits.feed and node.origin is not None else node.name


def _meets(device: str, wish: str) -> bool:
    """Whether the device is what is asked for; the job "local" of TF1 is "localhost"."""
    return same_or_matches("/job:localhost" + wish.removeprefix("/job:local") if _is_local(wish) else wish, device)


def _is_local(wish: str) -> bool:
    return wish == "/job:local" or wish.startswith("/job:local/")


def _short(device: str) -> str:
    return "/device:" + device.rpartition("/device:")[2]
