"""Specialise: the feeds' actual shapes, carried through the whole graph, into the bodies of loops and conditionals.

%x = _Feed : float32[?,3]   %y = Relu(%x) : float32[?,3]      --{x: (8, 3)}->      %y = Relu(%x) : float32[8,3]

A loop variable is assumed to keep its first shape, unless an iteration changes it.  A value from a stash has the shape that the
loop gave it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape, is_within
from headrace.graph.infer import constant_value, infer_shapes
from headrace.passes.bodies import bodies_of
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

FILL, READ = Ops("TensorArrayScatterV3"), Ops("TensorArrayReadV3")
PUSH, POP = Ops("_PushStash"), Ops("_PopStash")


def specialise(graph: StepGraph, shapes: Sequence[Sequence[int | None]]) -> StepGraph:
    """``shapes`` are those of the feeds, in order; None for sizes left open.  Output shapes are inferred again."""
    for value, dims in zip(graph.feeds, shapes, strict=True):
        value.shape = TensorShape(list(dims))
    infer_again(graph)
    return graph


def varying(seen: Sequence[Sequence[Sequence[int]]]) -> list[list[int | None]]:
    """The shapes all of these have in common: None where they differ."""
    return [
        [sizes[0] if all(n == sizes[0] for n in sizes) else None for sizes in zip(*shapes, strict=True)]
        for shapes in zip(*seen, strict=True)
    ]


def telling(seen: Sequence[Sequence[Sequence[int]]]) -> Sequence[Sequence[int]]:
    """The example whose varying sizes are the least alike, and neither 0 nor 1: sizes that agree in it always agree."""
    open_sizes = varying(seen)

    def worth(shapes: Sequence[Sequence[int]]) -> tuple[bool, int, int]:
        sizes = [n for dims, opened in zip(shapes, open_sizes, strict=True)
                 for n, k in zip(dims, opened, strict=True) if k is None]  # fmt: skip
        return min(sizes, default=2) > 1, len(set(sizes)), sum(sizes)

    return max(seen, key=worth)


def infer_again(graph: StepGraph) -> None:
    """Infers all shapes again from those of the feeds."""
    for node in graph.nodes:
        if node.op_def.traits.feed or not node.inputs or not node.outputs:
            continue
        if isinstance(node.attrs.get("body"), StepGraph):
            _infer_loop(node)
        elif isinstance(node.attrs.get("then_branch"), StepGraph):
            _infer_if(node)
        infer_outputs(node)


def infer_outputs(node: Node) -> None:
    """Infers the shapes of a node's outputs again from those of its inputs."""
    inferred = infer_shapes(node.op_def, node.inputs, node.attrs, len(node.outputs))  # type: ignore[arg-type]
    for value, shape in zip(node.outputs, inferred, strict=True):
        value.shape = value.shape.merge_with(shape)


def may_wait(node: Node) -> bool:
    """Whether the node may wait: by itself, or because one in a body that it holds may."""
    return node.op_def.traits.waits or body_may_wait(node)


def body_may_wait(node: Node) -> bool:
    """Whether a node in a body of this one may wait.  The body then runs on a thread of its own, as a Python function does."""
    bodies = bodies_of(node)
    return bool(bodies) and any(may_wait(inner) for body in bodies for inner in body.nodes)


# ---- conditionals


def _infer_if(node: Node) -> None:
    shapes = []
    for branch in bodies_of(node):
        for feed, outer in zip(branch.feeds, node.inputs[1:], strict=True):
            feed.shape = feed.shape.merge_with(outer.shape)
            _infer_reads(branch, feed, outer)
        infer_again(branch)
        shapes.append([v.shape for v in branch.fetches])
    merged = [
        a if a.tuple == b.tuple else declared
        for a, b, declared in zip(*shapes, node.attrs["output_shapes"], strict=True)
    ]
    node.attrs["output_shapes"] = tuple(merged)


# ---- loops


