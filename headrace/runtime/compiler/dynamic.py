"""Compiles a region once for many shapes: sizes that differ between runs stay symbols.

The region's nodes are run once on stand-ins whose varying sizes are symbolic.  What the graph computes from shapes (Shape,
Pack, products of sizes ...) is followed by the ops' own value rules, with symbols in place of numbers, so it never becomes
a tensor.  The assumptions of the kernels about sizes become one condition; for inputs that break it the region is interpreted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headrace.core import process
from headrace.core.dtypes import DType
from headrace.graph.infer import group_inputs
from headrace.passes.region import Region, origin_of
from headrace.passes.step_graph import Node, Value
from headrace.resources.calling.copies import to_device
from headrace.resources.calling.invoke import bind_attrs, extras
from headrace.resources.calling.value import torch_dtype
from headrace.resources.state.variable import Variable
from headrace.runtime.code.codegen import Binder, generate
from headrace.runtime.compiler.compile import (
    Call,
    CannotCompile,
    apart,
    compile_plainly,
    compiler,
    large_constants,
    with_locks,
)
from headrace.runtime.compiler.torch_door.tracing import (
    as_python,
    fake_mode,
    refusing_negative_indices,
    traced_as_it_runs,
)

_numbers = itertools.count()

Hints = Mapping[tuple[str, int], Sequence[Any]]


def compile_dynamic(region: Region, binder: Binder, hints: Hints) -> Call:
    """A function (plain inputs, variables) -> outputs for all sizes that fit the region's partial shapes.

    ``hints`` gives an example of each input's shape, by node name and output.
    """
    device = binder.torch_device(region.device)
    plain = region.plain
    large = large_constants(region)
    with compiler, process.no_collection():
        graph, fakes, holds = _trace(region, plain, large, binder, device, hints)
        artifact = compile_plainly(graph, fakes, f"dynamic_{next(_numbers)}", binder.threads)
    captured = [binder.constant(v.op, device) for v in large]
    constants = [v.op for v in region.constants]
    otherwise = generate([*constants, *region.nodes], [*plain, *region.refs], region.outputs, binder, "region").call

    def call(inputs: Sequence[Any], refs: Sequence[Variable]) -> Any:
        moved = inputs if device.type == "cpu" else [to_device(t, device) for t in inputs]
        if not holds([t.shape for t in moved]):
            return otherwise(*inputs, *refs)
        arguments = [*moved, *captured, *[r.value for r in refs]]
        return apart(artifact(*arguments), arguments, region.fetched)

    return with_locks(call, region)


def _trace(
    region: Region, plain: Sequence[Value], large: Sequence[Value], binder: Binder, device: Any, hints: Hints
) -> tuple[Any, list[Any], Callable[[Sequence[Any]], bool]]:
    """The FX graph of (plain inputs, large constants, buffers), its fake inputs, the condition on the inputs' shapes."""
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    shapes = ShapeEnv()
    mode = fake_mode(shapes)

    def stand_in(value: Value) -> Any:
        dims: Any = value.shape.tuple
        example = torch.empty(tuple(hints[origin_of(value)]), dtype=torch_dtype(value.dtype), device="meta")
        moves = [DimDynamic.DUCK if d is None else DimDynamic.STATIC for d in dims]  # duck: equal sizes are one symbol
        context: Any = StatelessSymbolicContext(dynamic_sizes=moves)
        fake = mode.from_tensor(example, symbolic_context=context)
        with mode:
            return torch.empty(fake.shape, dtype=example.dtype, device=device)

    fakes = [stand_in(v) for v in plain]
    with mode:
        fixed = [torch.empty(_sizes(v), dtype=torch_dtype(v.dtype), device=device) for v in [*large, *region.refs]]

    def run_region(*arguments: Any) -> tuple[Any, ...]:
        walk = _Walk(binder, device)
        walk.values.update(zip([*plain, *large], arguments, strict=False))
        for value, buffer in zip(region.refs, arguments[len(plain) + len(large) :], strict=True):
            holder = Variable(value.op.name, value.dtype.base_dtype, device)
            holder.value = buffer
            walk.values[value] = holder
        with refusing_negative_indices(device):
            for node in region.nodes:
                walk.node(node)
        return tuple(walk.tensor(v) for v in region.outputs)

    graph = traced_as_it_runs(run_region, [*fakes, *fixed], tracing_mode="symbolic", _allow_non_fake_inputs=True)
    return graph, [*fakes, *fixed], _condition(shapes, fakes)


def _sizes(value: Value) -> Any:
    return value.shape.tuple


def _condition(shapes: Any, fakes: Sequence[Any]) -> Callable[[Sequence[Any]], bool]:
    """What the trace took for granted: fixed sizes, sizes that are equal, and comparisons that kernels made."""
    from torch.fx.experimental.symbolic_shapes import is_symbolic

    fixed: list[tuple[int, int, int]] = []
    symbols: dict[Any, tuple[int, int]] = {}
    equal: list[tuple[int, int, int, int]] = []
    for i, fake in enumerate(fakes):
        for j, size in enumerate(fake.shape):
            if not is_symbolic(size):
                fixed.append((i, j, int(size)))
            elif size.node._expr in symbols:
                equal.append((i, j, *symbols[size.node._expr]))
            else:
                symbols[size.node._expr] = (i, j)
    names = {symbol: f"s[{i}][{j}]" for symbol, (i, j) in symbols.items()}
    lines = [f"s[{i}][{j}] == {n}" for i, j, n in fixed] + [f"s[{i}][{j}] == s[{k}][{m}]" for i, j, k, m in equal]
    lines += [f"s[{i}][{j}] > 1" for i, j in symbols.values()]  # torch treats sizes of 0 and 1 specially
    for guard in shapes.guards:
        unknown = guard.expr.free_symbols - set(names)
        if unknown:
            raise CannotCompile(f"depends on sizes that inputs do not show: {guard.expr}")
        lines.append(as_python(guard.expr, names))
    holds: Callable[[Sequence[Any]], bool] = eval(f"lambda s: {' and '.join(f'({line})' for line in lines) or 'True'}")
    return holds


