"""Retrace: what a partition takes comes after what it sent for it.

    A: write v, send "done"      B: take "done", send "go on"      A: take "go on", read v

The path from the write to the read leads through B.  Within A nothing would tell that the write comes first, and the passes that
order reads and writes could turn them round: each partition would wait for the other.  So A's second take gets a control edge
from A's send.  It costs no time: the message cannot come before.

A conditional or loop that spans partitions is both: it takes what others send, and gives them its results.  What depends on one
part of it comes after all parts that work on state, as it comes after the whole in the program:

    A: loop that writes v      B: its other part, send its result      A: take the result, read v
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.passes.partition.homes import stays
from headrace.passes.step_graph import Node


@dataclass(frozen=True, slots=True)
class Crossing:
    """What brings values between partitions: a transfer, or a node that spans them.

    ``gives`` are the nodes that it begins with, ``takes`` those that it ends with, each by their partition.
    """

    gives: Mapping[str, Node]
    takes: Mapping[str, Node]


def retrace(nodes: Iterable[Node], transfers: Sequence[Crossing], spans: Sequence[Crossing]) -> None:
    """Adds the control edges between the nodes of all partitions."""
    across: dict[Node, list[Node]] = {}  # what a node depends on in other partitions
    home: dict[Node, str] = {}  # of what gives
    together: dict[Node, Iterable[Node]] = {}  # the parts of one conditional or loop that work on state
    for crossing in (*transfers, *spans):
        home.update((give, part) for part, give in crossing.gives.items())
        sent = [node for give in crossing.gives.values() for node in (give, *give.predecessors())]
        across.update((take, [n for n in sent if n not in crossing.takes.values()]) for take in crossing.takes.values())
    for span in spans:
        with_state = [copy for copy in span.gives.values() if any(map(stays, copy.inputs))]
        together.update((copy, {*with_state, copy}) for copy in span.gives.values())
    # A set of giving nodes is a number: the bit of each is its position in this list.
    giving: list[Node] = []
    bit: dict[Node, int] = {}
    behind: dict[Node, int] = {}  # the giving nodes that a node depends on
    of_part: dict[str, int] = {}
    for node, before in _in_order(nodes, across).items():
        depends = 0
        for needed in before:
            depends |= behind[needed]
        for give in together.get(node, (node,)) if node in home else ():
            if give not in bit:
                bit[give] = 1 << len(giving)
                giving.append(give)
                of_part[home[give]] = of_part.get(home[give], 0) | bit[give]
            depends |= bit[give]
        behind[node] = depends
    for crossing in (*transfers, *spans):
        for part, take in crossing.takes.items():
            left = behind[take] & of_part.get(part, 0) & ~bit.get(take, 0)
            while left:  # the last one, and what comes before it by the edges that it has or gets here
                last = giving[left.bit_length() - 1]
                take.control_inputs.append(last)
                left &= ~behind[last]


def _before(node: Node, across: Mapping[Node, Sequence[Node]]) -> list[Node]:
    # The nodes that close a loop come later.
    before = [n for n in node.predecessors() if n.op_def.traits.primitive != "next"]
    return [*before, *across.get(node, ())]


def _in_order(nodes: Iterable[Node], across: Mapping[Node, Sequence[Node]]) -> dict[Node, list[Node]]:
    """The nodes, each after what it depends on, and with that."""
    order: dict[Node, list[Node]] = {}
    before: dict[Node, list[Node]] = {}
    for start in nodes:
        stack = [start]
        while stack:
            node = stack[-1]
            if node in order:
                stack.pop()
                continue
            if node not in before:
                before[node] = _before(node, across)
            more = [n for n in before[node] if n not in order]
            stack += more
            if not more:
                order[node] = before[node]
                stack.pop()
    return order
