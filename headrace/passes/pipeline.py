"""The whole way of a step, pass by pass, in order: from the client's graph to the code that runs.

``PIPELINE`` is the one list.  Passes that need threads, kernels or a compiler are the runtime's: the list has their names, and
the runtime hands their functions to ``run_stage``.

A pass under ``simplify`` or ``rewrite`` only makes steps faster.  ``HEADRACE_PASSES_OFF=simplify,cse`` leaves such passes out, to
see what they do and what they are worth (docs/ablation.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from headrace.graph.operation import Operation, Tensor
from headrace.passes.accumulate_product import accumulate_product
from headrace.passes.attention import attention
from headrace.passes.bodies import bodies_within
from headrace.passes.check_numbers import check_numbers
from headrace.passes.choose_device import HasKernel
from headrace.passes.copy_kept import copy_kept
from headrace.passes.cse import cse
from headrace.passes.defer_sums import defer_sums
from headrace.passes.dereference import dereference
from headrace.passes.fold import LARGEST, Evaluate, fold
from headrace.passes.fold_shapes import fold_shapes
from headrace.passes.fuse_crop import fuse_crop
from headrace.passes.fuse_updates import fuse_updates
from headrace.passes.inline import inline
from headrace.passes.instantiate import Recursion, drop_inputs, instantiate, put_constants
from headrace.passes.late_read import late_reads
from headrace.passes.lower import lower, must_lower
from headrace.passes.mixed_precision import Half, mixed_precision
from headrace.passes.observe import Observe, collect, observe
from headrace.passes.overwrite import overwrite
from headrace.passes.pass_on import CARRIERS, pass_on
from headrace.passes.place import place
from headrace.passes.placement.policy import Policy
from headrace.passes.portable import copy_of
from headrace.passes.project_inputs import project_inputs
from headrace.passes.prune import prune
from headrace.passes.raise_primitives import has_primitives, raise_primitives, tie_holders
from headrace.passes.read import insert_reads
from headrace.passes.reason import Reasons
from headrace.passes.region import move_waits
from headrace.passes.schedule import (
    copy_escaping_reads,
    copy_written_reads,
    order_reads,
    protect_reads,
    schedule,
    write_early,
)
from headrace.passes.share_maxima import share_maxima
from headrace.passes.share_transpose import share_transpose
from headrace.passes.simplify import simplify
from headrace.passes.sink import sink
from headrace.passes.specialise import may_wait, specialise
from headrace.passes.spread_rows import spread_rows
from headrace.passes.step_graph import LATE, Node, StepGraph
from headrace.passes.strand import Strand, crossing, cut
from headrace.passes.sum_products import sum_products
from headrace.passes.take_turns import take_turns
from headrace.passes.trim import trim
from headrace.passes.trim_stashes import trim_stashes
from headrace.passes.unroll import LOOPS, unroll
from headrace.passes.whole_graph import WholeGraph


class Stage(Enum):
    """What a run of passes starts from and comes to."""

    GRAPH = "the client's graph, or a body in it -> a step graph; the bodies that it holds go the same way, inside instantiate"
    PLACE = "a step graph -> a device for every node, those of its bodies among them; once, for all of them together"
    READ = "a placed step, or a body of one -> one that reads state by nodes; the bodies of a step before it, inner ones first"
    REWRITE = "a placed step, or a body of one -> a faster one; in the same order"
    FUSE = "an interpreted step, strand or body -> the same with updates run together; before the others where nothing waits"
    LOWER = "an interpreted step -> one whose loops are primitives, where they must be"
    SPECIALISE = "a step -> the step for feeds of some shapes"
    FOLD = "a specialised step, or a body of one -> the same with what its shapes tell worked out"
    UNROLL = "a folded step -> the same without the loops that are better unrolled; FOLD follows"
    COMPILE = "a specialised step, or a body of one -> compiled regions in it, each a single node"
    CUT = "a step in which nodes wait -> strands, each a step by itself"
    ORDER = "a step or strand in which no node waits -> its nodes in the order to run"
    FRAMES = "a step with primitives of control flow -> nodes that can run one by one"
    BODY = "a body -> its nodes in the order to run"
    CODE = "a strand or a body -> a Python function; a compiled region -> kernels"


@dataclass(frozen=True, slots=True)
class Options:
    """What the passes need from the runtime, handed down."""

    devices: Sequence[str]
    evaluate: Evaluate
    has_kernel: HasKernel
    simplify: bool = True
    rewrite: bool = True  # rewrites that change rounding
    interpreted: bool = True  # rather than made for a compiler
    soft_placement: bool = False
    half: Half | None = None  # which type of 16 bits products on a device are computed in
    lower: bool = False  # loops and conditionals as primitives
    check_numbers: bool = False  # a step stops where a number becomes NaN or infinite
    observe: Observe | None = None  # what a step hands to the client beside its fetches
    off: frozenset[str] = frozenset()  # names of passes to leave out
    after_each: Callable[[str, StepGraph], None] | None = None
    before_each: Callable[[Pass, StepGraph], None] | None = None
    reasons: Reasons | None = None  # is told why nodes are placed where they are
    whole: WholeGraph | None = None  # the client's graph, in which nodes share devices that one step does not need
    policy: Policy | None = None  # decides where nodes are that may be on several devices; None: on the first


@dataclass(slots=True)
class Context:
    """What passes need beside the graph.  Each stage uses its part."""

    options: Options | None = None  # None where no pass of the stage depends on them
    feeds: Sequence[Tensor] = ()  # the client's
    fetches: Sequence[Tensor] = ()
    targets: Sequence[Operation] = ()
    recursion: Recursion = field(default_factory=Recursion)  # the functions that call themselves, being instantiated
    constants: Mapping[int, Node] = field(default_factory=dict)  # of a body: the feeds that are constants outside
    late: Collection[int] = ()  # of a body: the feeds that come after effects
    shapes: Sequence[Sequence[int | None]] = ()  # of the feeds, for SPECIALISE
    is_async: Callable[[Node], bool] = may_wait
    strands: list[Strand] = field(default_factory=list)  # those that ``cut`` makes
    largest: int = LARGEST  # bytes of a constant that is folded
    later: bool = False  # whether feeds come while the step runs
    made: bool = False  # whether GRAPH is given a body that was made of primitives, not the client's graph

    @property
    def settings(self) -> Options:
        """The options, for a pass that cannot do without them."""
        if self.options is None:
            raise ValueError("this stage has passes that depend on options, and none were given")
        return self.options


Rewrite = Callable[[StepGraph, Context], StepGraph]
Own = Mapping[str, Callable[[StepGraph], object]]  # the runtime's passes, by name; they change the graph in place


@dataclass(frozen=True, slots=True)
class Pass:
    """One line of the list.  ``when`` names the options that must be on."""

    name: str
    stage: Stage
    rewrite: Rewrite | None  # None: the runtime's own
    when: tuple[str, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether steps are right without it."""
        return "simplify" in self.when or "rewrite" in self.when

    def runs(self, context: Context) -> bool:
        if not self.when:
            return True
        return self.name not in context.settings.off and all(getattr(context.settings, option) for option in self.when)


