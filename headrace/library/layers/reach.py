"""Which tensors and ops depend on given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.operation import Operation


def reachable_from(sources: Sequence[Any], targets: Sequence[Any]) -> set[Any]:
    """Those of ``targets`` (tensors or ops) that depend on some of ``sources``, through data or control edges."""
    starts = {_operation(s) for s in sources}
    return {t for t in targets if starts & _ancestors(_operation(t))}


def _operation(item: Any) -> Operation:
    return item if isinstance(item, Operation) else item.op


def _ancestors(op: Operation) -> set[Operation]:
    """The op and all it depends on; without recursion, since graphs are deep and may have cycles."""
    seen = {op}
    waiting = [op]
    while waiting:
        here = waiting.pop()
        for before in [*(t.op for t in here.inputs), *here.control_inputs]:
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return seen
