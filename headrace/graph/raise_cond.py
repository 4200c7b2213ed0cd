"""Conditionals made of primitives -> cells that hold their branches.

    %f, %t = Switch(%x, %p)   ...of %t...   ...of %f...   %y = Merge(%e, %d)      ->      %y = If(%p, %x; then, else)

The *guard* of a cell is when it is alive: a set of (predicate, side), all of which must hold.  A Switch adds one, a Merge of two
values that differ in one side takes it away; any other cell has the guards of all it needs.  Cells of one guard, deepest first,
are the branch of a conditional.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.graph.cell import (
    ARGUMENT,
    CONDITIONAL,
    LOOP,
    NUMBER,
    SAME,
    Body,
    Cell,
    Flat,
    Port,
    Refused,
    Taken,
    ordered,
    replace,
)

Guard = frozenset[tuple[Any, int]]  # (a predicate's port, which side); a Merge of another form adds (itself, 2)
ALWAYS: Guard = frozenset()
OTHER = 2
_NUMBER = (dtypes.int32, TensorShape([]))


def guards(cells: Iterable[Cell], known: dict[Port, Guard] | None = None) -> dict[Port | Cell, Guard]:
    """When each cell, and each of its outputs, is alive.  ``cells`` are in order; ``known`` are ports that begin a frame."""
    alive: dict[Port | Cell, Guard] = {}

    def of(port: Port) -> Guard:
        return alive.get(port) or alive.get(port[0], ALWAYS)

    for cell in cells:
        if cell.role == "merge":
            alive[cell] = (
                known[cell, 0] if known and (cell, 0) in known else _merged(cell, [of(p) for p in cell.inputs])
            )
            continue
        if cell.role == "trigger":
            alive[cell] = ALWAYS  # it runs whether or not what it waits for did
            continue
        guard = ALWAYS.union(*(of(p) for p in cell.inputs), *(alive.get(c, ALWAYS) for c in cell.controls))
        alive[cell] = guard
        if cell.role == LOOP and guard.difference(*(of(p) for p in _deciding(cell))):
            # If its condition is alive and some variable is not, what leaves it may be alive in part.
            raise Refused("what enters it is not there together", cell.frame)
        if cell.role == "switch":
            predicate = behind_identities(cell.inputs[1])
            for side in (0, 1):
                alive[cell, side] = guard | {(predicate, side)}
    return alive


def _deciding(loop: Cell) -> list[Port]:
    """The inputs of a loop that its condition uses."""
    cond = loop.bodies[0]
    used = {port[0] for cell in cond.cells for port in cell.inputs} | {port[0] for port in cond.outputs}
    return [port for port, argument in zip(loop.inputs, cond.arguments, strict=True) if argument in used]


def _merged(merge: Cell, inputs: list[Guard]) -> Guard:
    split = decided(inputs)
    return inputs[0] - {split} if split is not None else inputs[0].intersection(*inputs) | {(merge, OTHER)}


def decided(inputs: list[Guard]) -> tuple[Any, int] | None:
    """The (predicate, side) of the first of two values that are alive in turn, or None if that is not what they are."""
    if len(inputs) != 2:
        return None
    first, second = inputs[0] - inputs[1], inputs[1] - inputs[0]
    if len(first) != 1 or len(second) != 1:
        return None
    ((predicate, side),), ((other, opposite),) = first, second
    return (predicate, side) if predicate == other and {side, opposite} == {0, 1} else None


def behind_identities(port: Port) -> Port:
    """What identities hand on: a conditional's switches use copies of its predicate."""
    while port[0].is_identity:
        port = port[0].inputs[0]
    return port


