"""Places in sorted sequences and in flat orders; elements repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation, indexing


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Where each value would have to be inserted, row by row, to keep the order.

    With ``side="left"`` before elements equal to it, with "right" after them.

    Args:
      sorted_sequence: A tensor whose last dimension is in rising order.
      values: What to find: a tensor with the leading dimensions of ``sorted_sequence``.
      side: "left" or "right".
      out_type: The type of the result: int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``out_type`` of the shape of ``values``.

    >>> tf.Session().run(tf.searchsorted([1, 3, 3, 7], [0, 3, 8], side="right"))
    array([0, 3, 4], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    find = raw_ops.LowerBound if side == "left" else raw_ops.UpperBound
    with name_scope(name, None if name else "searchsorted", [sorted_sequence, values]):
        sequence = convert_to_tensor(sorted_sequence, name="sorted_sequence")
        needles = convert_to_tensor(values, sequence.dtype.base_dtype, name="values")
        rows = array.reshape(sequence, [-1, _last(sequence)])
        columns = array.reshape(needles, [-1, _last(needles)])
        return array.reshape(find(rows, columns, out_type=out_type), array.shape(needles))


def _last(tensor: Tensor) -> Any:
    size = tensor.shape.with_rank_at_least(1).as_list()[-1] if tensor.shape.ndims is not None else None
    return array.shape(tensor)[-1] if size is None else size


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Indices into a flat tensor as coordinates in one of shape ``dims``, one row for each dimension.

    Args:
      indices: A scalar or 1-D tensor of int32 or int64.
      dims: The shape of the tensor that is indexed, of the type of ``indices``.
      name: A name for the op.

    Returns:
      A tensor of the type of ``indices``: a column for each index.

    >>> tf.Session().run(tf.unravel_index([7, 2], [3, 4]))
    array([[1, 0],
           [3, 2]], dtype=int32)
    """
    return raw_ops.UnravelIndex(indices, dims, name=name)


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Tensor:
    """The n-th smallest (or, reversed, largest) element of each row, counted from 0.

    Args:
      input: A tensor of real numbers of rank 1 or more; its last dimension holds the rows.
      n: Which element, a scalar from 0.
      reverse: Whether to count from the largest.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``, without its last dimension.

    >>> tf.Session().run(tf.contrib.nn.nth_element([[3, 1, 2], [9, 7, 8]], 1))
    array([2, 8], dtype=int32)
    """
    return raw_ops.NthElement(input, n, reverse=reverse, name=name)


def bucketize(input: Any, boundaries: Any, name: str | None = None) -> Tensor:
    """The number of boundaries at or below each element."""
    return raw_ops.Bucketize(input, boundaries=boundaries, name=name)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Elements along an axis, each as often as ``repeats`` says; without an axis, of the flat tensor.

    Args:
      input: A tensor.
      repeats: How often each element comes: a number for all, or a 1-D tensor with one for each.
      axis: The dimension along which to repeat; None for the flat tensor.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``.

    >>> tf.Session().run(tf.repeat([3, 5], repeats=[2, 1]))
    array([3, 3, 5], dtype=int32)
    """
    if axis is None:
        input = array.reshape(input, [-1])
        axis = 0
    return repeat_with_axis(input, repeats, axis, name)


def repeat_with_axis(data: Any, repeats: Any, axis: int, name: str | None = None) -> Tensor:
    """``repeat`` along a known axis."""
    if not isinstance(axis, int):
        raise TypeError(f"argument `axis` must be an int, got {axis!r}")
    with name_scope(name, "Repeat", [data, repeats]):
        data = convert_to_tensor(data, name="data")
        times = _counts(repeats)
        rank = data.shape.with_rank_at_least(1).ndims
        if rank is not None:
            if not -rank <= axis < rank:
                raise ValueError(f"axis={axis} out of bounds: expected {-rank} <= axis < {rank}")
            axis %= rank
        elif axis < 0:
            raise ValueError("a negative axis needs data of known rank")
        size = array.shape(data)[axis]
        each = times if times.shape.ndims == 1 else creation.fill(array.expand_dims(size, 0), times)
        ends = reduction.cumsum(each)
        total = reduction.reduce_sum(each)
        places = searchsorted(ends, creation.range(total), side="right")
        repeated = indexing.gather(data, places, axis=axis)
        _note_shape(repeated, data, times, axis)
        return repeated


def _counts(repeats: Any) -> Tensor:
    times = convert_to_tensor(repeats, name="repeats")
    if times.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        times = math.cast(times, dtypes.int32)
    times = math.cast(times, dtypes.int32)
    if times.shape.ndims == 1 and times.shape.as_list()[0] == 1:
        times = array.reshape(times, [])
    if times.shape.ndims not in (0, 1):
        raise ValueError(f"repeats must be a scalar or a vector of known rank, got shape {times.shape}")
    return times


def _note_shape(repeated: Tensor, data: Tensor, times: Tensor, axis: int) -> None:
    """What the shape is, where the counts are known."""
    static_times = constant_value(times)
    dims = data.shape.as_list() if data.shape.ndims is not None else None
    if static_times is None or dims is None:
        return
    size = dims[axis]
    if np.ndim(static_times):
        count: int | None = int(np.sum(static_times))
    else:
        count = None if size is None else size * int(static_times)
    repeated.set_shape([*dims[:axis], count, *dims[axis + 1 :]])
