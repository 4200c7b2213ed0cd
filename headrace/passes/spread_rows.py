"""Sums of rows for a variable that is written whole anyway are spread over all its rows, without a search for equal ones.

TensorFlow's Adam, given the gradient of some rows of a table, adds up those of one row, and then adds them to moments that it has
just decayed as a whole:

    %u, %i = Unique(%numbers)
    %s = UnsortedSegmentSum(%grad, %i, number of %u)          %d = UnsortedSegmentSum(%grad, %numbers, rows of %m)
    ScatterAdd(%m, %u, Mul(%s, 0.1)) ^Assign(%m, ...)   ->    AssignAdd(%m, Mul(%d, 0.1)) ^Assign(%m, ...)

That is done for rows that the step looks up, too: a negative number has been refused there, which the new sum would pass over.
Factors must be known numbers: rows that nothing is added to get 0 times them.

How many rows differ is known when the step runs.  On an accelerator the host would wait for that number, and what comes after it
could not be compiled together with the rest of the step.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.match import Ops
from headrace.passes.rule import make_constant
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value

UNIQUE, SUM, ADD, SHAPE = Ops("Unique"), Ops("UnsortedSegmentSum"), Ops("ScatterAdd"), Ops("Shape", "Size")
ASSIGN = Ops("Assign", "_AssignOwn")
LOOK_UP = {"GatherV2": 1, "Gather": 1, "ResourceGather": 1}  # the input with the numbers of rows
SAME_NUMBERS = Ops("Reshape", "Identity", "ExpandDims", "Squeeze")
PRODUCT, QUOTIENT, PLAIN = Ops("Mul"), Ops("RealDiv"), Ops("Identity", "Neg", "Square")


def spread_rows(graph: StepGraph) -> StepGraph:
    """Only on accelerators.  A CPU finds equal rows faster than it writes a table once more."""
    uniques = [n for n in graph.nodes if n in UNIQUE and "device:CPU" not in n.device]
    if not uniques:
        return graph
    users = graph.users()
    nodes: dict[Node, Node] = {}
    new: list[Node] = []
    looked_up = {_numbers(n.inputs[LOOK_UP[n.type]]) for n in graph.nodes if n.type in LOOK_UP}
    for unique in uniques:
        if _numbers(unique.inputs[0]) not in looked_up:
            continue
        rest = [n for n in users.get(unique.outputs[0], ()) if n not in SHAPE]
        spread = [_Spread(unique, node) for node in rest]
        if rest and all(one.fits() for one in spread):
            made: dict[tuple[Node, int], Node] = {}
            nodes |= {one.node: one.made(made) for one in spread}
            new += made.values()
    if nodes:
        graph.nodes = [nodes.get(node, node) for node in graph.nodes] + new
        graph.replace({old.outputs[0]: made.outputs[0] for old, made in nodes.items()}, nodes)
        graph.sweep()
        graph.sort()
    return graph


def _numbers(value: Value) -> Value:
    """Where the numbers of rows come from, whatever their shape."""
    while value.op in SAME_NUMBERS:
        value = value.op.inputs[0]
    return value


def _is_factor(value: Value, divides: bool) -> bool:
    """Whether 0 times the number, or divided by it, is 0."""
    node = value.op
    if not node.op_def.traits.constant or value.shape.ndims != 0:
        return False
    number = float(node.attrs["value"])
    return isfinite(number) and not (divides and number == 0.0)


class _Spread:
    """A node that adds to rows, if it can add to the whole variable."""

    def __init__(self, unique: Node, node: Node) -> None:
        self.node = node
        self._unique = unique

    def fits(self) -> bool:
        """Whether the variable has just been written whole, and rows that nothing is added to would get 0."""
        node = self.node
        if node not in ADD or node.inputs[1] is not self._unique.outputs[0] or node.device != self._unique.device:
            return False
        if not node.inputs[0].shape.is_fully_defined() or self._unique.inputs[0].shape.ndims != 1:
            return False
        variable = root(node.inputs[0])
        if not any(c in ASSIGN and root(c.inputs[0]) is variable for c in node.control_inputs):
            return False
        return self._leads_to_sum(node.inputs[2])

    def _leads_to_sum(self, value: Value) -> bool:
        """Whether the value is sums of rows, times numbers or themselves."""
        node = value.op
        if value.shape.ndims != self.node.inputs[0].shape.ndims:
            return False
        if node in SUM:
            return node.inputs[1] is self._unique.outputs[1] and node.device == self._unique.device
        if node.control_inputs:
            return False
        if node in PLAIN or node in QUOTIENT:
            return self._leads_to_sum(node.inputs[0]) and all(_is_factor(v, divides=True) for v in node.inputs[1:])
        if node in PRODUCT:
            sums = [v for v in node.inputs if not _is_factor(v, divides=False)]
            return bool(sums) and all(self._leads_to_sum(v) for v in sums)
        return False

    def made(self, made: dict[tuple[Node, int], Node]) -> Node:
        """The node that adds to the whole variable.

        ``made`` gets the nodes that compute what it adds: those for a node, by the number of rows.
        """
        node = self.node
        attrs = {name: node.attrs[name] for name in ("T", "use_locking")}
        added = _like(node, "AssignAdd", [node.inputs[0], self._spread(node.inputs[2], made)], attrs)
        return added.add_outputs([(node.outputs[0].dtype, node.outputs[0].shape)])

    def _spread(self, value: Value, made: dict[tuple[Node, int], Node]) -> Value:
        """The value for all rows of the variable."""
        node, rows = value.op, self.node.inputs[0].shape.as_list()[0] or 0
        if (node, rows) not in made:
            if node in SUM:
                number = make_constant(node, f"rows_{rows}", np.array(rows, np.int32), int32)
                made[number, rows] = number
                attrs = {**node.attrs, "Tindices": self._unique.attrs["T"], "Tnumsegments": int32}
                inputs = [node.inputs[0], self._unique.inputs[0], number.outputs[0]]
            else:
                attrs = dict(node.attrs)
                inputs = [v if v.shape.ndims == 0 else self._spread(v, made) for v in node.inputs]
            made[node, rows] = _like(node, node.type, inputs, attrs, f"spread_{rows}")
            made[node, rows].add_outputs([(value.dtype, TensorShape([rows, *value.shape.as_list()[1:]]))])
        return made[node, rows].outputs[0]


def _like(node: Node, type_: str, inputs: list[Value], attrs: dict[str, object], label: str = "spread") -> Node:
    return Node(
        f"{node.name}/{label}", REGISTRY.get(type_), inputs, attrs, node.order, list(node.control_inputs), node.device,
        node.source, node.origin,
    )  # fmt: skip
