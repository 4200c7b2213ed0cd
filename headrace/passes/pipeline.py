"""The ordered list of passes every step goes through before it is cut into strands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headrace.graph.operation import Operation, Tensor
from headrace.passes.accumulate_product import accumulate_product
from headrace.passes.cse import cse
from headrace.passes.defer_sums import defer_sums
from headrace.passes.fold import Evaluate, fold
from headrace.passes.fold_shapes import fold_shapes
from headrace.passes.fuse_updates import fuse_updates
from headrace.passes.hoist import hoist
from headrace.passes.inline import inline
from headrace.passes.instantiate import Recursion, instantiate, put_constants
from headrace.passes.late_read import late_reads
from headrace.passes.place import HasKernel, place
from headrace.passes.project_inputs import project_inputs
from headrace.passes.prune import prune
from headrace.passes.read import insert_reads
from headrace.passes.share_indices import share_indices
from headrace.passes.share_transpose import share_transpose
from headrace.passes.simplify import simplify
from headrace.passes.step_graph import Node, StepGraph
from headrace.passes.sum_products import sum_products
from headrace.passes.take_turns import take_turns
from headrace.passes.trim import trim
from headrace.passes.trim_records import trim_records


@dataclass(frozen=True, slots=True)
class Options:
    """What the passes need from the runtime, handed down."""

    devices: Sequence[str]
    evaluate: Evaluate
    has_kernel: HasKernel
    simplify: bool = True
    rewrite: bool = True  # rewrites that change rounding
    soft_placement: bool = False
    lower: bool = False  # loops and conditionals as primitives
    off: frozenset[str] = frozenset()  # names of passes to leave out, to measure what they are worth
    after_each: Callable[[str, StepGraph], None] | None = None


OPTIONAL = frozenset({
    "fold_shapes", "fold", "trim", "simplify", "cse", "share_indices", "trim_records", "project_inputs", "defer_sums",
    "hoist", "sum_products", "accumulate_product", "share_transpose", "fuse_updates", "reuse",
    "arrays",
})  # fmt: skip


def passes_off() -> frozenset[str]:
    """``HEADRACE_PASSES_OFF=simplify,cse``: passes to leave out, to see what they do and what they are worth."""
    names = {n.strip() for n in os.environ.get("HEADRACE_PASSES_OFF", "").split(",")} - {""}
    unknown = names - OPTIONAL
    if unknown:
        raise ValueError(
            f"HEADRACE_PASSES_OFF names {', '.join(sorted(unknown))}; the passes that can be left out are "
            f"{', '.join(sorted(OPTIONAL))}"
        )
    return frozenset(names)


def run_pipeline(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Options,
    recursion: Recursion | None = None, constants: Mapping[int, Node] | None = None,
) -> StepGraph:  # fmt: skip
    """Inline calls, order critical sections, simplify (fold, CSE), plan bodies, place, make reads explicit, rewrite.

    In that order.  ``recursion`` is given for the bodies of a step: the recursive functions that are being planned; so are
    ``constants``: the feeds, by position, that are constants of the step around.
    """
    known = recursion or Recursion()

    def build(
        inputs: Sequence[Tensor], outputs: Sequence[Tensor], run: Sequence[Operation] = (),
        constants: Mapping[int, Node] | None = None,
    ) -> StepGraph:  # fmt: skip
        return run_pipeline(inputs, outputs, run, options, known, constants)

    passes: list[tuple[str, Callable[[StepGraph], StepGraph]]] = [("inline", inline), ("take_turns", take_turns)]
    if options.simplify:
        passes += [
            ("fold_shapes", fold_shapes),
            ("fold", lambda g: fold(g, options.evaluate)),
            ("trim", trim),
            ("simplify", lambda g: simplify(g, options.rewrite)),
            ("cse", cse),
        ]
    passes += [
        ("instantiate", lambda g: instantiate(g, build, known)),
        ("place", lambda g: place(g, options.devices, options.has_kernel, options.soft_placement)),
        ("insert_reads", insert_reads),
        ("late_reads", late_reads),
        ("share_indices", share_indices),
    ]
    if options.simplify:
        passes.append(("trim_records", trim_records))
    if options.rewrite:
        passes += [
            ("project_inputs", project_inputs),
            ("defer_sums", defer_sums),
            ("hoist", hoist),
            ("sum_products", sum_products),
            ("accumulate_product", accumulate_product),
            ("share_transpose", share_transpose),
            ("fuse_updates", fuse_updates),
        ]
    graph = put_constants(prune(feeds, fetches, targets), constants or {})
    observe = options.after_each
    if observe:
        observe("prune", graph)
    for name, one in passes:
        if name in options.off:
            continue
        graph = one(graph)
        if observe:
            observe(name, graph)
    return graph
