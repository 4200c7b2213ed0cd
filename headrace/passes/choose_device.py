"""Choose a device: the first one that nodes which must share it may have, by what they ask for and by their kernels.

Nodes that only work on state are not heard where they contradict its maker, as in TensorFlow.  Others that contradict each other
are an error; with soft placement a type or number of the device that they contradict each other in is nobody's wish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from headrace.core.device import DeviceSpec, Parts
from headrace.core.dtypes import string
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import user_source
from headrace.passes.arrays import named_inputs

HasKernel = Callable[[Any, str], bool]

ANYWHERE: Parts = (None, None, None, None, None)
MAKER, COLOCATED, USER = range(
    3
)  # ranks: makes a handle; is there by colocate_with; works on state, or hands a value on
_TYPE = 3  # the position of the device type in a name: from here on soft placement may choose
_PARTS = ("jobs", "replicas", "tasks", "types", "ids")


class Ask(NamedTuple):
    """What a node, of a step or of the client's graph, asks for, and which node is heard first."""

    node: Any
    device: str
    rank: int


class Choice(NamedTuple):
    """The device, and whether soft placement fell back on it."""

    device: str
    fell_back: bool


class Chooser:
    """The devices there are, and which of them nodes get."""

    def __init__(self, devices: Sequence[str], has_kernel: HasKernel, soft: bool) -> None:
        """``devices`` are full names, best first, at least one CPU; ``has_kernel(node, device type)`` asks the registry."""
        self.names = tuple(devices)
        self._devices = [(name, parts_of(name)) for name in devices]
        self.types = frozenset(parts[3] or "CPU" for _, parts in self._devices)
        self.has_kernel = has_kernel
        self.soft = soft
        self._first: dict[tuple[Parts, frozenset[str]], str] = {}
        self._all: dict[tuple[Parts, frozenset[str]], tuple[str, ...]] = {}
        self._cpus: dict[str, str] = {}

    def choose(self, asks: Sequence[Ask]) -> Choice:
        """The first device that nodes which share one may have."""
        types = self._types_for(ask.node for ask in asks if not runs_on_host(ask.node))
        wishes = self._wishes(asks)
        for wish in wishes:
            if chosen := self.match(wish, types):
                return Choice(chosen, False)
        if self.soft and (chosen := self.match((*wishes[-1][:3], "CPU", None), types)):
            return Choice(chosen, True)
        raise self._failure(asks, wishes[-1])

    def feasible(self, asks: Sequence[Ask]) -> tuple[str, ...]:
        """All devices that nodes which share one may have, that of `choose` first."""
        types = self._types_for(ask.node for ask in asks if not runs_on_host(ask.node))
        for wish in self._wishes(asks):
            found = self._all.get((wish, types))
            if found is None:
                fitting = [name for name, parts in self._devices if meets(parts, wish) and (parts[3] or "CPU") in types]
                found = self._all[wish, types] = tuple(fitting)
            if found:
                return found
        return (self.choose(asks).device,)

    def match(self, wish: Parts, types: frozenset[str] | None = None) -> str:
        """The first device of these types that meets the wish; "" if there is none."""
        types = self.types if types is None else types
        chosen = self._first.get((wish, types))
        if chosen is None:
            fitting = (name for name, parts in self._devices if meets(parts, wish) and (parts[3] or "CPU") in types)
            chosen = self._first[wish, types] = next(fitting, "")
        return chosen

    def cpu_of(self, device: str) -> str:
        """The CPU itself, or the first CPU of the device's task."""
        cpu = self._cpus.get(device)
        if cpu is None:
            parts = parts_of(device)
            cpu = device if parts[3] == "CPU" else self.match((*parts[:3], "CPU", None))
            self._cpus[device] = cpu = cpu or self.match((None, None, None, "CPU", None))
        return cpu

    def _types_for(self, nodes: Iterable[Any]) -> frozenset[str]:
        """The device types that all nodes have kernels for."""
        types = self.types
        for node in nodes:
            missing = [t for t in types if not self.has_kernel(node, t)]
            if missing:
                types = types.difference(missing)
        return types

    # ---- wishes

    def _wishes(self, asks: Sequence[Ask]) -> list[Parts]:
        """What nodes that share a device ask for together: all that fits first, and what must hold last."""
        asking = [ask for ask in asks if ask.device]
        if len(asking) < 2:
            return [parts_of(asking[0].device) if asking else ANYWHERE]
        ranks: tuple[list[Ask], ...] = ([], [], [])
        for ask in asking:
            ranks[ask.rank].append(ask)
        wish = ANYWHERE
        wishes: list[Parts] = []
        for rank, members in enumerate(ranks):
            for ask in members:
                mine = parts_of(ask.device)
                clash = next((i for i, (a, b) in enumerate(zip(wish, mine, strict=True)) if _differ(a, b)), None)
                if clash is None:
                    wish = _joined(wish, mine)
                elif rank != USER and self.soft and clash >= _TYPE:
                    wish = (*wish[:clash], *ANYWHERE[clash:])  # type: ignore[assignment]
                elif rank != USER:
                    raise _contradiction(ask, asking, wish, clash)
            if members:
                wishes.insert(0, wish)
        return wishes

    # ---- errors

    def _absent(self, wish: Parts) -> tuple[str, str]:
        """What there is not, and what the user can do about it."""
        if any(meets(parts, (*wish[:3], None, None)) for _, parts in self._devices):
            soft = "Use allow_soft_placement=True in ConfigProto to fall back on the CPU of the same task."
            return "no such device is registered", soft
        if all(parts[0] == "localhost" for _, parts in self._devices):
            return "the session has no such task", "tf.Session(server.target) is a session on a cluster."
        return "the session has no such task", "Its tasks are those of the ClusterSpec that device_filters leave."

    def _failure(self, asks: Sequence[Ask], wish: Parts) -> InvalidArgumentError:
        node = next((ask.node for ask in asks if ask.device), asks[0].node)
        reason, cure = self._absent(wish)
        there = {parts[3] or "CPU" for _, parts in self._devices if meets(parts, wish)} or self.types
        for n in (ask.node for ask in asks):
            if not runs_on_host(n) and not any(self.has_kernel(n, t) for t in there):
                types = {k: v.name for k, v in n.attrs.items() if hasattr(v, "as_numpy_dtype")}
                node, reason = n, f"op {n.type} has no kernel for types {types} on {', '.join(sorted(there))}"
                break
        return InvalidArgumentError(
            None, client_op(node),
            f"Cannot assign a device for operation {node.name} (made at {node.source}): it was explicitly assigned to "
            f"{DeviceSpec(*wish).to_string() or 'no device'} but {reason}. Available devices: "
            f"[ {', '.join(name for name, _ in self._devices)} ]. {cure} (run at {user_source(2)})",
        )  # fmt: skip


