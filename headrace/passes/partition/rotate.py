"""Rotate: a loop over several partitions computes its condition at the end of its body, as one more loop variable.

    while cond(x): x = body(x)      ->      go_on = cond(x)
                                            while go_on: x = body(x); go_on = cond(x)

The condition is then cut between partitions as all other nodes are, and each partition gets the answer once per iteration.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.bodies import bodies_of
from headrace.passes.instantiate import mark_numbers
from headrace.passes.partition.homes import PREDICATE, Homes
from headrace.passes.portable import copy_of
from headrace.passes.step_graph import Node, StepGraph, Value


def rotate(graph: StepGraph, homes: Homes) -> bool:
    """Rotates the loops that span partitions, those in bodies too; says whether there were any."""
    rotated = False
    for node in list(graph.nodes):
        for body in bodies_of(node):
            rotated = rotate(body, homes) or rotated
        if node in homes.spans and "cond" in node.attrs and PREDICATE not in node.attrs:
            _rotate_one(node, graph)
            rotated = True
    if rotated:
        graph.sort()
    return rotated


def _rotate_one(loop: Node, graph: StepGraph) -> None:
    attrs = loop.attrs = dict(loop.attrs)
    cond, body = attrs["cond"], attrs["body"]
    count = len(attrs["T"])
    first = copy_of(cond)
    before = _applied(first, loop.inputs, loop.control_inputs)
    graph.nodes += [n for n in first.nodes if n not in {v.op for v in first.feeds}]
    effects = [n for n in body.nodes if n.op_def.traits.has_effect]
    again = _applied(cond, [*body.fetches, *body.feeds[count:]], effects)
    body.nodes += [n for n in cond.nodes if n not in {v.op for v in cond.feeds}]
    feed = _feed(loop, "_go_on", dtypes.bool, TensorShape([]))
    body.nodes.insert(0, feed.op)
    body.feeds.insert(count, feed)
    body.fetches.append(again)
    body.sort()
    loop.inputs.insert(count, before)
    loop.outputs.append(Value(loop, len(loop.outputs), dtypes.bool, TensorShape([])))
    attrs["T"] = (*attrs["T"], dtypes.bool)
    attrs["output_shapes"] = (*attrs["output_shapes"], TensorShape([]))
    attrs[PREDICATE] = count
    attrs["cond"] = condition(loop, body.feeds, count)
    mark_numbers(loop)


def _applied(cond: StepGraph, arguments: list[Value], controls: list[Node]) -> Value:
    """The condition's result for these arguments; what looks at state waits for the controls.  Rewires its nodes."""
    values = dict(zip(cond.feeds, arguments, strict=True))
    fed = {v.op for v in cond.feeds}
    for node in cond.nodes:
        if node in fed:
            continue
        node.inputs = [values.get(v, v) for v in node.inputs]
        node.control_inputs = [c for c in node.control_inputs if c not in fed]
        traits = node.op_def.traits
        pure = traits.pure and not any(v.dtype._is_ref_dtype for v in node.inputs)
        if not (traits.constant or traits.handle or pure):
            node.control_inputs += [c for c in controls if c not in node.control_inputs]
    return values.get(cond.fetches[0], cond.fetches[0])


def condition(loop: Node, feeds: list[Value], position: int) -> StepGraph:
    """The condition of a loop that one of its variables decides."""
    copies = [_feed(loop, f"_{i}", v.dtype, v.shape) for i, v in enumerate(feeds)]
    graph = StepGraph([v.op for v in copies], copies, [copies[position]], [])
    graph.host_fetches = [True]
    return graph


def _feed(loop: Node, name: str, dtype: dtypes.DType, shape: TensorShape) -> Value:
    node = Node(
        f"{loop.name}/{name}", REGISTRY.get("_Feed"), [], {"dtype": dtype.base_dtype, "shape": shape}, loop.order,
        device=loop.device, source=loop.source,
    )  # fmt: skip
    return node.add_outputs([(dtype, shape)]).outputs[0]
