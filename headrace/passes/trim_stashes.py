"""Trim stashes: drops from the stashes of loops what no gradient takes.

    While(...; body: r -> push(r, a, b))   _Repeat(...; body: r -> rest, a, b = pop(r), of which only a is used)
    ->
    While(...; body: r -> push(r, a))      _Repeat(...; body: r -> rest, a = pop(r))

A gradient rule may ask for a value that simplification then finds unneeded; each would be kept once an iteration.
"""

from __future__ import annotations

from headrace.passes.loop import Loop, loops, users_of
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

PUSH, POP = Ops("_PushStash"), Ops("_PopStash")


def trim_stashes(graph: StepGraph) -> StepGraph:
    """Looks at each stash that one loop makes and one other loop takes apart."""
    by_node = {loop.node: loop for loop in loops(graph)}
    if not by_node:
        return graph
    users = users_of(graph)
    for taker in by_node.values():
        for j in range(taker.count):
            stash = taker.initial(j)
            maker = by_node.get(stash.op)
            if maker is None or stash.dtype.name != "variant" or users[stash] != [taker.node]:
                continue
            _trim(maker, stash, taker, j)
    return graph


def _trim(maker: Loop, stash: Value, taker: Loop, j: int) -> None:
    push = next(
        (f.op for i, f in enumerate(maker.body.fetches[: maker.count]) if maker.result(i) is stash), None
    )  # the next value of the variable that holds the stash
    feed, rest = taker.body.feeds[j], taker.body.fetches[j]
    users = users_of(taker.body)
    taken = users.get(feed, [])
    pop = taken[0] if len(taken) == 1 else None
    if push is None or push not in PUSH or pop is None or pop not in POP or rest.op is not pop:
        return
    if users_of(maker.body)[push.outputs[0]] != [None] or rest is not pop.outputs[0]:
        return
    keep = [i for i, value in enumerate(pop.outputs[1:]) if users.get(value)]
    if len(keep) == len(pop.outputs) - 1:
        return
    push.inputs = [push.inputs[0], *(push.inputs[1 + i] for i in keep)]
    pop.outputs = [pop.outputs[0], *(pop.outputs[1 + i] for i in keep)]
    for at, value in enumerate(pop.outputs):
        value.value_index = at
    for node in (push, pop):
        _keep_types(node, keep)
    maker.commit()


def _keep_types(node: Node, keep: list[int]) -> None:
    node.attrs = {**node.attrs, "T": tuple(node.attrs["T"][i] for i in keep)}
