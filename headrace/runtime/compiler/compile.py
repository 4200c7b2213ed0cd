"""Compiling a region: its generated Python is traced on fake tensors into one FX graph, which goes straight to inductor.

No Dynamo and no guards: shapes are fixed by specialisation, variables are inputs updated in place.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Final

import torch

from headrace.core import process
from headrace.passes.region import Region, is_drawn_anywhere
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, Value
from headrace.resources.calling.value import torch_dtype
from headrace.resources.state.variable import Variable, locked
from headrace.runtime.code.codegen import Binder, generate
from headrace.runtime.code.dump import dump
from headrace.runtime.compiler.arrange import compare_for_one_element, join_in_the_library, store_what_libraries_read
from headrace.runtime.compiler.blocks import share_blocks
from headrace.runtime.compiler.cuda_graph import GraphedCall
from headrace.runtime.compiler.own_folder import point_compiler
from headrace.runtime.compiler.recompute import recompute
from headrace.runtime.compiler.rows import own_results, settle_writes, writes_rows_and_more
from headrace.runtime.compiler.torch_door.lowering import (
    begin_with_seeds,
    can_lower,
    compile_as_torch_does,
    lower,
    start_kernel_compilers,
)
from headrace.runtime.compiler.torch_door.node import op_name
from headrace.runtime.compiler.torch_door.tracing import (
    Calls,
    can_trace,
    fake_mode,
    refusing_negative_indices,
    traced_as_it_runs,
)
from headrace.runtime.host.recorder import Recorder
from headrace.runtime.host.threads import having_threads

log = logging.getLogger("headrace.compile")
_numbers = itertools.count()

OPTIONS: Final[dict[str, Any]] = {
    "layout_optimization": False,  # images are channels-last already; inductor would rearrange what only looks channels-first
    "emulate_precision_casts": True,  # a value of 16 bits is rounded to them, also where it is not stored
    "triton.autotune_at_compile_time": False,  # kernels are tuned in their first run, not before in a module of their own
    "triton.descriptive_names": "torch",  # short ones: torch looks in vain for Triton's file if its name has over 150 letters
}

# Torch's ops that look at the value of an index, by what their names begin with.
BY_VALUE: Final = (
    "index",
    "gather",
    "scatter",
    "embedding",
    "take",
    "nll_loss",
    "_unsafe_index",
    "_unsafe_masked_index",
)

# What torch 2.13 says when simplifying changed how a block's inputs lie in memory, if they were transposed.
BLOCKS_REFUSED = "subgraph args must have consistent values"

Call = Callable[[Sequence[Any], Sequence[Variable]], Sequence[Any]]
CompileRegion = Callable[[Region, Binder], Call | None]  # None: it stays interpreted


class CannotCompile(Exception):
    """A region that the compiler refused; carries the reason."""


def trace_region(
    region: Region, binder: Binder, lying: Sequence[Sequence[int] | None] = ()
) -> tuple[Any, list[Any], list[Value]]:
    """The region as an FX graph of (plain inputs, large constants, buffers); fake inputs; the large constants' values.

    ``lying``: the strides of the buffers, where they are not the usual ones.
    """
    device = binder.torch_device(region.device)
    small = [v for v in region.constants if v.op.attrs["value"].size <= 1]
    large = large_constants(region)
    plain = region.plain
    order = [*plain, *large, *small, *region.refs]
    places: dict[Value, Any] = dict.fromkeys([*plain, *large, *small], device)
    calls = Calls(lambda: refusing_negative_indices(device))
    program = generate(region.nodes, order, region.outputs, _TraceBinder(binder, calls), "trace", places)
    mode = fake_mode()
    with mode:
        fakes = [_empty(v, device) for v in [*plain, *large]]
        buffers = [_empty(v, device, s) for v, s in zip_longest(region.refs, lying)]

    def run_region(*arguments: Any) -> tuple[Any, ...]:
        values = list(arguments[: len(plain) + len(large)])
        for v in small:
            array = v.op.attrs["value"]
            values.append(torch.full(array.shape, array.reshape(-1)[0].item() if array.size else 0,
                                    dtype=torch_dtype(v.dtype), device=device))  # fmt: skip
        for value, buffer in zip(region.refs, arguments[len(plain) + len(large) :], strict=True):
            holder = Variable(value.op.name, value.dtype.base_dtype, device)
            holder.value = buffer
            values.append(holder)
        result: tuple[Any, ...] = program.call(*values)
        return result

    inputs = [*fakes, *buffers]
    if can_trace(inputs):
        return calls.trace(run_region, inputs), inputs, large

    def run_refusing(*arguments: Any) -> tuple[Any, ...]:
        with refusing_negative_indices(device):
            return run_region(*arguments)

    with mode:
        return traced_as_it_runs(run_refusing, inputs), inputs, large


def _empty(value: Value, device: Any, stride: Any = None) -> Any:
    dims: Any = value.shape.tuple
    if stride is None:
        return torch.empty(dims, dtype=torch_dtype(value.dtype), device=device)
    return torch.empty_strided(dims, stride, dtype=torch_dtype(value.dtype), device=device)


_warned: set[str] = set()
_no_compiler: list[str] = []  # the message, once it is clear that there is no compiler


def warn_once(region: Region, error: BaseException) -> None:
    """One line for a region that stays interpreted, naming an op and the user's line."""
    first = region.nodes[0]
    reason = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {reason[0] if reason else ''}"
    if text not in _warned:
        _warned.add(text)
        log.warning(
            "not compiled, stays interpreted: %d nodes from %s (%s, made at %s): %s",
            len(region.nodes), first.name, first.type, first.source, text,
        )  # fmt: skip