def raise_conditionals(flat: Flat, whole: bool = False) -> None:
    """Puts conditionals in the place of those primitives that could be raised; with ``whole`` none may be left."""
    alive = guards(flat.cells)
    found: dict[tuple[Guard, Any], None] = {}
    for cell in flat.cells:
        if cell.role == "switch":
            found[alive[cell], behind_identities(cell.inputs[1])] = None
    for around, predicate in sorted(found, key=lambda c: -len(c[0])):
        if all(side != OTHER for _, side in around):
            _Conditional(flat, alive, around, predicate).put()
    left = next((cell for cell in flat.cells if cell.is_primitive), None)
    if whole and left is not None:
        raise Refused(f"{left.origin.name} ({left.origin.type}) is part of no conditional of the usual form")
    flat.cells = ordered(flat.cells)


class _Conditional:
    """All that one predicate decides in one place."""

    def __init__(self, flat: Flat, alive: dict[Port | Cell, Guard], around: Guard, predicate: Port) -> None:
        self.flat = flat
        self.alive = alive
        self.around = around
        self.predicate = predicate
        self.sides = [around | {(predicate, side)} for side in (0, 1)]
        self.members = {c for c in flat.cells if alive[c] in self.sides}
        self.switches = {
            c for c in flat.cells
            if c.role == "switch" and alive[c] == around and behind_identities(c.inputs[1]) == predicate
        }  # fmt: skip
        sides = {c: self._first_side(c) for c in flat.cells if c.role == "merge"}
        self.first = {
            c: side for c, side in sides.items() if side is not None
        }  # of merges: the side of their first input
        self.merges = list(self.first)

    def _first_side(self, merge: Cell) -> int | None:
        """Which side the first input of a Merge is on; None for a Merge of something else."""
        if self.alive[merge] != self.around or merge.types[0][0]._is_ref_dtype:  # no conditional gives a reference
            return None
        split = decided([self.alive.get(p) or self.alive.get(p[0], ALWAYS) for p in merge.inputs])
        return split[1] if split is not None and split[0] == self.predicate else None

    def put(self) -> None:
        """Raises all of it; else each group of cells that hang together, if it can be raised."""
        self.flat.cells = ordered(self.flat.cells)
        groups = [(self.members, self.merges)]
        if not self._may(*groups[0]):
            groups = [group for group in self._groups() if self._may(*group)]
        for members, merges in groups:
            for some, ends in self._levels(members, merges):
                self._raise(some, ends)
        self._drop_switches()

    def _drop_switches(self) -> None:
        """A cell that waits for a Switch whose values nobody takes waits for the input of the Switch."""
        used = self.flat.asked_for().union(*([c for c, _ in cell.inputs] for cell in self.flat.cells))
        gone = self.switches - used
        instead: dict[Cell, list[Cell]] = {}
        for cell in self.flat.cells:
            for switch in [c for c in cell.controls if c in gone and c not in instead]:
                instead[switch] = [*(self._anchor(port) for port in switch.inputs), *switch.controls]
            if not gone.isdisjoint(cell.controls):
                waits = [w for c in cell.controls for w in instead.get(c, [c])]
                cell.controls = [w for w in dict.fromkeys(waits) if not w.is_free]
        anchors = [w for waits in instead.values() for w in waits if w.role == SAME]
        self.flat.cells = [*(c for c in self.flat.cells if c not in gone), *dict.fromkeys(anchors)]

    def _anchor(self, port: Port) -> Cell:
        """A cell that is dead if the value is; a Switch runs even if one of its outputs is dead."""
        cell, index = port
        if cell.role != "switch":
            return cell
        anchor = Cell(SAME, cell.origin, [port], [], [cell.types[index]])
        self.alive[anchor] = self.alive[port]
        return anchor

    def _groups(self) -> list[tuple[set[Cell], list[Cell]]]:
        """Members that hang together, by use or by a Merge, with their merges."""
        leader = {c: c for c in (*self.members, *self.merges)}

        def find(cell: Cell) -> Cell:
            while leader[cell] is not cell:
                leader[cell] = leader[leader[cell]]
                cell = leader[cell]
            return cell

        for cell in leader:
            for before in cell.before():
                if before in leader:
                    leader[find(before)] = find(cell)
        groups: dict[Cell, tuple[set[Cell], list[Cell]]] = {}
        for cell in leader:
            members, merges = groups.setdefault(find(cell), (set(), []))
            if cell in self.members:
                members.add(cell)
            else:
                merges.append(cell)
        return list(groups.values())

    def _may(self, members: set[Cell], merges: list[Cell]) -> bool:
        """Whether the cells are the inside of a conditional, which nobody else uses."""
        if not members.isdisjoint(self.flat.asked_for()) or any(c.is_primitive for c in members):
            return False
        if any(not self.alive[c] <= self.around for m in merges for c in m.controls if c not in members):
            return False  # a Merge may wait for what is dead, a conditional may not
        inside = members.union(merges)
        for cell in inside:
            for port in cell.inputs:
                guard = self.alive.get(port) or self.alive.get(port[0], ALWAYS)
                if port[0] not in inside and port[0] not in self.switches and not guard <= self.around:
                    return False  # it belongs to a conditional that another predicate decides
        for cell in self.flat.cells:
            if cell not in inside and any(c in members for c, _ in cell.inputs):
                return False
            if (
                cell not in inside
                and cell.role not in ("trigger", "merge")
                and any(c in members for c in cell.controls)
            ):
                return False
        return True

    def _levels(self, members: set[Cell], merges: list[Cell]) -> list[tuple[set[Cell], list[Cell]]]:
        """What can be one conditional, in order: a value may go out of one and into the next, as those of gradients do."""
        level: dict[Cell, int] = {}
        ends_of_all = set(merges)
        inside = members.union(merges)
        for cell in self.flat.cells:
            out = cell not in inside
            behind = [level[b] + (b in ends_of_all or (out and b in members)) for b in cell.before() if b in level]
            level[cell] = max(behind, default=0)
        found: dict[int, tuple[set[Cell], list[Cell]]] = {}
        for cell in inside:
            some, ends = found.setdefault(level[cell], (set(), []))
            if cell in members:
                some.add(cell)
            else:
                ends.append(cell)
        order = {c: i for i, c in enumerate(self.flat.cells)}
        levels = [(some, sorted(ends, key=order.__getitem__)) for _, (some, ends) in sorted(found.items())]
        crossing = [p for some, ends in levels for p in self._later(some, ends)]
        return levels if all(_has_stand_in(c.types[i][0]) for c, i in crossing) else []

    def _raise(self, members: set[Cell], merges: list[Cell]) -> None:
        crossing = self._later(members, merges)
        ways = [[m.inputs[0 if self.first[m] == side else 1] for m in merges] for side in (0, 1)]
        indices = [[0 if self.first[m] == side else 1 for m in merges] for side in (0, 1)]
        waited = {c for other in self.flat.cells if other not in members for c in other.controls if c in members}
        taken = [self._taken(members, side) for side in (0, 1)]
        for side in (0, 1):
            mine = [p for p in crossing if self.alive[p[0]] == self.sides[side]]
            ways[side] += [p if p in mine else (_nothing(p), 0) for p in crossing]
            taken[side].take(ways[side], [c for c in waited if self.alive[c] == self.sides[side]])
            for port in ways[side]:  # that of a switch is an argument
                if port[0].role != NUMBER:
                    taken[side].port(port)
        outer = list(dict.fromkeys(self._behind(port) for one in taken for port in one.outer))
        outer.sort(key=lambda p: p[0].types[p[1]][0]._is_ref_dtype)  # handles last
        near = (merges or sorted(members, key=lambda c: c.origin.name))[-1].origin
        counted = bool(waited) or not ways[0]
        bodies = [self._body(taken[s], ways[s], indices[s], waited if counted else None, outer, near) for s in (0, 1)]
        types = [
            (a[0].types[a[1]][0], a[0].types[a[1]][1].most_specific_compatible_shape(b[0].types[b[1]][1]))
            for a, b in zip(*ways, strict=True)
        ]
        holder = Cell(
            CONDITIONAL, near, [self.predicate, *outer], self._waits(members, merges, taken),
            [*types, *[_NUMBER] * (len(merges) + counted)],
        )  # fmt: skip
        holder.bodies = (bodies[1], bodies[0])
        self.alive[holder] = self.around
        ports: dict[Port, Port] = {(m, 0): (holder, i) for i, m in enumerate(merges)}
        ports.update(((m, 1), (holder, len(ways[0]) + i)) for i, m in enumerate(merges))
        for i, port in enumerate(crossing, len(merges)):
            ports[port] = (holder, i)
            self.alive[holder, i] = self.alive[port[0]]
        same = self.flat.put(holder, members.union(merges), ports)
        self.alive |= {one: self.alive.get(one.inputs[0], self.around) for one in same}

    def _later(self, members: set[Cell], merges: list[Cell]) -> list[Port]:
        """The values that conditionals of the same predicate take later."""
        ends = set(merges)
        used = {p for c in self.flat.cells if c not in members and c not in ends for p in c.inputs if p[0] in members}
        return sorted(used, key=lambda p: (p[0].origin.name, p[1]))

    def _taken(self, members: set[Cell], side: int) -> Taken:
        def inside(cell: Cell) -> bool:
            return cell in members and self.alive[cell] == self.sides[side]

        return Taken(inside, {}, lambda cell: cell in self.switches)

    def _behind(self, port: Port) -> Port:
        """What a switch of this predicate was given."""
        return port[0].inputs[0] if port[0] in self.switches else port

    def _waits(self, members: set[Cell], merges: list[Cell], taken: Sequence[Taken]) -> list[Cell]:
        """What the whole conditional waits for."""
        waits = dict.fromkeys(c for one in taken for c in one.waits)
        waits.update(dict.fromkeys(c for merge in merges for c in merge.controls if c not in members))
        used = {before for c in members.union(merges) for before in c.before()}
        for switch in self.switches & used:
            waits.update(dict.fromkeys(c for c in switch.controls if c not in self.switches))
            if switch.inputs[1] != self.predicate:  # a copy of the predicate, which may wait
                waits[switch.inputs[1][0]] = None
        return list(waits)

    def _body(
        self, taken: Taken, ways: list[Port], indices: list[int], waited: set[Cell] | None, outer: list[Port], near: Any
    ) -> Body:  # fmt: skip
        """A branch: the values of the merges, which input each Merge took, and a number if something waits for the branch."""
        arguments: dict[Port, Cell] = {}
        same: dict[Port, Port] = {}
        outputs = [port if port[0].role == NUMBER else taken.port(port) for port in ways]
        nothing = [cell for cell, _ in outputs if cell.role == NUMBER]
        for port, argument in taken.outer.items():
            same[argument, 0] = (arguments.setdefault(self._behind(port), argument), 0)
        for port in outer:
            arguments.setdefault(port, Cell(ARGUMENT, port[0].origin, [], [], [port[0].types[port[1]]]))
        replace(taken.cells, same, {})
        numbers = [_number(near, index, []) for index in indices]
        if waited is not None:
            numbers.append(_number(near, 0, [taken.copies[c] for c in waited if c in taken.copies]))
        outputs = [*(same.get(port, port) for port in outputs), *((n, 0) for n in numbers)]
        return Body([*taken.cells, *nothing, *numbers], [arguments[port] for port in outer], outputs)


def _has_stand_in(dtype: DType) -> bool:
    """Whether there is a value that can stand for a dead one of this type."""
    return dtype != dtypes.resource and not dtype._is_ref_dtype


def _nothing(port: Port) -> Cell:
    """What stands for a value that is dead on this side."""
    return Cell(NUMBER, port[0].origin, [], [], [(port[0].types[port[1]][0].base_dtype, TensorShape([]))])


def _number(near: Any, number: int, controls: list[Cell]) -> Cell:
    cell = Cell(NUMBER, near, [], controls, [_NUMBER])
    cell.number = number
    return cell
