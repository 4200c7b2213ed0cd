"""Calling a kernel outside a planned step: while building (static evaluation), folding, checking, differentiating.

Arguments are passed as generated code passes them: inputs in signature order (lists as lists, host inputs as Python numbers),
then attributes (dtypes as torch dtypes, shapes as tuples).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import DType
from headrace.core.registry import Kernel, OpDef
from headrace.core.shape import TensorShape
from headrace.graph.infer import group_inputs
from headrace.resources.calling.value import TORCH_DTYPES, from_numpy

CPU = torch.device("cpu")


def bind_attr(value: Any) -> Any:
    """An attribute as a kernel receives it."""
    if isinstance(value, DType):
        return TORCH_DTYPES.get(value.base_dtype, value)
    if isinstance(value, TensorShape):
        return value.tuple
    if isinstance(value, tuple) and value and isinstance(value[0], (DType, TensorShape)):
        return tuple(bind_attr(v) for v in value)
    return value


def bind_attrs(op_def: OpDef, attrs: dict[str, Any]) -> list[Any]:
    return [bind_attr(attrs[name]) for name in op_def.attr_names]


def array_attrs(op_def: OpDef, attrs: dict[str, Any]) -> list[Any]:
    """The attributes as an array kernel receives them: types as numpy's."""
    return [_array_attr(attrs[name]) for name in op_def.attr_names]


def _array_attr(value: Any) -> Any:
    if isinstance(value, DType):
        return np.dtype(value.base_dtype.as_numpy_dtype)
    if isinstance(value, tuple) and value and isinstance(value[0], DType):
        return tuple(_array_attr(v) for v in value)
    return bind_attr(value)


def host_value(value: Any) -> Any:
    """A host input as plain Python numbers (strings: the array itself)."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value
    return value.tolist() if hasattr(value, "tolist") else value


def arguments(op_def: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Flat input values -> the kernel's positional arguments."""
    bound: list[Any] = []
    for arg, value in zip(op_def.signature.inputs, group_inputs(op_def, inputs, attrs), strict=True):
        if arg.host:
            bound.append([host_value(v) for v in value] if arg.is_list else host_value(value))
        else:
            bound.append(value)
    return bound + bind_attrs(op_def, attrs)


def extras(kernel: Kernel, device: Any, state: Any = None, node: Any = None) -> dict[str, Any]:
    """The keyword-only arguments a kernel asks for."""
    extra: dict[str, Any] = {}
    if kernel.wants_device:
        extra["device"] = device
    if kernel.wants_state:
        extra["state"] = state
    if kernel.wants_node:
        extra["node"] = node
    return extra


def find_kernel(op_def: OpDef, device_type: str, attrs: dict[str, Any], name: str = "") -> Kernel:
    """``device_type`` is torch's, ``name`` that of the type of device, which may have kernels of its own."""
    kernel = op_def.find_kernel(device_type, attrs, name=name)
    if kernel is None:
        type_names = {n: attrs[n].name for n in attrs if isinstance(attrs[n], DType)}
        raise TypeError(f"op {op_def.name} has no kernel for device {device_type!r} and types {type_names}")
    return kernel


def invoke(
    op_def: OpDef, inputs: Sequence[Any], attrs: dict[str, Any], device: Any = CPU, state: Any = None
) -> list[Any]:
    """Runs the op's kernel on run-time values; returns its outputs as a flat list."""
    kernel = find_kernel(op_def, device.type, attrs)
    result = kernel.call(*arguments(op_def, inputs, attrs), **extras(kernel, device, state))
    return flat_outputs(op_def, result)


def flat_outputs(op_def: OpDef, result: Any) -> list[Any]:
    outputs = op_def.signature.outputs
    if not outputs:
        return []
    if len(outputs) == 1:
        return list(result) if outputs[0].is_list else [result]
    flat: list[Any] = []
    for out, part in zip(outputs, result, strict=True):
        flat.extend(part) if out.is_list else flat.append(part)
    return flat


def invoke_on_arrays(op_def: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Runs the op's kernel on numpy arrays, on the CPU; returns its outputs as arrays."""
    values = [from_numpy(np.asarray(a)) for a in inputs]
    return [v.numpy() if isinstance(v, torch.Tensor) else v for v in invoke(op_def, values, attrs)]
