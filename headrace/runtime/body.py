"""Compiled bodies: the parts of loops and branches that a compiler can take, compiled once and called in every iteration.

The bodies of a specialised step go the way of the step itself: regions are found, compiled, and replaced by one node each.  What
counts and decides stays Python numbers; arrays and records stay what they are.  A region that fails to compile stays interpreted.
"""

from __future__ import annotations

from headrace.passes.cse import cse
from headrace.passes.fold import fold
from headrace.passes.fold_shapes import fold_shapes
from headrace.passes.instantiate import on_host
from headrace.passes.pipeline import Options
from headrace.passes.region import compilable, describe, find_regions, replace_region
from headrace.passes.schedule import copy_escaping_reads, order_reads, protect_reads, schedule
from headrace.passes.specialise import bodies_of
from headrace.passes.step_graph import Node, StepGraph
from headrace.runtime.codegen import Binder
from headrace.runtime.compile import compile_region, straightened, warn_once
from headrace.runtime.narrow import narrowed

SMALLEST = 4  # nodes: a call into compiled code costs as much as a few kernels


def compile_bodies(graph: StepGraph, binder: Binder, options: Options) -> int:
    """Compiles what can be compiled in the bodies held by the graph's nodes; how many regions that were."""
    found = 0
    for node in graph.nodes:
        for body in bodies_of(node):
            if options.simplify:
                cse(fold(fold_shapes(body), options.evaluate))
            found += compile_bodies(body, binder, options)
            found += _compile_body(body, binder, node.name)
    return found


def _compile_body(body: StepGraph, binder: Binder, name: str) -> int:
    order = schedule(body.nodes)
    order_reads(order)
    body.nodes = order
    regions = find_regions(order, body.fetches, SMALLEST, accept=_compilable)
    if not regions:
        return 0
    protect_reads(order, set(body.fetches) | {v for r in regions for v in r.outputs})
    copy_escaping_reads(order, set(body.fetches))
    compiled = 0
    for found in regions:
        region = describe(found.nodes, found.device, body.nodes, body.fetches)
        try:
            call = compile_region(region, binder)
        except Exception as e:  # noqa: BLE001 - whatever the compiler says, the loop still runs, interpreted
            warn_once(region, e)
            continue
        replace_region(body, region, narrowed(straightened(call), region, binder), f"{name}_{compiled}")
        compiled += 1
    return compiled


def _compilable(node: Node, *dynamic: bool) -> bool:
    """As in a step, but what is a Python number in a body is none of the compiler's business."""
    if any(on_host(v.dtype, v.shape) for v in (*node.inputs, *node.outputs) if not v.op.op_def.traits.constant):
        return False
    return compilable(node, *dynamic)
