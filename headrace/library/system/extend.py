"""Declaring ops outside Headrace: the registry's constructors, with defaults that are safe for any kernel.

The one default that differs: ``view`` is True.  An output is then taken to share memory with an input, so values are
copied where that could show.  Pass ``view=False`` for a kernel that always makes new tensors; opcheck tells when that
is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import registry
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.ops.declare import regular


def op(signature: str, /, **options: Any) -> OpDef:
    """Declares an op type: ``op("Clamp(x: T; limit: float) -> (y: T)", T=[tf.float32])``.

    Keywords are the dtypes each type variable may take, and traits: stateful, random, host, dynamic_shape, opaque,
    view.
    The result's decorators take the rest: ``shape``, ``gradient``, ``kernel``, ``array_kernel``, ``value``, ``state``.
    """
    return registry.op(signature, **{"view": True, **options})


def unary(
    name: str, kernel: Callable[..., Any], types: Sequence[DType], gradient: Callable[..., Any] | None = None,
    out: str = "T", *, array: Callable[..., Any] | None = None, view: bool = True, **traits: Any,
) -> OpDef:  # fmt: skip
    """An element-wise op of one input in one line: ``unary("Cube", lambda x: x ** 3, [tf.float32])``.

    ``array`` is a kernel on numpy arrays, for small values.
    """
    return regular.unary(name, kernel, types, gradient, out, array=array, view=view, **traits)


def binary(
    name: str, kernel: Callable[..., Any], types: Sequence[DType], gradient: Callable[..., Any] | None = None,
    out: str = "T", *, array: Callable[..., Any] | None = None, view: bool = True, **traits: Any,
) -> OpDef:  # fmt: skip
    """An element-wise op of two inputs that broadcast; ``gradient(node, grad)`` gives two of the output's shape.

    ``array`` is a kernel on numpy arrays, for small values.
    """
    return regular.binary(name, kernel, types, gradient, out, array=array, view=view, **traits)


def remove_op(name: str) -> None:
    """Forgets an op declared before, so that a notebook cell or a test may declare it again.  Headrace's own stay."""
    if name in REGISTRY and REGISTRY.get(name).built_in:
        raise ValueError(f"{name!r} is one of Headrace's own ops and cannot be removed")
    REGISTRY.remove(name)