def _on_nodes(change: Callable[[list[Node], StepGraph, Context], object]) -> Rewrite:
    """A pass over nodes in the order to run; the answer, if it is a list, is the new order."""

    def rewrite(graph: StepGraph, context: Context) -> StepGraph:
        order = change(graph.nodes, graph, context)
        if isinstance(order, list):
            graph.nodes = order
        return graph

    return rewrite


def _plain(change: Callable[[StepGraph], StepGraph]) -> Rewrite:
    return lambda graph, context: change(graph)


def _cut(nodes: list[Node], graph: StepGraph, context: Context) -> None:
    context.strands = cut(nodes, graph.fetches, context.is_async)


def _protect(nodes: list[Node], graph: StepGraph, context: Context) -> None:
    protect_reads(nodes, set(graph.fetches))


def _copy_crossing(nodes: list[Node], graph: StepGraph, context: Context) -> None:
    copy_escaping_reads(nodes, set(graph.fetches) | crossing(context.strands))  # other steps may write meanwhile


def _instantiate(graph: StepGraph, context: Context) -> StepGraph:
    def build(
        inputs: Sequence[Tensor], outputs: Sequence[Tensor], run: Sequence[Operation] = (),
        constants: Mapping[int, Node] | None = None, late: Collection[int] = (),
    ) -> StepGraph:  # fmt: skip
        inner = Context(context.options, inputs, outputs, run, context.recursion, constants or {}, late=late)
        return run_stage(Stage.GRAPH, StepGraph([], [], [], []), inner)

    return instantiate(graph, build, context.recursion)


