"""Take turns: critical sections of one mutex in one step follow each other, in the order they were made.

    %a = MutexLock(%m)   ConsumeMutexLock(%a)   %b = MutexLock(%m)      ->      %b = MutexLock(%m) after ConsumeMutexLock(%a)

Without it the schedule could begin two sections before it ends either, and mix what they do.
"""

from __future__ import annotations

from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

LOCK = Ops("MutexLock")


def take_turns(graph: StepGraph) -> StepGraph:
    """Adds control edges only; a section that another one needs is left alone."""
    last: dict[Value, Node] = {}
    locks = [n for n in graph.nodes if n in LOCK]
    if len(locks) < 2:
        return graph
    users = graph.users()
    for lock in locks:
        mutex = lock.inputs[0]
        before = last.get(mutex)
        last[mutex] = lock
        ends = [] if before is None else users.get(before.outputs[0], [])
        lock.control_inputs += [e for e in ends if e not in lock.control_inputs and not _needs(e, lock)]
    graph.sort()
    return graph


def _needs(node: Node, other: Node) -> bool:
    """Whether ``node`` can only run after ``other``."""
    seen: set[Node] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if current is other:
            return True
        if current not in seen:
            seen.add(current)
            stack.extend(current.predecessors())
    return False
