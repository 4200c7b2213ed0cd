"""Place: gives every node of a step and of its bodies a device, honouring what the user asked for (white paper 3.2.1 and 4.3).

Nodes that must share a device are where the whole graph has put them (passes/whole_graph.py).  Those that it does not know of,
and all of them where no graph is given, are placed with the others of their group in the step (passes/colocate.py).  What runs on
the host goes to the CPU of the task of the device that was asked for or chosen; a CPU that was asked for is that CPU.  The
others go to the first device that has their kernels.

Some nodes follow others where nobody asks for a device: a holder of bodies goes where all of these are, what a body is fed is
with the holder, the shape of a value is taken where the value is, and a constant is where its users are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.dtypes import variant
from headrace.passes.bodies import bodies_within, held_bodies
from headrace.passes.choose_device import (
    ANYWHERE,
    COLOCATED,
    MAKER,
    USER,
    Ask,
    Chooser,
    HasKernel,
    parts_of,
    runs_on_host,
)
from headrace.passes.colocate import groups_of, is_state, takes_state
from headrace.passes.inline import merged_device
from headrace.passes.placement.policy import Policy
from headrace.passes.placement.step import Advice, advise, part_shared
from headrace.passes.reason import Reasons
from headrace.passes.step_graph import Node, StepGraph
from headrace.passes.whole_graph import Home, WholeGraph


def place(
    graph: StepGraph, devices: Sequence[str], has_kernel: HasKernel, soft: bool = False, reasons: Reasons | None = None,
    whole: WholeGraph | None = None, policy: Policy | None = None,
) -> StepGraph:  # fmt: skip
    """``devices`` are full names, best first, at least one CPU; ``has_kernel(node, device type)`` asks the registry.

    ``reasons`` is told why each node is where it is.  ``whole``: the client's graph, all of it.  ``policy``: decides where nodes
    are that may be on several devices; without one they are on the first.
    """
    if whole is not None:
        whole.settle()
    chooser = Chooser(devices, has_kernel, soft) if whole is None else whole.chooser
    placer = _Placer(chooser, reasons)
    fed = {v.op for v in graph.feeds}
    if policy is not None:
        part_shared(graph)
    if reasons is not None:
        reasons.start(graph, devices)
    _inherit(graph, set())
    if reasons is not None:
        reasons.note_inherited(graph)
    followers = _Followers(graph)
    groups = groups_of(graph)
    if policy is not None:
        placer.advice = advise(
            graph, groups, lambda members: {} if whole is None else _devices(_homes(members, whole, True)), followers.all,
            lambda node: Ask(node, node.device, _rank(node)), chooser, policy,
        )  # fmt: skip
        graph.moved = placer.advice is not None and placer.advice.moves
    for members in groups:
        homes = {} if whole is None else _homes(members, whole, placer.advice is not None)
        if len(members) == 1 and not homes:
            (node,) = members
            if node in followers.all:
                continue
            if node in fed:
                placer.place_feed(node)
                continue
        followers.all.difference_update(members)
        if homes:
            placer.place_at(homes, members)
        else:
            placer.place_group(members)
        if whole is not None:
            for node in members:
                if node.op_def.traits.handle and node.origin is not None:
                    whole.keep(node.origin, node.device)
    followers.place(placer)
    for one in (*bodies_within(graph), graph):
        for node in one.nodes:
            node.colocation = ()  # its device says where it is
    return graph


def _homes(members: Sequence[Node], whole: WholeGraph, advised: bool = False) -> dict[Node, Home]:
    """Where the whole graph has put nodes of a step.  ``advised``: of groups without state a policy says it, in each step."""
    homes = {}
    for node in members:
        if node.origin is not None and not node.op_def.traits.feed:
            home = whole.home(node.origin)
            if home is not None:
                homes[node] = home
    if advised and not any(home.has_state or home.asks for home in homes.values()):
        return {}
    return homes


def _devices(homes: dict[Node, Home]) -> dict[Node, str]:
    return {node: home.device for node, home in homes.items()}


def _inherit(graph: StepGraph, seen: set[StepGraph]) -> None:
    """Nodes in bodies ask for what the holder asks for, as far as they ask for nothing themselves."""
    for node in graph.nodes:
        for body in held_bodies(node):
            if body in seen:
                continue
            seen.add(body)
            if node.device:
                for inner in body.nodes:
                    if not inner.colocation and not inner.op_def.traits.feed:
                        inner.device = merged_device(node.device, inner.device)
            _inherit(body, seen)


class _Placer:
    """Puts nodes of a step on devices."""

    def __init__(self, chooser: Chooser, reasons: Reasons | None) -> None:
        self._chooser = chooser
        self._reasons = reasons
        self.advice: Advice | None = None

    def place_group(self, members: Sequence[Node]) -> None:
        """Gives nodes that share a device the first one that they may have, or that of the policy."""
        if self.advice is not None and (device := self.advice.device(members)):
            self._put_together(members, device, False)
            if self._reasons is not None:
                for node in members:
                    self._reasons.note_moved(node, self.advice.why(node))
            return
        choice = self._chooser.choose([Ask(n, n.device, _rank(n)) for n in members])
        self._put_together(members, choice.device, choice.fell_back)

    def place_at(self, homes: dict[Node, Home], members: Sequence[Node]) -> None:
        """Puts nodes where the whole graph has them, and those of the group that it does not know with the state."""
        first = min(homes, key=_rank)
        at: dict[Home, list[Node]] = {}
        for node in members:
            at.setdefault(homes.get(node, homes[first]), []).append(node)
        for home, nodes in at.items():
            self._put_together(nodes, home.device, home.fell_back, home.asks)
            if self._reasons is not None and home.why:
                for node in nodes:
                    self._reasons.note_moved(node, home.why if node.op_def.traits.handle else "")

    def _put_together(self, members: Sequence[Node], device: str, fell_back: bool, asks: Ask | None = None) -> None:
        on_host = {n for n in members if runs_on_host(n)}
        for node in members:
            node.device = self._chooser.cpu_of(device) if node in on_host else device
        if self._reasons is not None:
            self._reasons.note_group(members, device, fell_back, on_host, asks)

    def place_feed(self, node: Node) -> None:
        """A value that the client supplies is wherever there is a device like the one asked for."""
        device = self._chooser.match(parts_of(node.device)) or self._chooser.match(ANYWHERE)
        self.put(node, device, "")
        if self._reasons is not None:
            self._reasons.note_fed(node)

    def put(self, node: Node, device: str, where: str, other: Node | None = None) -> None:
        """Puts a node where another one is, or on the host there.  ``where`` and ``other`` say it in words."""
        if runs_on_host(node):
            node.device = self._chooser.cpu_of(device)
        elif self._chooser.has_kernel(node, parts_of(device)[3] or "CPU"):
            node.device = device
        else:
            self.place_group([node])
            return
        if self._reasons is not None:
            self._reasons.note_following(node, where, other)


class _Followers:
    """The nodes of a step and its bodies that go where others are, because nobody asks for a device."""

    def __init__(self, graph: StepGraph) -> None:
        self._graphs = [*bodies_within(graph), graph]  # inner ones first
        self.all: set[Node] = set()
        for one in self._graphs:
            self.all.update(n for n in one.nodes if not n.device and not n.colocation and _follows(n))
            if one is not graph:
                self.all.update(v.op for v in one.feeds if not is_state(v))

    def place(self, placer: _Placer) -> None:
        """Each kind after those that it follows."""
        for node in self.all:
            node.device = ""
        for graph in self._graphs:
            for node in self._waiting(graph, held_bodies):
                self._place_holder(node, placer)
        for graph in reversed(self._graphs):
            for node in graph.nodes:
                for value in (v for body in held_bodies(node) for v in body.feeds if not v.op.device):
                    placer.put(value.op, node.device, "passed in by", node)
        for graph in reversed(self._graphs):
            for node in self._waiting(graph, lambda n: n.inputs):
                before = node.inputs[0].op
                placer.put(node, before.device, "with its input", before) if before.device else placer.place_group(
                    [node]
                )
            self._place_constants(graph, placer)

    def _waiting(self, graph: StepGraph, preference: Callable[[Node], object]) -> list[Node]:
        return [n for n in graph.nodes if n in self.all and not n.device and preference(n)]

    def _place_holder(self, node: Node, placer: _Placer) -> None:
        work = {n.device for body in held_bodies(node) for n in body.nodes if n.device and _is_work(n)}
        if len(work) == 1:
            placer.put(node, work.pop(), "with all that its bodies compute")
        else:
            placer.place_group([node])

    def _place_constants(self, graph: StepGraph, placer: _Placer) -> None:
        used: dict[Node, set[str]] = {n: set() for n in self._waiting(graph, lambda n: True)}
        for node in graph.nodes:
            for value in node.inputs:
                if value.op in used:
                    used[value.op].add(node.device)
        for node, devices in used.items():
            if len(devices) == 1 and "" not in devices:
                placer.put(node, devices.pop(), "with the nodes that use it")
            else:
                placer.place_group([node])


def _follows(node: Node) -> bool:
    traits = node.op_def.traits
    if traits.constant or held_bodies(node):
        return True
    return traits.host_output and bool(node.inputs) and not takes_state(node)


def _is_work(node: Node) -> bool:
    """Whether the node decides where the holder of its body is."""
    traits = node.op_def.traits
    return not (traits.feed or traits.handle or traits.constant) and not runs_on_host(node)


def _rank(node: Node) -> int:
    if takes_state(node) or _took_state(node):
        return USER
    if node.op_def.traits.handle:
        return MAKER
    state = [v for v in node.outputs if is_state(v)]
    return COLOCATED if not state else MAKER if any(v.dtype.base_dtype is not variant for v in state) else USER


def _took_state(node: Node) -> bool:
    """Whether the client's node works on state, of which this one is given the value (passes/dereference.py)."""
    origin = node.origin
    return (
        origin is not None and node.name == origin.name and not held_bodies(node) and any(map(is_state, origin.inputs))
    )
