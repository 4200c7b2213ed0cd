"""Attention: the softmax of scaled products, masked, times values -> one node, which an accelerator has one kernel for.

    %p = Softmax(Add(Mul(BatchMatMulV2(%q, %k) {adj_y}, scale), %mask))
    %o = BatchMatMulV2(%p, %v)                                            ->      %o = _Attention(%q, %k, %v, %mask) {scale}

and the gradients of %q, %k and %v, where the step has them, become one ``_AttentionGrad``.  The scores, a square of the length
for each head, are then never written to memory.  GPT-2's mask, ``w * b - 1e10 * (1 - b)`` with zeros and ones in b, is one that
is added, since what it masks is 0 after the softmax.  A mask that leaves the past is ``causal``: half of the work.

Where the device has kernels for them, training has ``_AttentionForward`` and ``_AttentionBackward``, in which the first hands to
the second what it found.  These can also have dropout between the softmax and the values (passes/dropout.py): forward draws which
weights are dropped, backward the same ones again.

Left as they are: a mask that has a gradient itself, scores or weights that are fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, bfloat16, float16, float32, int64
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.passes.choose_device import HasKernel, parts_of
from headrace.passes.dropout import FACTOR, QUOTIENT, SUM, Dropout, dropout_behind
from headrace.passes.match import CAST, Ops, array_of, number_of
from headrace.passes.rule import make_constant
from headrace.passes.specialise import infer_outputs
from headrace.passes.step_graph import Node, StepGraph, Value

SOFTMAX, SLOPE, PRODUCT = Ops("Softmax"), Ops("_SoftmaxGrad"), Ops("BatchMatMul", "BatchMatMulV2")
DIFFERENCE = Ops("Sub")
TYPES = (bfloat16, float16)  # in float32, products are faster than a gradient that computes forward once more
PAIRED = (*TYPES, float32)
HIDDEN = -1e4  # a score that far below the others is 0 after the softmax
ALIGNED = 8  # numbers: the kernels that keep what the gradient needs read queries, keys and values in such pieces


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
        array = None if self.mask is None else array_of(self.mask)
        return None if array is None else array * self.sign


@dataclass(slots=True)
class _Slopes:
    """The nodes that are the gradients of values, queries and keys, as far as the step has them."""

    grad: Value
    nodes: tuple[Node | None, Node | None, Node | None]


@dataclass(slots=True)
class _Found:
    scores: _Scores
    ahead: Node  # the product with the values
    slopes: _Slopes | None
    dropout: Dropout | None


def attention(graph: StepGraph, has_kernel: HasKernel) -> StepGraph:
    """Only on accelerators: on a CPU torch's kernel is no faster than the products."""
    softmaxes = [
        node
        for node in graph.nodes
        if node in SOFTMAX and node.attrs["T"] in PAIRED and "device:CPU" not in node.device
    ]
    if not softmaxes:
        return graph
    finder = _Finder(graph)
    values: dict[Value, Value] = {}
    new: list[Node] = []
    for softmax in softmaxes:
        found = finder.find(softmax)
        if found is None:
            continue
        if (found.slopes or found.dropout) and _can_pair(found, has_kernel):
            new += _fuse(softmax, found, True, values)
        elif not found.dropout and softmax.attrs["T"] in TYPES:
            new += _fuse(softmax, found, False, values)
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

    def find(self, softmax: Node) -> _Found | None:
        """What the softmax is part of; None if that is no attention."""
        scores = self._scores(softmax)
        if scores is None or not self._is_inner(softmax):
            return None
        weights, dropout = self._weights(softmax)
        users = self._users.get(weights, [])
        ahead = [n for n in users if n in PRODUCT and n.inputs[0] is weights and not n.attrs["adj_x"]]
        if len(ahead) != 1 or ahead[0].attrs["adj_y"] or not _fit(scores, softmax, ahead[0]):
            return None
        rest = [n for n in users if n is not ahead[0]]
        if dropout is not None:
            if not self._is_inner(weights.op) or not self._is_inner(dropout.keep.op):
                return None
            slopes_of = [n for n in self._users.get(softmax.outputs[0], ()) if n in SLOPE]
            if len(self._users[dropout.keep]) != 1 + len(slopes_of):  # others would see what the kernel does not drop
                return None
            rest += slopes_of
        if not rest:
            return _Found(scores, ahead[0], None, dropout)
        slopes = self._slopes(softmax, scores, weights, ahead[0].inputs[1], rest, dropout)
        return None if slopes is None else _Found(scores, ahead[0], slopes, dropout)

    def _weights(self, softmax: Node) -> tuple[Value, Dropout | None]:
        """What the values are multiplied with: what the softmax gives, or what dropout leaves of it."""
        value = softmax.outputs[0]
        while True:
            users = [n for n in self._users.get(value, ()) if n not in SLOPE]
            if len(users) != 1 or not (users[0] in FACTOR or users[0] in QUOTIENT):
                break
            value = users[0].outputs[0]
        dropout = dropout_behind(value, self._only_users)
        if (
            dropout is None
            or dropout.source is not softmax.outputs[0]
            or value.shape.tuple != dropout.source.shape.tuple
        ):
            return softmax.outputs[0], None
        return value, dropout

    def _only_users(self, value: Value) -> list[Node]:
        return self._users.get(value, []) if self._is_inner(value.op) else []

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
        factor = number_of(second) if node in FACTOR or node in QUOTIENT else None
        if factor is None and node in FACTOR:
            first, second, factor = second, first, number_of(first)
        if factor is not None:
            scores.scale *= factor if node in FACTOR else 1.0 / factor
            return first
        if scores.scale != 1.0:  # what is scaled after it is masked would scale the mask
            return None
        if node in FACTOR and scores.mask is not None and scores.seen is None:
            first, second = (second, first) if array_of(first) is not None else (first, second)
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
            node = node.inputs[0].op if array_of(node.inputs[0]) is None else node.inputs[1].op
        return node in PRODUCT

    def _slopes(
        self, softmax: Node, scores: _Scores, weights: Value, values: Value, rest: list[Node], dropout: Dropout | None
    ) -> _Slopes | None:
        """Goes down from the softmax's gradient to those of queries and keys."""
        slopes = [n for n in rest if n in SLOPE and n.inputs[1] is softmax.outputs[0]]
        of_values = [n for n in rest if n in PRODUCT and n.inputs[0] is weights and n.attrs["adj_x"]]
        if len(slopes) > 1 or len(of_values) > 1 or len(slopes) + len(of_values) != len(rest):
            return None
        grads = [n.inputs[1] for n in of_values if not n.attrs["adj_y"]]
        if len(grads) != len(of_values):
            return None
        if not slopes:
            return _Slopes(grads[0], (None, None, of_values[0]))
        back = slopes[0].inputs[0]
        if dropout is not None:
            same = dropout_behind(back, self._only_users)
            if same is None or same.keep is not dropout.keep or not self._is_used_once(back.op):
                return None
            back = same.source
        product = back.op
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
            factor = number_of(other)
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


