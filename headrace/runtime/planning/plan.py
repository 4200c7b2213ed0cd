"""Making plans: all that is decided once for a request (feeds, fetches, targets): passes, schedule, strands, code."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.core import errors
from headrace.core.source import user_source
from headrace.graph.operation import Operation, Tensor
from headrace.passes.observe import Observe
from headrace.passes.pipeline import (
    Context,
    Options,
    Stage,
    fold_specialised,
    make_placed_graph,
    rewrite_placed,
    run_stage,
)
from headrace.passes.region import Region
from headrace.passes.specialise import may_wait, telling, varying
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.strand import Strand
from headrace.passes.written import written
from headrace.resources.state.variable import Variable
from headrace.runtime.code.codegen import Binder, choose_arrays, generate, generate_begin
from headrace.runtime.code.dump import dump
from headrace.runtime.compiler.compile import Call, CompileRegion, is_on_cpu
from headrace.runtime.compiler.dynamic import compile_dynamic
from headrace.runtime.compiler.regions import compile_regions
from headrace.runtime.drive.flow import Flow
from headrace.runtime.drive.framed import make_framed, needs_frames
from headrace.runtime.drive.plans import Blueprint, FramedStep, Part, PartsPlan, PlacedStrand, SinglePlan, StepPlan
from headrace.runtime.host.cut_machine import Variables
from headrace.runtime.host.device import deterministic
from headrace.runtime.host.hooks import fetch_from_host
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.host.threads import ThreadChoice

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Request:
    """What a step is asked for: what is fed, what is fetched, what must run."""

    feeds: tuple[Tensor, ...]
    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    later: bool = False  # whether the feeds come while it runs (`PartialRun`)
    check_numbers: bool = False  # whether it stops where a number becomes NaN or infinite
    observe: Observe | None = None  # what it hands out beside its fetches, after them
    plain: bool = False  # whether no policy decides where its nodes are

    @property
    def devices(self) -> Collection[str]:
        """None beside those of its own nodes."""
        return ()

    def graph(self, options: Options) -> StepGraph:
        """The step graph, each time a new one."""
        return rewrite_placed(self.placed(options), options)

    def placed(self, options: Options) -> StepGraph:
        """The step graph as it can be cut between devices, each time a new one."""
        if self.plain and options.policy is not None:
            options = replace(options, policy=None)
        graph = make_placed_graph(self.feeds, self.fetches, self.targets, options, self.later)
        _refuse_unfed(graph)
        return graph


def make_plan_for(
    request: Blueprint, worker: RegisteredGraph, options: Options, shapes: Sequence[Sequence[int]],
    strand: PlacedStrand | None = None,
) -> SinglePlan:  # fmt: skip
    """The interpreted plan of a step, or of one strand of it, for feeds of these shapes."""
    context = Context(options)
    graph = fold_specialised(_specialised(request, shapes, worker, options, strand), context)
    return _single(request, run_stage(Stage.FUSE, graph, context), worker, options, strand=strand)


def make_plan(
    request: Blueprint, worker: RegisteredGraph, options: Options, graph: StepGraph | None = None
) -> StepPlan:
    """The interpreted plan: generated Python over kernels.  ``graph``: the blueprint's, where there is one already."""
    context = Context(options)
    graph = _fetchable(request.graph(options) if graph is None else graph, worker)
    waits = any(map(may_wait, graph.nodes))
    if not waits:
        graph = run_stage(Stage.FUSE, graph, context)
    graph = run_stage(Stage.LOWER, graph, context)
    if needs_frames(graph):
        return _framed(request, graph, worker)
    if waits:
        return _in_parts(request, graph, worker, options)
    return _single(request, graph, worker, options)


def variables_written(graph: StepGraph, worker: RegisteredGraph) -> Variables:
    """The variables of this worker that a step may write."""
    return _variables(written(graph), worker)


def variables_used(graph: StepGraph, worker: RegisteredGraph) -> Variables:
    """The variables of this worker that a step has to do with."""
    return _variables([node for node in graph.nodes if node.op_def.traits.handle], worker)