def _prune(graph: StepGraph, context: Context) -> StepGraph:
    if context.made:
        return graph
    graph = prune(context.feeds, context.fetches, context.targets, context.late)
    if context.later:
        for value in graph.feeds:
            value.op.attrs[LATE] = True
    return put_constants(graph, context.constants)


def _raise(graph: StepGraph, context: Context) -> StepGraph:
    inner = Context(context.options, recursion=context.recursion, made=True)
    return raise_primitives(graph, lambda body: run_stage(Stage.GRAPH, body, inner))


def _place(graph: StepGraph, context: Context) -> StepGraph:
    s = context.settings
    return place(graph, s.devices, s.has_kernel, s.soft_placement, s.reasons, s.whole, s.policy)


def _observe(graph: StepGraph, context: Context) -> StepGraph:
    wish = context.settings.observe
    return graph if wish is None else observe(graph, wish)


def _mix(graph: StepGraph, context: Context) -> StepGraph:
    half = context.settings.half
    return graph if half is None else mixed_precision(graph, half)


_attention: Rewrite = lambda g, c: attention(g, c.settings.has_kernel)  # noqa: E731
_fold_shapes = _plain(fold_shapes)
_fold: Rewrite = lambda g, c: fold(g, c.settings.evaluate, c.largest)  # noqa: E731
_simplify: Rewrite = lambda g, c: simplify(g, c.settings.rewrite)  # noqa: E731
_cse = _plain(cse)
_schedule = _on_nodes(lambda nodes, g, c: schedule(nodes))
_order_reads = _on_nodes(lambda nodes, g, c: order_reads(nodes))
SIMPLIFY, REWRITE = ("simplify",), ("rewrite",)

RECOMPUTE = Pass("recompute", Stage.CODE, None, REWRITE)  # runtime/compiler/compile.py, for accelerators