def _same(value: Value, other: Value) -> bool:
    if value is other:
        return True
    one, two = array_of(value), array_of(other)
    return one is not None and two is not None and one.shape == two.shape and bool((one == two).all())


def _hides(scores: _Scores) -> bool:
    """Whether the factor is 1 where the mask is 0, and the mask far below 0 elsewhere."""
    seen, mask = None if scores.seen is None else array_of(scores.seen), scores.mask_array()
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
    if None in full or outer != {full[:-2]} or {value.dtype for value in tensors} != {softmax.outputs[0].dtype}:
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


def _can_pair(found: _Found, has_kernel: HasKernel) -> bool:
    """Whether the device has kernels of which one hands to the other what it found, and they take vectors of these sizes."""
    widths = [value.shape.tuple for value in (found.scores.query, found.ahead.inputs[1])]
    if any(one is None or one[-1] is None or one[-1] % ALIGNED for one in widths):
        return False
    near = found.ahead
    node = Node(near.name, REGISTRY.get("_AttentionForward"), [], {"T": near.attrs["T"]}, near.order, None, near.device)
    return has_kernel(node, parts_of(near.device)[3] or "CPU")


def _fuse(softmax: Node, found: _Found, paired: bool, values: dict[Value, Value]) -> list[Node]:
    """The new nodes; ``values`` gets what they take the place of.  ``paired``: forward hands on what it found."""
    scores, ahead, slopes, dropout = found.scores, found.ahead, found.slopes, found.dropout
    new: list[Node] = []
    causal = _is_causal(scores, (softmax.outputs[0].shape.tuple or ())[-2:])
    masks: list[Value] = []
    if scores.mask is not None and not causal:
        masks.append(scores.mask if scores.sign > 0 else _negated(softmax, scores, new))
    attrs = {"T": softmax.attrs["T"], "N": len(masks), "scale": scores.scale, "causal": causal}
    inputs = [scores.query, scores.key, ahead.inputs[1]]
    forward, backward = ("_AttentionForward", "_AttentionBackward") if paired else ("_Attention", "_AttentionGrad")
    if paired:
        attrs["rate"] = dropout.rate if dropout else 0.0

    def add(name: str, type_: str, near: Node, taken: list[Value], types: Sequence[DType]) -> Node:
        node = Node(
            name, REGISTRY.get(type_), taken, dict(attrs), near.order, None, near.device, near.source, near.origin
        )  # fmt: skip
        new.append(node.add_outputs([(dtype, TensorShape(None)) for dtype in types]))
        infer_outputs(node)
        return node

    own = (float32, int64, int64) if paired else ()  # what the gradient needs beside the output
    fused = add(f"{ahead.name}/attention", forward, ahead, [*inputs, *masks], (attrs["T"], *own))
    values[ahead.outputs[0]] = fused.outputs[0]
    if slopes is None:
        return new
    last = max((node for node in slopes.nodes if node is not None), key=lambda node: node.order)
    taken = [*inputs, slopes.grad, *(fused.outputs if own else ()), *masks]
    slope = add(f"{ahead.name}/attention_grad", backward, last, taken, [attrs["T"]] * 3)
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
