"""Sorting along an axis, as TF1 does it: through ``top_k``."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements along an axis in rising (or, with direction "DESCENDING", falling) order.

    Args:
      values: A tensor of real numbers of rank 1 or more.
      axis: The dimension to sort along, a constant; negative counts from the end.
      direction: "ASCENDING" or "DESCENDING".
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``values``.

    >>> tf.Session().run(tf.sort([3, 1, 2], direction="DESCENDING"))
    array([3, 2, 1], dtype=int32)
    """
    with name_scope(name, "sort", [values]):
        return _sorted(values, axis, direction)[0]


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The indices that would sort along an axis; equal elements always keep their order.

    Args:
      values: A tensor of real numbers of rank 1 or more.
      axis: The dimension to sort along, a constant; negative counts from the end.
      direction: "ASCENDING" or "DESCENDING".
      stable: Accepted; the order is stable either way.
      name: A name for the op.

    Returns:
      A tensor of int32 of the shape of ``values``.

    >>> tf.Session().run(tf.argsort([30, 10, 20]))
    array([1, 2, 0], dtype=int32)
    """
    with name_scope(name, "argsort", [values]):
        return _sorted(values, axis, direction)[1]


def _sorted(values: Any, axis: Any, direction: str) -> tuple[Tensor, Tensor]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction must be 'ASCENDING' or 'DESCENDING', got {direction!r} {at()}")
    x: Any = convert_to_tensor(values, name="values")
    rank = x.shape.with_rank_at_least(1).ndims
    place = constant_value(convert_to_tensor(axis, name="axis"))
    if place is None or np.ndim(place) or np.asarray(place).dtype.kind != "i":
        raise ValueError(f"axis must be a constant integer, got {axis!r} {at()}")
    if rank is not None and not -rank <= int(place) < rank:
        raise ValueError(f"axis {int(place)} is not in [{-rank}, {rank}): the tensor has rank {rank} {at()}")
    last = int(place) == -1 or int(place) + 1 == rank
    order = None if last else _exchanged(x, int(place), rank)
    if order is not None:
        x = raw_ops.Transpose(x, order, name="transpose")
    rising = direction == "ASCENDING"
    flipped = _flipped(x) if rising else x
    count = raw_ops.StridedSlice(raw_ops.Shape(x), [-1], [0], [1], end_mask=1, shrink_axis_mask=1)
    top = raw_ops.TopKV2(flipped, count)
    parts = [_flipped(top[0]) if rising else top[0], top[1]]
    if order is not None:
        parts = [raw_ops.Transpose(p, order, name="transpose") for p in parts]
    for part in parts:
        part.set_shape(values.shape if isinstance(values, Tensor) else part.shape)
    return parts[0], parts[1]


def _exchanged(x: Any, axis: int, rank: int | None) -> Any:
    """The axes of x with this one and the last exchanged; computed in the step where the rank is unknown."""
    if rank is not None:
        order = np.arange(rank, dtype=np.int32)
        order[[axis, -1]] = order[[-1, axis]]
        return order
    count = raw_ops.Rank(x)
    axes, end = raw_ops.Range(0, count, 1), raw_ops.Sub(count, 1)
    place: Any = axis
    if axis < 0:
        counted = raw_ops.Add(count, axis)
        place = raw_ops.SelectV2(raw_ops.Less(counted, 0), count, counted)
    # An axis out of range makes no permutation, and Transpose refuses it.
    moved = raw_ops.SelectV2(raw_ops.Equal(axes, end), place, axes)
    return raw_ops.SelectV2(raw_ops.Equal(axes, place), end, moved)


def _flipped(x: Any) -> Any:
    """The elements in the opposite order, without overflow: ``-x``, or ``~x`` for integers."""
    return raw_ops.Invert(x) if x.dtype.base_dtype.is_integer else raw_ops.Neg(x)
