"""The rules of vectorise: what an op on one element becomes on many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headrace.core.dtypes import DType, int32, int64, string
from headrace.core.shape import TensorShape
from headrace.passes.rule import numbers
from headrace.passes.step_graph import Node, Value
from headrace.passes.vectorise import Builder, CannotVectoriseError, Many, Ragged, Rows, Same, rule

Outputs = Sequence[Many | None]

# ---- one element of the output for one of each input


@rule(
    "Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Maximum", "Minimum",
    "Neg", "Abs", "Sign", "Square", "Sqrt", "Floor", "Ceil", "Relu", "Relu6", "Equal", "NotEqual", "Less", "LessEqual",
    "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "LogicalNot", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert",
    "IsNan", "IsInf", "IsFinite", "SelectV2", "Cast", "Identity", "StopGradient", "ZerosLike", "OnesLike", "CheckNumerics",
)  # fmt: skip
def _elementwise(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    ragged = [one for one in inputs if isinstance(one, Ragged)]
    if ragged:
        return _each(builder, node, inputs, ragged[0])
    ranks = [_rank(one.value if isinstance(one, Same) else one.one) for one in inputs]
    aligned = [
        one.value if isinstance(one, Same) else _with_rank(builder, node, one, max(ranks) - rank)  # type: ignore[arg-type]
        for one, rank in zip(inputs, ranks, strict=True)
    ]
    return builder.rows(node, aligned)


def _each(builder: Builder, node: Node, inputs: Sequence[Many], first: Ragged) -> Outputs:
    """The joined vectors element by element: all have the same lengths, and what is shared is one number."""
    for one in inputs:
        if isinstance(one, Rows) or (isinstance(one, Ragged) and one.lengths is not first.lengths):
            raise CannotVectoriseError
        if isinstance(one, Same) and _rank(one.value):
            raise CannotVectoriseError
    if any(out.shape.ndims != 1 for out in node.outputs):
        raise CannotVectoriseError
    many = builder.make(node, [one.value for one in inputs], node.attrs, [(o.dtype, [None]) for o in node.outputs])
    return [Ragged(v, one, first.lengths) for v, one in zip(many.op.outputs, node.outputs, strict=True)]


def _rank(value: Value) -> int:
    if value.shape.ndims is None:
        raise CannotVectoriseError
    return value.shape.ndims


def _with_rank(builder: Builder, node: Node, rows: Rows, missing: int) -> Value:
    """The rows with so many dimensions of size 1 before those of an element."""
    value, shape = rows.value, list(rows.one.shape.tuple or ())
    for _ in range(missing):
        shape = [1, *shape]
        dim = builder.constant(node, 1, int32)
        value = builder.make(node, [value, dim], {}, [(value.dtype, [None, *shape])], "ExpandDims")
    return value


@rule(
    "StringToNumber", "StringLower", "StringUpper", "StringStrip", "StringLength", "AsString", "RegexReplace",
    "StaticRegexReplace", "RegexFullMatch", "StaticRegexFullMatch", "StringToHashBucket", "StringToHashBucketFast",
    "StringToHashBucketStrong", "EncodeBase64", "DecodeBase64", "DecodeRaw", "DecodeCSV",
)  # fmt: skip
def _one_by_one(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    """Of one input alone; the others are settings."""
    (many,) = _not_shared(inputs)
    if isinstance(many, Ragged):
        return _each(builder, node, inputs, many)
    return builder.rows(node, [one.value for one in inputs])


@rule("LookupTableFindV2")
def _find(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    (many,) = _not_shared(inputs)
    if node.outputs[0].shape.ndims != _rank(many.one):
        raise CannotVectoriseError  # a table of vectors
    return _one_by_one(builder, node, inputs)


def _not_shared(inputs: Sequence[Many]) -> list[Rows | Ragged]:
    found = [one for one in inputs if not isinstance(one, Same)]
    if len(found) != 1:
        raise CannotVectoriseError
    return found


@rule("Select")
def _select(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    """All three of one shape."""
    if any(isinstance(one, Same) or _rank(one.one) != _rank(node.inputs[1]) for one in inputs):
        raise CannotVectoriseError
    return _elementwise(builder, node, inputs)


# ---- shapes


@rule("Shape")
def _shape(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    return [Same(builder.constant(node, _sizes(_rows(inputs[0]).one), node.outputs[0].dtype))]


@rule("Rank")
def _rank_of(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    return [Same(builder.constant(node, _rank(node.inputs[0]), node.outputs[0].dtype))]


@rule("Size")
def _size(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    (many,) = inputs
    dtype = node.outputs[0].dtype
    if not isinstance(many, Ragged):
        return [Same(builder.constant(node, math.prod(_sizes(_rows(many).one)), dtype))]
    attrs = {"SrcT": int64, "DstT": dtype, "Truncate": False}
    return [Rows(builder.make(node, [many.lengths], attrs, [(dtype, [None])], "Cast"), node.outputs[0])]


def _sizes(value: Value) -> list[int]:
    if not value.shape.is_fully_defined():
        raise CannotVectoriseError
    return [int(n) for n in value.shape.tuple or ()]  # type: ignore[arg-type]


def _setting(many: Many) -> list[int]:
    """The numbers of an input that must be constant."""
    found = numbers(many.value) if isinstance(many, Same) else None
    if found is None:
        raise CannotVectoriseError
    return found


def _rows(many: Many) -> Rows:
    if not isinstance(many, Rows):
        raise CannotVectoriseError
    return many


def _after(axis: int) -> int:
    """An element's dimension, among those of many."""
    return axis + 1 if axis >= 0 else axis


