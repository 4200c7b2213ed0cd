"""Rules of ``simplify`` for arithmetic.  A docstring is what the rule does, before -> after."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import DType
from headrace.passes.rule import (
    Answer,
    Change,
    Facts,
    Rule,
    attrs_of,
    collect,
    constant,
    keeps_shape,
    make_constant,
    uniform,
)
from headrace.passes.step_graph import Node, Value

RULES: list[Rule] = []
rule = collect(RULES)

_QUOTIENTS = ("RealDiv", "Div")
_WHOLE_QUOTIENTS = ("TruncateDiv", "FloorDiv")
_INVOLUTIONS = ("Neg", "LogicalNot", "Invert", "Conj")
_IDEMPOTENT = ("Abs", "Relu", "Relu6", "Sign", "Floor", "Ceil", "Rint", "Round")
_EVEN = ("Abs", "Square", "Cos", "Cosh")


def _real(value: Value) -> bool:
    dtype = value.dtype.base_dtype
    return dtype.is_floating or dtype.is_integer


def _inner(value: Value, kind: str) -> Value | None:
    """What ``value`` is this function of."""
    return value.op.inputs[0] if value.op.type == kind else None


@rule("Mul")
def _times_one(node: Node, facts: Facts) -> Answer:
    """x * 1 -> x"""
    for x, y in (node.inputs, node.inputs[::-1]):
        if uniform(y) == 1 and _real(x) and keeps_shape(x, y):
            return x
    return None


@rule("Mul")
def _negated_factors(node: Node, facts: Facts) -> Answer:
    """-x * -y -> x * y"""
    x, y = (_inner(v, "Neg") for v in node.inputs)
    return None if x is None or y is None else Change("Mul", [x, y], node.attrs)


@rule("Mul")
def _merged_integer_factors(node: Node, facts: Facts) -> Answer:
    """(x * 2) * 3 -> x * 6, exact because integers wrap around"""
    return _merged(node, facts) if node.inputs[0].dtype.base_dtype.is_integer else None


@rule("Mul", rounds=True)
def _merged_factors(node: Node, facts: Facts) -> Answer:
    """(x * 0.5) * 4. -> x * 2."""
    return _merged(node, facts) if node.inputs[0].dtype.base_dtype.is_floating else None


def _merged(node: Node, facts: Facts) -> Answer:
    for product, last in (node.inputs, node.inputs[::-1]):
        if product.op.type != "Mul" or not facts.only_use(product):
            continue
        for x, first in (product.op.inputs, product.op.inputs[::-1]):
            a, b = constant(first), constant(last)
            if a is None or b is None or constant(x) is not None or not _holds(a, first) or not _holds(b, last):
                continue
            if not (keeps_shape(x, first) and keeps_shape(product, last)):
                continue  # the shape of the result would not follow from the merged constant
            with np.errstate(all="ignore"):
                factor = np.asarray(a * b)
            if factor.dtype.kind == "f" and not _is_normal(factor):
                continue
            made = make_constant(node, "factor", factor, last)
            return Change("Mul", [x, made.outputs[0]], node.attrs, [made])
    return None


def _holds(array: np.ndarray, value: Value) -> bool:
    """Whether the array has the value's very dtype (not so for bfloat16)."""
    return bool(array.dtype == np.dtype(value.dtype.base_dtype.as_numpy_dtype)) and value.dtype.name != "bfloat16"


def _is_normal(array: np.ndarray) -> bool:
    size = np.abs(array)
    return bool(np.isfinite(array).all() and (size >= np.finfo(array.dtype).tiny).all())


@rule("Sub")
def _minus_zero(node: Node, facts: Facts) -> Answer:
    """x - 0 -> x"""
    x, y = node.inputs
    found = uniform(y)
    return x if found == 0 and not np.signbit(np.real(found)) and _real(x) and keeps_shape(x, y) else None


@rule("Add", "AddV2")
def _plus_zero(node: Node, facts: Facts) -> Answer:
    """x + 0 -> x for integers, x + -0. -> x for floats"""
    for x, y in (node.inputs, node.inputs[::-1]):
        found = uniform(y)
        if found == 0 and _real(x) and keeps_shape(x, y) and (x.dtype.base_dtype.is_integer or np.signbit(found)):
            return x
    return None


@rule("Add", "AddV2", rounds=True)
def _plus_positive_zero(node: Node, facts: Facts) -> Answer:
    """x + 0. -> x; differs in the sign of zero, where x is -0."""
    for x, y in (node.inputs, node.inputs[::-1]):
        if uniform(y) == 0 and _real(x) and keeps_shape(x, y):
            return x
    return None


@rule("Add", "AddV2")
def _plus_negated(node: Node, facts: Facts) -> Answer:
    """x + -y -> x - y"""
    for x, negated in (node.inputs, node.inputs[::-1]):
        y = _inner(negated, "Neg")
        if y is not None:
            return Change("Sub", [x, y], node.attrs)
    return None


@rule("Sub")
def _minus_negated(node: Node, facts: Facts) -> Answer:
    """x - -y -> x + y"""
    x, negated = node.inputs
    y = _inner(negated, "Neg")
    return None if y is None else Change("AddV2", [x, y], node.attrs)


@rule("Neg", rounds=True)
def _negated_difference(node: Node, facts: Facts) -> Answer:
    """-(x - y) -> y - x; differs in the sign of zero, where x == y"""
    difference = node.inputs[0]
    if difference.op.type != "Sub" or not facts.only_use(difference):
        return None
    return Change("Sub", difference.op.inputs[::-1], node.attrs)


