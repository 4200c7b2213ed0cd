"""Attention: the softmax of scaled products, masked, times values -> one node, which an accelerator has one kernel for.

    %p = Softmax(Add(Mul(BatchMatMulV2(%q, %k) {adj_y}, scale), %mask))
    %o = BatchMatMulV2(%p, %v)                                            ->      %o = _Attention(%q, %k, %v, %mask) {scale}

and the gradients of %q, %k and %v, where the step has them, become one ``_AttentionGrad``.  The scores, a square of the length
for each head, are then never written to memory.  GPT-2's mask, ``w * b - 1e10 * (1 - b)`` with zeros and ones in b, is one that
is added, since what it masks is 0 after the softmax.  A mask that leaves the past is ``causal``: half of the work.

Left as they are: a softmax with dropout behind it, a mask that has a gradient itself, scores or weights that are fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.dtypes import bfloat16, float16
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.match import Ops
from headrace.passes.rule import make_constant
from headrace.passes.step_graph import Node, StepGraph, Value

SOFTMAX, SLOPE, PRODUCT = Ops("Softmax"), Ops("_SoftmaxGrad"), Ops("BatchMatMul", "BatchMatMulV2")
SUM, DIFFERENCE, FACTOR, QUOTIENT = Ops("Add", "AddV2"), Ops("Sub"), Ops("Mul"), Ops("RealDiv")
CAST = Ops("Cast")
TYPES = (bfloat16, float16)
HIDDEN = -1e4  # a score that far below the others is 0 after the softmax


@dataclass(slots=True)
class _Scores:
    """How the softmax's argument is made of the products of queries and keys."""

    query: Value
    key: Value
    scale: float = 1.0
    mask: Value | None = None
    sign: float = 1.0  # of the mask
    seen: Value | None = None  # b of GPT-2's mask: 1 where a score counts

    def mask_array(self) -> np.ndarray[Any, Any] | None:
        """What is added to the scores, if it is known."""
        array = None if self.mask is None else _array(self.mask)
        return None if array is None else array * self.sign


@dataclass(slots=True)
class _Slopes:
    """The nodes that are the gradients of values, queries and keys, as far as the step has them."""

    grad: Value
    nodes: tuple[Node | None, Node | None, Node | None]


def attention(graph: StepGraph) -> StepGraph:
    """Only on accelerators and in 16 bits.

    On a CPU torch's kernel is no faster than the products.  In float32 on an H200 a step of GPT-2 took 27.9 ms with it and 25.2
    without, in bfloat16 13.1 and 15.3 (benchmarks/language.py).
    """
    softmaxes = [
        node for node in graph.nodes if node in SOFTMAX and node.attrs["T"] in TYPES and "device:CPU" not in node.device
    ]
    if not softmaxes:
        return graph
    finder = _Finder(graph)
    values: dict[Value, Value] = {}
    new: list[Node] = []
    for softmax in softmaxes:
        found = finder.find(softmax)
        if found is not None:
            new += _fuse(softmax, *found, values)
    if new:
        graph.nodes = graph.nodes + new
        graph.replace(values, {})
        graph.sweep()
        graph.sort()
    return graph


