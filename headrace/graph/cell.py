"""Cells: nodes as the raising of primitives sees them, whether of the client's graph or of a step.

Raising (graph/raise_loop.py, graph/raise_cond.py) turns the primitives of control flow into nodes that hold bodies.  It works on
cells, so that a step's plan and the gradient of a graph share it; the caller makes nodes of the cells that come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape

Type = tuple[DType, TensorShape]
LOOP, CONDITIONAL, ARGUMENT, SAME, NUMBER = "_loop", "_if", "_argument", "_same", "_number"


class Cell:
    """A node: one of the graph's (``origin``), or a new one, whose ``role`` starts with an underscore.

    ``role`` is else the primitive that the node is, "" for any other op.  Of a loop or a conditional ``bodies`` are condition and
    body, or the branches for true and false; ``origin`` is the node whose name and line it takes.  A NUMBER is the constant
    ``number``.
    """

    __slots__ = ("bodies", "controls", "frame", "inputs", "role", "number", "origin", "types")

    def __init__(self, role: str, origin: Any, inputs: list[Port], controls: list[Cell], types: Sequence[Type]) -> None:
        self.role = role
        self.origin = origin
        self.inputs = inputs
        self.controls = controls
        self.types = list(types)
        self.bodies: tuple[Body, ...] = ()
        self.number = 0
        self.frame: tuple[str, ...] = ()  # of a loop: the names of its frame and of those around it

    @property
    def is_free(self) -> bool:
        """Whether it belongs to no frame and no branch: a constant or a handle that waits for nothing."""
        traits = self.origin.op_def.traits
        return not self.role and not self.inputs and not self.controls and bool(traits.constant or traits.handle)

    @property
    def is_constant(self) -> bool:
        return self.is_free and bool(self.origin.op_def.traits.constant)

    @property
    def is_pure(self) -> bool:
        """Whether it may run twice, or not at all."""
        if self.bodies:
            return all(cell.is_pure for body in self.bodies for cell in body.cells)
        if self.role.startswith("_") or self.origin.type == "NoOp":
            return True
        traits = self.origin.op_def.traits
        return bool(traits.pure or traits.primitive)

    @property
    def is_primitive(self) -> bool:
        return self.role in PRIMITIVES

    @property
    def is_identity(self) -> bool:
        """Whether it hands a value on; the Identity of a variable reads it."""
        if self.role or not self.inputs or not self.origin.op_def.traits.identity:
            return False
        before, index = self.inputs[0]
        return not before.types[index][0]._is_ref_dtype

    @property
    def op_is_plain(self) -> bool:
        """Whether it only marks a value: LoopCond."""
        return not self.role and self.origin.op_def.traits.primitive == "plain"

    def before(self) -> list[Cell]:
        return [*(cell for cell, _ in self.inputs), *self.controls]

    def __repr__(self) -> str:
        return f"<{self.role or 'cell'} {self.origin.name}>"


Port = tuple[Cell, int]
PRIMITIVES = frozenset(("switch", "merge", "enter", "exit", "next"))


class Body:
    """The cells of a branch, a condition or a loop's body; ``arguments`` are what its holder passes."""

    __slots__ = ("arguments", "cells", "outputs")

    def __init__(self, cells: list[Cell], arguments: list[Cell], outputs: list[Port]) -> None:
        self.cells = cells
        self.arguments = arguments
        self.outputs = outputs


class Flat:
    """Cells in order, with the ports that are fetched and the cells that must run."""

    __slots__ = ("cells", "fetches", "now", "targets")

    def __init__(self, cells: list[Cell], fetches: list[Port], targets: list[Cell]) -> None:
        self.cells = cells
        self.fetches = fetches
        self.targets = targets
        self.now: dict[Port, Port] = {}  # where the outputs of cells are that others took the place of

    def asked_for(self) -> set[Cell]:
        """The cells that are asked for by name."""
        return {cell for cell, _ in self.fetches} | set(self.targets)

    def put(self, holder: Cell, gone: set[Cell], ports: dict[Port, Port]) -> list[Cell]:
        """Puts one cell in the place of others.  An order must be restored afterwards.

        What waited for one of several results waits for that one, by a cell that is made here and returned: TensorFlow runs of a
        loop or a conditional only what this result needs.
        """
        self.cells = [c for c in self.cells if c not in gone]
        waited = {c: (c, 0) for cell in self.cells for c in cell.controls if c in gone}
        same = {
            c: Cell(SAME, c.origin, [ports[port]], [], [c.types[0]])
            for c, port in waited.items() if port in ports and not c.types[0][0]._is_ref_dtype
        }  # fmt: skip
        replace(self.cells, ports, dict.fromkeys(gone, holder) | same)
        self.cells += [holder, *same.values()]
        self.fetches = [ports.get(port, port) for port in self.fetches]
        self.targets = [holder if cell in gone else cell for cell in self.targets]
        self.now.update(ports)
        return list(same.values())


