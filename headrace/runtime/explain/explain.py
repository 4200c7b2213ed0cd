"""Explain: how a request would run, told from its plan.  Plans it if it has no plan yet, and runs nothing.

The plan says what is decided: strands, tiers, threads.  The passes over the whole step are run once more, watched, to say
why each node is where it is and what each pass did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from headrace.core.process import no_collection
from headrace.graph.operation import Operation, Tensor
from headrace.graph.text import type_text
from headrace.passes.arrays import named_inputs
from headrace.passes.bodies import held_bodies
from headrace.passes.colocate import is_state
from headrace.passes.instantiate import on_host
from headrace.passes.match import Ops
from headrace.passes.partition.partition import partition
from headrace.passes.pipeline import rewrite_placed
from headrace.passes.reason import FOLLOWS, RESOURCE, Reason, Reasons
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.runtime.drive.plans import DividedPlan, Part, SinglePlan, StepPlan
from headrace.runtime.explain.explanation import (
    ExplainedNode,
    ExplainedPartition,
    ExplainedSpan,
    ExplainedStrand,
    ExplainedTransfer,
    Explanation,
    TransferredValue,
)
from headrace.runtime.explain.pass_watch import PassWatch, checked_names
from headrace.runtime.planning.plan import Request, make_plan
from headrace.runtime.session.master import Master
from headrace.runtime.session.partition_worker import PartitionWorker

SEND, RECV, OWN = Ops("_SendMany"), Ops("_RecvMany"), Ops("_Own")
NARROW = "_bfloat16/"  # how the names of casts before a lossy transfer begin (passes/partition/cut.py)


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition as the passes over the whole step leave it, and its plan; None if another process has that."""

    name: str
    graph: StepGraph
    plan: StepPlan | None
    rounds: Mapping[str, int]


def explain_request(
    master: Master, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation],
    passes: bool | str | Iterable[str] = False,
) -> Explanation:  # fmt: skip
    """``passes``: True to tell of all passes, or the names of some."""
    names = checked_names(passes)
    watch = PassWatch(names)
    plan = master.chosen(master.plan(feeds, fetches, targets))
    reasons = Reasons()
    options = replace(
        master.planner.options(), reasons=reasons, after_each=watch.after if names else None,
        before_each=watch.before if names else None,
    )  # fmt: skip
    with no_collection():
        assert isinstance(plan.request, Request)
        graph = plan.request.placed(options)
        watch.name("the step", graph)
        placed = [_placed(title, node, reasons) for title, one in _titled(graph) for node in _listed(title, one)]
        parts = _partitions(master, plan, graph)
        if names:
            for part in parts:
                if part.plan is plan:
                    again = make_plan(plan.request, master.registered, options, graph=rewrite_placed(graph, options))
                    _name_graphs(watch, "the step", again)
                elif part.plan is not None:
                    _name_graphs(watch, part.name, make_plan(part.plan.request, master.registered, options))
    transfers = [t for part in parts for t in (*_messages(part), *_copies(part))]
    transfers.sort(key=lambda t: (t.round is None, t.round or 0))
    strands = [s for part in parts for s in _strands(part, transfers)]
    return Explanation(
        list(_located(placed, parts, strands, master)), [_described(p, strands, transfers) for p in parts], transfers,
        list(_spans(parts)), strands, watch.told(),
    )  # fmt: skip


def _partitions(master: Master, plan: StepPlan, graph: StepGraph) -> list[_Partition]:
    """Cuts the graph as the plan's was cut."""
    if not isinstance(plan, DividedPlan):
        device = next((n.device for n in graph.nodes if n.device), master.worker.device("").name)
        return [_Partition(master.part_of(device), graph, plan, {})]
    plans = {m.name: m.worker.plan(m.handle) for m in plan.partitions.members if isinstance(m.worker, PartitionWorker)}
    parts = partition(graph, master.part_of, master.cutting)
    return [_Partition(p.name, p.graph, plans.get(p.name), p.rounds) for p in parts]


