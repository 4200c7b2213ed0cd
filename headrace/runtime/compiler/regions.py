"""Compiles the parts of a step, and of the bodies it holds, that a compiler can take, and replaces each by one node.

The bodies of a specialised step are treated like the step itself: a region in a loop is compiled once and called in each
iteration.
In a body, counters and conditions stay Python numbers; arrays and stashes stay what they are.  A region that fails to compile
stays interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headrace.passes.bodies import bodies_of
from headrace.passes.instantiate import on_host
from headrace.passes.pipeline import RECOMPUTE, Context, Options, Own, Stage, fold_specialised, run_stage
from headrace.passes.region import Region, compilable, describe, find_regions, replace_region
from headrace.passes.schedule import copy_escaping_reads, protect_reads
from headrace.passes.step_graph import Node, StepGraph
from headrace.runtime.code.codegen import Binder
from headrace.runtime.compiler.compile import CompileRegion, warn_once
from headrace.runtime.compiler.narrow import narrowed
from headrace.runtime.host.hooks import HookedPlace

SMALLEST_IN_BODY = 4  # nodes: a call into compiled code costs as much as a few kernels


def compile_regions(
    graph: StepGraph, binder: Binder, options: Options, compile_one: CompileRegion, compile_body: CompileRegion,
    dynamic: bool = False,
) -> int:  # fmt: skip
    """Compiles the regions of a step by ``compile_one``, those of its bodies by ``compile_body``; returns how many there are."""
    regions = _Regions(binder, Context(options), compile_one, compile_body, dynamic)
    own = {"compile_bodies": regions.of_bodies, "compile_regions": regions.of_step}
    graph = fold_specialised(graph, regions.context, may_unroll=not dynamic)
    run_stage(Stage.COMPILE, graph, regions.context, own)
    return regions.count


class _Regions:
    """The regions of one step while they are compiled."""

    def __init__(
        self, binder: Binder, context: Context, compile_one: CompileRegion, compile_body: CompileRegion, dynamic: bool
    ) -> None:
        self.count = 0
        self.context = context
        self._binder = binder
        self._compile_one = compile_one
        self._compile_body = compile_body
        self._dynamic = dynamic

    def of_step(self, graph: StepGraph) -> None:
        regions = find_regions(graph.nodes, graph.fetches, dynamic=self._dynamic)
        protect_reads(graph.nodes, set(graph.fetches) | {v for r in regions for v in r.outputs})
        self._replace(graph, regions, self._compile_one, "", self.count)

    def of_bodies(self, graph: StepGraph) -> None:
        for node in graph.nodes:
            for body in bodies_of(node):
                own: Own = {"compile_bodies": self.of_bodies, "compile_regions": partial(self._of_body, node.name)}
                run_stage(Stage.COMPILE, body, self.context, own)

    def _of_body(self, name: str, body: StepGraph) -> None:
        regions = find_regions(body.nodes, body.fetches, SMALLEST_IN_BODY, accept=_compilable)
        if not regions:
            return
        protect_reads(body.nodes, set(body.fetches) | {v for r in regions for v in r.outputs})
        copy_escaping_reads(body.nodes, set(body.fetches))
        self._replace(body, regions, self._compile_body, f"{name}_", 0)

    def _replace(
        self, graph: StepGraph, regions: Sequence[Region], compile_one: CompileRegion, prefix: str, number: int
    ) -> None:
        for region in regions:  # replacing one changes the values that flow into the next
            if self._binder.torch_device(region.device).type == "meta":
                continue  # nothing is computed there
            if isinstance(self._binder.place(region.device), HookedPlace):
                continue  # hooks see each kernel
            region = describe(region.nodes, region.device, graph.nodes, graph.fetches)
            region.recompute = RECOMPUTE.runs(self.context)
            try:
                call = compile_one(region, self._binder)
            except Exception as e:  # noqa: BLE001 - whatever the compiler says, the step still runs, interpreted
                warn_once(region, e)
                continue
            if call is None:
                continue
            replace_region(graph, region, narrowed(call, region, self._binder), f"{prefix}{number}")
            number += 1
            self.count += 1


def _compilable(node: Node, *dynamic: bool) -> bool:
    """Whether a compiler may take the node of a body: not one that computes with Python numbers."""
    if any(on_host(v.dtype, v.shape) for v in (*node.inputs, *node.outputs) if not v.op.op_def.traits.constant):
        return False
    return compilable(node, *dynamic)