def note_writes(plan: StepPlan, writes: Variables, worker: RegisteredGraph) -> None:
    """Says in a plan for a whole request which variables it writes, all of them on this worker."""
    plan.writes = writes
    if writes:
        plan.writers = worker.writers
        worker.writers.add(plan, worker.owner)


def _variables(handles: Iterable[Node], worker: RegisteredGraph) -> Variables:
    mine = [handle for handle in handles if handle.device.startswith(worker.worker.task)]
    return frozenset(state for handle in mine if isinstance(state := worker.state(handle), Variable))


def _framed(request: Blueprint, graph: StepGraph, worker: RegisteredGraph) -> StepPlan:
    """A step with primitives of control flow."""
    plan = FramedStep(**_common(request, graph, worker), framed=make_framed(graph, worker, worker.gate))
    plan.borrowed = [True] * len(plan.fetches)
    return plan


def _common(request: Blueprint, graph: StepGraph, worker: RegisteredGraph) -> dict[str, Any]:
    """What every kind of plan has."""
    return {
        "request": request, "graph": graph, "feeds": graph.feeds, "fetches": graph.fetches,
        "borrowed": borrowed_fetches(graph), "generation": worker.resources.generation,
        "steps": worker.steps, "pool": worker.pool,
    }  # fmt: skip


def make_compiled_plan(
    request: Blueprint, shapes: Sequence[Sequence[int]], worker: RegisteredGraph, options: Options, compile_one: CompileRegion,
    strand: PlacedStrand | None = None,
) -> SinglePlan:  # fmt: skip
    """A plan of the step for these feed shapes with compiled regions.  One that fails to compile stays interpreted."""
    graph = _specialised(request, shapes, worker, options, strand)
    regions = compile_regions(graph, worker, options, compile_one, compile_one)
    return _single(request, graph, worker, options, regions, strand)


def make_dynamic_plan(
    request: Blueprint, seen: Sequence[Sequence[Sequence[int]]], worker: RegisteredGraph, options: Options,
    compile_body: CompileRegion, on_cpu: bool, strand: PlacedStrand | None = None,
) -> SinglePlan:  # fmt: skip
    """A plan of the step for feeds of many shapes, of which some were ``seen``: sizes that differ between them stay open.

    ``on_cpu``: whether regions on the CPU are compiled too.
    """
    example = telling(seen)
    hints = {
        (node.name, value.value_index): value.shape.tuple or ()
        for node in _specialised(request, example, worker, options, strand).nodes
        for value in node.outputs
        if value.shape.is_fully_defined()
    }

    def compile_one(region: Region, binder: Binder) -> Call | None:
        return compile_dynamic(region, binder, hints) if on_cpu or not is_on_cpu(region) else None

    graph = _specialised(request, varying(seen), worker, options, strand)
    regions = compile_regions(graph, worker, options, compile_one, compile_body, dynamic=True)
    return _single(request, graph, worker, options, regions, strand)


def _specialised(
    request: Blueprint, shapes: Sequence[Sequence[int | None]], worker: RegisteredGraph, options: Options,
    strand: PlacedStrand | None,
) -> StepGraph:  # fmt: skip
    graph = _fetchable(request.graph(options), worker)
    if strand is not None:
        graph = _strands(request, graph, options)[strand.index].graph()
    return run_stage(Stage.SPECIALISE, graph, Context(options, shapes=shapes))


def _fetchable(graph: StepGraph, worker: RegisteredGraph) -> StepGraph:
    hooked = worker.worker.hooked
    return fetch_from_host(graph, hooked, worker.worker.device("").name) if hooked else graph


def _strands(request: Blueprint, graph: StepGraph, options: Options) -> list[Strand]:
    """The strands of a step.  The same request has the same strands each time."""
    context = Context(options)
    run_stage(Stage.CUT, graph, context)
    return context.strands


