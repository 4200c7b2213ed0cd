"""Python operators on Tensor: ``x + 1``, ``2 - x``, ``x @ y``, ``x < y``, ``~x``.

Installed on ``Tensor`` when this module is imported, so that the graph need not know the library.  A Python or numpy
operand becomes a constant of the tensor's type if it can: on the right it is *preferred* to (and the op then complains
of a mismatch), on the left it must.  ``==`` and ``!=`` compare identity, as in TF1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.eager.binding import scalar
from headrace.eager.entry import learned
from headrace.eager.tensor import Immediate
from headrace.graph import context, raw_ops
from headrace.graph.convert import located, to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.linalg.matrix import matmul
from headrace.library.numeric import complex_number, division, math

Binary = Callable[..., Any]


def _forward(implementation: Binary, operator: str) -> Binary:
    reflected = f"__r{operator}__"

    def forward(x: Tensor, y: Any) -> Any:
        if isinstance(y, SparseTensor):
            return NotImplemented
        graph = _graph(x)
        with graph.as_default(), graph.name_scope(operator) as scope:
            if not isinstance(y, Tensor):
                try:
                    y = to_tensor(y, None, "y", preferred=x.dtype.base_dtype)
                except (TypeError, ValueError) as e:
                    if isinstance(e, TypeError) and hasattr(type(y), reflected):
                        return NotImplemented
                    raise located(e, at()) from None
            return implementation(x, y, name=scope)

    return forward


def _reflected(implementation: Binary, operator: str) -> Binary:
    def reflected(y: Tensor, x: Any) -> Any:
        graph = _graph(y)
        with graph.as_default(), graph.name_scope(operator) as scope:
            try:
                x = to_tensor(x, y.dtype.base_dtype, "x")
            except (TypeError, ValueError) as e:
                raise located(e, at()) from None
            return implementation(x, y, name=scope)

    return reflected


def _graph(x: Tensor) -> Any:
    default = context.get_default_graph()
    own: Any = x.graph
    return default if default.building_function or own.building_function or own.executing_eagerly else own


def _install(operator: str, binary_op: Binary) -> None:
    for name, method in ((f"__{operator}__", _forward), (f"__r{operator}__", _reflected)):
        implementation = method(binary_op, operator)
        implementation.__name__ = implementation.__qualname__ = name
        Tensor._override_operator(name, implementation)
        setattr(Immediate, name, _remembered(implementation))


def _remembered(operator: Binary) -> Binary:
    """The operator of eager tensors.  A Python number is made a tensor first: it is no part of what is remembered."""
    remembered = learned(operator)

    @functools.wraps(operator)
    def apply(x: Any, y: Any) -> Any:
        y_class = y.__class__
        if (y_class is float and x._dtype_enum in _FLOATS) or (y_class is int and x._dtype_enum in _NUMBERS):
            y = scalar(y, x._dtype_enum)
        return remembered(x, y)

    return apply


_FLOATS = frozenset(d.as_datatype_enum for d in dtypes.FLOAT_OR_COMPLEX)
_NUMBERS = frozenset(d.as_datatype_enum for d in dtypes.NUMERIC)


def _add(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    op = raw_ops.Add if x.dtype.base_dtype.name == "string" else raw_ops.AddV2
    return op(x, y, name=name)


def _by_type(logical: Binary, bitwise: str) -> Binary:
    """Logic on booleans, bits on integers."""

    def by_type(x: Tensor, y: Tensor, name: str | None = None) -> Any:
        if x.dtype.base_dtype.is_bool:
            return logical(x, y, name=name)
        return getattr(raw_ops, bitwise)(x, y)

    return by_type


def _logical_xor(x: Tensor, y: Tensor, name: str | None = None) -> Any:
    return math.logical_xor(x, y, name=name or "LogicalXor")


_install("add", _add)
_install("sub", raw_ops.Sub)
_install("mul", raw_ops.Mul)
_install("div", division.div)
_install("truediv", division.truediv)
_install("floordiv", division.floordiv)
_install("mod", raw_ops.FloorMod)
_install("pow", raw_ops.Pow)
_install("matmul", matmul)
_install("and", _by_type(raw_ops.LogicalAnd, "BitwiseAnd"))
_install("or", _by_type(raw_ops.LogicalOr, "BitwiseOr"))
_install("xor", _by_type(_logical_xor, "BitwiseXor"))


def _comparison(op_type: str) -> Binary:
    def compare(x: Tensor, y: Any) -> Any:
        return getattr(raw_ops, op_type)(x, y)

    return compare


for _operator, _op_type in (("lt", "Less"), ("le", "LessEqual"), ("gt", "Greater"), ("ge", "GreaterEqual")):
    Tensor._override_operator(f"__{_operator}__", _comparison(_op_type))
    setattr(Immediate, f"__{_operator}__", _remembered(_comparison(_op_type)))


def _invert(x: Tensor) -> Any:
    return raw_ops.LogicalNot(x) if x.dtype.base_dtype.is_bool else raw_ops.Invert(x)


Tensor._override_operator("__neg__", lambda x: raw_ops.Neg(x))
Tensor._override_operator("__abs__", lambda x: complex_number.abs(x))
Tensor._override_operator("__invert__", _invert)
