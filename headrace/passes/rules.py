"""The rules of ``simplify``.  A docstring is what the rule does, before -> after.

Each rule is here because a model, an example, a program in tests/tensorflow or a graph that TensorFlow exported holds its
pattern, or because another pass sees more after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headrace.core.dtypes import int32
from headrace.passes.match import Ops
from headrace.passes.rule import (
    Answer,
    Change,
    Facts,
    Rule,
    collect,
    constant,
    keeps_shape,
    make_constant,
    numbers,
    uniform,
)
from headrace.passes.step_graph import Node, Value, behind_identities

RULES: list[Rule] = []
rule = collect(RULES)

MOST_FACTORS = 15  # of a power that is multiplied out
PRODUCT, CONJUNCTION = Ops("Mul"), Ops("LogicalAnd")
TRANSPOSE, SHAPE, RESHAPES = Ops("Transpose"), Ops("Shape"), Ops("Reshape", "ExpandDims", "Squeeze")
UNIQUE, GATHER, PAD, ZEROS = Ops("Unique"), Ops("GatherV2"), Ops("Pad"), Ops("ZerosLike")


def _real(value: Value) -> bool:
    dtype = value.dtype.base_dtype
    return dtype.is_floating or dtype.is_integer


# ---- arithmetic


@rule("Mul")
def _times_one(node: Node, facts: Facts) -> Answer:
    """x * 1 -> x"""
    for x, y in (node.inputs, node.inputs[::-1]):
        if uniform(y) == 1 and _real(x) and keeps_shape(x, y):
            return x
    return None


@rule("Mul", rounds=True)
def _merged_factors(node: Node, facts: Facts) -> Answer:
    """(x * 0.5) * 4. -> x * 2."""
    if not node.inputs[0].dtype.base_dtype.is_floating:
        return None
    for product, last in (node.inputs, node.inputs[::-1]):
        if product.op not in PRODUCT or not facts.only_use(product):
            continue
        for x, first in (product.op.inputs, product.op.inputs[::-1]):
            a, b = constant(first), constant(last)
            if a is None or b is None or constant(x) is not None or not _holds(a, first) or not _holds(b, last):
                continue
            if not (keeps_shape(x, first) and keeps_shape(product, last)):
                continue  # the shape of the result would not follow from the merged constant
            with np.errstate(all="ignore"):
                factor = np.asarray(a * b)
            if _is_normal(factor):
                merged = make_constant(node, "factor", factor, last.dtype.base_dtype)
                return Change("Mul", [x, merged.outputs[0]], node.attrs, [merged])
    return None


def _holds(array: np.ndarray, value: Value) -> bool:
    """Whether the array has the dtype of the value (not so for bfloat16)."""
    return bool(array.dtype == np.dtype(value.dtype.base_dtype.as_numpy_dtype)) and value.dtype.name != "bfloat16"


def _is_normal(array: np.ndarray) -> bool:
    size = np.abs(array)
    return bool(np.isfinite(array).all() and (size >= np.finfo(array.dtype).tiny).all())


@rule("Sub")
def _minus_zero(node: Node, facts: Facts) -> Answer:
    """x - 0 -> x"""
    x, y = node.inputs
    number = uniform(y)
    return x if number == 0 and not np.signbit(np.real(number)) and _real(x) and keeps_shape(x, y) else None


@rule("Add", "AddV2")
def _plus_zero(node: Node, facts: Facts) -> Answer:
    """x + 0 -> x for integers, x + -0. -> x for floats"""
    for x, y in (node.inputs, node.inputs[::-1]):
        number = uniform(y)
        if number == 0 and _real(x) and keeps_shape(x, y) and (x.dtype.base_dtype.is_integer or np.signbit(number)):
            return x
    return None


@rule("Add", "AddV2", rounds=True)
def _plus_positive_zero(node: Node, facts: Facts) -> Answer:
    """x + 0. -> x; differs in the sign of zero, where x is -0."""
    for x, y in (node.inputs, node.inputs[::-1]):
        if uniform(y) == 0 and _real(x) and keeps_shape(x, y):
            return x
    return None


@rule("RealDiv", "Div")
def _over_one(node: Node, facts: Facts) -> Answer:
    """x / 1 -> x"""
    x, y = node.inputs
    return x if uniform(y) == 1 and _real(x) and keeps_shape(x, y) else None


@rule("Pow")
def _power_of_one(node: Node, facts: Facts) -> Answer:
    """x ** 1 -> x"""
    x, y = node.inputs
    return x if uniform(y) == 1 and _real(x) and keeps_shape(x, y) else None


@rule("Pow", rounds=True)
def _power_of_two(node: Node, facts: Facts) -> Answer:
    """x ** 2 -> square(x)"""
    x, y = node.inputs
    return Change("Square", [x], node.attrs) if uniform(y) == 2 and _real(x) and keeps_shape(x, y) else None


@rule("Pow", rounds=True)
def _power_of_number(node: Node, facts: Facts) -> Answer:
    """x ** [3.] -> power_of(x, 3.): x * x * x in a kernel.  For halves it would be a root, of other zeros and infinities."""
    x, y = node.inputs
    exponent = uniform(y)
    if exponent is None or not x.dtype.base_dtype.is_floating or not keeps_shape(x, y):
        return None
    if not 2 < exponent <= MOST_FACTORS or exponent % 1:
        return None
    return Change("_PowerOf", [x], {"T": node.attrs["T"], "exponent": float(exponent)})


@rule("LogicalAnd", "LogicalOr")
def _with_constant(node: Node, facts: Facts) -> Answer:
    """x & True -> x, x | False -> x"""
    neutral = node in CONJUNCTION
    for x, y in (node.inputs, node.inputs[::-1]):
        truth = uniform(y)
        if truth is not None and bool(truth) is neutral and keeps_shape(x, y):
            return x
    return None


@rule("Cast")
def _cast_to_itself(node: Node, facts: Facts) -> Answer:
    """cast(x: float32, float32) -> x"""
    x = node.inputs[0]
    return x if x.dtype.base_dtype == node.attrs["DstT"] else None


@rule("AddN", rounds=True)
def _sum_with_zeros(node: Node, facts: Facts) -> Answer:
    """add_n([x, zeros_like(y), z]) -> add_n([x, z]); differs in the sign of zero, where all others are -0."""
    terms = [v for v in node.inputs if v.op not in ZEROS]
    if not terms or len(terms) == len(node.inputs) or not all(v.shape.is_fully_defined() for v in node.inputs):
        return None
    return terms[0] if len(terms) == 1 else Change("AddN", terms, {**node.attrs, "N": len(terms)})


@rule("_SumToShape")
def _sum_of_nothing(node: Node, facts: Facts) -> Answer:
    """sum_to_shape(x: [8, 3], [8, 3]) -> x"""
    x, shape = node.inputs
    dims = x.shape.tuple
    return x if dims is not None and None not in dims and numbers(shape) == list(dims) else None


# ---- arrangement


@rule("MatMul", rounds=True)
def _product_of_transposed(node: Node, facts: Facts) -> Answer:
    """matmul(transpose(a), b) -> matmul(a, b, transpose_a=True), which the passes for products recognise"""
    for i, name in enumerate(("transpose_a", "transpose_b")):
        transposed = node.inputs[i].op
        if transposed in TRANSPOSE and numbers(transposed.inputs[1]) == [1, 0]:
            inputs = list(node.inputs)
            inputs[i] = transposed.inputs[0]
            return Change("MatMul", inputs, {**node.attrs, name: not node.attrs[name]})
    return None


@rule("Reshape")
def _own_shape(node: Node, facts: Facts) -> Answer:
    """reshape(x: [?, 3], [-1, 3]) -> x, reshape(x, shape(x)) -> x"""
    x, shape = node.inputs
    if shape.op in SHAPE and shape.op.inputs[0] is x:
        return x
    mine, target = x.shape.tuple, numbers(shape)
    if mine is None or target is None or len(mine) != len(target):
        return None
    open_ = [i for i, n in enumerate(target) if n == -1]
    if any(m != w for i, (m, w) in enumerate(zip(mine, target, strict=True)) if i not in open_):
        return None
    return x if len(open_) <= 1 and (not open_ or 0 not in target) else None


@rule("Reshape")
def _reshaped_twice(node: Node, facts: Facts) -> Answer:
    """reshape(reshape(x, s), t) -> reshape(x, t), where x has a known shape, so that the first cannot fail"""
    inner = node.inputs[0].op
    if inner not in RESHAPES or not inner.inputs[0].shape.is_fully_defined():
        return None
    return Change("Reshape", [inner.inputs[0], node.inputs[1]], node.attrs)


@rule("StridedSlice")
def _unread_end(node: Node, facts: Facts) -> Answer:
    """x[:, i], whose begin is [0, i] and whose end is [0, i + 1] -> the same with begin as its end, which nothing reads"""
    x, begin, end, strides = node.inputs
    size = begin.shape.tuple
    if begin is end or end.op.op_def.traits.constant or not size or size[0] is None or end.shape.tuple != size:
        return None
    if node.attrs["ellipsis_mask"] or node.attrs["new_axis_mask"]:
        return None
    if node.attrs["end_mask"] | node.attrs["shrink_axis_mask"] != (1 << size[0]) - 1:
        return None
    return Change("StridedSlice", [x, begin, begin, strides], node.attrs)


@rule("GatherV2")
def _gathered_in_order(node: Node, facts: Facts) -> Answer:
    """gather(x: [3, ...], [0, 1, 2]) -> x"""
    x, indices, axes = node.inputs
    order, axis = constant(indices), numbers(axes)
    rank = x.shape.ndims
    if order is None or order.ndim != 1 or axis is None or rank is None or node.attrs.get("batch_dims"):
        return None
    if not -rank <= axis[0] < rank or (x.shape.tuple or ())[axis[0]] != order.size:
        return None
    return x if order.tolist() == list(range(order.size)) else None


@rule("Add", "AddV2", "AddN", rounds=True)
def _pads_side_by_side(node: Node, facts: Facts) -> Answer:
    """pad(x, [[0, 3]]) + pad(y, [[2, 0]]) -> concat([x, y]), where x has 2 rows and y has 3: the gradient of two slices"""
    pads = sorted((pad for v in node.inputs if (pad := _padded(v)) is not None), key=lambda pad: pad.before)
    if len(pads) < max(2, len(node.inputs)) or len({pad.axis for pad in pads}) > 1:
        return None
    if len({v.shape.tuple for v in node.inputs}) > 1:
        return None  # one of them is broadcast
    ends = [0, *(pad.before + pad.size for pad in pads)]
    if [pad.before for pad in pads] != ends[:-1] or pads[-1].after:
        return None
    axis = make_constant(node, "axis", np.array(pads[0].axis, np.int32), int32)
    attrs = {"N": len(pads), "T": node.outputs[0].dtype.base_dtype, "Tidx": int32}
    return Change("ConcatV2", [*(pad.value for pad in pads), axis.outputs[0]], attrs, [axis])


class _Padded(NamedTuple):
    """A value with zeros before and after it, along one axis."""

    value: Value
    axis: int
    before: int
    size: int
    after: int


def _padded(value: Value) -> _Padded | None:
    """What a Pad along one axis does; None for any other node."""
    if value.op not in PAD or value.op.control_inputs:
        return None
    x = value.op.inputs[0]
    paddings, shape = numbers(value.op.inputs[1]), x.shape.tuple
    if paddings is None or shape is None or len(paddings) != 2 * len(shape):
        return None
    axes = [i for i in range(len(shape)) if paddings[2 * i] or paddings[2 * i + 1]]
    size = shape[axes[0]] if len(axes) == 1 else None
    return None if size is None else _Padded(x, axes[0], paddings[2 * axes[0]], size, paddings[2 * axes[0] + 1])


@rule("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
def _rows_chosen_once(node: Node, facts: Facts) -> Answer:
    """y, i = unique(x); sparse_segment_sum(gather(p, y), i, s) -> sparse_segment_sum(p, x, s)"""
    rows, index = behind_identities(node.inputs[0]), behind_identities(node.inputs[1])
    gather = rows.op
    if gather not in GATHER or numbers(gather.inputs[2]) != [0] or gather.attrs.get("batch_dims", 0):
        return None
    chosen = behind_identities(gather.inputs[1])
    if chosen.op not in UNIQUE or index.op is not chosen.op or (chosen.value_index, index.value_index) != (0, 1):
        return None
    x = chosen.op.inputs[0]
    return Change(node.type, [gather.inputs[0], x, *node.inputs[2:]], {**node.attrs, "Tidx": x.dtype.base_dtype})
