"""Fuse updates: the updates of many variables by one rule with the same settings -> one call.

    %u = ApplyAdam(%v, %m, ..., %lr, ..., %g)   %u' = ApplyAdam(%v', %m', ..., %lr, ..., %g')
        ->      %u = _ApplyAdamTogether([%v, %v'], [%m, %m'], ..., %lr, ..., [%g, %g'])

For interpreted steps on the CPU.  A compiler fuses updates with their gradients instead.  Values are the same up to rounding.
Variables so small that their update has a kernel on arrays gain only in numbers (measured, microseconds for each of 16
variables of 64 elements: Adam 13 by itself and 6 together, momentum 4.8 and 4.2, gradient descent 1.9 and 3.3).
Whoever uses the handle that an update passes on gets the variable's own, and waits for the update.
"""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import float32, float64
from headrace.core.registry import REGISTRY
from headrace.passes.arrays import MOST
from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value

_RULES = {  # and what must hold of the attributes
    "ApplyGradientDescent": {},
    "ApplyMomentum": {},
    "ApplyAdam": {"use_nesterov": False},
    "ApplyAdagrad": {"update_slots": True},
}
_FEWEST = {"ApplyGradientDescent": 4}  # the others gain even alone
_FEWEST_SMALL = {"ApplyMomentum": 8, "ApplyAdam": 4}  # gradient descent never gains
_TYPES = (float32, float64)  # in half precision torch's kernels leave whole vectors unchanged (torch 2.13)
_LISTS = ("grad", "delta")


def fuse_updates(graph: StepGraph) -> StepGraph:
    """Fuses only updates that wait for no other update, so that no cycle arises."""
    if not any(n.type in _RULES for n in graph.nodes):
        return graph
    users = graph.users()
    groups: dict[Any, list[Node]] = {}
    taken: dict[Any, set[Value]] = {}
    after: set[Node] = set()  # updates, and what waits for one
    for node in graph.nodes:
        later = any(p in after for p in node.predecessors())
        if later or node.op_def.traits.writes:
            after.add(node)
        if later or not _fits(node):
            continue
        key = (node.type, node.device, *(node.attrs[n] for n in sorted(node.attrs)), *_shared(node))
        handles = {root(node.inputs[p]) for p in ref_positions(node)}
        if handles & taken.setdefault(key, set()):
            continue  # a second update of the same variable
        taken[key] |= handles
        groups.setdefault(key, []).append(node)
    changed = False
    for members in groups.values():
        op_type = members[0].type
        small = {m for m in members if _is_small(m)}
        if len(small) < _FEWEST_SMALL.get(op_type, len(small) + 1):
            members = [m for m in members if m not in small]
        if len(members) >= _FEWEST.get(op_type, 1):
            _fuse(graph, members, users)
            changed = True
    if changed:
        graph.sort()
    return graph


def _fits(node: Node) -> bool:
    rule = _RULES.get(node.type)
    if rule is None or node.attrs["T"] not in _TYPES or "device:CPU" not in node.device:
        return False
    return all(node.attrs[k] == v for k, v in rule.items())


def _is_small(node: Node) -> bool:
    """Whether the update can run on arrays (passes/arrays.py), or has nothing to do."""
    sizes = [v.shape.num_elements() for v in node.inputs]
    return node.op_def.find_array_kernel(node.attrs) is not None and all(n is not None and n <= MOST for n in sizes)


def _columns(node: Node) -> list[bool]:
    """The inputs that differ from variable to variable."""
    return [a.ref or a.name in _LISTS for a in node.op_def.signature.inputs]


def _shared(node: Node) -> list[Value]:
    return [v for v, own in zip(node.inputs, _columns(node), strict=True) if not own]


def _fuse(graph: StepGraph, members: list[Node], users: dict[Value, list[Node]]) -> None:
    first = members[0]
    inputs: list[Value] = []
    for i, own in enumerate(_columns(first)):
        inputs += [m.inputs[i] for m in members] if own else [first.inputs[i]]
    controls = dict.fromkeys(c for m in members for c in m.control_inputs)
    node = Node(
        f"{first.name}/together", REGISTRY.get(f"_{first.type}Together"), inputs,
        {**first.attrs, "N": len(members), "_members": members}, members[-1].order, list(controls), first.device,
        first.source, first.origin,
    )  # fmt: skip
    for member in members:
        for user in users.get(member.outputs[0], ()):
            user.control_inputs = [*user.control_inputs, member]
    gone = set(members)
    graph.nodes = [n for n in graph.nodes if n not in gone] + [node]
    graph.replace({m.outputs[0]: m.inputs[0] for m in members}, dict.fromkeys(members, node))
