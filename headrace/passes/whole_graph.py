"""Whole graph: the devices of nodes that must share one, decided over all of the client's graph, once.

A step sees the nodes that it needs.  Where a variable is must not depend on that: the step that sets it and the step that reads
it must find it in one place.  So all groups of the graph are found (white paper 4.3), those in bodies of loops and branches too:

- the members of a colocation group, ``colocate_with``;
- a handle or a reference and the nodes that take it.

Nodes in the body of a function are not heard, as in TensorFlow: they follow the state that the caller hands them.  Only the
kernels that they need are looked at.

A graph may grow.  What holds state stays where it was put; new members of its group go there.  Groups without state are decided
again when they get members.  All errors of the graph are told at the first step after it has grown, whatever that step needs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headrace.core.dtypes import resource
from headrace.core.errors import OpError
from headrace.graph.body import FuncGraph
from headrace.graph.functional import first_result, first_variable
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.passes.choose_device import COLOCATED, MAKER, USER, Ask, Choice, Chooser, meets, parts_of
from headrace.passes.inline import merged_device
from headrace.passes.placement.policy import Policy
from headrace.passes.placement.state import Advised, state_homes
from headrace.passes.read import ref_positions

_Key = str | Tensor  # the name of a node; a value that a conditional or loop gives stands for itself
_BODIES = ("then_branch", "else_branch", "cond", "body")
_NAMES = frozenset((*_BODIES, "f"))


class Home(NamedTuple):
    """Where a node is by the whole graph, and whose wish that is; None if nobody asks.

    ``why``: what a policy says that has put it elsewhere than on the first device.  ``has_state``: whether the home is that of
    something that outlives a step.
    """

    device: str
    fell_back: bool
    asks: Ask | None
    why: str = ""
    has_state: bool = True


class WholeGraph:
    """Thread-safe."""

    def __init__(
        self, graph: Graph, chooser: Chooser, pruned: bool = False, lasting: dict[Operation, str] | None = None,
        policy: Policy | None = None,
    ) -> None:  # fmt: skip
        """With ``pruned`` only steps are looked at.  ``lasting``: where makers of state are, for good, if others know it too.

        ``policy``: decides where groups are that may be on several devices; without one they are on the first.
        """
        self._graph = graph
        self.chooser = chooser
        self._pruned = pruned
        self.policy = policy
        self._lock = threading.Lock()
        self._lasting = {} if lasting is None else lasting
        self._known: dict[str, bool] = {}  # devices that are asked for: whether there is one
        self._within: dict[
            FuncGraph, list[tuple[int, Operation]]
        ] = {}  # of a function: the nodes that take the state of each input
        self._failure: OpError | None = None
        self._mutations = -1
        self._forget()

    def _forget(self) -> None:
        self._read = 0  # nodes of the graph that have been read
        self._parent: dict[_Key, _Key] = {}
        self._members: dict[_Key, list[Ask]] = {}  # of a group, by its root
        self._entered: set[Operation] = set()
        self._inner: dict[str, tuple[Operation, str]] = {}  # nodes of bodies, by name, and what they ask for
        self._homes: dict[_Key, Home] = {}  # by the root
        self._own: dict[Operation, Home] = {}  # of nodes that are not with their group: soft placement only
        self._changed: dict[_Key, None] = {}

    def settle(self) -> None:
        """Decides what the graph has got since the last call.  Raises if nodes contradict each other or cannot be anywhere."""
        graph = self._graph
        if self._pruned or (self._read == len(graph._nodes) and self._mutations == graph._mutations):
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            return
        with self._lock:
            if self._mutations != graph._mutations or self._failure is not None:
                self._mutations = graph._mutations
                self._forget()
            self._failure = None
            try:
                ops = graph._nodes[self._read :]
                for op in ops:
                    self._add(op, op._device)
                self._decide()
            except OpError as e:
                self._failure = e
                raise
            finally:
                self._read = len(graph._nodes)

    def home(self, op: Operation) -> Home | None:
        """Where a node of the client's graph is; None if its steps decide that."""
        if op not in self._entered:
            place = self._lasting.get(op) if op.op_def.traits.handle else None
            return None if place is None else Home(place, False, None)
        with self._lock:
            return self._own.get(op) or self._homes.get(self._find(op.graph.prefix + op.name))

    def keep(self, op: Operation, device: str) -> None:
        """Notes where a step has put what makes state."""
        with self._lock:
            self._lasting.setdefault(op, device)

    # ---- groups

    def _add(self, op: Operation, device: str) -> None:
        name = op.graph.prefix + op.name if op.graph.prefix else op.name
        traits = op.op_def.traits
        holds = _holds_bodies(op)
        if holds:
            self._add_bodies(op, device)
        elif op.inputs:
            for tensor in _tied(op):
                self._enter(op, device)
                self._unite(name, self._key(tensor))
        elif traits.handle:
            self._enter(op, device)
        if op.colocation:
            self._enter(op, device)
            for group in op.colocation:
                leader = group.removeprefix("loc:@")
                if leader != name:
                    self._follow(op, name, leader)
        elif name in self._parent and not holds:  # others are colocated with it
            self._enter(op, device)
        if device and op not in self._entered and not traits.argument:
            self._check_alone(op, device)

    def _add_bodies(self, op: Operation, device: str) -> None:
        bodies = _bodies(op)
        if any(body.name for body in bodies):  # functions, which other nodes may hold too
            for tensor, inner in _taken_within(op, self._within):
                root = self._find(self._key(tensor))
                self._members.setdefault(root, []).append(Ask(inner, "", USER))
                self._changed[root] = None
            return
        for outer, within in _border(op, bodies):
            if _is_state(within):
                self._unite(self._key(within), self._key(outer))
        for body in bodies:
            for node in body._nodes:
                own = node._device
                if device and not node.colocation and not node.op_def.traits.feed:
                    own = merged_device(device, own)
                self._inner[node.graph.prefix + node.name] = (node, own)
                self._add(node, own)

    def _follow(self, op: Operation, name: str, leader: str) -> None:
        before = self._graph._by_name.get(leader)
        found = self._inner.get(leader) if before is None else (before, before._device)
        if found is not None:
            if _holds_bodies(found[0]) and any(map(_is_state, op.inputs)):
                return  # what the leader hands on may be on any of its devices
            self._enter(*found)
        self._unite(name, leader)

    def _enter(self, op: Operation, device: str) -> None:
        if op not in self._entered:
            self._entered.add(op)
            root = self._find(op.graph.prefix + op.name)
            self._members.setdefault(root, []).append(Ask(op, device, _rank(op)))
            self._changed[root] = None

    def _key(self, tensor: Tensor) -> _Key:
        return tensor if _holds_bodies(tensor.op) else tensor.op.graph.prefix + tensor.op.name

    def _find(self, key: _Key) -> _Key:
        parent = self._parent
        while (above := parent.setdefault(key, key)) is not key:
            parent[key] = key = parent.setdefault(above, above)
        return key

    def _unite(self, a: _Key, b: _Key) -> None:
        a, b = self._find(a), self._find(b)
        if a is b:
            return
        if len(self._members.get(a, ())) > len(self._members.get(b, ())):
            a, b = b, a
        self._parent[a] = b
        self._members.setdefault(b, []).extend(self._members.pop(a, ()))
        self._homes.pop(a, None)
        self._changed[b] = None

    # ---- decisions

    def _check_alone(self, op: Operation, device: str) -> None:
        """Raises if a node that shares its device with nobody cannot be where it asks to be."""
        fits = self._known.get(device)
        if fits is None:
            fits = self._known[device] = bool(self.chooser.match(parts_of(device)))
        kernels = op.op_def.kernels.by_device
        if not fits or not (kernels and kernels[-1].is_general):
            self.chooser.choose([Ask(op, device, COLOCATED)])

    def _decide(self) -> None:
        changed, self._changed = self._changed, {}
        groups: list[tuple[_Key, list[Ask]]] = []
        for key in changed:
            members = self._members.get(key)
            if members and self._parent[key] is key:
                members.sort(key=lambda ask: ask.node._id)
                groups.append((key, members))
        advised = {} if self.policy is None else self._advised(self.policy, groups)
        for key, members in groups:
            self._decide_group(key, members, advised.get(key))

    def _advised(self, policy: Policy, groups: Sequence[tuple[_Key, list[Ask]]]) -> Mapping[_Key, Advised]:
        """Where the policy wants groups: asked for when there is new state, or when all of the graph is read."""
        new = any(a.rank == MAKER and a.node not in self._lasting for _, asks in groups for a in asks)
        if self._read and not new:
            return {}
        asks_of = {
            key: self._lasting_asks(asks)
            for key, asks in self._members.items()
            if self._parent[key] is key and _has_state(asks)
        }

        def group_of(op: Operation) -> _Key | None:
            return self._find(op.graph.prefix + op.name) if op in self._entered else None

        return state_homes(self._graph._nodes, group_of, asks_of, self.chooser, policy)

    def _lasting_asks(self, members: Sequence[Ask]) -> list[Ask]:
        """What members of a group ask for, now that some of them are somewhere for good."""
        asks = [Ask(a.node, self._lasting.get(a.node, a.device), a.rank) for a in members]
        if self.chooser.soft and not self._lasting.keys().isdisjoint(a.node for a in asks):
            asks = [a if a.rank == MAKER else a._replace(device="") for a in asks]  # they go where the state is
        return asks

    def _decide_group(self, root: _Key, members: Sequence[Ask], advised: Advised | None = None) -> None:
        asks = self._lasting_asks(members)
        makers = [a for a in asks if a.rank == MAKER]
        if self.chooser.soft and len({a.device for a in makers if a.device}) > 1:
            for part in _by_state(asks):
                home = _home(self.chooser.choose(part), part)
                self._own.update((ask.node, home) for ask in part)
        if advised is not None and advised.device in self.chooser.feasible(asks):
            home = _home(Choice(advised.device, False), members)._replace(why=advised.why)
        else:
            home = _home(self.chooser.choose(asks), members)._replace(has_state=_has_state(members))
        self._homes[root] = home
        for ask in makers:
            self._lasting.setdefault(ask.node, self._own.get(ask.node, home).device)