class _Finder:
    def __init__(self, graph: StepGraph) -> None:
        self._users = graph.users()
        self._kept = {value.op for value in graph.fetches} | set(graph.targets)
        self._kept |= {before for node in graph.nodes for before in node.control_inputs}

    def find(self, softmax: Node) -> tuple[_Scores, Node, _Slopes | None] | None:
        """The scores, the product with the values, and the gradients; None if the node is no part of attention."""
        scores = self._scores(softmax)
        if scores is None or not self._is_inner(softmax):
            return None
        users = self._users.get(softmax.outputs[0], [])
        ahead = [n for n in users if n in PRODUCT and n.inputs[0] is softmax.outputs[0] and not n.attrs["adj_x"]]
        if len(ahead) != 1 or ahead[0].attrs["adj_y"] or not _fit(scores, softmax, ahead[0]):
            return None
        rest = [n for n in users if n is not ahead[0]]
        if not rest:
            return scores, ahead[0], None
        slopes = self._slopes(softmax, scores, ahead[0].inputs[1], rest)
        return None if slopes is None else (scores, ahead[0], slopes)

    def _scores(self, softmax: Node) -> _Scores | None:
        """Goes up from the softmax to the product of queries and keys."""
        node, scores = softmax.inputs[0].op, _Scores(softmax.inputs[0], softmax.inputs[0])
        while node not in PRODUCT:
            below = self._step(node, scores)
            if below is None or not self._is_used_once(node):
                return None
            node = below.op
        if node.attrs["adj_x"] or not node.attrs["adj_y"] or not self._is_used_once(node):
            return None
        if scores.seen is not None and not _hides(scores):
            return None
        scores.query, scores.key = node.inputs
        return scores

    def _step(self, node: Node, scores: _Scores) -> Value | None:
        """Takes one node into the scores; the value below it, or None if the node is not of the pattern."""
        if len(node.inputs) != 2:
            return None
        first, second = node.inputs
        factor = _number(second) if node in FACTOR or node in QUOTIENT else None
        if factor is None and node in FACTOR:
            first, second, factor = second, first, _number(first)
        if factor is not None:
            scores.scale *= factor if node in FACTOR else 1.0 / factor
            return first
        if scores.scale != 1.0:  # what is scaled after it is masked would scale the mask
            return None
        if node in FACTOR and scores.mask is not None and scores.seen is None:
            first, second = (second, first) if _array(first) is not None else (first, second)
            scores.seen = second
            return first
        if (node in SUM or node in DIFFERENCE) and scores.mask is None and scores.seen is None:
            if node in SUM and not self._leads_to_product(first) and self._leads_to_product(second):
                first, second = second, first
            scores.mask, scores.sign = second, 1.0 if node in SUM else -1.0
            return first
        return None

    def _leads_to_product(self, value: Value) -> bool:
        node = value.op
        while (node in FACTOR or node in QUOTIENT) and len(node.inputs) == 2:
            node = node.inputs[0].op if _array(node.inputs[0]) is None else node.inputs[1].op
        return node in PRODUCT

    def _slopes(self, softmax: Node, scores: _Scores, values: Value, rest: list[Node]) -> _Slopes | None:
        """Goes down from the softmax's gradient to those of queries and keys."""
        slopes = [n for n in rest if n in SLOPE and n.inputs[1] is softmax.outputs[0]]
        of_values = [n for n in rest if n in PRODUCT and n.inputs[0] is softmax.outputs[0] and n.attrs["adj_x"]]
        if len(slopes) > 1 or len(of_values) > 1 or len(slopes) + len(of_values) != len(rest):
            return None
        grads = [n.inputs[1] for n in of_values if not n.attrs["adj_y"]]
        if len(grads) != len(of_values):
            return None
        if not slopes:
            return _Slopes(grads[0], (None, None, of_values[0]))
        product = slopes[0].inputs[0].op
        if product not in PRODUCT or product.attrs["adj_x"] or not product.attrs["adj_y"]:
            return None
        grad = product.inputs[0]
        if product.inputs[1] is not values or any(one is not grad for one in grads) or not self._is_used_once(product):
            return None
        ends = self._ends(slopes[0], scores)
        return None if ends is None else _Slopes(grad, (*ends, of_values[0] if of_values else None))

    def _ends(self, slope: Node, scores: _Scores) -> tuple[Node | None, Node | None] | None:
        node, scale, seen = slope, 1.0, scores.seen
        while True:
            users = self._users.get(node.outputs[0], [])
            if not self._is_inner(node) or not users:
                return None
            if users[0] in PRODUCT:
                break
            if len(users) != 1 or len(users[0].inputs) != 2 or not (users[0] in FACTOR or users[0] in QUOTIENT):
                return None
            other = users[0].inputs[1] if users[0].inputs[0] is node.outputs[0] else users[0].inputs[0]
            factor = _number(other)
            if factor is not None:
                scale *= factor if users[0] in FACTOR else 1.0 / factor
            elif seen is not None and users[0] in FACTOR and _same(other, seen):
                seen = None
            else:
                return None
            node = users[0]
        if not np.isclose(scale, scores.scale, rtol=1e-3):  # constants may be rounded to 16 bits
            return None
        queries = [n for n in users if _is_product(n, node.outputs[0], scores.key, False)]
        keys = [n for n in users if _is_product(n, node.outputs[0], scores.query, True)]
        if len(queries) > 1 or len(keys) > 1 or {*queries, *keys} != set(users):
            return None
        return next(iter(queries), None), next(iter(keys), None)

    def _is_inner(self, node: Node) -> bool:
        """Whether nothing but other nodes' inputs need it."""
        return node not in self._kept and not node.control_inputs

    def _is_used_once(self, node: Node) -> bool:
        return self._is_inner(node) and len(self._users.get(node.outputs[0], ())) == 1


def _is_product(node: Node, first: Value, second: Value, adj_x: bool) -> bool:
    return (
        node in PRODUCT and node.inputs == [first, second] and node.attrs["adj_x"] is adj_x and not node.attrs["adj_y"]
    )


def _array(value: Value) -> np.ndarray[Any, Any] | None:
    """The value of a constant, also of one that is cast to 16 bits."""
    node = value.op.inputs[0].op if value.op in CAST else value.op
    return np.asarray(node.attrs["value"]) if node.op_def.traits.constant else None