# ---- nodes


def _titled(graph: StepGraph, title: str = "", seen: set[StepGraph] | None = None) -> Iterator[tuple[str, StepGraph]]:
    """The graph, and the bodies in it with the names of their holders."""
    seen = set() if seen is None else seen
    yield title, graph
    for node in graph.nodes:
        for name, body in node.attrs.items():
            if isinstance(body, StepGraph) and body not in seen:
                seen.add(body)
                yield from _titled(body, f"{name} of {node.name}", seen)


def _listed(title: str, graph: StepGraph) -> list[Node]:
    """The nodes without the arguments of bodies, which are no nodes of the program."""
    arguments = {v.op for v in graph.feeds} if title else set()
    return [n for n in graph.nodes if n not in arguments]


def _placed(title: str, node: Node, reasons: Reasons) -> ExplainedNode:
    reason = reasons.of_node.get(node)
    if reason is None:
        reason = Reason(RESOURCE, f"reads {node.inputs[0].op.name} where it is") if node.inputs else Reason(FOLLOWS, "")
    name, op = node.name, node.type
    if node.origin is not None and (node.op_def.traits.feed or name == node.origin.name):
        name, op = node.origin.name, node.origin.type
    return ExplainedNode(name, op, node.device, (), reason.cause, reason.text, str(node.source), title, None)


def _located(
    placed: Sequence[ExplainedNode], parts: Sequence[_Partition], strands: Sequence[ExplainedStrand], master: Master
) -> Iterator[ExplainedNode]:
    """The nodes with their partitions and strands."""
    homes: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        for title, graph in _titled(part.graph):
            for node in graph.nodes:
                homes.setdefault((title, _client_name(node)), []).append(part.name)
    running = {(s.partition, name): s.index for s in strands for name in s.nodes}
    for one in placed:
        where = tuple(dict.fromkeys(homes.get((one.body, one.name), [master.part_of(one.device)])))
        strand = None if one.body else next((running[p, one.name] for p in where if (p, one.name) in running), None)
        yield replace(one, partitions=where, strand=strand)


def _client_name(node: Node) -> str:
    fed = node.op_def.traits.feed and node.origin is not None
    return node.origin.name if fed else node.name


def _runs(node: Node) -> bool:
    """Whether code runs for the node: not for constants, handles and feeds."""
    traits = node.op_def.traits
    return not (traits.constant or traits.feed or (traits.handle and not node.predecessors()))


def _described(
    part: _Partition, strands: Sequence[ExplainedStrand], transfers: Sequence[ExplainedTransfer]
) -> ExplainedPartition:
    mine = [s for s in strands if s.partition == part.name]
    remote = part.plan is None
    running = sum(map(_runs, part.graph.nodes)) if remote else sum(len(s.nodes) for s in mine)
    messages = [t for t in transfers if t.message]
    return ExplainedPartition(
        part.name, tuple(sorted({n.device for n in part.graph.nodes if n.device})), running, len(mine),
        None if remote else max((s.threads for s in mine), default=1), sum(t.source == part.name for t in messages),
        sum(t.destination == part.name for t in messages),
    )  # fmt: skip


# ---- transfers


def _messages(part: _Partition) -> Iterator[ExplainedTransfer]:
    for title, graph in _titled(part.graph):
        for node in graph.nodes:
            if node in SEND:
                values = tuple(_transferred(v) for v in node.inputs)
                key = node.attrs["key"]
                yield ExplainedTransfer(
                    part.name, node.attrs["destination"], key, part.rounds.get(key), values, _sum(values), title
                )