@rule("Reshape")
def _reshape(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    rows, shape = _rows(inputs[0]), _setting(inputs[1])
    size = math.prod(_sizes(rows.one))
    if -1 in shape:
        rest = -math.prod(shape)
        if not rest or size % rest:
            raise CannotVectoriseError
        shape[shape.index(-1)] = size // rest
    if not size or math.prod(shape) != size:
        raise CannotVectoriseError
    many = builder.constant(node, [-1, *shape], node.inputs[1].dtype)
    return builder.rows(node, [rows.value, many])


@rule("ExpandDims")
def _expand(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    (dim,) = _setting(inputs[1])
    return builder.rows(node, [_rows(inputs[0]).value, builder.constant(node, _after(dim), node.inputs[1].dtype)])


@rule("Squeeze")
def _squeeze(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    rows = _rows(inputs[0])
    dims = node.attrs["squeeze_dims"] or [i for i, n in enumerate(_sizes(rows.one)) if n == 1]
    if not dims:
        return [Rows(rows.value, node.outputs[0])]
    return builder.rows(node, [rows.value], {**node.attrs, "squeeze_dims": list(map(_after, dims))})


@rule("Transpose")
def _transpose(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    order = [0, *(axis % _rank(node.inputs[0]) + 1 for axis in _setting(inputs[1]))]
    return builder.rows(node, [_rows(inputs[0]).value, builder.constant(node, order, node.inputs[1].dtype)])


@rule("Slice")
def _slice(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    dtype = node.inputs[1].dtype
    begin, size = [0, *_setting(inputs[1])], [-1, *_setting(inputs[2])]
    value = _rows(inputs[0]).value
    return builder.rows(node, [value, builder.constant(node, begin, dtype), builder.constant(node, size, dtype)])


@rule("StridedSlice")
def _strided(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    dtype = node.inputs[1].dtype
    begin, end, strides = (_setting(one) for one in inputs[1:])
    masks = {name: mask << 1 for name, mask in node.attrs.items() if name.endswith("_mask")}
    masks["begin_mask"] |= 1
    masks["end_mask"] |= 1
    settings = [builder.constant(node, [first, *rest], dtype) for first, rest in ((0, begin), (0, end), (1, strides))]
    return builder.rows(node, [_rows(inputs[0]).value, *settings], {**node.attrs, **masks})


@rule("Pack", "Unpack")
def _pack(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    attrs = {**node.attrs, "axis": _after(node.attrs["axis"])}
    return builder.rows(node, [_rows(one).value for one in inputs], attrs)


@rule("ConcatV2")
def _join(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    (axis,) = _setting(inputs[-1])
    axis_value = builder.constant(node, _after(axis), node.inputs[-1].dtype)
    return builder.rows(node, [*(_rows(one).value for one in inputs[:-1]), axis_value])


# ---- looking up and reducing


@rule("GatherV2")
def _gather(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    """Rows of a table that all share."""
    if not isinstance(inputs[0], Same) or any(_setting(inputs[2])) or node.attrs["batch_dims"]:
        raise CannotVectoriseError
    return builder.rows(node, [inputs[0].value, _rows(inputs[1]).value, inputs[2].value])


@rule("OneHot")
def _one_hot(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    if node.attrs["axis"] != -1 or not all(isinstance(one, Same) for one in inputs[1:]):
        raise CannotVectoriseError
    return builder.rows(node, [_rows(inputs[0]).value, *(one.value for one in inputs[1:])])


@rule("Sum", "Prod")
def _sum(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    if not node.inputs[0].dtype.is_integer:
        raise CannotVectoriseError  # the order of a sum decides about its last bits
    return _reduce(builder, node, inputs)


@rule("Max", "Min", "All", "Any")
def _reduce(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    rows = _rows(inputs[0])
    axes = [_after(axis) for axis in _setting(inputs[1])]
    return builder.rows(node, [rows.value, builder.constant(node, axes, node.inputs[1].dtype)])


# ---- strings


@rule("StringSplit", "StringSplitV2")
def _split(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    """The words of one string for each element: what they are, not where."""
    rows = _rows(inputs[0])
    if _sizes(rows.one) != [1] or not isinstance(inputs[1], Same):
        raise CannotVectoriseError
    strings = _flat(builder, node, rows.value, string)
    outputs = [(int64, [None, 2]), (string, [None]), (int64, [2])]
    indices, words, _ = builder.make(node, [strings, inputs[1].value], node.attrs, outputs).op.outputs
    begin, size = builder.constant(node, [0, 0], int32), builder.constant(node, [-1, 1], int32)
    which = builder.make(node, [indices, begin, size], {"Index": int32}, [(int64, [None, 1])], "Slice")
    which = _flat(builder, node, which, int64)
    ones = builder.make(node, [which], {}, [(int64, [None])], "OnesLike")
    count = builder.make(node, [strings], {"out_type": int32}, [(int32, [])], "Size")
    lengths = builder.make(node, [ones, which, count], {}, [(int64, [None])], "UnsortedSegmentSum")
    return [None, Ragged(words, node.outputs[1], lengths), None]


def _flat(builder: Builder, node: Node, value: Value, dtype: DType) -> Value:
    shape = builder.constant(node, [-1], int32)
    return builder.make(node, [value, shape], {}, [(dtype, [None])], "Reshape")


# ---- examples


@rule("ParseSingleExample")
def _parse(builder: Builder, node: Node, inputs: Sequence[Many]) -> Outputs:
    """A batch of examples; features of any length would be padded there."""
    attrs = node.attrs
    if attrs["num_sparse"] or not all(shape.is_fully_defined() for shape in attrs["dense_shapes"]):
        raise CannotVectoriseError
    if not all(isinstance(one, Same) for one in inputs[1:]):
        raise CannotVectoriseError
    names = builder.constant(node, np.empty(0, object), string)
    keys = [
        builder.constant(node, np.array(key if isinstance(key, bytes) else key.encode(), object), string)
        for key in attrs["dense_keys"]
    ]
    types = {name: attrs[name] for name in ("Tdense", "dense_shapes", "sparse_types")}
    batch = {**types, "Nsparse": 0, "Ndense": len(keys)}
    outputs = [(out.dtype, TensorShape([None, *_sizes(out)])) for out in node.outputs]
    first = builder.make(
        node, [inputs[0].value, names, *keys, *(one.value for one in inputs[1:])], batch, outputs, "ParseExample"
    )
    return [Rows(many, one) for many, one in zip(first.op.outputs, node.outputs, strict=True)]
