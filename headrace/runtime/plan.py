"""StepPlan: all that is decided once for a request (feeds, fetches, targets): passes, schedule, strands, code."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core import errors
from headrace.core.source import user_source
from headrace.graph.operation import Operation, Tensor
from headrace.passes.pipeline import Context, Options, Stage, make_step_graph, run_stage
from headrace.passes.region import Region
from headrace.passes.specialise import telling, varying
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.strand import Strand
from headrace.runtime.codegen import Binder, Program, choose_arrays, generate
from headrace.runtime.compiler.compile import Call, CompileRegion
from headrace.runtime.compiler.dynamic import compile_dynamic
from headrace.runtime.compiler.regions import compile_regions
from headrace.runtime.device import deterministic
from headrace.runtime.dump import dump
from headrace.runtime.fed_shapes import FedShapes
from headrace.runtime.flow import Flow
from headrace.runtime.framed import FramedPlan, make_framed, needs_frames
from headrace.runtime.gate import Gate
from headrace.runtime.threads import ThreadChoice
from headrace.runtime.worker import LocalWorker

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Request:
    """What a step is asked for: what is fed, what is fetched, what must run."""

    feeds: tuple[Tensor, ...]
    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    async_feeds: bool = False


@dataclass(slots=True)
class StepPlan:
    """A step ready to run.  ``borrowed[i]``: fetch i may share memory with state, a feed or a constant, so copy it."""

    request: Request
    graph: StepGraph
    strands: list[Strand]
    programs: list[Program]
    flow: Flow
    feeds: list[Value]
    fetches: list[Value]
    borrowed: list[bool]
    generation: int
    threads: ThreadChoice
    regions: int = 0
    tier: Any = field(default=None)
    gate: Gate | None = None  # where threads wait for others that compute for the session
    fed_shapes: FedShapes | None = None  # plans for feeds of certain shapes, where this one leaves them open
    framed: FramedPlan | None = None  # set instead of strands where the step uses primitives of control flow

    @property
    def single(self) -> bool:
        return len(self.strands) == 1


def make_plan(
    request: Request, worker: LocalWorker, options: Options, shapes: Sequence[Sequence[int]] | None = None
) -> StepPlan:
    """The interpreted plan: generated Python over kernels.  With ``shapes`` it is for feeds of these shapes only."""
    context = Context(options)
    if shapes is None:
        graph = _step_graph(request, options)
    else:
        graph = run_stage(Stage.FOLD, _specialised(request, shapes, options), context)
    graph = run_stage(Stage.LOWER, graph, context)
    if needs_frames(graph):
        return _framed(request, graph, worker)
    return _finish(request, graph, worker, 0, options)


def _framed(request: Request, graph: StepGraph, worker: LocalWorker) -> StepPlan:
    """A step with primitives of control flow."""
    framed = make_framed(graph, worker, worker.gate)
    return StepPlan(
        request, graph, [], [], Flow.of([]), graph.feeds, graph.fetches, [True] * len(graph.fetches),
        worker.resources.generation, ThreadChoice(worker.threads), framed=framed,
    )  # fmt: skip


def make_compiled_plan(
    request: Request, shapes: Sequence[Sequence[int]], worker: LocalWorker, options: Options, compile_one: CompileRegion
) -> StepPlan:
    """A plan of the step for these feed shapes with compiled regions.  One that fails to compile stays interpreted."""
    graph = _specialised(request, shapes, options)
    regions = compile_regions(graph, worker, options, compile_one, compile_one)
    return _finish(request, graph, worker, regions, options)


def make_dynamic_plan(
    request: Request, seen: Sequence[Sequence[Sequence[int]]], worker: LocalWorker, options: Options,
    compile_body: CompileRegion,
) -> StepPlan:  # fmt: skip
    """A plan of the step for feeds of many shapes, of which some were ``seen``: sizes that differ between them stay open."""
    example = telling(seen)
    hints = {
        (node.name, value.value_index): value.shape.tuple or ()
        for node in _specialised(request, example, options).nodes
        for value in node.outputs
        if value.shape.is_fully_defined()
    }

    def compile_one(region: Region, binder: Binder) -> Call:
        return compile_dynamic(region, binder, hints)

    graph = _specialised(request, varying(seen), options)
    regions = compile_regions(graph, worker, options, compile_one, compile_body, dynamic=True)
    return _finish(request, graph, worker, regions, options)


def _step_graph(request: Request, options: Options) -> StepGraph:
    graph = make_step_graph(request.feeds, request.fetches, request.targets, options)
    _refuse_unfed(graph)
    return graph


def _specialised(request: Request, shapes: Sequence[Sequence[int | None]], options: Options) -> StepGraph:
    return run_stage(Stage.SPECIALISE, _step_graph(request, options), Context(options, shapes=shapes))


def _finish(request: Request, graph: StepGraph, worker: LocalWorker, regions: int, options: Options) -> StepPlan:
    fed = {v.op for v in graph.feeds}
    async_feeds = request.async_feeds

    def is_async(node: Node) -> bool:
        return node.op_def.traits.blocking or (async_feeds and node in fed)

    context = Context(options, is_async=is_async)
    graph = run_stage(Stage.STRANDS, graph, context)
    strands = context.strands
    number = next(_numbers)
    places: dict[Value, Any] = {}
    programs = [_program(s, strands, graph, graph.nodes, fed, async_feeds, worker, number, places) for s in strands]
    dump(f"step_{number}.plan.txt", lambda: graph.to_text() + "\n")
    for strand, program in zip(strands, programs, strict=True):
        dump(f"step_{number}.strand_{strand.index}.py", lambda p=program: p.source)  # type: ignore[misc]
    return StepPlan(
        request, graph, strands, programs, Flow.of([s.after for s in strands]), graph.feeds, graph.fetches,
        _borrowed(graph), worker.resources.generation, ThreadChoice(worker.threads, deterministic()), regions,
        gate=worker.gate,
    )  # fmt: skip


def _program(
    strand: Strand, strands: list[Strand], graph: StepGraph, order: Sequence[Node], fed: set[Node], async_feeds: bool,
    worker: LocalWorker, number: int, places: dict[Value, Any],
) -> Program:  # fmt: skip
    members = set(strand.nodes)
    nodes = [n for n in order if n in members and n not in fed]
    title = f"step {number} strand {strand.index}"
    if len(strands) == 1:
        strand.inputs = graph.feeds
        small = choose_arrays(nodes, (), worker)
        return generate(nodes, strand.inputs, graph.fetches, worker, title, arrays=small)
    if strand.asynchronous and strand.nodes[0] in fed:
        strand.inputs = [strand.nodes[0].outputs[0]]
    elif not async_feeds:
        strand.inputs = [*strand.inputs, *(v for v in graph.feeds if v.op in members)]
    small = choose_arrays(nodes, strand.outputs, worker)
    return generate(nodes, strand.inputs, strand.outputs, worker, title, places, arrays=small)


def _refuse_unfed(graph: StepGraph) -> None:
    fed = {v.op for v in graph.feeds}
    for node in graph.nodes:
        if node.op_def.traits.feed and node not in fed:
            dtype = node.attrs["dtype"].name
            shape = node.outputs[0].shape
            raise errors.InvalidArgumentError(
                None, node.origin,
                f"You must feed a value for placeholder tensor '{node.name}' with dtype {dtype} and shape {shape}: it was made "
                f"at {node.source} and the fetches of this run depend on it. Add it to feed_dict. (run at {user_source(2)})",
            )  # fmt: skip


def _borrowed(graph: StepGraph) -> list[bool]:
    """Whether each fetch may share memory that the caller must not get: of a variable, a feed, a constant, or another fetch."""
    shared: set[Value] = set()
    for node in graph.nodes:
        traits = node.op_def.traits
        if traits.constant or traits.reads_buffer or traits.compiled or traits.feed or traits.host_output:
            shared.update(node.outputs)
        elif traits.view and any(v in shared for v in node.inputs):
            shared.update(node.outputs)
    borrowed = []
    seen: set[Value] = set()
    for value in graph.fetches:
        borrowed.append(value in shared or value in seen or value.op.op_def.traits.view)
        seen.add(value)
    return borrowed
