"""Place: gives every node of a step and of its bodies a device, honouring what the user asked for (white paper 3.2.1 and 4.3).

Nodes that must share a device (passes/colocate.py) are placed together.  Where they ask for different devices, the maker of a
handle wins over those who use it, as in TensorFlow.  What runs on the host goes to the CPU of the task of the device that was
asked for or chosen; a CPU that was asked for is that CPU.  The others go to the first device that has their kernels.

Some nodes follow others where nobody asks for a device: a holder of bodies goes where all of these are, what a body is fed is
with the holder, the shape of a value is taken where the value is, and a constant is where its users are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from headrace.core.device import DeviceSpec, Parts
from headrace.core.dtypes import string, variant
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import user_source
from headrace.passes.arrays import named_inputs
from headrace.passes.bodies import bodies_within, held_bodies
from headrace.passes.colocate import groups_of, is_state, takes_state
from headrace.passes.inline import merged_device
from headrace.passes.reason import Reasons
from headrace.passes.step_graph import Node, StepGraph, Value

HasKernel = Callable[[Node, str], bool]

_ANYWHERE: Parts = (None, None, None, None, None)


def place(
    graph: StepGraph, devices: Sequence[str], has_kernel: HasKernel, soft: bool = False, reasons: Reasons | None = None
) -> StepGraph:
    """``devices`` are full names, best first, at least one CPU; ``has_kernel(node, device type)`` asks the registry.

    ``reasons`` is told why each node is where it is.
    """
    placer = _Placer(devices, has_kernel, soft, reasons)
    fed = {v.op for v in graph.feeds}
    if reasons is not None:
        reasons.start(graph, devices)
    _inherit(graph, set())
    if reasons is not None:
        reasons.note_inherited(graph)
    followers = _Followers(graph)
    for members in groups_of(graph):
        if len(members) == 1:
            (node,) = members
            if node in followers.all:
                continue
            if node in fed:
                placer.place_feed(node)
                continue
        followers.all.difference_update(members)
        placer.place_group(members)
    followers.place(placer)
    for one in (*bodies_within(graph), graph):
        for node in one.nodes:
            node.colocation = ()  # its device says where it is
    return graph


def runs_on_host(node: Node) -> bool:
    """Whether the node runs on the host whatever device it is given: by its trait, or because strings live there."""
    if node.op_def.traits.host:
        return True
    if _has_strings(node.outputs):
        return True
    return _has_strings(node.inputs) and _has_strings(_values(node))


def _has_strings(values: Iterable[Value]) -> bool:
    for value in values:  # noqa: SIM110 - every node is asked: a loop takes half of the time of `any`
        if value.dtype.base_dtype is string:
            return True
    return False


def _values(node: Node) -> list[Value]:
    """The inputs that must be on the node's device: all but those whose values kernels take on the host."""
    if not any(arg.host for arg in node.op_def.signature.inputs):
        return node.inputs
    return [value for arg, value in named_inputs(node) if not arg.host]


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
    """The devices there are, and which of them nodes get."""

    def __init__(self, devices: Sequence[str], has_kernel: HasKernel, soft: bool, reasons: Reasons | None) -> None:
        self._devices = [(name, _parts(name)) for name in devices]
        self._types = frozenset(parts[3] or "CPU" for _, parts in self._devices)
        self._has_kernel = has_kernel
        self._soft = soft
        self._reasons = reasons
        self._first: dict[tuple[Parts, frozenset[str]], str] = {}
        self._cpus: dict[str, str] = {}

    def place_group(self, members: Sequence[Node]) -> None:
        """Gives nodes that share a device the first one that they may have."""
        elsewhere = [n for n in members if not runs_on_host(n)]
        types = self._types_for(elsewhere)
        wishes = _wishes(members, self._soft)
        chosen = ""
        for wish in wishes:
            chosen = chosen or self._match(wish, types)
        fell_back = not chosen and self._soft
        if fell_back:
            chosen = self._match((*wishes[-1][:3], "CPU", None), types)
        if not chosen:
            self._fail(members, wishes[-1])
        if len(elsewhere) < len(members):
            for node in members:
                node.device = self.cpu_of(chosen)
        for node in elsewhere:
            node.device = chosen
        if self._reasons is not None:
            self._reasons.note_group(members, chosen, fell_back, set(members).difference(elsewhere))

    def place_feed(self, node: Node) -> None:
        """A value that the client supplies is wherever there is a device like the one asked for."""
        device = self._match(_parts(node.device), self._types) or self._match(_ANYWHERE, self._types)
        self.put(node, device, "")
        if self._reasons is not None:
            self._reasons.note_fed(node)

    def put(self, node: Node, device: str, where: str, other: Node | None = None) -> None:
        """Puts a node where another one is, or on the host there.  ``where`` and ``other`` say it in words."""
        if runs_on_host(node):
            node.device = self.cpu_of(device)
        elif self._has_kernel(node, _parts(device)[3] or "CPU"):
            node.device = device
        else:
            self.place_group([node])
            return
        if self._reasons is not None:
            self._reasons.note_following(node, where, other)

    def cpu_of(self, device: str) -> str:
        """The CPU itself, or the first CPU of the device's task."""
        cpu = self._cpus.get(device)
        if cpu is None:
            parts = _parts(device)
            cpu = device if parts[3] == "CPU" else self._match((*parts[:3], "CPU", None), self._types)
            self._cpus[device] = cpu = cpu or self._match((None, None, None, "CPU", None), self._types)
        return cpu

    def _types_for(self, nodes: Iterable[Node]) -> frozenset[str]:
        """The device types that all nodes have kernels for."""
        types = self._types
        for node in nodes:
            missing = [t for t in types if not self._has_kernel(node, t)]
            if missing:
                types = types.difference(missing)
        return types

    def _match(self, wish: Parts, types: frozenset[str]) -> str:
        """The first device of these types that meets the wish; "" if there is none."""
        chosen = self._first.get((wish, types))
        if chosen is None:
            fitting = (name for name, parts in self._devices if _meets(parts, wish) and (parts[3] or "CPU") in types)
            chosen = self._first[wish, types] = next(fitting, "")
        return chosen

    def _absent(self, wish: Parts) -> tuple[str, str]:
        """What there is not, and what the user can do about it."""
        if any(_meets(parts, (*wish[:3], None, None)) for _, parts in self._devices):
            soft = "Use allow_soft_placement=True in ConfigProto to fall back on the CPU of the same task."
            return "no such device is registered", soft
        if all(parts[0] == "localhost" for _, parts in self._devices):
            return "the session has no such task", "tf.Session(server.target) is a session on a cluster."
        return "the session has no such task", "Its tasks are those of the ClusterSpec that device_filters leave."

    def _fail(self, members: Sequence[Node], wish: Parts) -> None:
        node = next((n for n in members if n.device), members[0])
        reason, cure = self._absent(wish)
        there = {parts[3] or "CPU" for _, parts in self._devices if _meets(parts, wish)} or self._types
        for n in members:
            if not runs_on_host(n) and not any(self._has_kernel(n, t) for t in there):
                types = {k: v.name for k, v in n.attrs.items() if hasattr(v, "as_numpy_dtype")}
                node, reason = n, f"op {n.type} has no kernel for types {types} on {', '.join(sorted(there))}"
                break
        raise InvalidArgumentError(
            None, node.origin,
            f"Cannot assign a device for operation {node.name} (made at {node.source}): it was explicitly assigned to "
            f"{DeviceSpec(*wish).to_string() or 'no device'} but {reason}. Available devices: "
            f"[ {', '.join(name for name, _ in self._devices)} ]. {cure} (run at {user_source(2)})",
        )  # fmt: skip


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

    def _waiting(self, graph: StepGraph, wanted: Callable[[Node], object]) -> list[Node]:
        return [n for n in graph.nodes if n in self.all and not n.device and wanted(n)]

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


