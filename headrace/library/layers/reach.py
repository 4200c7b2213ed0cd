"""Which tensors and ops depend on given ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.graph.operation import Operation


def reachable_from(sources: Sequence[Any], targets: Sequence[Any]) -> set[Any]:
    """Those of ``targets`` (tensors or ops) that depend on some of ``sources``, through data or control edges."""
    if not sources or not targets:
        return set()
    users: dict[Operation, list[Operation]] = {}
    for op in _with_ancestors(map(_operation, targets)):
        for dependency in _dependencies(op):
            users.setdefault(dependency, []).append(op)
    reached = {_operation(s) for s in sources}
    waiting = list(reached)
    while waiting:
        for op in users.get(waiting.pop(), ()):
            if op not in reached:
                reached.add(op)
                waiting.append(op)
    return {t for t in targets if _operation(t) in reached}


def _operation(item: Any) -> Operation:
    return item if isinstance(item, Operation) else item.op


def _dependencies(op: Operation) -> list[Operation]:
    return [*(t.op for t in op.inputs), *op.control_inputs]


def _with_ancestors(ops: Iterable[Operation]) -> set[Operation]:
    """The ops and all they depend on; without recursion, since graphs are deep and may have cycles."""
    seen = set(ops)
    waiting = list(seen)
    while waiting:
        for op in _dependencies(waiting.pop()):
            if op not in seen:
                seen.add(op)
                waiting.append(op)
    return seen
