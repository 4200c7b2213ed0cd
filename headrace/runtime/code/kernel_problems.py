"""Problems of a kernel by itself, for opcheck: dtypes, memory shared with inputs, changed inputs, tracing.

Kernels are called as ``resources.invoke`` calls them, on the CPU.  Everything comes back as a list of problems in
words; nothing here raises because an op is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from headrace.core.dtypes import DType
from headrace.core.registry import Kernel, OpDef
from headrace.resources.calling.invoke import CPU, arguments, array_attrs, extras, flat_outputs
from headrace.resources.calling.value import NATIVE, TORCH_DTYPES, from_numpy
from headrace.resources.state.variable import Variable


def can_call(op_def: OpDef, attrs: dict[str, Any]) -> bool:
    """Whether the CPU kernel can be called outside a session: it keeps no state and needs no node."""
    traits = op_def.traits
    kernel = op_def.find_kernel("cpu", attrs)
    if kernel is None or kernel.wants_state or kernel.wants_node:
        return False
    return not (traits.handle or traits.feed or traits.waits)


def kernel_problems(
    op_def: OpDef, arrays: Sequence[Any], input_dtypes: Sequence[DType], attrs: dict[str, Any],
    output_dtypes: Sequence[DType],
) -> list[str]:  # fmt: skip
    """Calls the kernel on tensors.  ``arrays`` are flat; those of ref inputs become variables (None: one without a value)."""
    kernel = op_def.find_kernel("cpu", attrs)
    if kernel is None:
        return []
    inputs = [_value(a, d) for a, d in zip(arrays, input_dtypes, strict=True)]
    before = [_copy(v) for v in inputs]
    outputs = _call(op_def, kernel, inputs, attrs)
    problems = _dtype_problems(outputs, output_dtypes)
    problems += _mutation_problems(inputs, before)
    problems += _sharing_problems(op_def, inputs, outputs)
    return problems


def array_problems(
    op_def: OpDef, arrays: Sequence[Any], input_dtypes: Sequence[DType], attrs: dict[str, Any],
    output_dtypes: Sequence[DType], rtol: float, atol: float,
) -> list[str]:  # fmt: skip
    """Compares the op's kernel on arrays, if it has one for these types, with the one on tensors.

    Empty values are not compared: the planner leaves them to tensors.
    """
    small, kernel = op_def.find_array_kernel(attrs), op_def.find_kernel("cpu", attrs)
    if small is None or kernel is None:
        return []
    if not all(d.base_dtype in NATIVE for d in (*input_dtypes, *output_dtypes)):
        return []
    hosts = _host_positions(op_def, attrs)
    if any(a is not None and np.size(a) == 0 for i, a in enumerate(arrays) if i not in hosts):
        return []
    expected_of = [_value(a, d) for a, d in zip(arrays, input_dtypes, strict=True)]
    inputs = [_value(a, d) for a, d in zip(arrays, input_dtypes, strict=True)]
    expected = _call(op_def, kernel, expected_of, attrs)
    if any(isinstance(v, torch.Tensor) and not v.numel() for v in expected):
        return []
    array_inputs = [v.numpy() if isinstance(v, torch.Tensor) else v for v in inputs]
    before = [_copy(v) for v in array_inputs]
    bound = arguments(op_def, array_inputs, attrs)[: len(op_def.signature.inputs)]
    with np.errstate(all="ignore"):
        results = flat_outputs(op_def, small.call(*bound, *array_attrs(op_def, attrs)))
    problems = _mutation_problems(array_inputs, before) + _sharing_problems(op_def, array_inputs, results)
    for i, (a, b) in enumerate(zip([*expected, *expected_of], [*results, *inputs], strict=True)):
        if isinstance(a, Variable):
            if not a.initialized:
                continue
            a, b = a.value, b.value.numpy()
        a = torch.as_tensor(a)
        array_dtype = a.numpy().dtype
        if not isinstance(b, (np.ndarray, np.generic, torch.Tensor)):
            problems.append(f"output {i} must be an array or a scalar of numpy's, not {type(b).__name__}")
        elif not isinstance(b, torch.Tensor) and b.dtype != array_dtype:
            problems.append(f"output {i} must be {array_dtype}; on arrays it is {b.dtype}")
        elif tuple(a.shape) != tuple(b.shape) or not close(a, torch.as_tensor(b), rtol, atol):
            problems.append(
                f"output {i} differs on arrays: {np.asarray(b).tolist()!r:.80} instead of {a.tolist()!r:.80}"
            )
    return [f"on arrays, {p}" for p in problems]


def can_trace(op_def: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> bool:
    """Whether the op promises that a compiler can look inside it."""
    traits = op_def.traits
    if not can_call(op_def, attrs) or not traits.pure or traits.host or traits.opaque or traits.dynamic_shape:
        return False
    return all(d in TORCH_DTYPES for d in input_dtypes)


def trace_problems(
    op_def: OpDef, arrays: Sequence[Any], input_dtypes: Sequence[DType], attrs: dict[str, Any], rtol: float, atol: float
) -> list[str]:
    """Traces the kernel with fake tensors, runs what was traced, and compares with the kernel itself."""
    kernel = op_def.find_kernel("cpu", attrs)
    if kernel is None:
        return []
    hosts = _host_positions(op_def, attrs)
    inputs = [_value(a, d) for a, d in zip(arrays, input_dtypes, strict=True)]
    plain = [i for i in range(len(inputs)) if i not in hosts]

    def run(*tensors: Any) -> list[Any]:
        values = list(inputs)
        for i, tensor in zip(plain, tensors, strict=True):
            values[i] = tensor
        return _call(op_def, kernel, values, attrs)

    tensors_in = [inputs[i] for i in plain]
    expected = run(*tensors_in)
    if not all(isinstance(v, torch.Tensor) for v in expected):
        return ["gives values that are not tensors, so a compiler cannot look inside: declare host or opaque"]
    try:
        traced = make_fx(run, tracing_mode="fake")(*tensors_in)
    except Exception as e:  # whatever fake tensors cannot follow is the problem to report
        return [f"cannot be traced with fake tensors ({type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''})"]
    results = traced(*tensors_in)
    problems = []
    for i, (a, b) in enumerate(zip(expected, results, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype or not close(a, b, rtol, atol):
            problems.append(f"output {i} differs when the kernel is traced")
    return problems


def close(a: torch.Tensor, b: torch.Tensor, rtol: float, atol: float) -> bool:
    """Equal up to the tolerances; NaNs are equal to NaNs."""
    if not (a.is_floating_point() or a.is_complex()):
        return bool(torch.equal(a, b))
    wide = torch.complex128 if a.is_complex() else torch.float64
    return bool(torch.allclose(a.to(wide), b.to(wide), rtol=rtol, atol=atol, equal_nan=True))


def _call(op_def: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    result = kernel.call(*arguments(op_def, inputs, attrs), **extras(kernel, CPU))
    return flat_outputs(op_def, result)


def _value(array: Any, dtype: DType) -> Any:
    """A private run-time value; a ref dtype gives a variable that holds it."""
    base = dtype.base_dtype
    if dtype._is_ref_dtype:
        variable = Variable("checked", base, CPU)
        if array is not None:
            variable.assign(_value(array, base))
        return variable
    array = np.array(array)
    return from_numpy(array, base if base in TORCH_DTYPES else None)


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _host_positions(op_def: OpDef, attrs: dict[str, Any]) -> set[int]:
    positions: set[int] = set()
    position = 0
    for arg in op_def.signature.inputs:
        count = 1
        if arg.is_list:
            count = attrs[arg.number_attr] if arg.number_attr else len(attrs[arg.type_list_attr or ""])
        if arg.host:
            positions.update(range(position, position + count))
        position += count
    return positions


def _dtype_problems(outputs: Sequence[Any], dtypes: Sequence[DType]) -> list[str]:
    if len(outputs) != len(dtypes):
        return [f"the kernel gives {len(outputs)} outputs, the signature {len(dtypes)}"]
    problems = []
    for i, (value, dtype) in enumerate(zip(outputs, dtypes, strict=True)):
        expected = TORCH_DTYPES.get(dtype.base_dtype)
        if dtype._is_ref_dtype:
            continue
        if isinstance(value, torch.Tensor):
            if value.dtype is not expected:
                problems.append(f"output {i} must be {dtype.name}; the kernel gives {value.dtype}")
        elif expected is not None:
            problems.append(f"output {i} must be a {dtype.name} tensor; the kernel gives {type(value).__name__}")
        elif dtype.name == "string" and not _is_string_array(value):
            problems.append(f"output {i} must be an object array of bytes; the kernel gives {value!r:.60}")
    return problems


def _is_string_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object and all(isinstance(v, bytes) for v in value.flat)


def _mutation_problems(inputs: Sequence[Any], before: Sequence[Any]) -> list[str]:
    problems = []
    for i, (now, old) in enumerate(zip(inputs, before, strict=True)):
        if isinstance(now, torch.Tensor):
            same = now.shape == old.shape and now._version == 0 and close(now, old, 0.0, 0.0)
        elif isinstance(now, np.ndarray):
            same = bool(np.array_equal(now, old, equal_nan=now.dtype.kind in "fc"))
        else:
            continue
        if not same:
            problems.append(f"the kernel changes its input {i}")
    return problems


def _sharing_problems(op_def: OpDef, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[str]:
    problems = []
    plain = [(i, v) for i, v in enumerate(inputs) if not isinstance(v, Variable)]
    if not op_def.traits.view:
        for j, out in enumerate(outputs):
            problems += [
                f"output {j} shares memory with input {i}: declare view=True, or copy"
                for i, v in plain
                if share(v, out)
            ]
            problems += [
                f"outputs {j} and {k} share memory: declare view=True, or copy"
                for k in range(j) if share(out, outputs[k])
            ]  # fmt: skip
    for n, holder in enumerate(inputs):
        if isinstance(holder, Variable) and holder.initialized:
            problems += [
                f"the variable of input {n} shares memory with input {i} afterwards: copy the value"
                for i, v in plain if share(v, holder.value) and not op_def.traits.keeps
            ]  # fmt: skip
            if not op_def.traits.view:
                problems += [
                    f"output {j} shares memory with the variable of input {n}: declare view=True, or copy"
                    for j, out in enumerate(outputs) if share(out, holder.value)
                ]  # fmt: skip
    return problems


def share(a: Any, b: Any) -> bool:
    """Whether two run-time values may hold the same memory."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.numel() == 0 or b.numel() == 0:
            return a is b
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.shares_memory(a, b)) or a is b
    return False
