"""Strands: nodes grouped by the set of nodes that wait, asynchronous or blocking, which they depend on.

Nodes that can never wait and depend on the same waiting nodes become ready together, so each group runs as one straight-line
function.  A node that waits is a strand of its own; one that blocks its thread is there with the reads of variables that it
alone uses, so that a save sees the buffers and not copies of them.  Each strand is a step graph of its own: what other strands
compute is fed to it, and constants, handles and the step's feeds are there wherever they are used.  Pure: no threads, no kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.core.registry import REGISTRY
from headrace.passes.schedule import root
from headrace.passes.sink import Group, union
from headrace.passes.step_graph import Node, StepGraph, Value


@dataclass(slots=True)
class Strand:
    """Nodes that run together.  ``after`` lists strands that must be over first; values cross strands by slot.

    A node that waits is the last of its strand.
    """

    index: int
    nodes: list[Node]
    waits: bool
    after: set[int] = field(default_factory=set)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)

    def graph(self) -> StepGraph:
        """The strand as a step: ``inputs`` are its feeds, in order, ``outputs`` its fetches.  Rewires the nodes."""
        inside = set(self.nodes)
        copies: dict[Node, Node] = {}
        stand_ins = {v: _feed(v) for v in self.inputs}
        for node in self.nodes:
            for i, value in enumerate(node.inputs):
                if value.op in inside:
                    continue
                value = _handle(value)
                if value in stand_ins:
                    node.inputs[i] = stand_ins[value]
                elif value.op not in inside:
                    copy = copies.setdefault(value.op, copies.get(value.op) or value.op.again())
                    node.inputs[i] = copy.outputs[value.value_index]
            node.control_inputs = [c for c in node.control_inputs if c in inside]
        needed = {p for n in self.nodes for p in n.predecessors()}
        feeds = [stand_ins[v] for v in self.inputs]
        nodes = [*(v.op for v in feeds), *copies.values(), *self.nodes]
        return StepGraph(nodes, feeds, list(self.outputs), [n for n in self.nodes if n not in needed])


def cut(nodes: list[Node], fetches: list[Value], is_async: Callable[[Node], bool]) -> list[Strand]:
    """``nodes`` in topological order -> strands in a valid order, with what flows between them."""
    fetched = {v.op for v in fetches}
    waiting = {n for n in nodes if is_async(n)}
    free = {n for n in nodes if _is_free(n) and n not in waiting}
    reads = _own_reads(nodes, fetched)
    through: dict[Node, Group] = {}  # what those after a node wait for
    groups: dict[object, list[Node]] = {}
    for node in nodes:
        waits_for = union([through[p] for p in node.predecessors()])
        through[node] = waits_for | {node} if node in waiting else waits_for
        if node not in free or (node in fetched and not node.op_def.traits.feed):
            groups.setdefault(reads.get(node) or (node if node in waiting else waits_for), []).append(node)
    strands = [Strand(i, members, members[-1] in waiting) for i, members in enumerate(groups.values())]
    owner = {n: s for s in strands for n in s.nodes}
    for strand in strands:
        inside = set(strand.nodes)
        seen: dict[Value, None] = {}
        for node in strand.nodes:
            strand.after.update(owner[p].index for p in node.predecessors() if p not in inside and p not in free)
            for value in node.inputs:
                if value.op in inside:
                    continue
                value = _handle(value)
                if value.op not in inside and (value.op not in free or value.op.op_def.traits.feed):
                    seen[value] = None
        strand.inputs = list(seen)
    crossed = crossing(strands) | set(fetches)
    for strand in strands:
        strand.outputs = [v for n in strand.nodes for v in n.outputs if v in crossed]
    return strands


def _own_reads(nodes: list[Node], fetched: set[Node]) -> dict[Node, Node]:
    """The reads of buffers that nothing but one blocking node depends on, with that node."""
    if not any(node.op_def.traits.blocking for node in nodes):
        return {}
    dependants: dict[Node, set[Node]] = {}
    for node in nodes:
        for before in node.predecessors():
            dependants.setdefault(before, set()).add(node)
    own = {}
    for node, after in dependants.items():
        if node.op_def.traits.reads_buffer and len(after) == 1 and node not in fetched:
            (user,) = after
            if user.op_def.traits.blocking:
                own[node] = user
    return own


def crossing(strands: list[Strand]) -> set[Value]:
    """The values that one strand makes and another takes."""
    return {v for s in strands for v in s.inputs}


def _is_free(node: Node) -> bool:
    """Constants, handles and feeds cost nothing: each strand has its own."""
    traits = node.op_def.traits
    return (traits.constant or traits.handle or traits.feed) and not node.predecessors()


def _handle(value: Value) -> Value:
    """The handle of a variable instead of what an assignment in another strand passes on."""
    return root(value) if value.dtype._is_ref_dtype else value


def _feed(value: Value) -> Value:
    """What stands for a value that another strand computes, or that is fed to the step."""
    maker = value.op
    if maker.op_def.traits.feed:
        return maker.again().outputs[0]
    node = Node(
        f"_feed/{maker.name}/{value.value_index}", REGISTRY.get("_Feed"), [],
        {"dtype": value.dtype.base_dtype, "shape": value.shape}, maker.order, source=maker.source, device=maker.device,
    )  # fmt: skip
    return node.add_outputs([(value.dtype, value.shape)]).outputs[0]