# ---- wishes


def _wishes(members: Sequence[Node], soft: bool) -> list[Parts]:
    """What nodes that share a device ask for together: all that fits first, and what must hold last.

    Those who only use state ask last.  They are not heard where they contradict its maker.
    """
    asking = [n for n in members if n.device]
    if len(asking) < 2:
        return [_parts(asking[0].device) if asking else _ANYWHERE]
    ranks: tuple[list[Node], ...] = ([], [], [])
    for node in asking:
        ranks[_rank(node)].append(node)
    wish = _ANYWHERE
    wishes: list[Parts] = []
    for rank, nodes in enumerate(ranks):
        for node in nodes:
            mine = _parts(node.device)
            if all(a is None or b is None or a == b for a, b in zip(wish, mine, strict=True)):
                wish = _joined(wish, mine)
            elif not soft and (rank == 0 or (rank == 1 and not ranks[0])):
                raise InvalidArgumentError(
                    None, node.origin,
                    f"Cannot colocate {node.name} (made at {node.source}): it asks for {node.device}, but nodes it is "
                    f"colocated with ask for {DeviceSpec(*wish).to_string()}",
                )  # fmt: skip
        if nodes:
            wishes.insert(0, wish)
    return wishes


def _rank(node: Node) -> int:
    """0: makes a handle.  1: is there because of ``colocate_with``.  2: uses state, or makes a value that is passed on."""
    if takes_state(node):
        return 2
    if node.op_def.traits.handle:
        return 0
    state = [v for v in node.outputs if is_state(v)]
    return 1 if not state else 0 if any(v.dtype.base_dtype is not variant for v in state) else 2


@lru_cache(maxsize=4096)
def _parts(device: str) -> Parts:
    """The parts of a name.  A server of this process alone is the job "local" in TF1, "localhost" in TF2."""
    parts = DeviceSpec.from_string(device).parts
    return ("localhost", *parts[1:]) if parts[0] == "local" else parts


def _joined(wish: Parts, more: Parts) -> Parts:
    job, replica, task, device_type, index = (b if a is None else a for a, b in zip(wish, more, strict=True))
    return job, replica, task, device_type, index  # type: ignore[return-value]


def _meets(full: Parts, wish: Parts) -> bool:
    return all(want is None or want == have for want, have in zip(wish, full, strict=True))