def _single(
    request: Blueprint, graph: StepGraph, worker: RegisteredGraph, options: Options, regions: int = 0,
    strand: PlacedStrand | None = None,
) -> SinglePlan:  # fmt: skip
    """The plan of a step, or of a strand of one, in which nothing waits."""
    graph = run_stage(Stage.ORDER, graph, Context(options))
    fed = {v.op for v in graph.feeds}
    nodes = [n for n in graph.nodes if n not in fed]
    number = next(_numbers)
    index = 0 if strand is None else strand.index
    title = f"step {number} strand {index}"
    if strand is None:
        program = generate(nodes, graph.feeds, graph.fetches, worker, title, arrays=choose_arrays(nodes, (), worker))
    else:
        places = strand.places(graph.feeds)
        small = choose_arrays(nodes, graph.fetches, worker)
        program = generate(nodes, graph.feeds, graph.fetches, worker, title, places, arrays=small)
        strand.place(graph.fetches, places)
    dump(f"step_{number}.plan.txt", lambda: graph.to_text() + "\n")
    dump(f"step_{number}.strand_{index}.py", lambda: program.source)
    return SinglePlan(
        **_common(request, graph, worker), program=program, threads=_thread_choice(request, graph, worker),
        gate=worker.gate, strand=strand, regions=regions,
    )  # fmt: skip


def _thread_choice(request: Blueprint, graph: StepGraph, worker: RegisteredGraph) -> ThreadChoice:
    """One program runs the nodes of its devices in turn, so it may use the threads of all of them."""
    computing = {n.device for n in graph.nodes if not (n.op_def.traits.feed or n.op_def.traits.constant)}
    limit = worker.worker.thread_limit(computing, request.devices)
    return ThreadChoice(limit, deterministic(), worker.worker.cores)


def _in_parts(request: Blueprint, graph: StepGraph, worker: RegisteredGraph, options: Options) -> StepPlan:
    """The plan of a step in which nodes wait: a part for each strand."""
    common = _common(request, graph, worker)
    strands = _strands(request, graph, options)
    placed: dict[str, Any] = {}
    parts = []
    for strand in strands:
        names, outputs = [v.name for v in strand.inputs], [v.name for v in strand.outputs]
        here = PlacedStrand(strand.index, names, placed, outputs)
        if not strand.waits:
            inner = run_stage(Stage.FUSE, strand.graph(), Context(options))
            plan = _single(request, inner, worker, options, strand=here)
            parts.append(Part(strand, plan.program, strand.nodes[0], plan))
        else:
            parts.append(_waiting_part(strand, strand.nodes[-1], here, worker))
    return PartsPlan(**common, parts=parts, flow=Flow.of([s.after for s in strands]))


def _waiting_part(strand: Strand, node: Node, here: PlacedStrand, worker: RegisteredGraph) -> Part:
    """The part of one node that waits."""
    graph = strand.graph()
    inside = {v.op for v in graph.feeds}
    nodes = [n for n in graph.nodes if n not in inside]
    places = here.places(graph.feeds)
    write = generate_begin if node.op_def.traits.asynchronous else generate
    program = write(nodes, graph.feeds, graph.fetches, worker, node.name, places)
    return Part(strand, program, node)


_C_NAMES = {"float16": "half", "float32": "float", "float64": "double"}  # TensorFlow's errors have these


def _refuse_unfed(graph: StepGraph) -> None:
    fed = {v.op for v in graph.feeds}
    for node in graph.nodes:
        if node.op_def.traits.feed and node not in fed:
            dtype = _C_NAMES.get(node.attrs["dtype"].name, node.attrs["dtype"].name)
            dims = node.outputs[0].shape.tuple
            shape = f" and shape [{','.join('?' if d is None else str(d) for d in dims)}]" if dims else ""
            raise errors.InvalidArgumentError(
                None, node.origin,
                f"You must feed a value for placeholder tensor '{node.name}' with dtype {dtype}{shape}: it was made "
                f"at {node.source} and the fetches of this run depend on it. Add it to feed_dict. (run at {user_source(2)})",
            )  # fmt: skip


def borrowed_fetches(graph: StepGraph) -> list[bool]:
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