@rule(*_QUOTIENTS, *_WHOLE_QUOTIENTS)
def _over_one(node: Node, facts: Facts) -> Answer:
    """x / 1 -> x, and x // 1 -> x for integers"""
    x, y = node.inputs
    if uniform(y) != 1 or not _real(x) or not keeps_shape(x, y):
        return None
    return x if node.type in _QUOTIENTS or x.dtype.base_dtype.is_integer else None


@rule(*_QUOTIENTS, rounds=True)
def _over_root(node: Node, facts: Facts) -> Answer:
    """1 / sqrt(y) -> rsqrt(y)"""
    x, y = node.inputs
    inner = _inner(y, "Sqrt")
    if inner is None or not facts.only_use(y) or uniform(x) != 1 or not keeps_shape(y, x):
        return None
    return Change("Rsqrt", [inner], attrs_of(y.op, "T"))


@rule("Reciprocal", "Inv", rounds=True)
def _reciprocal_root(node: Node, facts: Facts) -> Answer:
    """1 / sqrt(x) -> rsqrt(x), 1 / rsqrt(x) -> sqrt(x)"""
    root = node.inputs[0]
    other = {"Sqrt": "Rsqrt", "Rsqrt": "Sqrt"}.get(root.op.type)
    return Change(other, root.op.inputs, node.attrs) if other and facts.only_use(root) else None


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


@rule(*_INVOLUTIONS)
def _twice(node: Node, facts: Facts) -> Answer:
    """--x -> x; the same for logical and bitwise not, and for the conjugate"""
    return _inner(node.inputs[0], node.type)


@rule(*_IDEMPOTENT)
def _again(node: Node, facts: Facts) -> Answer:
    """relu(relu(x)) -> relu(x)"""
    return node.inputs[0] if node.inputs[0].op.type == node.type else None


@rule(*_EVEN)
def _even(node: Node, facts: Facts) -> Answer:
    """square(-x) -> square(x)"""
    x = _inner(node.inputs[0], "Neg")
    return Change(node.type, [x], node.attrs) if x is not None and _real(x) else None


@rule("Maximum", "Minimum", "LogicalAnd", "LogicalOr")
def _with_itself(node: Node, facts: Facts) -> Answer:
    """maximum(x, x) -> x"""
    return node.inputs[0] if node.inputs[0] is node.inputs[1] else None


@rule("LogicalAnd", "LogicalOr")
def _with_constant(node: Node, facts: Facts) -> Answer:
    """x & True -> x, x | False -> x"""
    neutral = node.type == "LogicalAnd"
    for x, y in (node.inputs, node.inputs[::-1]):
        found = uniform(y)
        if found is not None and bool(found) is neutral and keeps_shape(x, y):
            return x
    return None


@rule("Select", "SelectV2")
def _decided(node: Node, facts: Facts) -> Answer:
    """where(True, x, y) -> x"""
    condition, x, y = node.inputs
    found = uniform(condition)
    if found is None:
        return None
    chosen, other = (x, y) if found else (y, x)
    if node.type == "Select":  # does not broadcast: shapes that may turn out to differ are for the kernel to refuse
        shape, picks = x.shape.tuple, condition.shape.tuple
        same = x.shape.is_fully_defined() and shape == y.shape.tuple
        return chosen if same and picks in ((), shape, (shape or ())[:1]) else None
    return chosen if keeps_shape(chosen, condition) and keeps_shape(chosen, other) else None


@rule("AddN", "AccumulateNV2")
def _sum_of_one(node: Node, facts: Facts) -> Answer:
    """add_n([x]) -> x"""
    return node.inputs[0] if len(node.inputs) == 1 else None


@rule("Cast")
def _cast_to_itself(node: Node, facts: Facts) -> Answer:
    """cast(x: float32, float32) -> x"""
    x = node.inputs[0]
    return x if x.dtype.base_dtype == node.attrs["DstT"] else None


@rule("Cast")
def _cast_twice(node: Node, facts: Facts) -> Answer:
    """cast(cast(x: int8, float32), float64) -> cast(x, float64), where the first cast loses nothing"""
    first = node.inputs[0].op
    if first.type != "Cast" or not _exact(first.inputs[0].dtype.base_dtype, first.attrs["DstT"]):
        return None
    x = first.inputs[0]
    kind, target = x.dtype.base_dtype, node.attrs["DstT"]
    if first.attrs["DstT"].is_floating and kind.is_integer and target.is_integer and not _exact(kind, target):
        return None  # what does not fit is cut off by one way and undefined by the other
    return Change("Cast", [x], {**node.attrs, "SrcT": kind})


_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_EXPONENTS = {"float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}


def _exact(source: DType, target: DType) -> bool:
    """Whether every value of ``source`` is a value of ``target``."""
    if source == target or source.is_bool:
        return source == target or target.is_integer or target.is_floating
    if source.is_integer:
        bits = 8 * source.size - (not source.is_unsigned)
        if target.is_integer:
            room = 8 * target.size - (not target.is_unsigned)
            return room >= bits and (source.is_unsigned or not target.is_unsigned)
        return target.name in _DIGITS and _DIGITS[target.name] >= bits and target.name != "float16"
    if source.name in _DIGITS and target.name in _DIGITS:
        return _DIGITS[target.name] >= _DIGITS[source.name] and _EXPONENTS[target.name] >= _EXPONENTS[source.name]
    return False
