"""Gradients of conditionals made of primitives: a Switch's gradient is a Merge, a Merge's a Switch.

A loop of primitives is raised before it is differentiated (graph/raise_graph.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.autodiff.gradients import BODY_RULES
from headrace.autodiff.lives import living, zeros
from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor


def _dense(grad: Any) -> Tensor:
    return convert_to_tensor(grad)


def switch_gradient(op: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The gradient of the side that was taken; zeros if nothing came from there."""
    data, predicate = op.inputs
    if all(g is None for g in grads) or not needed[0]:
        return [None, None]
    missing = raw_ops.Switch(zeros(data), predicate) if any(g is None for g in grads) else None
    sides = [missing[side] if g is None else _dense(g) for side, g in enumerate(grads)]  # type: ignore[index]
    return [raw_ops.Merge(sides).output, None]


def merge_gradient(op: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The gradient, for the input that was taken; dead for the others."""
    if grads[0] is None:
        return [None] * len(op.inputs)
    grad = _dense(grads[0])
    lives = living.get()
    decision = lives.decision(op) if lives is not None else None
    if decision is not None:
        predicate, first = decision
        sides = raw_ops.Switch(grad, predicate)
        return [sides[first], sides[1 - first]]
    return [
        raw_ops.Switch(grad, raw_ops.Equal(op._outputs[1], convert_to_tensor(i))).output_true if wants else None
        for i, wants in enumerate(needed)
    ]


def _refuse(op: Operation, *grads: Any) -> Any:
    lives = living.get()
    why = "; ".join(lives.refused) if lives is not None else ""
    raise LookupError(
        f"No gradient defined for operation '{op.name}' (op type: {op.type}, made at {op.source}): it is part of a loop of "
        f"primitives that has not the form of tf.while_loop. {why}"
    )


def _switch_rule(op: Operation, *grads: Any) -> Any:
    return switch_gradient(op, grads, [True] * len(op.inputs))


def _merge_rule(op: Operation, *grads: Any) -> Any:
    return merge_gradient(op, grads, [True] * len(op.inputs))


BODY_RULES[_switch_rule] = switch_gradient
BODY_RULES[_merge_rule] = merge_gradient
for _prefix in ("", "Ref"):
    REGISTRY.gradients[f"{_prefix}Switch"] = _switch_rule
    REGISTRY.gradients[f"{_prefix}Merge"] = _merge_rule
    for _name in ("Enter", "Exit", "NextIteration"):
        REGISTRY.gradients[f"{_prefix}{_name}"] = _refuse