def _copies(part: _Partition) -> Iterator[ExplainedTransfer]:
    """What goes from one device of the partition to another, each value once."""
    for title, graph in _titled(part.graph):
        seen: set[tuple[Value, str]] = set()
        for node in graph.nodes:
            if held_bodies(node) or not _runs(node):
                continue
            for arg, value in named_inputs(node):
                before = value.op
                if arg.host or is_state(value) or on_host(value.dtype, value.shape) or not _crosses(before, node):
                    continue
                if (value, node.device) not in seen:
                    seen.add((value, node.device))
                    values = (_transferred(value),)
                    yield ExplainedTransfer(before.device, node.device, "", None, values, _sum(values), title)


def _crosses(before: Node, node: Node) -> bool:
    constant = before.op_def.traits.constant
    return not constant and bool(before.device) and bool(node.device) and before.device != node.device


def _transferred(value: Value) -> TransferredValue:
    source = value
    while source.op in OWN or source.op.name.startswith(NARROW):  # the copy that is sent, or its upper bits
        source = source.op.inputs[0]
    name = f"{_client_name(source.op)}:{source.value_index}".removesuffix(":0")
    return TransferredValue(name, type_text(value), _bytes(value))


def _bytes(value: Value) -> int | None:
    dims = value.shape.tuple
    if value.dtype.name in ("string", "resource", "variant") or dims is None or None in dims:
        return None
    return prod(d for d in dims if d is not None) * value.dtype.base_dtype.size


def _sum(values: Sequence[TransferredValue]) -> int | None:
    sizes = [v.bytes for v in values]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _spans(parts: Sequence[_Partition]) -> Iterator[ExplainedSpan]:
    holders: dict[tuple[str, str], tuple[Node, list[str]]] = {}
    for part in parts:
        for title, graph in _titled(part.graph):
            for node in graph.nodes:
                if held_bodies(node):
                    holders.setdefault((title, node.name), (node, []))[1].append(part.name)
    for node, names in holders.values():
        if len(names) > 1:
            yield ExplainedSpan(node.name, node.type, tuple(names), str(node.source))


# ---- strands


def _strands(part: _Partition, transfers: Sequence[ExplainedTransfer]) -> Iterator[ExplainedStrand]:
    plan = part.plan
    if plan is None:
        return
    if not plan.parts:
        yield _computing(part.name, 0, (), plan)
        return
    messages = {t.message: t for t in transfers}
    for one in plan.parts:
        after = tuple(sorted(one.strand.after))
        if one.plan is not None:
            yield _computing(part.name, one.strand.index, after, one.plan)
        else:
            names = tuple(n.name for n in one.strand.nodes if _runs(n))
            words = _waiting(one, messages)
            yield ExplainedStrand(part.name, one.strand.index, names, after, words, "", 0, 0, 1)


def _computing(partition: str, index: int, after: tuple[int, ...], plan: StepPlan) -> ExplainedStrand:
    nodes = tuple(n.name for n in (plan.graph.nodes if plan.framed is None else plan.framed.nodes) if _runs(n))
    if not isinstance(plan, SinglePlan):
        return ExplainedStrand(partition, index, nodes, after, "", "interpreted", 0, 0, 1)
    variants: Any = plan.variants
    if variants is None:
        tier, regions, arrays = "interpreted", 0, len(plan.program.on_arrays)
    else:
        tier, regions, arrays = variants.state, variants.regions, variants.on_arrays
    return ExplainedStrand(partition, index, nodes, after, "", tier, regions, arrays, plan.threads.limit)


def _waiting(part: Part, messages: Mapping[str, ExplainedTransfer]) -> str:
    node = part.node
    if node not in RECV:
        return f"{node.name} ({node.type}, made at {node.source})"
    known = [(key, messages.get(key)) for key in node.attrs["keys"]]
    return "takes " + ", ".join(
        f"message {key.rpartition(' ')[2]} from {key if t is None else t.source}" for key, t in known
    )


# ---- passes


def _name_graphs(watch: PassWatch, title: str, plan: StepPlan) -> None:
    watch.name(title, plan.graph)
    for part in plan.parts:
        if part.plan is not None:
            watch.name(f"strand {part.strand.index} of {title}", part.plan.graph)
