"""Comparisons, logic, choice between two tensors, and conversion between types."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, NUMERIC, QUANTIZED, REAL
from headrace.core.registry import op
from headrace.core.shape import broadcast_shape
from headrace.graph import raw_ops
from headrace.ops.declare import unsigned
from headrace.ops.declare.regular import binary, broadcast, refuse_broadcast, sum_to_shape, unary, whole_value, widen
from headrace.ops.declare.unsigned import move_as_signed

COMPARABLE = (*NUMERIC, dtypes.bool, dtypes.string, *QUANTIZED)

for _name, _kernel, _array, _sign in (
    ("Less", torch.lt, np.less, "<"), ("LessEqual", torch.le, np.less_equal, "<="),
    ("Greater", torch.gt, np.greater, ">"), ("GreaterEqual", torch.ge, np.greater_equal, ">="),
):  # fmt: skip
    _comparison = binary(_name, _kernel, REAL, out="bool", array=_array, bits=unsigned.in_order(_kernel))
    _comparison.number_kernel(f"{{0}} {_sign} {{1}}")


def _equality(name, compare, on_arrays):
    definition = op(f"{name}(x: T, y: T; incompatible_shape_error: bool = True) -> (z: bool)", T=COMPARABLE)

    @definition.shape
    def _(x, y, incompatible_shape_error):
        if incompatible_shape_error:
            return broadcast(x, y)
        if not (x.is_fully_defined() and y.is_fully_defined()):
            return None
        return broadcast_shape(x, y) if _broadcastable(x.tuple, y.tuple) else ()

    @definition.kernel
    def _(x, y, incompatible_shape_error):
        if not incompatible_shape_error and not _broadcastable(x.shape, y.shape):
            return torch.tensor(name == "NotEqual", device=x.device)
        return compare(x, y)

    @definition.kernel(T=dtypes.string)
    def _(x, y, incompatible_shape_error):
        return torch.from_numpy(np.asarray(on_arrays(x, y), dtype=bool))

    @definition.array_kernel
    def _(x, y, incompatible_shape_error):
        if not incompatible_shape_error and not _broadcastable(x.shape, y.shape):
            return np.bool_(name == "NotEqual")
        return on_arrays(x, y)

    return definition


def _broadcastable(a, b):
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


equal = _equality("Equal", torch.eq, np.equal)
not_equal = _equality("NotEqual", torch.ne, np.not_equal)
equal.number_kernel("{0} == {1}")
not_equal.number_kernel("{0} != {1}")

approximate = op("ApproximateEqual(x: T, y: T; tolerance: float = 1e-05) -> (z: bool)", T=NUMERIC, lenient=True)
approximate.shape(lambda x, y, tolerance: x.merge_with(y))
approximate.kernel(lambda x, y, tolerance: torch.abs(x - y) < tolerance)

widen(approximate, lambda x, y, tolerance: torch.abs(x - y) < tolerance)

# ---- logic

negation = op("LogicalNot(x: bool) -> (y: bool)")
negation.shape(lambda x: x)
negation.kernel(torch.logical_not)
negation.array_kernel(np.logical_not)
negation.number_kernel("not {0}")

for _name, _function, _on_arrays, _sign in (
    ("LogicalAnd", torch.logical_and, np.logical_and, "and"), ("LogicalOr", torch.logical_or, np.logical_or, "or"),
):  # fmt: skip
    _logic = op(f"{_name}(x: bool, y: bool) -> (z: bool)")
    _logic.shape(broadcast)
    _logic.refuse(refuse_broadcast)
    _logic.kernel(_function)
    _logic.array_kernel(_on_arrays)
    _logic.number_kernel(f"{{0}} {_sign} {{1}}")

_TESTS: dict[str, Callable[..., torch.Tensor]] = {
    "IsNan": torch.isnan,
    "IsInf": torch.isinf,
    "IsFinite": torch.isfinite,
}
for _name, _function in _TESTS.items():
    unary(_name, _function, dtypes.FLOATING, out="bool").not_differentiable()

# ---- choice

CHOICE = tuple(d for d in ANY if d not in (dtypes.resource, dtypes.variant))

select = op("Select(condition: bool, t: T, e: T) -> (output: T)", T=CHOICE)


@select.shape
def _(condition, t, e):
    result = t.merge_with(e)
    rows, dims = condition.tuple, result.tuple
    if rows is None or len(rows) == 0 or (len(rows) == 1 and dims is None):
        return result
    if len(rows) == 1:  # checked only: TensorFlow does not learn the number of rows from the condition
        result.merge_with([rows[0], *dims[1:]] if dims else condition)
        return result
    return result.merge_with(condition)


_MANY = 2048  # numbers: of fewer, choosing each takes less time than preparing to copy rows


def _rows(condition, t):
    """A vector condition chooses whole rows."""
    if condition.ndim == 1 and t.ndim > 1:
        return condition.reshape((-1,) + (1,) * (t.ndim - 1))
    return condition


def select_anywhere(condition, t, e):
    if type(condition) is torch.Tensor and (
        t.shape != e.shape or (condition.ndim and condition.shape not in (t.shape, t.shape[:1]))
    ):
        raise _mismatch(condition, t, e)
    return torch.where(_rows(condition, t), t, e)


def _mismatch(condition, t, e):
    shapes = ", ".join(f"{name} {list(x.shape)}" for name, x in (("condition", condition), ("t", t), ("e", e)))
    return ValueError(
        f"'t' and 'e' must have the same shape, and 'condition' that one, or one element per row, or none: {shapes}"
    )


select.kernel(select_anywhere)
move_as_signed(select)


@select.kernel(T=dtypes.string)
def _(condition, t, e):
    if t.shape != e.shape or (condition.ndim and tuple(condition.shape) not in (t.shape, t.shape[:1])):
        raise _mismatch(condition, t, e)
    return np.where(_rows(condition.cpu().numpy(), t), t, e)


@select.array_kernel
def _(condition, t, e):
    if condition.ndim == 1 and t.ndim > 1 and t.size > _MANY:
        return choose_rows(condition, t, e)
    return np.where(_rows(condition, t), t, e)


def choose_rows(condition, t, e):
    """Rows of ``t`` where the vector ``condition`` holds, else of ``e``: arrays, copied row by row, not number by number."""
    chosen = e.copy()
    row = _item_of(t.nbytes // len(t))
    np.copyto(_as_items(chosen, row), _as_items(t, row), where=condition.reshape(-1, 1))
    return chosen


def _as_items(rows, item):
    """The rows of an array, one item each; not a copy where they are contiguous."""
    if rows.ndim != 2 or not rows.flags.c_contiguous:
        rows = np.ascontiguousarray(rows).reshape(len(rows), -1)
    return rows.view(item)


@functools.lru_cache
def _item_of(size):
    return np.dtype((np.void, size))


@select.gradient
def _(node, grad):
    condition = node.inputs[0]
    zeros = raw_ops.ZerosLike(grad)
    return [None, raw_ops.Select(condition, grad, zeros), raw_ops.Select(condition, zeros, grad)]


select_v2 = op("SelectV2(condition: bool, t: T, e: T) -> (output: T)", T=CHOICE)
select_v2.shape(lambda condition, t, e: broadcast(condition, broadcast(t, e)))
select_v2.kernel(torch.where)
move_as_signed(select_v2)
select_v2.array_kernel(np.where)
select_v2.kernel(lambda condition, t, e: np.where(condition.cpu().numpy(), t, e), T=dtypes.string)


@select_v2.gradient
def _(node, grad):
    condition, t, e = node.inputs
    zeros = raw_ops.ZerosLike(grad)
    return [
        None,
        sum_to_shape(raw_ops.SelectV2(condition, grad, zeros), t),
        sum_to_shape(raw_ops.SelectV2(condition, zeros, grad), e),
    ]


# ---- types

cast = op(
    "Cast(x: SrcT; DstT: type, Truncate: bool = False) -> (y: DstT)",
    SrcT=(*NUMERIC, dtypes.bool, *QUANTIZED), DstT=(*NUMERIC, dtypes.bool, *QUANTIZED), view=True,
)  # fmt: skip
cast.shape(lambda x, DstT, Truncate: x)
_WIDE = (dtypes.float32, dtypes.float64)


@cast.value
def _(node, x):
    value = whole_value(node, [x])
    if value is not None or x is None:
        return value
    numeric = node.attrs["DstT"].is_integer and node.attrs["SrcT"].is_integer
    return x if numeric else None


@cast.gradient
def _(node, grad):
    element_types = node.attrs["SrcT"], node.attrs["DstT"]
    if all(k.is_floating or k.is_complex for k in element_types):
        return [raw_ops.Cast(grad, DstT=element_types[0])]
    return [None]


@cast.kernel
def _(x, DstT, Truncate):
    if Truncate and DstT is torch.bfloat16 and x.dtype is torch.float32:
        return (x.contiguous().view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)
    return x.to(DstT)


@cast.kernel(SrcT=dtypes.COMPLEX)
def _(x, DstT, Truncate):
    if DstT.is_complex:
        return x.to(DstT)
    return x != 0 if DstT is torch.bool else x.real.to(DstT)


@cast.array_kernel(SrcT=(*dtypes.INTEGER, dtypes.bool))
@cast.array_kernel(
    SrcT=_WIDE, DstT=(*_WIDE, dtypes.int32, dtypes.int64, dtypes.bool)
)  # to other types torch rounds differently
def _(x, DstT, Truncate):
    return x.astype(DstT, copy=False)