def client_op(node: Any) -> Any:
    """The client's node behind one of a step, or that node itself."""
    return getattr(node, "origin", node)


def _contradiction(ask: Ask, asking: Sequence[Ask], wish: Parts, clash: int) -> InvalidArgumentError:
    node = ask.node
    other = next(a.node for a in asking if parts_of(a.device)[clash] == wish[clash])
    return InvalidArgumentError(
        None, client_op(node),
        f"Cannot colocate nodes {node.name} (made at {node.source}) and {other.name} (made at {other.source}): Cannot merge "
        f"devices with incompatible {_PARTS[clash]}: '{ask.device}' and '{DeviceSpec(*wish).to_string()}'. Nodes that are "
        f"colocated must ask for one device (run at {user_source(2)})",
    )  # fmt: skip


def runs_on_host(node: Any) -> bool:
    """Whether the node runs on the host whatever device it is given: by its trait, or because strings live there."""
    if node.op_def.traits.host:
        return True
    if _has_strings(node.outputs):
        return True
    return _has_strings(node.inputs) and _has_strings(_values(node))


def _has_strings(values: Iterable[Any]) -> bool:
    for value in values:  # noqa: SIM110 - every node is asked: a loop takes half of the time of `any`
        if value.dtype.base_dtype is string:
            return True
    return False


def _values(node: Any) -> Sequence[Any]:
    """The inputs that must be on the node's device: all but those whose values kernels take on the host."""
    if not any(arg.host for arg in node.op_def.signature.inputs):
        values: Sequence[Any] = node.inputs
        return values
    return [value for arg, value in named_inputs(node) if not arg.host]


@lru_cache(maxsize=4096)
def parts_of(device: str) -> Parts:
    """The parts of a name.  A server of this process alone is the job "local" in TF1, "localhost" in TF2."""
    parts = DeviceSpec.from_string(device).parts
    return ("localhost", *parts[1:]) if parts[0] == "local" else parts


def _differ(a: object, b: object) -> bool:
    return a is not None and b is not None and a != b


def _joined(wish: Parts, more: Parts) -> Parts:
    job, replica, task, device_type, index = (b if a is None else a for a, b in zip(wish, more, strict=True))
    return job, replica, task, device_type, index  # type: ignore[return-value]


def meets(full: Parts, wish: Parts) -> bool:
    """Whether a device has every part that is wished."""
    return all(want is None or want == have for want, have in zip(wish, full, strict=True))
