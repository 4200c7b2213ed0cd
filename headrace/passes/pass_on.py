"""Values passed on: what is put into a stash or written to an array, and taken out again -> passed directly.

    %r = _PushStash(%rest, %a, %b)   %q, %c, %d = _PopStash(%r)   %y = Mul(%c, %d)      ->      %y = Mul(%a, %b)

    %f = TensorArrayWriteV3(%array, 0, %a, %array:1)   %g = TensorArrayWriteV3(%array, 1, %b, %f)
    %x = TensorArrayReadV3(%array, 1, %g)   %y = TensorArrayGatherV3(%array, [0, 1], %g)
    ->
    %y = Pack(%a, %b)   with %b for %x

Loops pass values on in this way.  Once a loop is unrolled every index is a constant.  A node that would fail stays, and so
does all that depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.registry import REGISTRY
from headrace.core.shape import as_shape
from headrace.graph.infer import infer_shapes
from headrace.passes.match import Ops
from headrace.passes.rule import make_constant, numbers
from headrace.passes.specialise import infer_outputs
from headrace.passes.step_graph import Node, StepGraph, Value

PUSH, POP = Ops("_PushStash"), Ops("_PopStash")


def pass_stashes(graph: StepGraph) -> StepGraph:
    """Passes what is pushed directly to the node that pops it."""
    values: dict[Value, Value] = {}
    for node in graph.nodes:
        if values:
            node.inputs = [values.get(v, v) for v in node.inputs]
        if node in POP and node.inputs[0].op in PUSH:
            values.update(zip(node.outputs, node.inputs[0].op.inputs, strict=True))
    graph.replace(values, {})
    graph.sweep()
    return graph


def pass_on(graph: StepGraph) -> StepGraph:
    """Passes what arrays hold directly to the nodes that read it, where that is known."""
    pass_stashes(graph)
    known = _Known()
    for node in graph.nodes:
        node.inputs = [known.values.get(v, v) for v in node.inputs]
        if node.inputs and not all(v.shape.is_fully_defined() for v in node.outputs):
            infer_outputs(node)  # it may read what was passed directly, whose shape is known
        learn = _LEARN.get(node.type)
        if learn is not None and not _waits(node):
            learn(node, known)
    if known.values:
        graph.nodes = graph.nodes + known.new
        graph.replace(known.values, {})
        graph.sweep()
        graph.sort()
    return graph


def _waits(node: Node) -> bool:
    """Whether the node waits for more than its inputs, or a constant does that tells it a place."""
    return bool(node.control_inputs) or any(v.op.op_def.traits.constant and v.op.control_inputs for v in node.inputs)


@dataclass(frozen=True, slots=True)
class _Array:
    """What is known of an array at one moment.  In a gradient, an item that is missing is zero."""

    items: dict[int, Value]
    size: int = 0
    made_by: Node | None = None  # the array's own node; None for a gradient


class _Known:
    """What is known while the nodes are gone through in order."""

    def __init__(self) -> None:
        self.arrays: dict[Value, _Array] = {}
        self.rows: dict[Value, tuple[Value, ...]] = {}
        self.values: dict[Value, Value] = {}  # what is passed directly
        self.new: list[Node] = []

    def make(self, near: Node, op_type: str, inputs: Sequence[Value], **attrs: Any) -> Node:
        """A node in the place of ``near``."""
        definition = REGISTRY.get(op_type)
        base = attrs["T"]
        node = Node(
            f"{near.name}/{op_type}_{len(self.new)}", definition, list(inputs), attrs, near.order, device=near.device,
            source=near.source, origin=near.origin,
        )  # fmt: skip
        count = attrs.get("num", 1)
        node.add_outputs((base, s) for s in infer_shapes(definition, node.inputs, attrs, count))  # type: ignore[arg-type]
        self.new.append(node)
        return node

    def constant(self, near: Node, value: Any, dtype: Any = int32) -> Value:
        node = make_constant(near, f"Const_{len(self.new)}", np.array(value, dtype.as_numpy_dtype), dtype)
        self.new.append(node)
        return node.outputs[0]

    def zeros(self, near: Node, dims: Sequence[int], dtype: Any) -> Value:
        inputs = [self.constant(near, list(dims)), self.constant(near, 0, dtype)]
        return self.make(near, "Fill", inputs, T=dtype, index_type=int32).outputs[0]

    def rows_of(self, near: Node, value: Value) -> list[Value]:
        base = value.dtype.base_dtype
        return self.make(near, "Unpack", [value], T=base, num=value.shape.tuple[0], axis=0).outputs  # type: ignore[index]

    def stack(self, near: Node, items: Sequence[Value]) -> Value:
        return self.make(near, "Pack", items, T=items[0].dtype.base_dtype, N=len(items), axis=0).outputs[0]


_LEARN: dict[str, Callable[[Node, _Known], None]] = {}


def _of(op_type: str) -> Callable[[Callable[[Node, _Known], None]], Callable[[Node, _Known], None]]:
    def register(learn: Callable[[Node, _Known], None]) -> Callable[[Node, _Known], None]:
        _LEARN[op_type] = learn
        return learn

    return register


def _number(value: Value) -> int | None:
    found = numbers(value)
    return found[0] if found is not None and value.shape.ndims == 0 else None


def _is_tensor_of(value: Value, node: Node) -> bool:
    """Whether the value is a tensor of known shape on the device of the node."""
    return value.shape.is_fully_defined() and value.op.device == node.device and value.dtype.name != "string"


# ---- arrays


@_of("TensorArrayV3")
def _(node: Node, known: _Known) -> None:
    size = _number(node.inputs[0])
    if size is not None and size >= 0:
        known.arrays[node.outputs[1]] = _Array({}, size, node)


def _written(node: Node, array: _Array | None, items: dict[int, Value]) -> _Array | None:
    """The array with more items; None if it is not known, or if writing fails."""
    if array is None or array.made_by is None:
        return None
    attrs = array.made_by.attrs
    size = max(array.size, *(i + 1 for i in items)) if attrs["dynamic_size"] and items else array.size
    for index, value in items.items():
        if not 0 <= index < size or index in array.items or value.dtype.base_dtype != attrs["dtype"]:
            return None
        if not _is_tensor_of(value, node) or not as_shape(attrs["element_shape"]).is_compatible_with(value.shape):
            return None
    return _Array({**array.items, **items}, size, array.made_by)


@_of("TensorArrayWriteV3")
def _(node: Node, known: _Known) -> None:
    index = _number(node.inputs[1])
    array = None if index is None else _written(node, known.arrays.get(node.inputs[3]), {index: node.inputs[2]})
    if array is not None:
        known.arrays[node.outputs[0]] = array


@_of("TensorArrayScatterV3")
def _(node: Node, known: _Known) -> None:
    array = known.arrays.get(node.inputs[3])
    items = _unstacked(node, node.inputs[1], node.inputs[2], known) if array is not None else None
    array = None if items is None else _written(node, array, items)
    if array is not None:
        known.arrays[node.outputs[0]] = array


def _unstacked(node: Node, indices: Value, value: Value, known: _Known) -> dict[int, Value] | None:
    """The rows of a tensor by their indices."""
    places = numbers(indices)
    if places is None or not _is_tensor_of(value, node) or not value.shape.ndims:
        return None
    if len(set(places)) != len(places) or len(places) != value.shape.tuple[0]:  # type: ignore[index]
        return None
    return dict(zip(places, known.rows_of(node, value), strict=True)) if places else {}


def _items(node: Node, array: _Array | None, indices: Sequence[int] | None) -> list[Value] | None:
    """The items at these indices, if all can be read by a node."""
    if array is None or indices is None or node.attrs["dtype"] not in _types(array):
        return None
    found = [array.items[i] for i in indices if i in array.items]
    return found if len(found) == len(indices) and all(_is_tensor_of(v, node) for v in found) else None


def _types(array: _Array) -> set[Any]:
    return {v.dtype.base_dtype for v in array.items.values()}


@_of("TensorArrayReadV3")
def _(node: Node, known: _Known) -> None:
    index = _number(node.inputs[1])
    items = _items(node, known.arrays.get(node.inputs[2]), None if index is None else [index])
    if items is not None:
        known.values[node.outputs[0]] = items[0]


@_of("TensorArrayGatherV3")
def _(node: Node, known: _Known) -> None:
    items = _items(node, known.arrays.get(node.inputs[2]), numbers(node.inputs[1]))
    if items and len({v.shape.tuple for v in items}) == 1:
        known.values[node.outputs[0]] = known.stack(node, items)


@_of("TensorArraySizeV3")
def _(node: Node, known: _Known) -> None:
    array = known.arrays.get(node.inputs[1])
    if array is not None:
        known.values[node.outputs[0]] = known.constant(node, array.size)


@_of("_ElementShape")
def _(node: Node, known: _Known) -> None:
    array, index = known.arrays.get(node.inputs[2]), _number(node.inputs[1])
    item = None if array is None or index is None else array.items.get(index)
    if item is not None:
        known.values[node.outputs[0]] = known.constant(node, list(item.shape.tuple or ()))


# ---- gradients of arrays


@_of("_ZerosVariant")
def _(node: Node, known: _Known) -> None:
    if node.inputs[0] in known.arrays:
        known.arrays[node.outputs[0]] = _Array({})


@_of("_ArrayOf")
def _(node: Node, known: _Known) -> None:
    index = _number(node.inputs[0])
    if index is not None and _is_tensor_of(node.inputs[1], node):
        known.arrays[node.outputs[0]] = _Array({index: node.inputs[1]})


@_of("_ArrayUnstacked")
def _(node: Node, known: _Known) -> None:
    items = _unstacked(node, node.inputs[0], node.inputs[1], known)
    if items is not None:
        known.arrays[node.outputs[0]] = _Array(items)


@_of("_AddVariants")
def _(node: Node, known: _Known) -> None:
    x, y = known.arrays.get(node.inputs[0]), known.arrays.get(node.inputs[1])
    if x is None or y is None:
        return
    total = dict(x.items)
    for index, value in y.items.items():
        before = total.get(index)
        if before is None:
            total[index] = value
        elif before.shape.tuple == value.shape.tuple and before.op.device == value.op.device == node.device:
            total[index] = known.make(node, "AddV2", [before, value], T=value.dtype.base_dtype).outputs[0]
        else:
            return
    known.arrays[node.outputs[0]] = _Array(total)


@_of("_ArrayItem")
def _(node: Node, known: _Known) -> None:
    array, index, dims = known.arrays.get(node.inputs[0]), _number(node.inputs[1]), numbers(node.inputs[2])
    if array is None or index is None:
        return
    if index in array.items:
        known.values[node.outputs[0]] = array.items[index]
    elif dims is not None and min(dims, default=0) >= 0:
        known.values[node.outputs[0]] = known.zeros(node, dims, node.attrs["dtype"])


@_of("_ArrayStacked")
def _(node: Node, known: _Known) -> None:
    array, indices, dims = known.arrays.get(node.inputs[0]), numbers(node.inputs[1]), numbers(node.inputs[2])
    if array is None or not indices or not dims:
        return
    shapes = {array.items[i].shape.tuple for i in indices if i in array.items}
    if len(indices) != dims[0] or shapes - {tuple(dims[1:])}:
        return
    if not all(_is_tensor_of(array.items[i], node) for i in indices if i in array.items):
        return
    missing = known.zeros(node, dims[1:], node.attrs["dtype"]) if any(i not in array.items for i in indices) else None
    known.values[node.outputs[0]] = known.stack(node, [array.items.get(i, missing) for i in indices])  # type: ignore[misc]


# ---- rows that a loop collects (passes/defer_sums.py)


@_of("_EmptyStash")
def _(node: Node, known: _Known) -> None:
    known.rows[node.outputs[0]] = ()


@_of("_PushRow")
def _(node: Node, known: _Known) -> None:
    rest = known.rows.get(node.inputs[0])
    if rest is not None and _is_tensor_of(node.inputs[1], node):
        known.rows[node.outputs[0]] = (node.inputs[1], *rest)


@_of("_JoinRows")
def _(node: Node, known: _Known) -> None:
    rows = known.rows.get(node.inputs[0])
    if not rows or not all(_is_tensor_of(v, node) for v in rows):
        return
    axis = known.constant(node, node.attrs["axis"])
    attrs = {"T": node.attrs["T"], "N": len(rows), "Tidx": int32}
    known.values[node.outputs[0]] = known.make(node, "ConcatV2", [*rows, axis], **attrs).outputs[0]


CARRIERS = Ops("_PushStash", "_PopStash", *_LEARN)
