"""Unroll: a loop that runs a known number of times -> its body, that many times over.

    %n, %i, %h = While(0, %x; cond: i, h -> i < 2   body: i, h -> i + 1, Tanh(h))
    ->
    %Tanh/_0 = Tanh(%x)   %Tanh/_1 = Tanh(%Tanh/_0)      with 2 for %n, %i and %Tanh/_1 for %h

``records`` then takes away the arrays and stashes that carried values from loop to loop, half of what a small iteration costs.
A compiler for a GPU gets the whole step, which runs as one graph of kernels; the kernels of a loop are launched one by one.
Only loops that compute are unrolled: one whose body draws random numbers, changes a variable or holds a body stays a loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.registry import REGISTRY
from headrace.graph.infer import group_inputs
from headrace.passes.bodies import bodies_of, held_bodies
from headrace.passes.fold import Evaluate
from headrace.passes.loop import Loop, loops
from headrace.passes.match import Ops
from headrace.passes.records import RECORDS
from headrace.passes.region import is_free, may_compile
from headrace.passes.rule import make_constant
from headrace.passes.step_graph import Node, StepGraph, Value

LOOPS = Ops("StatelessWhile", "_StatelessRepeat")
MOST_COMPILED = 8000  # nodes that the loops of a step may become: those of two LSTMs over 60 steps
MOST_INTERPRETED = 2000  # planning these takes 0.3 s; longer loops do not become faster by as much

_Known = Mapping[Value, np.ndarray[Any, Any]]


def unroll(graph: StepGraph, evaluate: Evaluate, interpreted: bool) -> StepGraph:
    """Unrolls loops while there is room.  A compiler gets those of accelerators, and only if it can take all of the body."""
    room, changed = MOST_INTERPRETED if interpreted else MOST_COMPILED, False
    for loop in loops(graph):
        if not _only_computes(loop) or not (interpreted or pays(loop)):
            continue
        count = _iterations(loop, room // len(loop.body.nodes), evaluate)
        if count is not None and (interpreted or _follows_constants(loop, evaluate)):
            room -= count * len(loop.body.nodes)
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
        is_free(n) or n in RECORDS or (may_compile(n) and n.op_def.traits.pure and not held_bodies(n))
        for body in bodies_of(loop.node)
        for n in body.nodes
    )


# ---- how often it runs


def _iterations(loop: Loop, most: int, evaluate: Evaluate) -> int | None:
    """How often the loop runs, if that follows from constants alone and is no more than ``most``."""
    if loop.cond is None:
        array = _constant(loop.node.inputs[0])
        return int(array) if array is not None and int(array) <= most else None
    known = _known_at_first(loop)
    fixed = {feed: array for feed, array in known.items() if feed in loop.body.feeds[loop.count :]}
    for count in range(most + 1):
        of_cond = {loop.cond.feeds[i]: known[feed] for i, feed in enumerate(loop.body.feeds) if feed in known}
        goes_on = _evaluated(loop.cond.fetches[0], of_cond, evaluate)
        if goes_on is None:
            return None
        if not goes_on:
            return count
        after = (
            (feed, _evaluated(v, known, evaluate)) for feed, v in zip(loop.body.feeds, loop.body.fetches, strict=False)
        )
        known = {**fixed, **{feed: array for feed, array in after if array is not None}}
    return None


def _follows_constants(loop: Loop, evaluate: Evaluate) -> bool:
    """Whether the nodes of a loop forwards read on the host only what is known: a compiler can take no others."""
    if loop.cond is None:  # what a gradient reads there is what the loop forwards read
        return True
    known = _known_at_first(loop)
    for node in loop.body.nodes:
        grouped = group_inputs(node.op_def, node.inputs, node.attrs)
        for arg, given in zip(node.op_def.signature.inputs, grouped, strict=True):
            if arg.host and any(_evaluated(v, known, evaluate) is None for v in (given if arg.is_list else [given])):
                return False
    return True


def _known_at_first(loop: Loop) -> _Known:
    """What is known of the body's feeds in the first iteration."""
    return {feed: array for feed, outer in _fed(loop) if (array := _constant(outer)) is not None}


def _fed(loop: Loop) -> list[tuple[Value, Value]]:
    return [(feed, loop.initial(i)) for i, feed in enumerate(loop.body.feeds)]


def _constant(value: Value) -> Any:
    """The value of a constant that waits for nothing."""
    return value.op.attrs["value"] if value.op.op_def.traits.constant and not value.op.control_inputs else None


def _evaluated(value: Value, known: _Known, evaluate: Evaluate) -> Any:
    """What this value is, if it is whole numbers or a condition and follows from what is known."""
    if value in known:
        return known[value]
    node, dtype = value.op, value.dtype
    if not (dtype.is_integer or dtype.is_bool) or not node.op_def.traits.pure or is_free(node) or node in RECORDS:
        return _constant(value)
    inputs = [_evaluated(v, known, evaluate) for v in node.inputs]
    if any(array is None for array in inputs):
        return None
    arrays = evaluate(node.op_def, inputs, node.attrs)
    return None if arrays is None else arrays[value.value_index]


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