def _number(value: Value) -> float | None:
    """The number that all elements of a constant equal, unless it is 0."""
    array = _array(value)
    if array is None or not array.size or array.dtype == object:
        return None
    first = array.flat[0]
    return float(first) if first and (array.size == 1 or bool((array == first).all())) else None


def _same(value: Value, other: Value) -> bool:
    if value is other:
        return True
    one, two = _array(value), _array(other)
    return one is not None and two is not None and one.shape == two.shape and bool((one == two).all())


def _hides(scores: _Scores) -> bool:
    """Whether the factor is 1 where the mask is 0, and the mask far below 0 elsewhere."""
    seen, mask = None if scores.seen is None else _array(scores.seen), scores.mask_array()
    if seen is None or mask is None or seen.shape != mask.shape:
        return False
    numbers, added = seen.astype(np.float32), mask.astype(np.float32)
    return bool(np.where(numbers == 1.0, added == 0.0, (numbers == 0.0) & (added <= HIDDEN)).all())


def _fit(scores: _Scores, softmax: Node, ahead: Node) -> bool:
    """Whether all are of one type and their outer sizes are the same, so that nothing is repeated over them."""
    tensors = [scores.query, scores.key, ahead.inputs[1]]
    sizes = [value.shape.tuple for value in tensors]
    full = softmax.outputs[0].shape.tuple
    if full is None or len(full) not in (3, 4) or any(one is None or len(one) != len(full) for one in sizes):
        return False
    outer = {one[:-2] for one in sizes if one is not None}
    if None in full or len(outer) != 1 or {value.dtype for value in tensors} != {softmax.outputs[0].dtype}:
        return False
    if scores.mask is None:
        return True
    sides = scores.mask.shape.tuple
    if sides is None or len(sides) > len(full):
        return False
    return all(mine in (1, whole) for mine, whole in zip(sides[::-1], full[::-1], strict=False))


def _is_causal(scores: _Scores, length: tuple[int | None, ...]) -> bool:
    """Whether the mask hides what comes later, and nothing else."""
    mask = scores.mask_array()
    if mask is None or mask.ndim < 2 or mask.shape[-2:] != length or mask.size != mask.shape[-1] ** 2:
        return False
    square = mask.astype(np.float32).reshape(mask.shape[-2:])
    later = np.triu(np.ones(square.shape, bool), 1)
    return bool((square[later] <= HIDDEN).all() and not square[~later].any())


def _fuse(
    softmax: Node, scores: _Scores, ahead: Node, slopes: _Slopes | None, values: dict[Value, Value]
) -> list[Node]:
    """The new nodes; ``values`` gets what they take the place of."""
    new: list[Node] = []
    causal = _is_causal(scores, (softmax.outputs[0].shape.tuple or ())[-2:])
    masks: list[Value] = []
    if scores.mask is not None and not causal:
        masks.append(scores.mask if scores.sign > 0 else _negated(softmax, scores, new))
    attrs = {"T": softmax.attrs["T"], "N": len(masks), "scale": scores.scale, "causal": causal}
    inputs = [scores.query, scores.key, ahead.inputs[1]]

    def add(name: str, type_: str, near: Node, taken: list[Value], outputs: list[Value]) -> Node:
        node = Node(
            name, REGISTRY.get(type_), taken, dict(attrs), near.order, None, near.device, near.source, near.origin
        )  # fmt: skip
        new.append(node.add_outputs([(value.dtype, value.shape) for value in outputs]))
        return node

    fused = add(f"{ahead.name}/attention", "_Attention", ahead, [*inputs, *masks], ahead.outputs)
    values[ahead.outputs[0]] = fused.outputs[0]
    if slopes is None:
        return new
    last = max((node for node in slopes.nodes if node is not None), key=lambda node: node.order)
    slope = add(f"{ahead.name}/attention_grad", "_AttentionGrad", last, [*inputs, slopes.grad, *masks], inputs)
    for node, value in zip(slopes.nodes, slope.outputs, strict=True):
        if node is not None:
            values[node.outputs[0]] = value
    return new


def _negated(softmax: Node, scores: _Scores, new: list[Node]) -> Value:
    """The mask with the other sign: a constant where it is one."""
    assert scores.mask is not None
    mask, array = scores.mask, scores.mask_array()
    if array is not None and mask.op not in CAST:
        node = make_constant(softmax, "mask", array.astype(np.asarray(mask.op.attrs["value"]).dtype), mask.dtype)
    else:
        node = Node(
            f"{softmax.name}/mask", REGISTRY.get("Neg"), [mask], {"T": mask.dtype}, softmax.order, None,
            softmax.device, softmax.source, softmax.origin,
        ).add_outputs([(mask.dtype, TensorShape(mask.shape))])  # fmt: skip
    new.append(node)
    return node.outputs[0]
