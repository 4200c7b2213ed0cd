"""Dropout as programs write it: a value times a number times zeros and ones that each step draws.

    %keep = Cast(GreaterEqual(RandomUniform(), rate))   or   Floor(Add(RandomUniform(), 1 - rate))
    %y = Mul(Mul(%x, 1 / (1 - rate)), %keep)            or   Mul(RealDiv(%x, 1 - rate), %keep)

Only with numbers that are drawn without a seed on an accelerator, and that nothing else reads: those may as well be drawn in
another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.passes.match import CAST, Ops, number_of
from headrace.passes.region import is_drawn_anywhere
from headrace.passes.step_graph import Node, Value

AT_LEAST, FLOOR, DRAWN = Ops("GreaterEqual"), Ops("Floor"), Ops("RandomUniform")
SUM, FACTOR, QUOTIENT = Ops("Add", "AddV2"), Ops("Mul"), Ops("RealDiv")
CLOSE, CLOSE_IN_16_BITS = 1e-5, 5e-3  # to which constants are rounded

UsersOf = Callable[[Value], Sequence[Node]]  # the nodes that read a value; none if something else needs it too


@dataclass(slots=True)
class Dropout:
    """``source`` with some elements dropped and the others scaled up."""

    source: Value
    keep: Value  # the zeros and ones
    rate: float  # the share that is dropped


def dropout_behind(value: Value, users: UsersOf) -> Dropout | None:
    """The dropout that ends with ``value``; None if there is none, or if something else reads what is inside."""
    source, scale, keep, rate = value, 1.0, None, 0.0
    while (node := source.op) in FACTOR or node in QUOTIENT:
        if source is not value and len(users(source)) != 1:
            return None
        first, second = node.inputs
        if number_of(second) is None and node in FACTOR and (number_of(first) is not None or _rate(first, users)):
            first, second = second, first
        number = number_of(second)
        if number is not None:
            scale *= number if node in FACTOR else 1.0 / number
        elif keep is None and node in FACTOR and (drawn := _rate(second, users)) is not None:
            keep, rate = second, drawn
        else:
            return None
        source = first
    close = CLOSE if source.dtype in (float32, float64) else CLOSE_IN_16_BITS
    if keep is None or keep.shape.tuple != source.shape.tuple or not np.isclose(scale * (1.0 - rate), 1.0, rtol=close):
        return None
    return Dropout(source, keep, rate)


def _rate(keep: Value, users: UsersOf) -> float | None:
    """The share of zeros, if these are the zeros and ones of a dropout."""
    value = _below_casts(keep, users)
    if value is not keep and len(users(value)) != 1:
        return None
    if value.op in AT_LEAST:
        drawn, rate = value.op.inputs[0], number_of(value.op.inputs[1])
    elif value.op in FLOOR and value.op.inputs[0].op in SUM and len(users(value.op.inputs[0])) == 1:
        drawn, share = value.op.inputs[0].op.inputs
        if number_of(drawn) is not None:
            drawn, share = share, drawn
        number = number_of(share)
        rate = None if number is None else 1.0 - number
    else:
        return None
    if rate is None or not 0.0 < rate < 1.0 or len(users(drawn)) != 1 or drawn.shape.tuple != keep.shape.tuple:
        return None
    drawn = _below_casts(drawn, users)
    return rate if drawn.op in DRAWN and is_drawn_anywhere(drawn.op) else None


def _below_casts(value: Value, users: UsersOf) -> Value:
    """What is cast to other types and used nowhere else."""
    while value.op in CAST and len(users(value.op.inputs[0])) == 1:
        value = value.op.inputs[0]
    return value