def _infer_loop(node: Node) -> None:
    attrs = node.attrs
    body: StepGraph = attrs["body"]
    first, count = (0 if "cond" in attrs else 1), len(attrs["T"])
    for one in bodies_of(node):
        for feed, outer in zip(one.feeds[count:], node.inputs[first + count :], strict=True):
            feed.shape = feed.shape.merge_with(outer.shape)
            _infer_reads(one, feed, outer)
        for feed, outer in zip(one.feeds[:count], node.inputs[first:], strict=False):
            _infer_pops(one, feed, outer)
    shapes = _kept_shapes(body, [v.shape for v in node.inputs[first : first + count]])
    if "cond" in attrs:
        for feed, shape in zip(attrs["cond"].feeds[:count], shapes, strict=True):
            feed.shape = feed.shape.merge_with(shape)
        infer_again(attrs["cond"])
    attrs["output_shapes"] = tuple(
        declared.merge_with(shape) for declared, shape in zip(attrs["output_shapes"], shapes, strict=True)
    )


def _kept_shapes(body: StepGraph, initial: Sequence[TensorShape]) -> list[TensorShape]:
    """The shapes that the loop variables keep: the initial ones, except where an iteration changes them."""
    feeds = body.feeds[: len(initial)]
    always = [feed.shape for feed in feeds]  # what the loop declares, true of every iteration
    assumed = [feed.shape.merge_with(shape) for feed, shape in zip(feeds, initial, strict=True)]
    before = [(value, value.shape) for value in _values(body)]
    attrs = [(node, node.attrs["output_shapes"]) for node in _holders(body)]
    while True:
        for feed, shape in zip(feeds, assumed, strict=True):
            feed.shape = shape
        infer_again(body)
        broken = [
            j for j, (shape, after) in enumerate(zip(assumed, body.fetches, strict=False))
            if shape.tuple != always[j].tuple and not is_within(after.shape, shape)
        ]  # fmt: skip
        if not broken:
            return assumed
        for value, shape in before:
            value.shape = shape
        for node, shapes in attrs:
            node.attrs["output_shapes"] = shapes
        for j in broken:
            assumed[j] = always[j]


def _holders(body: StepGraph) -> Iterator[Node]:
    for node in body.nodes:
        inner = bodies_of(node)
        if inner:
            yield node
        for one in inner:
            yield from _holders(one)


def _values(body: StepGraph) -> Iterator[Value]:
    for node in body.nodes:
        yield from node.outputs
        for inner in bodies_of(node):
            yield from _values(inner)


# ---- what arrays and stashes hold


def _infer_reads(body: StepGraph, feed: Value, array: Value) -> None:
    """Elements of an array that was filled with the rows of a tensor have the shape of its rows."""
    if array.op not in FILL or array.op.inputs[2].shape.tuple is None:
        return
    element = TensorShape(array.op.inputs[2].shape.tuple[1:])
    for node in body.nodes:
        if node in READ and node.inputs[2] is feed:
            node.outputs[0].shape = node.outputs[0].shape.merge_with(element)
            node.attrs = {**node.attrs, "element_shape": node.outputs[0].shape}


def _infer_pops(body: StepGraph, feed: Value, stash: Value) -> None:
    """Gives what is taken from a stash the shape of what another loop put there; constants become constants again."""
    source = stash.op
    if stash.dtype.name != "variant" or not isinstance(source.attrs.get("body"), StepGraph):
        return
    forward: StepGraph = source.attrs["body"]
    position = stash.value_index - (1 if "cond" in source.attrs else 0)
    push = forward.fetches[position].op if position >= 0 else source
    if push not in PUSH:
        return
    pops = [node for node in body.nodes if node in POP and node.inputs[0] is feed]
    for node in pops:
        constants = {}
        for popped, pushed in zip(node.outputs[1:], push.inputs[1:], strict=True):
            popped.shape = popped.shape.merge_with(pushed.shape)
            value = constant_value(pushed) if pushed.dtype.is_integer else None
            if value is not None:
                constants[popped] = _constant(node, popped, value)
        body.nodes = [v.op for v in constants.values()] + body.nodes
        body.replace(constants, {})


def _constant(near: Node, value: Value, array: Any) -> Value:
    dtype = value.dtype.base_dtype
    node = Node(
        f"{near.name}/known_{value.value_index}", REGISTRY.get("Const"), [],
        {"value": np.asarray(array, dtype.as_numpy_dtype), "dtype": dtype}, near.order, device=near.device, source=near.source,
    )  # fmt: skip
    return node.add_outputs([(dtype, value.shape)]).outputs[0]
