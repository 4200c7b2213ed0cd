"""Sink: what depends on variables and constants only is computed after the wait, in the strand that uses it.

    %w = _Read(%v)   %x = Dequeue(...)   MatMul(%x, %w)      ->      %w after %x, in one strand with MatMul

A value that crosses strands is a feed of the later one: a variable read too early would be copied before the step changes it,
and a compiler could not fuse what is done to it.  What depends on the step's feeds stays where it is: it runs while others wait.
Each strand that uses a variable reads it itself, unless the step may have written it by then: all uses of one read see one value.
Nodes that something else waits for by a control edge stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.passes.read import ref_positions
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, StepGraph, Value

Group = frozenset[Node]


def sink(graph: StepGraph, is_async: Callable[[Node], bool]) -> StepGraph:
    """Adds control edges from the nodes that wait, and reads of variables."""
    waits_for: dict[Node, Group] = {}
    through: dict[Node, Group] = {}  # what those after the node wait for: this, and the node itself if it waits
    early: set[Node] = set()  # nodes that depend neither on a wait nor on a feed
    for node in graph.nodes:
        before = node.predecessors()
        waits_for[node] = through[node] = union([through[p] for p in before])
        if is_async(node):
            through[node] |= {node}
        elif not node.op_def.traits.feed and early.issuperset(before):
            early.add(node)
    stays = _before_control_edges(graph, early) | {v.op for v in graph.fetches} | set(graph.targets)
    users = graph.users()
    groups = dict(waits_for)
    writes = _Writes(graph, users)
    moved = False
    order = {n: i for i, n in enumerate(graph.nodes)}
    for node in reversed(list(graph.nodes)):
        if node not in early or node in stays or node.control_inputs or not _may_move(node):
            continue
        by_group: dict[Group, list[Node]] = {}
        for value in node.outputs:
            for user in users.get(value, ()):
                by_group.setdefault(groups[user], []).append(user)
        if node.op_def.traits.reads_buffer:
            for group, members in by_group.items():
                if group and writes.come_after(node, members):
                    _read_again(graph, node, members, sorted(group, key=order.__getitem__))
                    moved = True
        elif len(by_group) == 1:
            (groups[node],) = by_group
    for node in graph.nodes:
        if node in early and groups.get(node):
            node.control_inputs = sorted(groups[node], key=order.__getitem__)
    if moved:  # some reads have no users any more
        graph.sweep()
    graph.sort()
    return graph


class _Writes:
    """The writes of a step, and which uses of what is read come before them."""

    def __init__(self, graph: StepGraph, users: dict[Value, list[Node]]) -> None:
        self._of: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            if node.op_def.traits.writes:
                for position in ref_positions(node):
                    self._of.setdefault(root(node.inputs[position]), []).append(node)
        self._bit: dict[Node, int] = {}  # of each user of a variable that is written; a set of them is a number
        self._before: dict[Node, int] = {}  # the users that a node depends on
        if not self._of:
            return
        reads = [n for n in graph.nodes if n.op_def.traits.reads_buffer and root(n.inputs[0]) in self._of]
        for read in reads:
            for user in users.get(read.outputs[0], ()):
                self._bit.setdefault(user, 1 << len(self._bit))
        for node in graph.nodes if reads else ():
            before = self._bit.get(node, 0)
            for needed in node.predecessors():
                before |= self._before.get(needed, 0)  # what closes a loop of primitives comes later
            self._before[node] = before

    def come_after(self, read: Node, users: Sequence[Node]) -> bool:
        """Whether all writes of the variable wait for these users of what was read."""
        unmet = 0
        for user in users:
            unmet |= self._bit.get(user, 0)
        return all(self._before[write] & unmet == unmet for write in self._of.get(root(read.inputs[0]), ()))


def union(groups: Sequence[Group]) -> Group:
    """All that is in one of the groups; mostly they are the same group, which is then kept."""
    distinct = set(groups)
    return groups[0] if len(distinct) == 1 else frozenset().union(*distinct)


def _before_control_edges(graph: StepGraph, early: set[Node]) -> set[Node]:
    """The early nodes that something waits for by a control edge, and what they are made of."""
    stack = [c for n in graph.nodes for c in n.control_inputs if c in early]
    before: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in before:
            before.add(node)
            stack.extend(node.predecessors())
    return before


def _may_move(node: Node) -> bool:
    traits = node.op_def.traits
    return traits.reads_buffer or (traits.pure and not traits.constant)


def _read_again(graph: StepGraph, read: Node, users: list[Node], after: list[Node]) -> None:
    """A read of the same variable for these users, after the nodes that they wait for."""
    again = Node(
        f"{read.name}/_after_{'_'.join(n.name for n in after)}", read.op_def, list(read.inputs), read.attrs, read.order, after,
        read.device, read.source, read.origin,
    )  # fmt: skip
    again.colocation = read.colocation
    again.add_outputs((v.dtype, v.shape) for v in read.outputs)
    moved: dict[Value, Value] = dict(zip(read.outputs, again.outputs, strict=True))
    for user in dict.fromkeys(users):
        user.inputs = [moved.get(v, v) for v in user.inputs]
    graph.nodes.append(again)
