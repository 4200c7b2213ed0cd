"""Sorting along an axis, as TF1 does it: through ``top_k``."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements along an axis in rising (or, with direction "DESCENDING", falling) order."""
    with name_scope(name, "sort", [values]):
        return _sorted(values, axis, direction)[0]


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The indices that would sort along an axis; equal elements always keep their order."""
    with name_scope(name, "argsort", [values]):
        return _sorted(values, axis, direction)[1]


def _sorted(values: Any, axis: Any, direction: str) -> tuple[Tensor, Tensor]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    x: Any = convert_to_tensor(values, name="values")
    rank = x.shape.with_rank_at_least(1).ndims
    place = constant_value(convert_to_tensor(axis, name="axis"))
    if place is None or np.ndim(place):
        raise ValueError("axis must be a constant scalar")
    last = int(place) in (-1, (rank or 0) - 1)
    if rank is None and not last:
        raise ValueError("sorting along another axis than the last needs a tensor of known rank")
    if rank is not None and not -rank <= int(place) < rank:
        raise ValueError(f"axis {int(place)} is out of range for a tensor of rank {rank}")
    order = list(range(rank or 0))
    if not last:
        order[int(place) % len(order)], order[-1] = order[-1], int(place) % len(order)
        x = raw_ops.Transpose(x, np.array(order, np.int32), name="transpose")
    rising = direction == "ASCENDING"
    flipped = _flipped(x) if rising else x
    count = raw_ops.StridedSlice(raw_ops.Shape(x), [-1], [0], [1], end_mask=1, shrink_axis_mask=1)
    top = raw_ops.TopKV2(flipped, count)
    parts = [_flipped(top[0]) if rising else top[0], top[1]]
    if not last:
        parts = [raw_ops.Transpose(p, np.array(order, np.int32), name="transpose") for p in parts]
    for part in parts:
        part.set_shape(values.shape if isinstance(values, Tensor) else part.shape)
    return parts[0], parts[1]


def _flipped(x: Any) -> Any:
    """The elements in the opposite order, without overflow: ``-x``, or ``~x`` for integers."""
    return raw_ops.Invert(x) if x.dtype.base_dtype.is_integer else raw_ops.Neg(x)
