"""Need: which inputs of a loop or a conditional are needed for what is used of it, before its bodies are instantiated.

    %n, %a, %b = While(%x, %y; ...)   fetch %a      ->      %x, if neither the condition nor the next %a depends on %b

This is what pruning leaves of the primitives that TensorFlow 1 writes for it.  Nothing is simplified first: a value that is used
in vain is needed.  Works on the nodes of steps and on those of clients' graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.graph.body import FuncGraph
from headrace.passes.step_graph import StepGraph


def holds(node: Any) -> bool:
    return any(isinstance(a, (FuncGraph, StepGraph)) for a in node.attrs.values())


def used_of_holders(ends: Iterable[Any]) -> dict[Any, set[Any]]:
    """The nodes with bodies that some values and nodes need, each with those of its outputs that are used."""
    return _reached(ends)[1]


def needed_inputs(node: Any, used: set[Any]) -> list[Any]:
    """The inputs that these outputs need.  A call, and a node whose bodies are instantiated, needs all."""
    body, then_branch = node.attrs.get("body"), node.attrs.get("then_branch")
    positions = {i for i, value in enumerate(node.outputs) if value in used}
    if isinstance(then_branch, FuncGraph):
        branches = (then_branch, node.attrs["else_branch"])
        needed = set[int]().union(*(_arguments(b, [b.outputs[i] for i in positions]) for b in branches))
        return _chosen(node.inputs, 1, needed)
    if not isinstance(body, FuncGraph):
        return list(node.inputs)
    cond = node.attrs.get("cond")
    first_in, first_out = (1, 0) if cond is None else (0, 1)
    needed = {i - first_out for i in positions if i >= first_out}
    if cond is not None:
        needed |= _arguments(cond, cond.outputs)
    before: set[int] = set()
    while needed != before:
        before = needed
        needed = before | _arguments(body, [body.outputs[i] for i in before if i < len(body.args)])
    return _chosen(node.inputs, first_in, needed)


def _visible(node: Any) -> list[Any]:
    """The outputs that the user sees: who waits for the node waits for these."""
    return node.outputs[: node.attrs["visible"] + ("cond" in node.attrs)]  # type: ignore[no-any-return]


def _chosen(inputs: Sequence[Any], first: int, positions: set[int]) -> list[Any]:
    return [*inputs[:first], *(inputs[first + i] for i in sorted(positions))]


def _arguments(body: FuncGraph, outputs: Iterable[Any]) -> set[int]:
    """The positions of the inputs of a body that some of its outputs need."""
    reached, _ = _reached(outputs)
    return {i for i, tensor in enumerate(body.inputs) if tensor.op in reached}


def _reached(ends: Iterable[Any]) -> tuple[set[Any], dict[Any, set[Any]]]:
    """The nodes that values and nodes need, and which outputs are used of those that hold bodies."""
    reached: set[Any] = set()
    used: dict[Any, set[Any]] = {}
    stack = list(ends)
    while stack:
        item = stack.pop()
        value = getattr(item, "op", None)  # a node that is waited for has none
        node = item if value is None else value
        if holds(node):
            outputs = {item} if value is not None else set(_visible(node))
            known = used.setdefault(node, set())
            if node in reached and outputs <= known:
                continue
            known |= outputs
            stack.extend(needed_inputs(node, known))
        elif node in reached:
            continue
        else:
            stack.extend(node.inputs)
        reached.add(node)
        stack.extend(node.control_inputs)
    return reached, used
