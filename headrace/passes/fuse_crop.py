"""Fuse crops: a random window of a value, as ``tf.random_crop`` makes it of a dozen small nodes -> one node.

    %n = Shape(%x)   ^ok = Assert(All(GreaterEqual(%n, %size)), "...", %n, %size)
    %y = Slice(%x, FloorMod(RandomUniformInt(), Identity(%n) ^ok - %size + 1), %size)      ->      %y = _RandomCrop(%x, %size)

For interpreted steps on the CPU, input pipelines above all: where images are decoded, the code of each small node has left the
caches when its turn comes.  The window is the same, the generator is that of the random node, and an image that is too small is
an error of the assertion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import int32, string
from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

SLICE, REMAINDER, SUM, DIFFERENCE = Ops("Slice"), Ops("FloorMod"), Ops("AddV2", "Add"), Ops("Sub")
DRAW, PASSED_ON, SHAPE = Ops("RandomUniformInt"), Ops("Identity"), Ops("Shape")
ASSERTION, ALL, AT_LEAST = Ops("Assert"), Ops("All"), Ops("GreaterEqual")


class _Crop(NamedTuple):
    """The nodes that give way, the assertion and the random node among them, and what the new node is told."""

    nodes: tuple[Node, ...]
    assertion: Node
    draw: Node
    text: bytes


def fuse_crop(graph: StepGraph) -> StepGraph:
    """Fuses where nothing else looks at what is between the nodes."""
    if not any(node in DRAW for node in graph.nodes):
        return graph
    users: dict[Value, list[Node]] | None = None
    places = {node: place for place, node in enumerate(graph.nodes)}
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for node in graph.nodes:
        found = _crop(node) if node in SLICE else None
        if found is None:
            continue
        users = graph.users() if users is None else users
        if not _is_closed(found, node, users, graph) or not _come_first(found, places):
            continue
        crop = _fused(node, found)
        values[node.outputs[0]] = crop.outputs[0]
        nodes.update(dict.fromkeys(found.nodes, crop))
    if nodes:
        graph.nodes = [n for n in graph.nodes if n not in nodes] + list(dict.fromkeys(nodes.values()))
        graph.replace(values, nodes)
        graph.sweep()
        graph.sort()
    return graph


def _crop(node: Node) -> _Crop | None:
    """The nodes of a crop that ends in this one."""
    value, begin, size = node.inputs
    sizes, rank = _constant(size), value.shape.ndims
    if sizes is None or size.dtype.base_dtype != int32 or len(sizes) != rank or min(sizes, default=-1) < 0:
        return None
    remainder = begin.op
    if "device:CPU" not in node.device or node.attrs["T"] == string or remainder not in REMAINDER:
        return None
    draw, limit = (one.op for one in remainder.inputs)
    if draw not in DRAW or limit not in SUM or limit.inputs[0].op not in DIFFERENCE or not _is(limit.inputs[1], 1):
        return None
    if not (_is(draw.inputs[0], [rank]) and _is(draw.inputs[1], 0) and _is(draw.inputs[2], int32.max)):
        return None
    room = limit.inputs[0].op
    passed_on = room.inputs[0].op
    if passed_on not in PASSED_ON or not _is(room.inputs[1], sizes) or len(passed_on.control_inputs) != 1:
        return None
    (assertion,) = passed_on.control_inputs
    if assertion not in ASSERTION or len(assertion.inputs) != 4 or not _is_shape(passed_on.inputs[0], value):
        return None
    holds, text, shape, expected = assertion.inputs
    words = _constant(text)
    every = holds.op
    if words is None or text.dtype != string or not _is_shape(shape, value) or not _is(expected, sizes):
        return None
    if every not in ALL or every.inputs[0].op not in AT_LEAST:
        return None
    compared = every.inputs[0].op
    if not _is_shape(compared.inputs[0], value) or not _is(compared.inputs[1], sizes):
        return None
    group = (node, remainder, draw, limit, room, passed_on, assertion, every, compared)
    return _Crop(group, assertion, draw, words.item())


def _is_closed(crop: _Crop, last: Node, users: dict[Value, list[Node]], graph: StepGraph) -> bool:
    """Whether all values but the last are for the crop's own nodes, which are on one device."""
    inner, fetched = set(crop.nodes), set(graph.fetches)
    for node in crop.nodes:
        if node.device != last.device:
            return False
        for value in node.outputs if node is not last else ():
            if value in fetched or not inner.issuperset(users.get(value, ())):
                return False
    return True


def _come_first(crop: _Crop, places: dict[Node, int]) -> bool:
    """Whether what the crop's nodes wait for comes before all of them, so that one node can wait for it."""
    inner = set(crop.nodes)
    first = min(places[node] for node in inner)
    return all(places[c] < first for node in inner for c in node.control_inputs if c not in inner)


def _fused(node: Node, crop: _Crop) -> Node:
    inner = set(crop.nodes)
    controls = dict.fromkeys(c for one in crop.nodes for c in one.control_inputs if c not in inner)
    attrs = {
        "T": node.attrs["T"], "seed": crop.draw.attrs["seed"], "seed2": crop.draw.attrs["seed2"], "text": crop.text,
        "_members": [node, crop.assertion],
    }  # fmt: skip
    made = Node(
        crop.draw.name, REGISTRY.get("_RandomCrop"), [node.inputs[0], node.inputs[2]], attrs, node.order, list(controls),
        node.device, node.source, node.origin,
    )  # fmt: skip
    made.add_outputs([(node.outputs[0].dtype, node.outputs[0].shape)])
    return made


def _constant(value: Value) -> np.ndarray[Any, Any] | None:
    return np.asarray(value.op.attrs["value"]) if value.op.op_def.traits.constant else None


def _is(value: Value, expected: Any) -> bool:
    found = _constant(value)
    return found is not None and np.array_equal(found, expected)


def _is_shape(value: Value, of: Value) -> bool:
    return value.op in SHAPE and value.op.inputs[0] is of and value.dtype == int32
