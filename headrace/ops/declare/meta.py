"""Shapes without a rule: the kernel run on torch's meta device.

Unknown dimensions are tried with two sizes.  A dimension of the result that differs between the two runs, or between
the sizes, is unknown.  Installs itself, and static evaluation of constants, into the registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.resources.calling.invoke import bind_attrs, extras, flat_outputs, invoke_on_arrays
from headrace.resources.calling.value import TORCH_DTYPES

META = torch.device("meta")
_SIZES = (6, 10)


class _Unknown(Exception):
    pass


def shapes_by_meta(op_def: OpDef, arguments: Sequence[tuple[Any, Any]], attrs: dict[str, Any]) -> Any:
    """Output shapes as a list, or None where nothing can be said."""
    kernel = op_def.find_kernel("meta", attrs)
    traits = op_def.traits
    if kernel is None or kernel.wants_state or kernel.wants_node or traits.stateful or traits.dynamic_shape:
        return None
    results = []
    try:
        for size in _SIZES:
            inputs = [
                _fake(dtype, shape, size, arg.host)
                for arg, (dtype, shape) in zip(op_def.signature.inputs, arguments, strict=True)
            ]
            out = kernel.call(*inputs, *bind_attrs(op_def, attrs), **extras(kernel, META))
            results.append([tuple(t.shape) for t in flat_outputs(op_def, out)])
    except _Unknown:
        return None
    except (ArithmeticError, AttributeError, KeyError):
        return None  # the kernel's own mistake: it belongs to the run, where the error names the node
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as e:
        if any(_is_open(shape) for _, shape in arguments):
            return None  # the guessed sizes may be at fault
        raise ValueError(str(e).splitlines()[0]) from None
    return [_merge(a, b) for a, b in zip(*results, strict=True)]


def _is_open(shape: Any) -> bool:
    if isinstance(shape, list):
        return any(_is_open(s) for s in shape)
    return not isinstance(shape, TensorShape) or not shape.is_fully_defined()


def _fake(dtype: Any, shape: Any, size: int, host: bool) -> Any:
    if host:
        if _holds_none(shape):
            raise _Unknown
        return shape
    if isinstance(shape, list):
        return [_fake(d, s, size, False) for d, s in zip(dtype, shape, strict=True)]
    dims = shape.tuple
    if dims is None or not isinstance(dtype, DType) or dtype not in TORCH_DTYPES:
        raise _Unknown
    return torch.empty([size if d is None else d for d in dims], dtype=TORCH_DTYPES[dtype], device=META)


def _holds_none(value: Any) -> bool:
    return any(map(_holds_none, value)) if isinstance(value, list) else value is None


def _merge(a: tuple[int, ...], b: tuple[int, ...]) -> TensorShape:
    if len(a) != len(b):
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)])


def _evaluate(op_def: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    kernel = op_def.find_kernel("cpu", attrs)
    if kernel is None or kernel.wants_state or kernel.wants_node:
        return None
    try:
        return [np.asarray(v) for v in invoke_on_arrays(op_def, inputs, attrs)]
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None  # the error belongs to the run, where it can name the values


REGISTRY.shape_fallback = shapes_by_meta
REGISTRY.evaluate = _evaluate
