"""An executable specification of a well-formed graph, run between passes in tests.

Works on client graphs and on step graphs: anything whose nodes have name, op_def, inputs, attrs, control inputs, outputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def verify_graph(graph: Any) -> None:
    """Raises ValueError listing every broken invariant."""
    nodes: Iterable[Any] = graph.get_operations()
    problems: list[str] = []
    seen: set[str] = set()
    members = set()
    for node in nodes:
        members.add(id(node))
        if node.name in seen:
            problems.append(f"two nodes are called {node.name!r}")
        seen.add(node.name)
    done: set[int] = set()
    for node in nodes:
        problems.extend(_node_problems(node, members))
        done.add(id(node))
    problems.extend(_cycles(nodes))
    if problems:
        raise ValueError("invalid graph:\n  " + "\n  ".join(problems))


def _node_problems(node: Any, members: set[int]) -> list[str]:
    problems = []
    for tensor in node.inputs:
        if id(tensor.op) not in members:
            problems.append(f"{node.name} reads {tensor.name}, whose node is not in the graph")
        elif tensor.value_index >= len(tensor.op.outputs):
            problems.append(f"{node.name} reads output {tensor.value_index} of {tensor.op.name}, which has too few")
    for control in node.control_inputs:
        if id(control) not in members:
            problems.append(f"{node.name} waits for {control.name}, which is not in the graph")
    signature = node.op_def.signature
    for attr in (*signature.attrs, *signature.inferred):
        if attr.name not in node.attrs:
            problems.append(f"{node.name} ({node.op_def.name}) lacks attribute {attr.name!r}")
    if not problems:
        problems.extend(_type_problems(node))
    return problems


def _type_problems(node: Any) -> list[str]:
    problems = []
    position = 0
    for arg in node.op_def.signature.inputs:
        if arg.type_list_attr:
            expected = list(node.attrs[arg.type_list_attr])
        else:
            count = node.attrs[arg.number_attr] if arg.number_attr else 1
            expected = [arg.dtype or node.attrs[arg.type_attr]] * count
        got = node.inputs[position : position + len(expected)]
        position += len(expected)
        if len(got) != len(expected):
            problems.append(f"{node.name} has too few inputs for {arg.name!r}: {len(got)} of {len(expected)}")
        for tensor, dtype in zip(got, expected, strict=False):
            if tensor.dtype.base_dtype != dtype.base_dtype:
                problems.append(f"{node.name}.{arg.name} must be {dtype.name}; {tensor.name} is {tensor.dtype.name}")
            if arg.ref and not tensor.dtype._is_ref_dtype:
                problems.append(f"{node.name}.{arg.name} must be a ref; {tensor.name} is {tensor.dtype.name}")
    if position != len(node.inputs):
        problems.append(f"{node.name} has {len(node.inputs)} inputs, its signature {position}")
    return problems


def _cycles(nodes: Iterable[Any]) -> list[str]:
    state: dict[int, int] = {}
    for root in nodes:
        stack = [(root, iter(_before(root)))]
        if state.get(id(root)):
            continue
        state[id(root)] = 1
        while stack:
            node, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[id(node)] = 2
                stack.pop()
            elif state.get(id(following)) == 1:
                return [f"{following.name} depends on itself"]
            elif not state.get(id(following)):
                state[id(following)] = 1
                stack.append((following, iter(_before(following))))
    return []


def _before(node: Any) -> list[Any]:
    before = [t.op for t in node.inputs] + list(node.control_inputs)
    return [n for n in before if n.op_def.traits.primitive != "next"]
