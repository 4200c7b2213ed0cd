"""vectorise: a body that is called for single elements becomes one that is called for many at once.

Only what gives the same bits for each number of elements has a rule: no sums of floats, whose order would differ, and no
functions that the library approximates.  A body with anything else, with effects or with random numbers is left as it is.
The rules are in vectorise_rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import DType, int64
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.bodies import bodies_within
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

LOOKUPS = Ops("LookupTableFindV2", "LookupTableSizeV2")


class Same(NamedTuple):
    """A value that all elements share."""

    value: Value


class Rows(NamedTuple):
    """A value that holds those of all elements, one behind the other in a new first dimension.  ``one``: an element's."""

    value: Value
    one: Value


class Ragged(NamedTuple):
    """Vectors of different lengths: ``value`` joins them, ``lengths`` has one number for each element.  ``one``: an element's."""

    value: Value
    one: Value
    lengths: Value


Many = Same | Rows | Ragged


class CannotVectoriseError(Exception):
    """No rule for this."""


@dataclass(frozen=True, slots=True)
class Vectorised:
    """The body for many elements.  A feed or fetch that is ragged is two: the joined values, then the lengths."""

    graph: StepGraph
    feeds: tuple[type, ...]  # Rows or Ragged, for each feed of an element
    fetches: tuple[type, ...]  # Same, Rows or Ragged


Rule = Callable[["Builder", Node, Sequence[Many]], Sequence["Many | None"]]
RULES: dict[str, Rule] = {}


def rule(*types: str) -> Callable[[Rule], Rule]:
    """Adds the rule of some op types.

    A rule gets the node and its inputs, at least one of them not `Same`.  It gives what the outputs become, None for one that
    nobody may use, or raises CannotVectoriseError.
    """

    def register(call: Rule) -> Rule:
        RULES.update(dict.fromkeys(types, call))
        return call

    return register


class Builder:
    """Makes the nodes of the new body."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def feed(self, value: Value) -> tuple[Many, list[Value]]:
        """An element's feed as one for many, and its values."""
        if value.shape.is_fully_defined():
            many = self._feed(value, "rows", value.dtype, value.shape.as_list())
            return Rows(many, value), [many]
        if value.shape.ndims != 1:
            raise CannotVectoriseError
        joined, lengths = self._feed(value, "joined", value.dtype, []), self._feed(value, "lengths", int64, [])
        return Ragged(joined, value, lengths), [joined, lengths]

    def _feed(self, value: Value, label: str, dtype: DType, shape: Sequence[int | None]) -> Value:
        many = TensorShape([None, *shape])
        return self.make(value.op, [], {**value.op.attrs, "dtype": dtype, "shape": many}, [(dtype, many)], label=label)

    def constant(self, near: Node, array: Any, dtype: DType) -> Value:
        array = np.asarray(array, dtype.as_numpy_dtype)
        return self.make(
            near, [], {"value": array, "dtype": dtype}, [(dtype, TensorShape(array.shape))], "Const", "constant"
        )

    def make(
        self, near: Node, inputs: Sequence[Value], attrs: dict[str, Any], outputs: Sequence[tuple[DType, Any]],
        type: str = "", label: str = "rows",
    ) -> Value:  # fmt: skip
        """The first output of a new node in the place of ``near``."""
        op_def = REGISTRY.get(type) if type else near.op_def
        name = f"{near.name}/{label}_{len(self.nodes)}"
        node = Node(name, op_def, list(inputs), attrs, near.order, device=near.device, source=near.source)
        node.origin = near.origin
        self.nodes.append(node.add_outputs((t, TensorShape(s)) for t, s in outputs))
        return node.outputs[0]

    def like(self, node: Node, inputs: Sequence[Value], attrs: dict[str, Any] | None = None) -> list[Value]:
        """The outputs of the node with other inputs, each with a first dimension more."""
        outputs = [(out.dtype, _more(out.shape)) for out in node.outputs]
        first = self.make(node, inputs, node.attrs if attrs is None else attrs, outputs)
        return first.op.outputs

    def rows(self, node: Node, inputs: Sequence[Value], attrs: dict[str, Any] | None = None) -> list[Many | None]:
        """The outputs of `like` as rows."""
        return [Rows(many, one) for many, one in zip(self.like(node, inputs, attrs), node.outputs, strict=True)]


def _more(shape: TensorShape) -> TensorShape:
    return TensorShape(None) if shape.tuple is None else TensorShape([None, *shape.tuple])


def is_repeatable(body: StepGraph) -> bool:
    """Whether calling it earlier, or once more, is noticed by nobody, as long as the tables that it gets are not changed."""
    return all(not one.targets and all(map(_is_quiet, one.nodes)) for one in (body, *bodies_within(body)))


def _is_quiet(node: Node) -> bool:
    traits = node.op_def.traits
    if node in LOOKUPS:
        return True
    return not (traits.stateful or traits.random or traits.reads or traits.writes or traits.primitive)


def vectorise(body: StepGraph, count: int) -> Vectorised | None:
    """The body for many elements, of which the first ``count`` feeds are one; None if it has none."""
    try:
        return _vectorise(body, count)
    except CannotVectoriseError:
        return None


def _vectorise(body: StepGraph, count: int) -> Vectorised:
    if not count or not is_repeatable(body):
        raise CannotVectoriseError
    builder = Builder()
    known: dict[Value, Many | None] = {}
    feeds: list[Value] = []
    forms: list[type] = []
    for i, value in enumerate(body.feeds):
        if i < count:
            known[value], values = builder.feed(value)
            forms.append(type(known[value]))
            feeds += values
        else:
            known[value] = Same(value)
            builder.nodes.append(value.op)
            feeds.append(value)
    for node in body.nodes:
        if node.outputs and node.outputs[0] in known:  # a feed
            continue
        known.update(zip(node.outputs, _many(builder, node, known), strict=True))
    fetches: list[Value] = []
    given: list[type] = []
    for value in body.fetches:
        many = known[value]
        if many is None:
            raise CannotVectoriseError
        fetches += [many.value, many.lengths] if isinstance(many, Ragged) else [many.value]
        given.append(type(many))
    graph = StepGraph(builder.nodes, feeds, fetches, [])
    graph.sweep()
    return Vectorised(graph, tuple(forms), tuple(given))


def _many(builder: Builder, node: Node, known: dict[Value, Many | None]) -> Sequence[Many | None]:
    if node.control_inputs:
        raise CannotVectoriseError
    inputs = [known[value] for value in node.inputs]
    if any(one is None for one in inputs):
        return [None] * len(node.outputs)
    if all(isinstance(one, Same) for one in inputs):
        builder.nodes.append(node)
        return list(map(Same, node.outputs))
    found = RULES.get(node.type)
    if found is None:
        raise CannotVectoriseError
    return found(builder, node, inputs)  # type: ignore[arg-type]  # none is None
