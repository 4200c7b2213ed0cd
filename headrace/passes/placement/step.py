"""Step: where the nodes of one step go that are free to go anywhere, by a policy.

Free are nodes without state and effects that ask for no single device, groups of them, and state that the whole graph has not
placed.  Random nodes keep generators in their process, so they stay where they would be without a policy, as everything does
that waits or has effects.  A conditional or loop goes with all that its bodies compute, to the state that they use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from headrace.core.dtypes import variant
from headrace.passes.bodies import bodies_within, held_bodies
from headrace.passes.choose_device import Ask, Chooser, runs_on_host
from headrace.passes.cost.model import CostModel
from headrace.passes.placement.draft import Draft
from headrace.passes.placement.policy import Decision, Policy
from headrace.passes.step_graph import Node, StepGraph, Value

SIMULATED: Final = (
    1_000_000  # nodes that are simulated to say what steps would take elsewhere: some ten seconds at most
)

AskOf = Callable[[Node], Ask]


class Advice:
    """Where free nodes of a step go."""

    def __init__(self, decision: Decision, units: Mapping[Node, int], name: str, costs: CostModel) -> None:
        """``units``: of the nodes that were free, by their numbers in the decision's problem.  ``name``: of the policy."""
        self.decision = decision
        self._units = units
        self._name = name
        self._costs = costs
        self._elsewhere: dict[int, list[tuple[str, float]]] = {}
        self._left = SIMULATED

    def device(self, members: Sequence[Node]) -> str:
        """The device of nodes that share one; "" if they were not free."""
        unit = self._units.get(members[0])
        return "" if unit is None else self.decision.device(unit)

    @property
    def moves(self) -> bool:
        """Whether a node is put elsewhere than on the first device that it may have."""
        return any(map(self.decision.is_moved, set(self._units.values())))

    def why(self, node: Node) -> str:
        """For a node that was moved: what it and the step would take elsewhere.  "" for one that was not."""
        unit = self._units.get(node)
        decision = self.decision
        if unit is None or not decision.is_moved(unit):
            return ""
        sites = {site.name: site for site in decision.problem.sites}
        steps = self._steps(unit)
        words = []
        for number in decision.problem.feasible[unit]:
            site = decision.problem.sites[number]
            if number != decision.assignment[unit]:
                step = f", the step {in_time(steps[site.name])}" if site.name in steps else ""
                words.append(f"{_short(site.name)} {in_time(self._costs.seconds(node, site.device_type))}{step}")
        own = in_time(self._costs.seconds(node, sites[decision.device(unit)].device_type))
        whole = in_time(decision.outcome.seconds)
        return f"placed by {self._name}: {own} here, the step {whole}; on {'; on '.join(words)}"

    def _steps(self, unit: int) -> dict[str, float]:
        """What the step would take with the unit on its other sites; nothing if so many simulations would take too long."""
        if unit not in self._elsewhere:
            self._left -= len(self.decision.problem.unit) * (len(self.decision.problem.feasible[unit]) - 1)
            self._elsewhere[unit] = self.decision.elsewhere(unit) if self._left >= 0 else []
        return dict(self._elsewhere[unit])


def advise(
    graph: StepGraph, groups: Sequence[Sequence[Node]], fixed: Callable[[Sequence[Node]], Mapping[Node, str]],
    followers: Iterable[Node], ask: AskOf, chooser: Chooser, policy: Policy,
) -> Advice | None:  # fmt: skip
    """``fixed``: where the whole graph has put nodes of a group.  ``followers``: nodes that go where others are.

    None where a policy has nothing to say: one device, or a step with primitives of control flow, which is one program.
    """
    if len(policy.candidates(list(chooser.names))) < 2 or any(n.op_def.traits.primitive for n in graph.nodes):
        return None
    return _Advising(graph, set(followers), ask, chooser, policy).advice(groups, fixed)