PIPELINE: tuple[Pass, ...] = (
    Pass("prune", Stage.GRAPH, _prune),
    Pass("raise_primitives", Stage.GRAPH, _raise, SIMPLIFY),
    Pass("tie_holders", Stage.GRAPH, _plain(tie_holders)),
    Pass("inline", Stage.GRAPH, _plain(inline)),
    Pass("observe", Stage.GRAPH, _observe, ("observe",)),  # while the nodes are the user's
    Pass("dereference", Stage.GRAPH, _plain(dereference)),
    Pass("take_turns", Stage.GRAPH, _plain(take_turns)),
    Pass("fold_shapes", Stage.GRAPH, _fold_shapes, SIMPLIFY),
    Pass("fold", Stage.GRAPH, _fold, SIMPLIFY),
    Pass("trim", Stage.GRAPH, _plain(trim), SIMPLIFY),
    Pass("simplify", Stage.GRAPH, _simplify, SIMPLIFY),
    Pass("cse", Stage.GRAPH, _cse, SIMPLIFY),
    Pass("instantiate", Stage.GRAPH, _instantiate),
    Pass("place", Stage.PLACE, _place),
    Pass("insert_reads", Stage.READ, _plain(insert_reads)),
    Pass("late_reads", Stage.READ, _plain(late_reads)),
    Pass("check_numbers", Stage.READ, _plain(check_numbers), ("check_numbers",)),
    Pass("drop_inputs", Stage.REWRITE, _plain(drop_inputs)),
    Pass("trim", Stage.REWRITE, _plain(trim), SIMPLIFY),  # now that devices are known
    Pass("mixed_precision", Stage.REWRITE, _mix, ("half",)),
    Pass("attention", Stage.REWRITE, _attention, REWRITE),
    Pass("trim_stashes", Stage.REWRITE, _plain(trim_stashes), SIMPLIFY),
    Pass("project_inputs", Stage.REWRITE, _plain(project_inputs), REWRITE),
    Pass("defer_sums", Stage.REWRITE, _plain(defer_sums), REWRITE),
    Pass("sum_products", Stage.REWRITE, _plain(sum_products), REWRITE),
    Pass("accumulate_product", Stage.REWRITE, _plain(accumulate_product), REWRITE),
    Pass("share_transpose", Stage.REWRITE, _plain(share_transpose), REWRITE),
    Pass("spread_rows", Stage.REWRITE, _plain(spread_rows), REWRITE),
    Pass("copy_kept", Stage.REWRITE, _plain(copy_kept)),
    Pass("share_maxima", Stage.FUSE, _plain(share_maxima), ("rewrite", "interpreted")),
    Pass("fuse_crop", Stage.FUSE, _plain(fuse_crop), ("rewrite", "interpreted")),
    # A compiler makes one loop of an update and its gradient; a separate update would be a second loop.
    Pass("fuse_updates", Stage.FUSE, _plain(fuse_updates), ("rewrite", "interpreted")),
    Pass("lower", Stage.LOWER, lambda g, c: lower(g) if c.settings.lower or must_lower(g) else g),
    Pass("specialise", Stage.SPECIALISE, lambda g, c: specialise(g, c.shapes)),
    Pass("fold_shapes", Stage.FOLD, _fold_shapes, SIMPLIFY),
    Pass("fold", Stage.FOLD, _fold, SIMPLIFY),
    Pass("simplify", Stage.FOLD, _simplify, SIMPLIFY),
    Pass("cse", Stage.FOLD, _cse, SIMPLIFY),
    Pass("attention", Stage.FOLD, _attention, REWRITE),
    Pass("unroll", Stage.UNROLL, lambda g, c: unroll(g, c.settings.evaluate, c.settings.interpreted), SIMPLIFY),
    Pass("fold", Stage.UNROLL, _fold, SIMPLIFY),
    Pass("pass_on", Stage.UNROLL, _plain(pass_on), SIMPLIFY),
    Pass("overwrite", Stage.COMPILE, _plain(overwrite), SIMPLIFY),
    Pass("compile_bodies", Stage.COMPILE, None),
    Pass("move_waits", Stage.COMPILE, _plain(move_waits)),
    Pass("schedule", Stage.COMPILE, _schedule),
    Pass("order_reads", Stage.COMPILE, _order_reads),
    Pass("compile_regions", Stage.COMPILE, None),
    Pass("sink", Stage.CUT, lambda g, c: sink(g, c.is_async), SIMPLIFY),
    Pass("schedule", Stage.CUT, _schedule),
    Pass("order_reads", Stage.CUT, _order_reads),
    Pass("cut", Stage.CUT, _on_nodes(_cut)),
    Pass("copy_escaping_reads", Stage.CUT, _on_nodes(_copy_crossing)),
    Pass("schedule", Stage.ORDER, _schedule),
    Pass("write_early", Stage.ORDER, _on_nodes(lambda nodes, g, c: write_early(nodes, set(g.fetches)))),
    Pass("order_reads", Stage.ORDER, _order_reads),
    Pass("protect_reads", Stage.ORDER, _on_nodes(_protect)),
    Pass("copy_written_reads", Stage.FRAMES, _on_nodes(lambda nodes, g, c: copy_written_reads(nodes))),
    Pass("schedule", Stage.BODY, _schedule),
    Pass("order_reads", Stage.BODY, _order_reads),
    Pass("protect_reads", Stage.BODY, _on_nodes(_protect)),
    Pass("copy_escaping_reads", Stage.BODY, _on_nodes(lambda nodes, g, c: copy_escaping_reads(nodes, set(g.fetches)))),
    Pass("arrays", Stage.CODE, None, SIMPLIFY),  # runtime/code/codegen.py, which asks LocalWorker.arrays
    Pass("generate", Stage.CODE, None),  # runtime/code/codegen.py
    RECOMPUTE,
)

_BEFORE = (Stage.GRAPH, Stage.PLACE, Stage.READ, Stage.REWRITE)
_FOR_SHAPES = (*_BEFORE, Stage.SPECIALISE, Stage.FOLD, Stage.UNROLL, Stage.FOLD)
# The stages that a step goes through, by the kind of its plan.  In bodies: GRAPH, READ, REWRITE, FUSE, then BODY.
ROUTES: dict[str, tuple[Stage, ...]] = {
    "one program": (*_BEFORE, Stage.FUSE, Stage.LOWER, Stage.ORDER, Stage.CODE),
    "nodes wait": (*_BEFORE, Stage.LOWER, Stage.CUT, Stage.FUSE, Stage.ORDER, Stage.CODE),
    "primitives": (*_BEFORE, Stage.FUSE, Stage.LOWER, Stage.FRAMES, Stage.CODE),
    "for the shapes of its feeds": (*_FOR_SHAPES, Stage.FUSE, Stage.ORDER, Stage.CODE),
    "compiled": (*_FOR_SHAPES, Stage.COMPILE, Stage.ORDER, Stage.CODE),
}

# Bytes of a constant that is folded once loops are unrolled: each iteration may have its own.
LARGEST_IN_LOOPS = 1 << 14

OPTIONAL = frozenset(one.name for one in PIPELINE if one.optional)


