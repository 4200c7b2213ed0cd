"""Unroll: a loop that runs a known number of times -> its body, that many times over.

    %n, %i, %h = While(0, %x; cond: i, h -> i < 2   body: i, h -> i + 1, Tanh(h))
    ->
    %Tanh/_0 = Tanh(%x)   %Tanh/_1 = Tanh(%Tanh/_0)      with 2 for %n, %i and %Tanh/_1 for %h

``pass_on`` then takes away the arrays and stashes that carried values from loop to loop, half of what a small iteration costs.
A compiler for a GPU gets the whole step, which runs as one graph of kernels; the kernels of a loop are launched one by one.
Only loops that compute are unrolled: one whose body draws random numbers, changes a variable or holds a body stays a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.registry import REGISTRY
from headrace.graph.infer import group_inputs
from headrace.passes.bodies import bodies_of, held_bodies
from headrace.passes.fold import Evaluate
from headrace.passes.loop import Loop, loops
from headrace.passes.match import Ops
from headrace.passes.pass_on import CARRIERS
from headrace.passes.region import is_free, may_compile
from headrace.passes.rule import make_constant
from headrace.passes.step_graph import Node, StepGraph, Value

LOOPS = Ops("StatelessWhile", "_StatelessRepeat")
MOST_COMPILED = 8000  # nodes that the loops of a step may become: those of two LSTMs over 60 steps
MOST_INTERPRETED = 3000  # planning these takes 0.2 s; longer loops do not become faster by as much
SMALL = 64  # elements of what is computed to count a loop's iterations


def unroll(graph: StepGraph, evaluate: Evaluate, interpreted: bool) -> StepGraph:
    """Unrolls loops while there is room.  A compiler gets those of accelerators, and only if it can take all of the body."""
    room = (MOST_INTERPRETED if interpreted else MOST_COMPILED) - graph.unrolled
    changed = False
    for loop in loops(graph):
        if not _only_computes(loop) or not (interpreted or pays(loop)):
            continue
        count = _iterations(loop, max(room, 0) // len(loop.body.nodes), evaluate)
        if count is not None and (interpreted or _follows_constants(loop, evaluate)):
            room -= count * len(loop.body.nodes)
            graph.unrolled += count * len(loop.body.nodes)
            _unroll(loop, count)
            changed = True
    if changed:
        graph.sweep()
        graph.sort()
    return graph


def pays(loop: Loop) -> bool:
    """Whether all is on devices that wait for the host to launch their kernels.  Compiled for the CPU, a loop is as fast."""
    return all("device:CPU" not in n.device for n in (loop.node, *loop.body.nodes) if not is_free(n))


def _only_computes(loop: Loop) -> bool:
    if loop.node not in LOOPS or loop.node.attrs["Tref"] or loop.node.control_inputs:
        return False
    return all(
        is_free(n) or n in CARRIERS or (may_compile(n) and n.op_def.traits.pure and not held_bodies(n))
        for body in bodies_of(loop.node)
        for n in body.nodes
    )


# ---- how often it runs


def _iterations(loop: Loop, most: int, evaluate: Evaluate) -> int | None:
    """How often the loop runs, if that follows from constants alone and is no more than ``most``."""
    if loop.cond is None:
        array = _constant(loop.node.inputs[0])
        return int(array) if array is not None and int(array) <= most else None
    looked_at = _looked_at(loop)
    of_cond, of_body = (
        _behind(loop.cond, loop.cond.fetches),
        _behind(loop.body, [loop.body.fetches[j] for j in looked_at]),
    )
    arrays: list[Any] = [_constant(loop.initial(i)) for i in range(len(loop.body.feeds))]
    for count in range(most + 1):
        goes_on = _evaluated(of_cond, loop.cond, arrays, evaluate).get(loop.cond.fetches[0])
        if goes_on is None or not goes_on:
            return None if goes_on is None else count
        after = _evaluated(of_body, loop.body, arrays, evaluate)
        for j in range(loop.count):
            arrays[j] = after.get(loop.body.fetches[j]) if j in looked_at else None
    return None


def _looked_at(loop: Loop) -> set[int]:
    """The loop variables that decide how often it runs: those that the condition looks at, and those that they depend on."""
    assert loop.cond is not None
    found: set[int] = set()
    more = _used(loop.cond, loop.cond.fetches, loop.count)
    while more - found:
        found |= more
        more = _used(loop.body, [loop.body.fetches[j] for j in found], loop.count)
    return found


def _used(body: StepGraph, values: Sequence[Value], count: int) -> set[int]:
    """Which of the first feeds, that many, these values depend on."""
    nodes = {*_behind(body, values), *(v.op for v in values)}
    return {i for i, feed in enumerate(body.feeds[:count]) if feed.op in nodes}


def _behind(body: StepGraph, values: Sequence[Value]) -> list[Node]:
    """The nodes that these values depend on, in order."""
    needed, stack = set(), [v.op for v in values]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(v.op for v in node.inputs)
    return [n for n in body.nodes if n in needed]


def _follows_constants(loop: Loop, evaluate: Evaluate) -> bool:
    """Whether the nodes of a loop forwards read on the host only what is known: a compiler can take no others."""
    if loop.cond is None:  # what a gradient reads there is what the loop forwards read
        return True
    arrays = [_constant(loop.initial(i)) for i in range(len(loop.body.feeds))]
    known = _evaluated(loop.body.nodes, loop.body, arrays, evaluate)
    for node in loop.body.nodes:
        grouped = group_inputs(node.op_def, node.inputs, node.attrs)
        for arg, given in zip(node.op_def.signature.inputs, grouped, strict=True):
            if arg.host and any(v not in known for v in (given if arg.is_list else [given])):
                return False
    return True


def _evaluated(nodes: Sequence[Node], body: StepGraph, arrays: Sequence[Any], evaluate: Evaluate) -> dict[Value, Any]:
    """What these nodes of a body compute, as far as it is a few whole numbers or conditions.  ``arrays``: what its feeds are."""
    known = {feed: array for feed, array in zip(body.feeds, arrays, strict=True) if array is not None}
    for node in nodes:
        if node.op_def.traits.constant:
            known[node.outputs[0]] = node.attrs["value"]
            continue
        computes = not is_free(node) and node not in CARRIERS
        if computes and all(v in known for v in node.inputs) and all(map(_is_small, node.outputs)):
            found = evaluate(node.op_def, [known[v] for v in node.inputs], node.attrs)
            if found is not None:
                known.update(zip(node.outputs, found, strict=True))
    return known


def _is_small(value: Value) -> bool:
    """Whether this is whole numbers or conditions, few enough to compute while planning."""
    size = value.shape.num_elements() if value.shape.is_fully_defined() else None
    return (value.dtype.is_integer or value.dtype.is_bool) and size is not None and size <= SMALL


def _fed(loop: Loop) -> list[tuple[Value, Value]]:
    return [(feed, loop.initial(i)) for i, feed in enumerate(loop.body.feeds)]


def _constant(value: Value) -> Any:
    """The value of a constant that waits for nothing."""
    return value.op.attrs["value"] if value.op.op_def.traits.constant and not value.op.control_inputs else None


# ---- the copies


def _unroll(loop: Loop, count: int) -> None:
    """Puts copies of the body's nodes in the place of the loop."""
    node, graph, body = loop.node, loop.graph, loop.body
    fed = {v.op for v in body.feeds}
    inner = [n for n in body.nodes if n not in fed]
    arguments = dict(_fed(loop))
    new: list[Node] = []
    for i in range(count):
        values, nodes = dict(arguments), {feed.op: value.op for feed, value in arguments.items()}
        for k, one in enumerate(inner):
            order = node.order + 0.4 * (i + k / len(inner)) / count
            copy = Node(
                f"{one.name}/_{i}", one.op_def, [values[v] for v in one.inputs], one.attrs, order,
                [nodes[c] for c in one.control_inputs], one.device, one.source, one.origin,
            )  # fmt: skip
            copy.colocation = one.colocation
            copy.add_outputs((v.dtype, v.shape) for v in one.outputs)
            values.update(zip(one.outputs, copy.outputs, strict=True))
            nodes[one] = copy
            new.append(copy)
        arguments.update((feed, values[v]) for feed, v in zip(body.feeds, body.fetches, strict=False))
    results = {loop.result(j): arguments[body.feeds[j]] for j in range(loop.count)}
    if loop.cond is not None:
        total = make_constant(node, "_iterations", np.array(count, np.int32), int32)
        new.append(total)
        results[node.outputs[0]] = total.outputs[0]
    done = Node(
        f"{node.name}/_done", REGISTRY.get("NoOp"), [], {}, node.order + 0.4,
        list(dict.fromkeys(v.op for v in results.values())), node.device, node.source, node.origin,
    )  # fmt: skip
    graph.nodes = [n for n in graph.nodes if n is not node] + [*new, done]
    graph.replace(results, {node: done})