class _Advising:
    def __init__(self, graph: StepGraph, followers: set[Node], ask: AskOf, chooser: Chooser, policy: Policy) -> None:
        self._graph = graph
        self._followers = followers
        self._ask = ask
        self._chooser = chooser
        self._policy = policy
        self._draft: Draft = policy.draft()
        self._holder = _outermost_holders(graph)
        # A function that calls itself must be on one device, whoever else calls it.
        recursive = {
            self._holder.get(n, n) for n in (*graph.nodes, *self._holder) if isinstance(n.attrs.get("f"), StepGraph)
        }
        self._stays = {n for n, holder in self._holder.items() if holder in recursive} | recursive
        self._numbers = {site.name: i for i, site in enumerate(policy.sites)}
        self._fed = {v.op for v in graph.feeds}
        self._candidates: dict[tuple[str, ...], list[int]] = {}

    def advice(
        self, groups: Sequence[Sequence[Node]], fixed: Callable[[Sequence[Node]], Mapping[Node, str]]
    ) -> Advice | None:
        """Finds the units, lets the policy decide."""
        units: dict[Node, int] = {}
        free: list[Sequence[Node]] = []
        inner: list[tuple[Node, Sequence[Node], Sequence[int]]] = []
        for node in self._graph.nodes:
            if node in self._followers and held_bodies(node):
                units[node] = self._draft.unit(self._feasible([node]))
        for members in groups:
            if len(members) == 1 and members[0] in self._fed | self._followers:
                continue
            homes = fixed(members)
            if homes:
                sites = dict.fromkeys(self._numbers[home] for home in homes.values())
                inner += [(n, members, list(sites)) for n in members if n in self._holder]
                device = next(iter(sites))
                for node in members:
                    units[node] = self._draft.unit([self._numbers[homes[node]] if node in homes else device])
                continue
            feasible = self._feasible(members)
            unit = self._draft.unit(feasible, any(n.op_def.traits.handle for n in members))
            units.update((node, unit) for node in members)
            within = [n for n in members if n in self._holder]
            inner += [(n, members, feasible) for n in within]
            if not within and len(feasible) > 1:
                free.append(members)
        inside = self._join_bodies(inner, units)
        if not (free or inside):
            return None
        for node in self._graph.nodes:
            if node in units:
                self._draft.put(node, units[node])
        problem = self._draft.problem()
        decision = self._policy.decide(problem)
        decided = {n: self._draft.unit_of(members[0]) for members in free for n in members}
        for node, holder in inside.items():
            decided[node] = self._draft.unit_of(holder)
        return Advice(decision, decided, self._policy.name, self._draft.costs)

    def _join_bodies(
        self, inner: Sequence[tuple[Node, Sequence[Node], Sequence[int]]], units: Mapping[Node, int]
    ) -> dict[Node, Node]:
        """Lets holders be where the groups in their bodies may be; returns the nodes that go with a holder."""
        inside: dict[Node, Node] = {}
        for node, members, feasible in sorted(inner, key=lambda one: len(one[2])):
            holder = self._holder[node]
            if holder not in units:
                continue
            self._draft.join(units[holder], feasible)
            if len(feasible) > 1 and set(members) <= self._holder.keys():
                inside[node] = holder
        return inside

    def _feasible(self, members: Sequence[Node]) -> list[int]:
        """The sites of nodes that share one, the default first; only that if they must stay there."""
        names = tuple(self._chooser.feasible([self._ask(n) for n in members]))
        if len(names) > 1 and not (may_move(members) and self._stays.isdisjoint(members)):
            names = names[:1]
        if all(map(runs_on_host, members)):
            names = tuple(dict.fromkeys(map(self._chooser.cpu_of, names)))
        known = self._candidates.get(names)
        if known is None:
            known = self._candidates[names] = self._policy.candidates(names)
        return known


def part_shared(graph: StepGraph) -> None:
    """Gives each user its own of what is made from nothing and stays where it was made: the empty stashes of loops.

    One that two loops share would keep them on one device.
    """
    used: set[Value] = set()
    parted: list[Node] = []
    for node in graph.nodes:
        for i, value in enumerate(node.inputs):
            maker = value.op
            if value.dtype.base_dtype is not variant or not maker.op_def.traits.pure or maker.predecessors():
                continue
            if value in used:
                copy = maker.again()
                copy.name = f"{maker.name}/{len(parted)}/{node.name}"
                parted.append(copy)
                node.inputs[i] = copy.outputs[value.value_index]
            used.add(value)
    if parted:
        graph.nodes = [*parted, *graph.nodes]


def may_move(members: Iterable[Any]) -> bool:
    """Whether a policy may choose for nodes that share a device: variables and what works on them, or nodes without effects."""
    nodes = [node for node in members if not node.op_def.traits.feed]  # without the arguments of bodies
    if any(node.op_def.traits.waits for node in nodes):
        return False
    makers = [node for node in nodes if node.op_def.traits.handle]
    if makers:
        return all("shape" in node.attrs and "dtype" in node.attrs for node in makers)
    return all(node.op_def.traits.pure for node in nodes)


def _outermost_holders(graph: StepGraph) -> dict[Node, Node]:
    """The nodes of bodies, with the node of the step that holds them."""
    holders: dict[Node, Node] = {}
    for node in graph.nodes:
        for body in held_bodies(node):
            for one in (body, *bodies_within(body)):
                holders.update((inner, node) for inner in one.nodes if inner not in holders)
    return holders


def in_time(seconds: float) -> str:
    """A time in words."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _short(device: str) -> str:
    return device.replace("/replica:0", "").removeprefix("/job:localhost/task:0")