def passes_off() -> frozenset[str]:
    """The passes that ``HEADRACE_PASSES_OFF`` names."""
    names = {n.strip() for n in os.environ.get("HEADRACE_PASSES_OFF", "").split(",")} - {""}
    unknown = names - OPTIONAL
    if unknown:
        raise ValueError(
            f"HEADRACE_PASSES_OFF names {', '.join(sorted(unknown))}; the passes that can be left out are "
            f"{', '.join(sorted(OPTIONAL))}"
        )
    return frozenset(names)


def run_stage(stage: Stage, graph: StepGraph, context: Context, own: Own | None = None) -> StepGraph:
    """The graph after all passes of one stage.  ``own`` are the runtime's.

    Where primitives are left, only the passes run that must: a value may be dead, or of one iteration, and what depends on it, by
    a control edge too, with it.  A pass that drops an edge or moves a node would have to know that.
    """
    observe = context.options.after_each if context.options is not None else None
    for one in PIPELINE:
        if one.stage is not stage or not one.runs(context):
            continue
        if one.optional and one.rewrite is not _raise and has_primitives(graph):
            continue
        if context.options is not None and context.options.before_each is not None:
            context.options.before_each(one, graph)
        if one.rewrite is not None:
            graph = one.rewrite(graph, context)
        else:
            (own or {})[one.name](graph)
        if observe:
            observe(one.name, graph)
    return graph


def make_step_graph(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Options
) -> StepGraph:
    """The graph of a step, placed and rewritten, its bodies too."""
    return rewrite_placed(make_placed_graph(feeds, fetches, targets, options), options)


def make_placed_graph(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Options,
    later: bool = False,
) -> StepGraph:  # fmt: skip
    """The graph of a step in which every node, those of bodies among them, has the full name of a device and reads are nodes.

    ``later``: the feeds come while the step runs, each by itself.
    """
    context = Context(options, feeds, fetches, targets, later=later)
    graph = run_stage(Stage.GRAPH, StepGraph([], [], [], []), context)
    graph = run_stage(Stage.PLACE, graph, context)
    for one in (*bodies_within(graph), graph):
        run_in_place(one, (Stage.READ,), context)
    if options.observe is not None:
        collect(graph, options.observe)
    return graph


def make_body_graph(
    feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Options
) -> StepGraph:
    """The graph of a body that is no part of a step, as `make_detached_graph` takes it."""
    return run_stage(Stage.GRAPH, StepGraph([], [], [], []), Context(options, feeds, fetches, targets))


def make_detached_graph(body: StepGraph, device: str, options: Options) -> StepGraph:
    """The graph of a detached body, each time a new one, all of it on one device."""
    graph = copy_of(body)
    for one in (*bodies_within(graph), graph):
        for node in one.nodes:
            node.device = device
        run_in_place(one, (Stage.READ,), Context(options))
    return rewrite_placed(graph, options)


def rewrite_placed(graph: StepGraph, options: Options) -> StepGraph:
    """A placed graph, or a part of one that runs by itself, after the rewrites; those of its bodies go on to FUSE."""
    context = Context(options)
    for body in bodies_within(graph):
        run_in_place(body, (Stage.REWRITE, Stage.FUSE), context)
    return run_stage(Stage.REWRITE, graph, context)


def fold_specialised(graph: StepGraph, context: Context, may_unroll: bool = True) -> StepGraph:
    """A specialised step with what its shapes tell worked out, also in its bodies; some loops unrolled."""
    for body in bodies_within(graph):
        run_in_place(body, (Stage.FOLD,), context)
    graph = run_stage(Stage.FOLD, graph, context)
    before: set[Node] = set()
    left = _loops_and_carriers(graph)
    context = replace(context, largest=LARGEST_IN_LOOPS)
    while may_unroll and left != before:  # an unrolled loop tells the sizes of arrays, on which others depend
        graph = run_stage(Stage.FOLD, run_stage(Stage.UNROLL, graph, context), context)
        before, left = left, _loops_and_carriers(graph)
    return graph


def _loops_and_carriers(graph: StepGraph) -> set[Node]:
    return {node for node in graph.nodes if node in LOOPS or node in CARRIERS}


def run_in_place(graph: StepGraph, stages: Sequence[Stage], context: Context) -> None:
    """Runs stages on a graph that others hold: it stays the same object."""
    for stage in stages:
        if run_stage(stage, graph, context) is not graph:
            raise TypeError(f"a pass of {stage.name} must change its graph in place, since a node may hold the graph")
