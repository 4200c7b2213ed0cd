"""Loops made of primitives -> cells that hold their condition and their body; then the conditionals, in and around them.

    %m = Merge(Enter(%x), %next)   %f, %t = Switch(%m, LoopCond(cond of %m))
    %next = NextIteration(body of %t)   %y = Exit(%f)                                ->      %n, %y = While(%x; cond, body)

This is the form in which TensorFlow 1 wrote loops.  A loop of another form stays as it is, with all that is
around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from headrace.core import dtypes
from headrace.core.shape import TensorShape, is_within
from headrace.graph.cell import (
    ARGUMENT,
    LOOP,
    SAME,
    Body,
    Cell,
    Flat,
    Port,
    Refused,
    Taken,
    ordered,
    reaches,
    replace,
)
from headrace.graph.raise_cond import ALWAYS, behind_identities, guards, raise_conditionals

Path = tuple[str, ...]


def raise_all(make: Callable[[], Flat]) -> tuple[Flat, list[str]]:
    """All loops and conditionals that can be raised, and why others cannot.

    ``make`` gives the cells again: what is refused is left out the next time.
    """
    refused: set[Path] = set()
    reasons: list[str] = []
    while True:
        flat = make()
        try:
            raise_loops(flat, refused)
            raise_conditionals(flat)
        except Refused as e:
            reasons.append(f"the loop {e.frame[-1]!r}: {e}" if e.frame else str(e))
            if not e.frame or e.frame in refused:
                return make(), reasons
            refused.add(e.frame)
            continue
        return flat, reasons


def frames(cells: Iterable[Cell]) -> dict[Cell, Path]:
    """The frame to which each cell gives its outputs: the names of its loops, outermost first.  Constants belong to none."""
    gives: dict[Cell, Path] = {}
    for cell in cells:
        if cell.is_free:
            continue
        paths = {gives[before] for before in cell.before() if before in gives}  # what closes a loop comes later
        if len(paths) > 1:
            raise Refused(f"{cell.origin.name} has inputs from different frames")
        path = next(iter(paths), ())
        if cell.role == "enter":
            path = (*path, cell.origin.attrs["frame_name"])
        elif cell.role == "exit":
            path = path[:-1]
        gives[cell] = path
    return gives


def raise_loops(flat: Flat, refused: set[Path]) -> None:
    """Puts loops in the place of primitives, inner ones first.  The ``refused`` ones stay, and so do those around them."""
    gives = frames(flat.cells)
    for path in sorted({p for p in gives.values() if p}, key=lambda p: -len(p)):
        if any(other[: len(path)] == path for other in refused):
            continue
        try:
            _Loop(flat, gives, path).put()
        except Refused as e:
            raise Refused(str(e), path) from None


class _Loop:
    """One loop, as the cells of its frame."""

    def __init__(self, flat: Flat, gives: dict[Cell, Path], path: Path) -> None:
        self.flat = flat
        self.gives = gives
        self.path = path
        self.members = [c for c in flat.cells if gives.get(c) == path]
        self.inside = set(self.members)
        self.exits = [c for c in flat.cells if c.role == "exit" and c.inputs[0][0] in self.inside]
        self.enters = [c for c in self.members if c.role == "enter"]
        self.merges = [c for c in self.members if c.role == "merge" and any(p.role == "next" for p, _ in c.inputs)]
        self.ending: set[Cell] = set()  # identities between a Switch and an Exit
        self.waiting: dict[Cell, Cell] = {}  # for an Enter that waits for something, what does so outside the loop
        self._check_form()
        self.go_on = self._ends[self.exits[0]].inputs[1]
        positions = {(merge, 0): i for i, merge in enumerate(self.merges)}
        self.switches = {
            c: positions[c.inputs[0]] for c in self.members
            if c.role == "switch" and c.inputs[1] == self.go_on and c.inputs[0] in positions
        }  # fmt: skip
        self.ports = {(e, 0): self.switches.get(self._ends[e], -1) for e in self.exits}
        if -1 in self.ports.values():
            raise Refused("what leaves it is no variable of the loop")

    def _check_form(self) -> None:
        if not self.exits or not self.merges:
            raise Refused("nothing leaves it, or nothing comes back")
        for merge in self.merges:
            if [c.role for c, _ in merge.inputs] != ["enter", "next"] or merge.controls:
                raise Refused(f"{merge.origin.name} does not join what enters and what comes back")
            if merge.types[0][0]._is_ref_dtype:
                raise Refused(f"{merge.origin.name} is a reference")
            if not all(is_within(cell.types[0][1], merge.types[0][1]) for cell, _ in merge.inputs):
                raise Refused(f"the shape of {merge.origin.name} does not hold in every iteration")
        self._ends = {one: self._end(one) for one in self.exits}
        constant = {c for c in self.enters if c.origin.attrs["is_constant"]}
        for cell in self.members:
            for before in cell.before():
                first = before.role == "enter" and before not in constant or before.role == "next"
                if first and before in self.inside and cell not in self.merges:
                    raise Refused(f"{cell.origin.name} takes what enters the first iteration, or what comes back")
            if cell.role == "merge" and cell in self.merges and cell.inputs[0][0] in constant:
                raise Refused(f"{cell.origin.name} takes a constant of the loop")
            if cell.op_is_plain and cell.controls:
                raise Refused(f"{cell.origin.name} waits for something")

    def _end(self, one: Cell) -> Cell:
        """The Switch whose value leaves the loop through an Exit; gradients put identities that wait for others between."""
        switch, side = one.inputs[0]
        passed = set()
        while switch.is_identity and all(_only_waits(c) for c in switch.controls):
            passed.add(switch)
            switch, side = switch.inputs[0]
        if switch.role != "switch" or side != 0 or one.controls or switch.controls:
            raise Refused(f"{one.origin.name} does not take what a Switch gives when the loop ends")
        self.ending |= passed
        return switch

    def put(self) -> None:
        """Puts the loop in the place of its cells."""
        cond, decision, cond_variables = self._condition()
        deciding = set(cond.copies)
        backs = [merge.inputs[1][0] for merge in self.merges]
        self._check_guards(backs, deciding)
        body, values, body_variables = self._body(backs, deciding)
        outer = list(dict.fromkeys(self._given(port) for taken in (cond, body) for port in taken.outer))
        outer.sort(key=lambda p: p[0].types[p[1]][0]._is_ref_dtype)  # handles last
        types = [merge.types[0] for merge in self.merges]
        initial = [self._given(merge.inputs[0]) for merge in self.merges]
        waited = {c for taken in (cond, body) for cell in taken.copies for c in cell.controls}
        waits = dict.fromkeys(c for e in self.enters if _is_ref(e) or e in waited for c in e.controls)
        waits.update(dict.fromkeys(c for taken in (cond, body) for c in taken.waits if c not in self.inside))
        number = (dtypes.int32, TensorShape([]))
        loop = Cell(LOOP, self.exits[0].origin, [*initial, *outer], list(waits), [number, *types])
        loop.bodies = (
            self._finished(cond, cond_variables, [decision], outer), self._finished(body, body_variables, values, outer)
        )  # fmt: skip
        loop.frame = self.path
        gone = self.inside.union(self.exits)
        self._check_outside(loop, gone)
        same = self.flat.put(loop, gone, {exit_port: (loop, 1 + i) for exit_port, i in self.ports.items()})
        self.flat.cells += self.waiting.values()
        self.gives |= dict.fromkeys((loop, *same, *self.waiting.values()), self.path[:-1])
        self.flat.cells = ordered(self.flat.cells)

    def _given(self, port: Port) -> Port:
        """What enters the loop through a port, after what the Enter waits for: nothing else in the loop waits for that."""
        enter = port[0]
        if enter.role != "enter":
            return port
        if not enter.controls or _is_ref(enter):
            return enter.inputs[0]
        if enter not in self.waiting:
            self.waiting[enter] = Cell(SAME, enter.origin, enter.inputs, enter.controls, enter.types)
        return self.waiting[enter], 0

    def _check_guards(self, backs: Sequence[Cell], deciding: set[Cell]) -> None:
        """What comes back, and every effect but those of the condition, is there just when the loop goes on."""
        alive = guards(self.members, {(merge, 0): ALWAYS for merge in self.merges})
        predicate = behind_identities(self.go_on)
        for back in backs:
            if alive[back] != {(predicate, 1)}:
                raise Refused(f"{back.origin.name} does not come back just when the loop goes on")
        for cell in self.members:
            if (predicate, 0) in alive[cell] and cell not in self.ending:
                raise Refused(f"{cell.origin.name} is computed when the loop ends")
            if not cell.is_pure and (predicate, 1) not in alive[cell] and cell not in deciding:
                raise Refused(f"{cell.origin.name} has an effect also when the loop ends")

    def _check_outside(self, loop: Cell, gone: set[Cell]) -> None:
        if not self.inside.isdisjoint(self.flat.asked_for()):
            raise Refused("something inside it is fetched, or must run")
        others = [c for c in self.flat.cells if c not in gone]
        users = [c for c in others if any(before in gone for before in c.before())]
        if any(before in self.inside for c in users for before in c.before()):
            raise Refused("something outside uses what is inside it")
        if reaches(users, set(loop.before()), others):
            raise Refused("what leaves it enters it again")

    def _finished(self, taken: Taken, variables: list[Cell], outputs: list[Port], outer: list[Port]) -> Body:
        """A body with its arguments, and with the conditionals in it raised."""
        arguments: dict[Port, Cell] = {}
        same: dict[Port, Port] = {}
        for port, argument in taken.outer.items():
            same[argument, 0] = (arguments.setdefault(self._given(port), argument), 0)
        for port in outer:
            arguments.setdefault(port, Cell(ARGUMENT, port[0].origin, [], [], [port[0].types[port[1]]]))
        replace(taken.cells, same, {})
        flat = Flat(ordered(taken.cells), [same.get(port, port) for port in outputs], [])
        raise_conditionals(flat, whole=True)
        return Body(flat.cells, [*variables, *(arguments[port] for port in outer)], flat.fetches)

    def _condition(self) -> tuple[Taken, Port, list[Cell]]:
        variables = [_variable(merge) for merge in self.merges]
        known = {(merge, 0): (variable, 0) for merge, variable in zip(self.merges, variables, strict=True)}
        stops = {*self.enters, *self.merges}
        taken = Taken(lambda cell: cell in self.inside and cell not in stops, known, stops.__contains__)
        decision = self.go_on[0].inputs[0] if self.go_on[0].op_is_plain else self.go_on
        taken.take([decision])
        return taken, taken.port(decision), variables

    def _body(self, backs: Sequence[Cell], deciding: set[Cell]) -> tuple[Taken, list[Port], list[Cell]]:
        variables = [_variable(merge) for merge in self.merges]
        known: dict[Port, Port] = {(m, 0): (v, 0) for m, v in zip(self.merges, variables, strict=True)}
        known.update(((switch, 1), (variables[i], 0)) for switch, i in self.switches.items())
        stops = {*self.enters, *self.merges, *self.switches}
        dropped = {*stops, *deciding, self.go_on[0]}  # the condition is over when the body starts
        taken = Taken(lambda cell: cell in self.inside and cell not in stops, known, dropped.__contains__)
        taken.take([back.inputs[0] for back in backs], [c for back in backs for c in back.controls if c not in dropped])
        for cell in taken.copies:
            if cell.op_is_plain or (cell in deciding and not cell.is_pure):
                raise Refused(f"{cell.origin.name} is part of the condition and of the body")
        values = []
        for back in backs:
            port = taken.port(back.inputs[0])
            waits = [taken.copies[c] for c in back.controls if c in taken.copies]
            if waits:
                same = Cell(SAME, back.origin, [port], waits, back.types)
                taken.cells.append(same)
                port = (same, 0)
            values.append(port)
        return taken, values, variables


def _only_waits(cell: Cell) -> bool:
    """Whether a node only waits for switches."""
    return cell.role == "switch" or (cell.origin.type == "NoOp" and all(map(_only_waits, cell.controls)))


def _variable(merge: Cell) -> Cell:
    return Cell(ARGUMENT, merge.origin, [], [], [merge.types[0]])


def _is_ref(cell: Cell) -> bool:
    return bool(cell.types[0][0]._is_ref_dtype)