class _Walk:
    """Runs nodes on stand-ins.  ``sizes``: integers computed from shapes, as arrays that may hold symbols."""

    def __init__(self, binder: Binder, device: Any) -> None:
        self.binder = binder
        self.device = device
        self.values: dict[Value, Any] = {}
        self.sizes: dict[Value, Any] = {}

    def node(self, node: Node) -> None:
        if self._follow(node):
            return
        op_def = node.op_def
        arguments: list[Any] = []
        for arg, values in zip(op_def.signature.inputs, group_inputs(op_def, node.inputs, node.attrs), strict=True):
            take = self._host if arg.host else self.tensor
            arguments.append([take(v) for v in values] if arg.is_list else take(values))
        if op_def.kernels.inline is not None:
            names = {f"a{i}": a for i, a in enumerate(arguments)}
            result = eval(op_def.kernels.inline.format(*names), names)
        else:
            kernel = self.binder.kernel(node, self.device.type)
            if kernel.wants_state:
                raise CannotCompile(f"{node.name} ({node.type}) keeps state of its own")
            arguments += bind_attrs(op_def, node.attrs)
            result = kernel.call(*arguments, **extras(kernel, self.device, None, node))
        self._keep(node, result)

    def _keep(self, node: Node, result: Any) -> None:
        outputs = node.op_def.signature.outputs
        if not outputs:
            return
        if len(outputs) == 1 and not outputs[0].is_list:
            result = [result]
        flat = [part for r in result for part in (r if isinstance(r, (list, tuple)) else [r])]
        self.values.update(zip(node.outputs, flat, strict=True))

    def _follow(self, node: Node) -> bool:
        """Computes the node on numbers and symbols, if possible."""
        if not node.outputs or not all(v.dtype.base_dtype.is_integer for v in node.outputs):
            return False
        answer: Any
        if node.type in _QUESTIONS:
            answer = _QUESTIONS[node.type]([tuple(self.tensor(v).shape) for v in node.inputs])
        else:
            arrays_in = [self._array(v) for v in node.inputs]
            if node.op_def.value_fn is None or not arrays_in or any(a is None for a in arrays_in):
                return False
            answer = node.op_def.value_fn(node, *arrays_in)
        parts = answer if isinstance(answer, tuple) else (answer,)
        if len(parts) != len(node.outputs):
            return False
        arrays = [None if p is None else np.asarray(p) for p in parts]
        if any(a is None or (a.dtype == object and any(e is None for e in a.flat)) for a in arrays):
            return False
        self.sizes.update(zip(node.outputs, arrays, strict=True))
        return True

    def _array(self, value: Value) -> Any:
        if value.op.op_def.traits.constant:
            array = np.asarray(value.op.attrs["value"])
            return array if array.dtype.kind in "iu" else None
        return self.sizes.get(value)

    def _host(self, value: Value) -> Any:
        array = self._array(value)
        if array is None and value.op.op_def.traits.constant:
            array = np.asarray(value.op.attrs["value"])
        if array is None:
            raise CannotCompile(f"{value.op.name} ({value.op.type}) decides a shape and is not known from shapes")
        return array.tolist() if array.ndim else array.item()

    def tensor(self, value: Value) -> Any:
        tensor = self.values.get(value)
        if tensor is not None:
            return tensor
        array = self.sizes.get(value)
        if array is None:
            array = np.asarray(value.op.attrs["value"])
        tensor = self.values[value] = _tensor(array, value.dtype, self.device)
        return tensor


def _tensor(array: Any, dtype: DType, device: Any) -> Any:
    torch_type = torch_dtype(dtype)
    if array.dtype != object and array.size > 1:
        return torch.tensor(array.tolist(), dtype=torch_type, device=device)
    parts = [
        torch.full((), e if array.dtype == object else e.item(), dtype=torch_type, device=device) for e in array.flat
    ]
    return torch.stack(parts).reshape(array.shape) if array.ndim and parts else (
        parts[0] if parts else torch.empty(array.shape, dtype=torch_type, device=device)
    )  # fmt: skip


def _symbols(sizes: Sequence[Any]) -> Any:
    array = np.empty(len(sizes), object)
    array[:] = list(sizes)
    return array


def _count(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for n in sizes:
        total = total * n
    array = np.empty((), object)
    array[()] = total
    return array


_QUESTIONS: dict[str, Callable[[list[tuple[Any, ...]]], Any]] = {
    "Shape": lambda shapes: _symbols(shapes[0]),
    "ShapeN": lambda shapes: tuple(_symbols(s) for s in shapes),
    "Size": lambda shapes: _count(shapes[0]),
    "Rank": lambda shapes: np.array(len(shapes[0])),
}