def _home(choice: Choice, asks: Sequence[Ask]) -> Home:
    parts = parts_of(choice.device)
    heard = (a for a in asks if a.device and meets(parts, parts_of(a.device)))
    return Home(choice.device, choice.fell_back, min(heard, key=lambda a: a.rank, default=None))


def _by_state(asks: Sequence[Ask]) -> Iterator[list[Ask]]:
    """The makers, each with those who work on what it makes."""
    mine: dict[Operation, list[Ask]] = {ask.node: [ask] for ask in asks if ask.rank == MAKER}
    for ask in asks:
        maker = next((_maker(t) for t in ask.node.inputs if _is_state(t)), None)
        if maker in mine and ask.rank != MAKER:
            mine[maker].append(ask)
    yield from mine.values()


def _rank(op: Operation) -> int:
    if _holds_bodies(op):
        return COLOCATED
    return USER if any(map(_is_state, op.inputs)) else MAKER if op.op_def.traits.handle else COLOCATED


def _has_state(asks: Sequence[Ask]) -> bool:
    return any(ask.rank != COLOCATED for ask in asks)


def _maker(tensor: Tensor) -> Operation:
    while tensor.op.inputs and _is_state(tensor.op.inputs[0]) and not _holds_bodies(tensor.op):
        tensor = tensor.op.inputs[0]
    return tensor.op


