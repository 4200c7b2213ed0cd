"""Draft: nodes of a step or of the client's graph on their way to a problem: units, costs, and small nodes joined into chains.

A node goes on with what the node before it made; to be elsewhere it would have to be worth a transfer.  So the first user of a
node joins it, and later ones that take less time than a transfer, as long as the chain is a small part of the whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from headrace.core.dtypes import resource, variant
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.work import elements, size_of
from headrace.passes.placement.problem import Problem, Site

PARTS: Final = 4  # a chain takes at most the time of the whole divided by the sites, and by this: a round number


def state_bytes(node: Any) -> float:
    """How much a variable takes; 0 for other nodes."""
    shape, dtype = node.attrs.get("shape"), node.attrs.get("dtype")
    dims = getattr(shape, "tuple", shape)
    if not node.op_def.traits.handle or dtype is None or not isinstance(dims, (tuple, list)):
        return 0.0
    size = float(dtype.base_dtype.size or 0)
    for dim in dims:
        size *= dim or 0
    return size


def sent_bytes(value: Any) -> float:
    """What crosses if the value is used elsewhere; of a variable all that it holds."""
    if value.dtype._is_ref_dtype:
        return float(elements(value) * value.dtype.base_dtype.size)
    if value.dtype.base_dtype in (resource, variant):
        return state_bytes(value.op)
    return float(size_of(value))


def _kin(node: Any) -> Hashable | None:
    """What nodes that cost the same have in common: op, attributes, types and shapes; None where it cannot be said."""
    attrs = tuple(node.attrs.items())
    try:
        hash(attrs)
    except TypeError:  # lists; few ops have some
        return None
    values = tuple((value.dtype, value.shape.tuple) for value in (*node.inputs, *node.outputs))
    return node.type, len(node.inputs), values, attrs


class Draft:
    """A problem in the making.  Nodes are put in an order in which each comes after those that it needs."""

    def __init__(self, sites: Sequence[Site], costs: CostModel) -> None:
        self.costs = costs
        self._sites = sites
        types = [site.device_type for site in sites]
        self._types = list(dict.fromkeys(types))
        self._type_of = [self._types.index(one) for one in types]
        self._feasible: list[tuple[int, ...]] = []
        self._state: list[float] = []
        self._lasts: list[bool] = []
        self._parent: list[int] = []
        self._sent: dict[Any, float] = {}
        self._costs_of: dict[Hashable, tuple[list[float], list[float]]] = {}  # of nodes that are alike
        self.nodes: dict[Any, int] = {}  # with their units, as they were put

    def unit(self, feasible: Sequence[int], lasts: bool = False) -> int:
        """A new unit.  ``lasts``: it is state, and what works on it."""
        self._feasible.append(tuple(feasible))
        self._state.append(0.0)
        self._lasts.append(lasts)
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    def join(self, unit: int, feasible: Sequence[int]) -> None:
        """Lets the unit be only where others may be that should share its site; without a common one nothing changes."""
        root = self._find(unit)
        common = tuple(site for site in self._feasible[root] if site in feasible)
        self._feasible[root] = common or self._feasible[root]

    def put(self, node: Any, unit: int) -> None:
        """Adds a node to a unit."""
        self.nodes[node] = unit
        traits = node.op_def.traits
        if traits.handle:
            self._state[unit] += state_bytes(node)
        for value in node.outputs:
            self._sent[value] = 0.0 if traits.constant else sent_bytes(value)

    @property
    def is_free(self) -> bool:
        """Whether a unit may be on several sites."""
        return any(len(sites) > 1 for sites in self._feasible)

    def unit_of(self, node: Any) -> int:
        """The unit in the problem that the node is in."""
        return self._numbers[self._find(self.nodes[node])]

    def problem(self, costless: Sequence[Any] | set[Any] = (), join: bool = True) -> Problem:
        """What the heuristics are given.  ``costless``: nodes that run too seldom to count."""
        costs = {node: self._cost_of_like(node) for node in self.nodes if node not in costless}
        sites = self._sites
        links = [[self.costs.machine.link(a.name, b.name) for b in sites] for a in sites]
        latency = [[0.0 if a == b else link.latency for b, link in enumerate(row)] for a, row in enumerate(links)]
        pace = [[0.0 if a == b else 1.0 / link.bandwidth for b, link in enumerate(row)] for a, row in enumerate(links)]
        problem = Problem(sites, latency, pace)
        if join:
            least = min((one for a, row in enumerate(latency) for b, one in enumerate(row) if a != b), default=0.0)
            self._join(costs, least)
        roots = dict.fromkeys(map(self._find, range(len(self._parent))))
        self._numbers = {root: i for i, root in enumerate(roots)}
        for root in roots:
            problem.add_unit(self._feasible[root], self._state[root], self._lasts[root])
        self._fill(problem, costs)
        return problem

    def _fill(self, problem: Problem, costs: dict[Any, tuple[list[float], list[float]]]) -> None:
        values: dict[Any, int] = {}
        signals: dict[Any, int] = {}
        numbers: dict[Any, int] = {}
        sent, none = self._sent, [0.0] * len(self._sites)
        for node, unit in self.nodes.items():
            inputs = dict.fromkeys([values[v] for v in node.inputs if v in values])
            for before in node.control_inputs:
                if before in numbers:
                    if before not in signals:
                        signals[before] = problem.add_value(numbers[before], 0.0)
                    inputs[signals[before]] = None
            launch, work = costs.get(node, (none, none))
            number = numbers[node] = problem.add_node(self._numbers[self._find(unit)], work, inputs, launch)
            traits = node.op_def.traits
            shares = traits.view or traits.identity or traits.handle or traits.constant
            for value in node.outputs:
                size = sent[value]
                values[value] = problem.add_value(number, size, 0.0 if shares or value.dtype._is_ref_dtype else size)

    def _cost_of_like(self, node: Any) -> tuple[list[float], list[float]]:
        """What a node costs on each device, worked out once for all nodes that differ in nothing that counts."""
        kin = _kin(node)
        if kin is None:
            return self._cost(node)
        known = self._costs_of.get(kin)
        if known is None:
            known = self._costs_of[kin] = self._cost(node)
        return known

    def _cost(self, node: Any) -> tuple[list[float], list[float]]:
        """Seconds of the interpreter and of the device, by site."""
        calls = self.costs.work(node).calls
        by_type = []
        for one in self._types:
            seconds = self.costs.seconds(node, one)
            launch = min(seconds, calls * self.costs.machine.rates_of(one).launch)
            by_type.append((launch, seconds - launch))
        return [by_type[t][0] for t in self._type_of], [by_type[t][1] for t in self._type_of]

    # ---- chains

    def _find(self, unit: int) -> int:
        parent = self._parent
        while (above := parent[unit]) != unit:
            parent[unit] = unit = parent[above]
        return unit

    def _join(self, costs: dict[Any, tuple[list[float], list[float]]], latency: float) -> None:
        """Joins nodes to those that they continue.  ``latency``: seconds of the shortest transfer."""
        seconds = {node: (sum(launch) + sum(work)) / len(work) for node, (launch, work) in costs.items()}
        size = [0.0] * len(self._parent)
        for node, unit in self.nodes.items():
            size[unit] += seconds.get(node, 0.0)
        most, sent = sum(size) / (len(self._sites) * PARTS), self._sent
        continued: set[Any] = set()
        for node, unit in self.nodes.items():
            root = self._find(unit)
            if len(self._feasible[root]) < 2 or self._lasts[root]:
                continue
            for value in sorted([v for v in node.inputs if v in sent], key=sent.__getitem__, reverse=True):
                before = value.op
                other = self._find(self.nodes[before])
                small = size[root] <= latency and len(before.outputs) == 1
                if (before in continued and not small) or size[root] + size[other] > most:
                    continue
                if other != root and self._feasible[other] == self._feasible[root] and not self._lasts[other]:
                    self._parent[root] = other
                    self._state[other] += self._state[root]
                    size[other] += size[root]
                    continued.add(before)
                    break
