"""What a rule of ``simplify`` may ask for and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.match import same_number
from headrace.passes.step_graph import Node, Value

LARGEST = 1 << 16  # elements of a constant worth looking at


@dataclass(frozen=True, slots=True)
class Change:
    """The node becomes one of another type, in its place; ``new`` are nodes that it needs."""

    type: str
    inputs: list[Value]
    attrs: dict[str, Any]
    new: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a rule may ask about the graph before the pass."""

    users: dict[Value, list[Node]]
    fetched: set[Value]
    targets: set[Node]

    def only_use(self, value: Value) -> bool:
        """Whether exactly one node uses the value and no fetch does."""
        return len(self.users.get(value, ())) == 1 and value not in self.fetched and value.op not in self.targets


Answer = Value | Change | None


class Rule(NamedTuple):
    """A function of (node, facts) for nodes of these types.  ``rounds``: the result may differ by rounding."""

    call: Callable[[Node, Facts], Answer]
    types: tuple[str, ...]
    rounds: bool


def collect(rules: list[Rule]) -> Callable[..., Callable[[Callable[[Node, Facts], Answer]], Callable[..., Answer]]]:
    """A decorator that adds functions to the list: ``@rule("Add", "AddV2", rounds=True)``."""

    def rule(*types: str, rounds: bool = False) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
        def register(call: Callable[..., Answer]) -> Callable[..., Answer]:
            rules.append(Rule(call, types, rounds))
            return call

        return register

    return rule


def constant(value: Value) -> np.ndarray[Any, Any] | None:
    """The value of a small constant."""
    if not value.op.op_def.traits.constant:
        return None
    array = np.asarray(value.op.attrs["value"])
    return array if array.size <= LARGEST else None


def uniform(value: Value) -> Any:
    """The number that all elements of a constant equal, or None."""
    return same_number(constant(value))


def numbers(value: Value) -> list[int] | None:
    """A constant list of integers."""
    array = constant(value)
    return None if array is None else [int(n) for n in array.reshape(-1)]


def make_constant(near: Node, label: str, array: np.ndarray[Any, Any], dtype: DType) -> Node:
    """A constant for the use of ``near``."""
    node = Node(
        f"{near.name}/{label}", REGISTRY.get("Const"), [], {"value": array, "dtype": dtype}, near.order,
        device=near.device, source=near.source,
    )  # fmt: skip
    return node.add_outputs([(dtype, TensorShape(list(array.shape)))])


def keeps_shape(value: Value, other: Value) -> bool:
    """Whether broadcasting ``value`` with ``other`` gives the shape of ``value`` in every run."""
    mine, theirs = value.shape.tuple, other.shape.tuple
    if theirs is None:
        return False
    if not theirs:
        return True
    if mine is None or len(theirs) > len(mine):
        return False
    ends = mine[len(mine) - len(theirs) :]
    return all(t == 1 or (t is not None and t == m) for t, m in zip(theirs, ends, strict=True))
