"""The reverse walk over what a tape recorded: the same gradient rules as for graphs, run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.autodiff.aggregate import aggregate
from headrace.autodiff.gradients import is_trainable, through_kernel, zeros
from headrace.autodiff.registration import gradient_rule
from headrace.eager.record import Record
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices


def backprop(
    records: Sequence[Record], targets: Sequence[Any], grads: Sequence[Any], sources: Sequence[Any]
) -> list[Any]:
    """The gradients of the targets, summed, for each source; None where nothing connects them."""
    needed = _depending(records, sources)
    partial: dict[int, list[Any]] = {}
    whole: dict[int, Any] = {}
    for target, grad in zip(targets, grads, strict=True):
        if id(target) in needed:
            partial.setdefault(id(target), []).append(grad)
    for record in reversed(records):
        outputs = record._outputs
        if not any(id(t) in partial for t in outputs):
            continue
        arrived = []
        for t in outputs:
            parts = partial.pop(id(t), None)
            arrived.append(None if parts is None else aggregate(parts))
            if parts is not None:
                whole[id(t)] = arrived[-1]
        for t, g in zip(record.inputs, _through(record, arrived), strict=True):
            if g is not None and id(t) in needed and is_trainable(t.dtype):
                partial.setdefault(id(t), []).append(g)
    found = []
    for source in sources:
        parts = partial.get(id(source))
        found.append(aggregate(parts) if parts else whole.get(id(source)))
    return found


def _depending(records: Sequence[Record], sources: Sequence[Any]) -> set[int]:
    """The tensors that depend on a source: nothing else needs a gradient.  A tape keeps all of them alive."""
    found = {id(s) for s in sources}
    for record in records:
        if not found.isdisjoint(map(id, record.inputs)):
            found.update(map(id, record._outputs))
    return found


def _through(record: Record, grads: Sequence[Any]) -> Sequence[Any]:
    known, rule = True, record.rule
    if rule is None:
        known, rule = gradient_rule(record)  # type: ignore[arg-type]
    if known and rule is None:
        return [None] * len(record.inputs)
    filled = [
        zeros(t) if g is None and is_trainable(t.dtype) else g for g, t in zip(grads, record._outputs, strict=True)
    ]
    produced = rule(record, *filled) if rule is not None else through_kernel(record, filled)  # type: ignore[arg-type]
    found = list(produced) if isinstance(produced, (list, tuple)) else [produced]
    if len(found) != len(record.inputs):
        raise ValueError(
            f"Num gradients {len(found)} generated for op {record.type} do not match num inputs {len(record.inputs)}"
        )
    return [g if g is None or isinstance(g, (Tensor, IndexedSlices)) else convert_to_tensor(g) for g in found]


def ones_like(tensor: Any) -> Any:
    """The gradient of a target with respect to itself."""
    return raw_ops.OnesLike(tensor)