def _is_state(tensor: Tensor) -> bool:
    """Whether the tensor stands for what outlives a step."""
    return tensor.dtype._is_ref_dtype or tensor.dtype.base_dtype is resource


def _holds_bodies(op: Operation) -> bool:
    if _NAMES.isdisjoint(op._attrs):
        return False
    return any(isinstance(op._attrs.get(name), FuncGraph) for name in _NAMES)


def _tied(op: Operation) -> list[Tensor]:
    """The inputs that must be where the node is."""
    for tensor in op.inputs:  # every node is asked: a loop takes half of the time of `any`
        if tensor._dtype._is_ref_dtype or tensor._dtype is resource:
            break
    else:
        return []
    state = [(i, t) for i, t in enumerate(op.inputs) if _is_state(t)]
    taken = ref_positions(op)
    reads = op.op_def.traits.identity and not op._device and not op.colocation
    return [t for i, t in state if reads or i in taken or not t.dtype._is_ref_dtype]


def _bodies(op: Operation) -> list[FuncGraph]:
    """The bodies that a node holds, each once."""
    return list(dict.fromkeys(b for k in (*_BODIES, "f") if isinstance(b := op._attrs.get(k), FuncGraph)))


def _first_input(op: Operation) -> int:
    """Where the inputs begin that the bodies of a node are given."""
    if "f" in op._attrs:
        return 0
    return first_variable(op) if "body" in op._attrs else 1


def _taken_within(
    op: Operation, known: dict[FuncGraph, list[tuple[int, Operation]]]
) -> Iterator[tuple[Tensor, Operation]]:
    """The state that a node hands to its functions, and the nodes in these that take it."""
    given = op.inputs[_first_input(op) :]
    if any(map(_is_state, given)):
        for body in _bodies(op):
            yield from ((given[i], inner) for i, inner in _takers(body, known) if i < len(given))


def _takers(body: FuncGraph, known: dict[FuncGraph, list[tuple[int, Operation]]]) -> list[tuple[int, Operation]]:
    """The inputs of a function that are state, with the nodes in it, and in what it calls, that take them."""
    if body not in known:
        known[body] = []  # a function that calls itself has no more to say
        position = {t: i for i, t in enumerate(body.inputs) if _is_state(t)}
        takers: list[tuple[int, Operation]] = []
        for op in body._nodes if position else ():
            if _holds_bodies(op):
                takers += [(position[t], inner) for t, inner in _taken_within(op, known) if t in position]
                continue
            tied = [t for t in _tied(op) if t in position]
            takers += [(position[t], op) for t in tied]
            position.update((t, position[tied[0]]) for t in op._outputs if tied and _is_state(t))
        known[body] = takers
    return known[body]


def _border(op: Operation, bodies: Sequence[FuncGraph]) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of one value, as in ``bodies.border``, before the bodies are instantiated."""
    if "body" not in op._attrs:
        for body in bodies:
            yield from zip(op.inputs[1:], body.inputs, strict=False)
            yield from zip(op._outputs, (t for t in body.outputs if t is not None), strict=False)
        return
    loop: FuncGraph = op._attrs["body"]
    for body in bodies:
        yield from zip(op.inputs[first_variable(op) :], body.inputs, strict=False)
    yield from zip(loop.outputs, loop.args, strict=False)
    yield from zip(op._outputs[first_result(op) :], loop.args, strict=False)
