"""Problem: a graph as the placement heuristics see it: nodes in units, what each costs on each device, what passes between them.

A *unit* is a set of nodes that share a device: a variable and all that works on it, a colocation group, a chain of small nodes.
Plain numbers only; `build.py` makes one of a graph.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from headrace.core.device import task_of

Assignment = list[int]  # the site of each unit, by their numbers


@dataclass(frozen=True, slots=True)
class Site:
    """A device that nodes may be on.

    ``memory``: bytes that they may take there; 0: as many as they like.  ``alone``: the part of its type's rates that it has
    while it is the only CPU of its task in use; ``together``: while all are.
    """

    name: str
    device_type: str
    memory: int = 0
    alone: float = 1.0
    together: float = 1.0


@dataclass(slots=True)
class Problem:
    """Nodes are numbered so that what a node needs has a smaller number than the node.

    ``latency`` and ``pace``: seconds before the first byte, and for each byte, from one site to another.
    """

    sites: Sequence[Site]
    latency: Sequence[Sequence[float]]
    pace: Sequence[Sequence[float]]
    unit: list[int] = field(default_factory=list)  # of each node
    launch: list[Sequence[float]] = field(default_factory=list)  # of each node, by site: seconds of the interpreter
    work: list[Sequence[float]] = field(default_factory=list)  # of each node, by site: seconds of the device
    inputs: list[list[int]] = field(default_factory=list)  # of each node: values
    maker: list[int] = field(default_factory=list)  # of each value: a node
    size: list[float] = field(default_factory=list)  # of each value: bytes that are sent
    room: list[float] = field(default_factory=list)  # of each value: bytes of memory
    feasible: list[Sequence[int]] = field(
        default_factory=list
    )  # of each unit: sites, the one that is taken by default first
    state: list[float] = field(default_factory=list)  # of each unit: bytes that stay from step to step
    lasts: list[bool] = field(default_factory=list)  # of each unit: whether it is state and what works on it
    _order: tuple[list[int], list[list[int]]] | None = None
    _takers: tuple[list[int], list[list[int]]] | None = None

    def add_unit(self, feasible: Sequence[int], state: float = 0.0, lasts: bool = False) -> int:
        """A set of nodes that share a site."""
        self.feasible.append(feasible)
        self.state.append(state)
        self.lasts.append(lasts)
        return len(self.feasible) - 1

    def add_node(
        self, unit: int, work: Sequence[float], inputs: Iterable[int] = (), launch: Sequence[float] | None = None
    ) -> int:
        """A node of a unit, which takes values of nodes before it."""
        self.unit.append(unit)
        self.work.append(work)
        self.launch.append([0.0] * len(self.sites) if launch is None else launch)
        self.inputs.append(list(inputs))
        return len(self.unit) - 1

    def add_value(self, maker: int, size: float, room: float | None = None) -> int:
        """What a node gives; it is sent to a site once, however many nodes there take it.

        ``size``: bytes that are sent; ``room``: bytes of memory, if these are others.
        """
        self.maker.append(maker)
        self.size.append(size)
        self.room.append(size if room is None else room)
        return len(self.maker) - 1

    def transfer(self, value: int, source: int, destination: int) -> float:
        """Seconds that a value takes from one site to another."""
        if source == destination:
            return 0.0
        return self.latency[source][destination] + self.size[value] * self.pace[source][destination]

    def order(self) -> tuple[list[int], list[list[int]]]:
        """Of each node how many others it needs, and the nodes that need it."""
        if self._order is None or len(self._order[0]) != len(self.unit):
            needs = [{self.maker[value] for value in values} for values in self.inputs]
            users: list[list[int]] = [[] for _ in needs]
            for node, makers in enumerate(needs):
                for maker in makers:
                    users[maker].append(node)
            self._order = list(map(len, needs)), users
        return self._order

    def takers(self) -> tuple[list[int], list[list[int]]]:
        """Of each value how many nodes take it; of each node the values that it makes."""
        if self._takers is None or len(self._takers[1]) != len(self.unit):
            left = [0] * len(self.maker)
            for values in self.inputs:
                for value in values:
                    left[value] += 1
            made: list[list[int]] = [[] for _ in self.unit]
            for value, maker in enumerate(self.maker):
                made[maker].append(value)
            self._takers = left, made
        return self._takers

    def free_units(self) -> list[int]:
        """Those that may be in several places."""
        return [u for u, sites in enumerate(self.feasible) if len(sites) > 1]

    def shares(self, used: Collection[int] | None = None) -> list[float]:
        """The part of its type's rates that each site has while those ``used`` are at work; None: all."""
        busy: dict[str, int] = {}
        there: dict[str, int] = {}
        for i, site in enumerate(self.sites):
            if site.device_type == "CPU":
                task = task_of(site.name)
                there[task] = there.get(task, 0) + 1
                busy[task] = busy.get(task, 0) + (used is None or i in used)
        return [
            _share(site, busy[task_of(site.name)], there[task_of(site.name)]) if site.device_type == "CPU" else 1.0
            for site in self.sites
        ]


def _share(site: Site, busy: int, there: int) -> float:
    return min(site.alone, site.together * there / max(busy, 1))