class _TraceBinder:
    """Binds kernels as usual; constants and state must come in as inputs."""

    recorder: Recorder | None = None

    def __init__(self, inner: Binder, calls: Calls) -> None:
        self._inner = inner
        self._calls = calls
        self.threads = inner.threads
        self.arrays = False

    def kernel(self, node: Node, kernel_type: str) -> Any:
        return self._calls.kernel(self._inner.kernel(node, kernel_type))

    def state(self, node: Node) -> Any:
        if is_drawn_anywhere(node):
            return None  # by the compiler's own generator
        raise CannotCompile(f"{node.name} ({node.type}) keeps state of its own")

    def constant(self, node: Node, torch_device: Any) -> Any:
        raise CannotCompile(f"constant {node.name} is not an input of its region")

    def torch_device(self, name: str) -> Any:
        return self._inner.torch_device(name)

    place = torch_device


# Tracing and inductor keep state of the process: one compilation at a time, whichever sessions and threads ask.
compiler = threading.RLock()


def compile_region(region: Region, binder: Binder) -> Call:
    """A function (plain inputs, variables) -> outputs that updates the variables in place."""
    device = binder.torch_device(region.device)
    with compiler, process.no_collection():
        point_compiler()
        if device.type == "cuda":
            start_kernel_compilers()
        lie = strides(region, binder)
        traced = trace_region(region, binder, lie)
        return as_call(compile_traced(traced, region, binder, lie, title()), region, binder)


def as_call(code: Callable[..., Any], region: Region, binder: Binder) -> Call:
    """Compiled code (a function of inputs, large constants and buffers) as the region's function."""
    device = binder.torch_device(region.device)
    captured = [binder.constant(v.op, device) for v in large_constants(region)]

    def run(*tensors: Any) -> Any:
        return apart(code(*tensors), tensors, region.fetched)

    if device.type == "cuda":
        return with_locks(GraphedCall(run, captured, device), region)

    def call(inputs: Sequence[Any], refs: Sequence[Variable]) -> Any:
        return run(*[t.to(device) for t in inputs], *captured, *[r.value for r in refs])

    return with_locks(call, region)


def apart(results: Sequence[Any], inputs: Sequence[Any], fetched: Sequence[int]) -> Sequence[Any]:
    """The results, those at the positions ``fetched`` copied where they lie in the memory of an input or of another result.

    A compiler leaves out what changes nothing (``x + 0``), and returns the input: a variable, or what the user fed.
    """
    if not fetched:
        return results
    memory = {t.untyped_storage().data_ptr() for t in inputs}
    distinct = list(results)
    for i in fetched:
        place = distinct[i].untyped_storage().data_ptr()
        if place in memory:
            distinct[i] = distinct[i].clone()
        memory.add(place)
    return distinct


def title() -> str:
    """The name of the next region's dump."""
    return f"region_{next(_numbers)}"


def is_on_cpu(region: Region) -> bool:
    """Whether the region is for the CPU itself, not for another device type over torch's CPU."""
    return "device:CPU" in region.device


def large_constants(region: Region) -> list[Value]:
    """The constants that are inputs of compiled code; smaller ones become part of it."""
    return [v for v in region.constants if v.op.attrs["value"].size > 1]