class Refused(Exception):  # noqa: N818 - nothing is wrong: the primitives stay
    """A loop or conditional has not the form that can be raised.  ``frame`` is the loop's, with those around it."""

    def __init__(self, reason: str, frame: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.frame = frame


def cells_of(nodes: Iterable[Any]) -> dict[Any, Cell]:
    """A cell for each node; nodes have inputs with ``op`` and ``value_index``, and control inputs.  All they use is there."""
    made: dict[Any, Cell] = {}
    for node in nodes:
        primitive = node.op_def.traits.primitive
        types = [(value.dtype, value._shape) for value in node.outputs]
        made[node] = Cell("" if primitive == "plain" else primitive, node, [], [], types)
    for node, cell in made.items():
        cell.inputs = [(made[value.op], value.value_index) for value in node.inputs]
        cell.controls = [made[control] for control in node.control_inputs]
    return made


def ordered(cells: Iterable[Cell]) -> list[Cell]:
    """The cells, each after those it needs; what closes a loop does not count.  Refused if there is a cycle."""
    cells = list(cells)
    inside = set(cells)
    state: dict[Cell, bool] = {}
    order: list[Cell] = []
    for first in cells:
        if first in state:
            continue
        state[first] = False
        stack = [(first, iter(_needed(first)))]
        while stack:
            cell, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                state[cell] = True
                order.append(cell)
            elif following in inside:
                if following not in state:
                    state[following] = False
                    stack.append((following, iter(_needed(following))))
                elif not state[following]:
                    raise Refused(f"{following.origin.name} would need itself")
    return order


def _needed(cell: Cell) -> list[Cell]:
    return [before for before in cell.before() if before.role != "next" or cell.role != "merge"]


def reaches(starts: Iterable[Cell], ends: set[Cell], cells: Iterable[Cell]) -> bool:
    """Whether some end depends on some start."""
    users: dict[Cell, list[Cell]] = {}
    for cell in cells:
        for before in _needed(cell):
            users.setdefault(before, []).append(cell)
    seen: set[Cell] = set()
    stack = list(starts)
    while stack:
        cell = stack.pop()
        if cell in ends:
            return True
        if cell not in seen:
            seen.add(cell)
            stack.extend(users.get(cell, ()))
    return False


def replace(cells: Iterable[Cell], ports: dict[Port, Port], controls: dict[Cell, Cell]) -> None:
    """Replaces ports, and cells that are waited for, wherever they are used."""
    for cell in cells:
        if any(port in ports for port in cell.inputs):
            cell.inputs = [ports.get(port, port) for port in cell.inputs]
        if any(control in controls for control in cell.controls):
            cell.controls = list(dict.fromkeys(controls.get(c, c) for c in cell.controls))


class Taken:
    """Copies of cells for a body, made from its outputs backwards; ``outer`` collects what the body takes from around it.

    ``known`` says what stands in the body for a port, ``dropped`` for which cells nothing must wait, ``inside`` which cells
    belong to it.  A constant is copied; another cell that is not inside is an argument.
    """

    def __init__(
        self, inside: Callable[[Cell], bool], known: dict[Port, Port], dropped: Callable[[Cell], bool]
    ) -> None:
        self.cells: list[Cell] = []
        self.outer: dict[Port, Cell] = {}
        self.copies: dict[Cell, Cell] = {}
        self.waits: dict[Cell, None] = {}  # cells outside that something inside waits for
        self._inside = inside
        self._known = known
        self._dropped = dropped

    def port(self, port: Port) -> Port:
        """What stands for a port here, after its cells were copied."""
        if port in self._known:
            return self._known[port]
        cell, index = port
        if cell in self.copies:
            return self.copies[cell], index
        if port not in self.outer:
            self.outer[port] = Cell(ARGUMENT, cell.origin, [], [], [cell.types[index]])
        return self.outer[port], 0

    def take(self, ports: Iterable[Port], controls: Iterable[Cell] = ()) -> None:
        """Copies all that these ports and cells need, each once."""
        stack: list[tuple[Cell, bool]] = [(c, False) for c in controls]
        stack += [(port[0], False) for port in ports if port not in self._known]
        while stack:
            cell, ready = stack.pop()
            if cell in self.copies or not (self._inside(cell) or cell.is_constant):
                continue
            if ready:
                self._copy(cell)
                continue
            stack.append((cell, True))
            stack += [(port[0], False) for port in cell.inputs if port not in self._known]
            stack += [(c, False) for c in cell.controls if not self._dropped(c)]

    def _copy(self, cell: Cell) -> None:
        controls = [c for c in cell.controls if not self._dropped(c)]
        self.waits.update((c, None) for c in controls if c not in self.copies)
        copy = Cell(
            cell.role, cell.origin, [self.port(port) for port in cell.inputs],
            [self.copies[c] for c in controls if c in self.copies], cell.types,
        )  # fmt: skip
        copy.bodies, copy.number, copy.frame = cell.bodies, cell.number, cell.frame
        self.copies[cell] = copy
        self.cells.append(copy)
