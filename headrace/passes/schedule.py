"""Schedule: a linear order for a strand, and the reads whose value must be copied to survive a later write.

Ready nodes run in the order the user made them (white paper 4.1), writes to state last, so that almost every consumer of a
read has run before the write and reads need not copy.  Only a read that cannot be ordered so is copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.registry import REGISTRY
from headrace.passes.match import Ops
from headrace.passes.read import ref_positions
from headrace.passes.specialise import may_wait
from headrace.passes.step_graph import LATE, Node, Value, topological

UNLOCK = Ops("ConsumeMutexLock")
HOLD = Ops("_Hold")  # what comes after one is computed again, to save memory


def schedule(nodes: list[Node]) -> list[Node]:
    """Topological; writes as late as possible."""
    return topological(nodes, lambda n: (n.op_def.traits.writes, n.order))


def write_early(order: Sequence[Node], escaping: set[Value]) -> list[Node]:
    """For steps that compute values again to save memory: puts each write right after the last user of what it overwrites.

    The inputs of the write, a gradient or the factors of one, are then free.  Other steps keep their writes at the end, so that
    nothing after them can fail.
    """
    if not any(n in HOLD for n in order):
        return list(order)
    last = last_use(order, escaping)
    busy: dict[Value, int] = {}  # the last position so far at which the state behind a handle is used
    keys: dict[Node, tuple[int, int]] = {}
    for i, node in enumerate(order):
        handles = [root(node.inputs[p]) for p in ref_positions(node)]
        keys[node] = (i if node.predecessors() else -1, 0)  # constants and handles are there before anything runs
        if node.op_def.traits.writes:
            earliest = max([-1, *(keys[p][0] for p in node.predecessors()), *(busy.get(h, -1) for h in handles)])
            keys[node] = (min(earliest, i), 1 + i)
        used = max([keys[node][0], *(last.get(v, -1) for v in node.outputs)])
        for h in handles:
            busy[h] = max(busy.get(h, -1), used)
    return sorted(order, key=keys.__getitem__)


def order_reads(order: Sequence[Node]) -> None:
    """Adds a control edge from each read to the later writes of the same state, so that no regrouping swaps them.

    In a partial run, whose nodes that wait are marked `LATE`, a write does not wait for a read that waits for more than it does.
    """
    readers: dict[Value, list[Node]] = {}
    waits = _waits(order) if any(LATE in node.attrs and may_wait(node) for node in order) else {}
    for node in order:
        if node.op_def.traits.reads_buffer:
            readers.setdefault(root(node.inputs[0]), []).append(node)
        elif node.op_def.traits.writes:
            for p in ref_positions(node):
                handle = root(node.inputs[p])
                ordered = set(node.predecessors())
                before = readers.pop(handle, [])
                if waits:
                    readers[handle] = [r for r in before if waits[r] & ~waits[node]]
                    before = [r for r in before if not waits[r] & ~waits[node]]
                node.control_inputs += [r for r in before if r not in ordered]


def _waits(order: Sequence[Node]) -> dict[Node, int]:
    """The nodes that wait which each node depends on, or is: a set is a number, with a bit for each."""
    waits: dict[Node, int] = {}
    for i, node in enumerate(order):
        waits[node] = 1 << i if may_wait(node) else 0
        for before in node.predecessors():
            waits[node] |= waits.get(before, 0)  # what closes a loop of primitives comes later
    return waits


def protect_reads(order: Sequence[Node], escaping: set[Value]) -> list[Node]:
    """Turns reads whose value (or a view of it) is needed after a later write to the same state into copies.

    After the end of a critical section another step may write, so what was read before it is copied, too.
    ``escaping`` values are needed after the whole order has run.  Returns the reads that became copies.
    """
    writes: dict[Value, list[int]] = {}
    unlocks = [i for i, node in enumerate(order) if node in UNLOCK]
    for i, node in enumerate(order):
        if node.op_def.traits.writes:
            for p in ref_positions(node):
                writes.setdefault(root(node.inputs[p]), []).append(i)
    if not writes and not unlocks:
        return []
    last = last_use(order, escaping)
    copy = REGISTRY.get("_ReadCopy")
    copied = []
    for i, node in enumerate(order):
        if node.op_def.traits.reads_buffer:
            until = last.get(node.outputs[0], i)
            # A write that takes a view of what it overwrites (assign(v, v[::-1])) counts: it must not see its own effect.
            if any(i < w <= until for w in (*writes.get(root(node.inputs[0]), ()), *unlocks)):
                node.op_def = copy
                copied.append(node)
    return copied


def copy_written_reads(nodes: Sequence[Node]) -> None:
    """Copies the reads of all state that some node changes: where iterations overlap, a write may come at any time."""
    written = {root(n.inputs[p]) for n in nodes if n.op_def.traits.writes for p in ref_positions(n)}
    copy = REGISTRY.get("_ReadCopy")
    for node in nodes:
        if node.op_def.traits.reads_buffer and root(node.inputs[0]) in written:
            node.op_def = copy


def copy_escaping_reads(order: Sequence[Node], escaping: set[Value]) -> None:
    """Copies the reads whose value leaves a body or a strand: its user does not know that a variable is behind it."""
    last = last_use(order, escaping)
    copy = REGISTRY.get("_ReadCopy")
    for node in order:
        if node.op_def.traits.reads_buffer and last.get(node.outputs[0], -1) == len(order):
            node.op_def = copy


def last_use(order: Sequence[Node], escaping: set[Value]) -> dict[Value, int]:
    """The last position at which a value, or anything that may share its memory, is used."""
    end = len(order)
    last: dict[Value, int] = dict.fromkeys(escaping, end)
    for i in range(end - 1, -1, -1):
        node = order[i]
        traits = node.op_def.traits
        until = [max(i, last.get(v, i)) for v in node.outputs] if traits.view else []
        reach = max(until, default=i) if not traits.pairs else i
        for j, value in enumerate(node.inputs):
            needed = until[j] if traits.pairs and j < len(until) else reach
            if last.get(value, -1) < needed:
                last[value] = needed
    return last


def root(value: Value) -> Value:
    """The handle a ref value stands for: assignments pass their first input's handle on."""
    while value.op.inputs and value.dtype._is_ref_dtype:
        value = value.op.inputs[0]
    return value
