"""StepPlan: everything decided once for one kind of step, (feeds, fetches, targets): passes, schedule, strands, generated code."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import errors
from headrace.graph.operation import Operation, Tensor
from headrace.passes.pipeline import Options, run_pipeline
from headrace.passes.schedule import protect_reads, schedule
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.runtime.codegen import Program, generate
from headrace.runtime.flow import Flow
from headrace.runtime.strand import Strand, cut
from headrace.runtime.worker import LocalWorker

_numbers = itertools.count()


@dataclass(slots=True)
class StepPlan:
    """A step ready to run.  ``borrowed[i]``: fetch i may share memory with state, a feed or a constant, so copy it."""

    graph: StepGraph
    strands: list[Strand]
    programs: list[Program]
    flow: Flow
    feeds: list[Value]
    fetches: list[Value]
    borrowed: list[bool]
    generation: int

    @property
    def single(self) -> bool:
        return len(self.strands) == 1


def make_plan(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], worker: LocalWorker,
    options: Options, async_feeds: bool = False,
) -> StepPlan:  # fmt: skip
    """With ``async_feeds`` each feed arrives on its own (partial runs), so strands are cut by the feeds they wait for."""
    graph = run_pipeline(feeds, fetches, targets, options)
    fed = {v.op for v in graph.feeds}
    _check_fed(graph, fed)

    def is_async(node: Node) -> bool:
        return node.op_def.traits.blocking or (async_feeds and node in fed)

    order = schedule(graph.nodes)
    strands = cut(order, graph.fetches, is_async)
    crossing = {v for s in strands for v in s.inputs} if len(strands) > 1 else set()
    protect_reads(order, set(graph.fetches) | crossing)
    number = next(_numbers)
    places: dict[Value, Any] = {}
    programs = []
    for strand in strands:
        nodes = schedule_within(strand, order)
        inputs = strand.inputs
        if not async_feeds or not strand.asynchronous:
            nodes = [n for n in nodes if n not in fed]
        if len(strands) == 1:
            inputs = graph.feeds
            outputs = graph.fetches
        else:
            outputs = strand.outputs
            if not async_feeds:
                own = [v for v in graph.feeds if v.op in strand.nodes]
                inputs = [*strand.inputs, *own]
            strand.inputs = inputs
        if strand.asynchronous and strand.nodes[0] in fed:
            nodes = []
            inputs = strand.inputs = [strand.nodes[0].outputs[0]]
        programs.append(generate(nodes, inputs, outputs, worker, f"step {number} strand {strand.index}", places))
    flow = Flow.of([s.after for s in strands])
    return StepPlan(
        graph, strands, programs, flow, graph.feeds, graph.fetches, _borrowed(graph), worker.resources.generation
    )


def schedule_within(strand: Strand, order: Sequence[Node]) -> list[Node]:
    members = set(strand.nodes)
    return [n for n in order if n in members]


def _check_fed(graph: StepGraph, fed: set[Node]) -> None:
    for node in graph.nodes:
        if node.op_def.traits.feed and node not in fed:
            dtype = node.attrs["dtype"].name
            shape = node.outputs[0].shape
            raise errors.InvalidArgumentError(
                node.origin.node_def if node.origin is not None else None, node.origin,
                f"You must feed a value for placeholder tensor '{node.name}' with dtype {dtype} and shape {shape}: it was made "
                f"at {node.source} and the fetches of this run depend on it. Add it to feed_dict.",
            )  # fmt: skip


def _borrowed(graph: StepGraph) -> list[bool]:
    """Fetches that may alias something the caller must not be handed: a variable, a feed, a constant, or another fetch."""
    shared: set[Value] = set()
    for node in graph.nodes:
        traits = node.op_def.traits
        if node.op_def.name in ("Const", "_Read") or traits.feed:
            shared.update(node.outputs)
        elif traits.view and any(v in shared for v in node.inputs):
            shared.update(node.outputs)
        elif traits.host_output:
            shared.update(node.outputs)
    found = []
    seen: set[Value] = set()
    for value in graph.fetches:
        found.append(value in shared or value in seen or value.op.op_def.traits.view)
        seen.add(value)
    return found