def compile_traced(
    traced: tuple[Any, list[Any], list[Value]], region: Region, binder: Binder, lying: Sequence[Sequence[int] | None], title: str
) -> Any:  # fmt: skip
    """What ``trace_region`` gave, compiled; without shared blocks if the compiler refuses those."""
    graph, fakes, _ = traced
    if is_on_cpu(region):
        return compile_plainly(graph, fakes, title, binder.threads)
    try:
        return compile_graph(graph, fakes, title, binder.threads, region.recompute)
    except Exception as e:
        if BLOCKS_REFUSED not in str(e):
            raise
        log.debug("compiled without shared blocks: %s", e)
        graph = trace_region(region, binder, lying)[0]
        return compile_graph(graph, fakes, title, binder.threads, region.recompute, share=False)


def compile_graph(
    graph: Any, fakes: Sequence[Any], title: str, threads: int, again: bool = True, share: bool = True
) -> Any:
    """The traced region compiled for an accelerator; the caller holds ``compiler``.

    ``again``: whether cheap values are made again for gradients.  ``share``: whether blocks that repeat are compiled once.
    """
    if not can_lower(graph):
        return compile_plainly(graph, fakes, title, threads)
    process.quieten_compiler()
    compare_for_one_element(graph)
    begin_with_seeds(graph, fakes)
    if again:
        recompute(graph)
    settle_writes(graph)
    store_what_libraries_read(graph)
    if share:
        share_blocks(graph)
    join_in_the_library(graph)
    _dump(graph, title)
    with having_threads(threads):
        return lower(graph, fakes, _settings(graph, threads))


def compile_plainly(graph: Any, fakes: Sequence[Any], title: str, threads: int) -> Any:
    """The traced region compiled as torch does it, for runs on up to ``threads`` threads; the caller holds ``compiler``."""
    if _no_compiler and all(f.device.type == "cpu" for f in fakes):
        raise CannotCompile(_no_compiler[0])
    process.quieten_compiler()
    if can_lower(graph):
        settle_writes(graph)
    elif writes_rows_and_more(graph):
        raise CannotCompile("it writes rows of a variable and then writes the variable again")
    else:
        own_results(graph)
    _dump(graph, title)
    try:
        with having_threads(threads):
            return compile_as_torch_does(graph, fakes, _settings(graph, threads))
    except Exception as e:
        if "InvalidCxxCompiler" not in str(e):
            raise
        _no_compiler.append("no C++ compiler was found (CXX, g++): nothing will be compiled for the CPU")
        raise CannotCompile(_no_compiler[0]) from e


def _dump(graph: Any, title: str) -> None:
    dump(f"{title}.py", lambda: graph.print_readable(print_output=False) + "\n")


def _settings(graph: Any, threads: int) -> dict[str, Any]:
    """Inductor's settings for code that runs on up to ``threads`` threads.

    Left alone, inductor fixes the number of threads in the loops it writes for the CPU, unless it is that of the machine's cores.
    Loops that refuse an index run on one thread: a C++ exception that leaves a loop of several ends the process.
    """
    if any(op_name(n).startswith(BY_VALUE) for n in graph.graph.nodes):
        return {**OPTIONS, "cpp.threads": 1}
    return {**OPTIONS, "cpp.dynamic_threads": 1 < threads != os.cpu_count()}


def with_locks(call: Call, region: Region) -> Call:
    """``call``, holding the locks that updates in the region ask for."""
    locks = _locks(region)
    if not locks:
        return call

    def locked_call(inputs: Sequence[Any], refs: Sequence[Variable]) -> Any:
        with locked([refs[i] for i in locks], True):
            return call(inputs, refs)

    return locked_call


def strides(region: Region, binder: Binder) -> list[Sequence[int] | None]:
    """How the variables lie in memory, where they have a value yet and are not arguments of a body."""
    return [_stride(binder.state(v.op), v) if v.op.op_def.traits.handle else None for v in region.refs]


def _stride(variable: Variable, handle: Value) -> Sequence[int] | None:
    has_shape = variable.initialized and variable.value.shape == handle.shape.tuple
    return variable.value.stride() if has_shape else None


def _locks(region: Region) -> list[int]:
    """Positions of the variables that an update in the region asks to lock."""
    locked = {
        root(v)
        for n in region.nodes
        if n.op_def.traits.writes and n.attrs.get("use_locking")
        for v in n.inputs
        if v.dtype._is_ref_dtype
    }
    return [i for i, v in enumerate(region.refs) if v in locked]
