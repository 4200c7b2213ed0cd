"""``slice``, ``strided_slice`` and ``tensor[...]``; importing this installs the latter on Tensor."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shape import Dimension
from headrace.core.source import at
from headrace.eager.entry import learned
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope
from headrace.library.tensor.array import stack
from headrace.library.tensor.creation import ones_like
from headrace.library.tensor.indexing import boolean_mask

newaxis = None

_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid "
    "indices"
)


@learned
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:  # noqa: A001 - TF1's name
    """``size`` elements from ``begin`` on in each dimension; a size of -1 takes all that are left.

    Args:
      input_: A tensor.
      begin: The first index in each dimension, as a list or an integer tensor.
      size: How many elements to take in each dimension.
      name: A name for the op.

    Returns:
      A tensor of the type and rank of ``input_``.

    >>> tf.Session().run(tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [-1, 2]))
    array([[2, 3],
           [5, 6]], dtype=int32)
    """
    return raw_ops.Slice(input_, begin, size, name=name)


@learned
def strided_slice(
    input_: Any, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``input_[begin:end:strides]`` with one entry per dimension; bit i of a mask changes what entry i means.

    Args:
      input_: A tensor.
      begin: The first index of each entry.
      end: The end of each entry, not included.
      strides: The step of each entry, not 0; None for 1 everywhere.
      begin_mask, end_mask: Bit i: entry i has no ``begin`` (no ``end``), as in ``[:3]`` (``[3:]``).
      ellipsis_mask: Bit i: entry i is ``...``, and stands for as many dimensions as are left.
      new_axis_mask: Bit i: entry i adds a dimension of size one.
      shrink_axis_mask: Bit i: entry i is a single index, and its dimension goes.
      var: Accepted and ignored; assign to a slice of a variable with ``v[...].assign``.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input_``.

    >>> tf.Session().run(tf.strided_slice([1, 2, 3, 4, 5], [0], [5], [2]))
    array([1, 3, 5], dtype=int32)
    """
    if strides is None:
        strides = ones_like(begin)
    return raw_ops.StridedSlice(
        input_, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask, name=name,
    )  # fmt: skip


def slice_spec(key: Any) -> tuple[list[Any], list[Any], list[Any], dict[str, int]]:
    """What ``tensor[key]`` means: begin, end, strides and the masks."""
    parts = key if isinstance(key, (list, tuple)) else (key,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    for i, part in enumerate(parts):
        b, e, s, set_masks = _one_part(part)
        begin.append(b)
        end.append(e)
        strides.append(s)
        for mask in set_masks:
            masks[mask] |= 1 << i
    if masks["ellipsis_mask"] & (masks["ellipsis_mask"] - 1):
        raise ValueError(f"Multiple ellipses not allowed, got {key!r} {at()}")
    return begin, end, strides, masks


def _one_part(part: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    if isinstance(part, builtins.slice):
        start, stop, step = part.start, part.stop, part.step
        masks = []
        if start is None or _is_maxsize(start):
            start = 0
            masks.append("begin_mask")
        else:
            _check_index(start)
        if stop is None or _is_maxsize(stop):
            stop = 0
            masks.append("end_mask")
        else:
            _check_index(stop)
        if step is None:
            step = 1
        else:
            _check_index(step)
        return start, stop, step, tuple(masks)
    if part is Ellipsis:
        return 0, 0, 1, ("ellipsis_mask",)
    if part is newaxis:
        return 0, 0, 1, ("new_axis_mask",)
    _check_index(part)
    if hasattr(part, "_as_graph_element"):
        part = convert_to_tensor(part)
        return part, raw_ops.AddV2(part, 1, name="add"), 1, ("shrink_axis_mask",)
    if isinstance(part, Dimension):
        part = int(part)
    return part, part + 1, 1, ("shrink_axis_mask",)


def _is_maxsize(value: Any) -> bool:
    return not isinstance(value, Tensor) and isinstance(value, int) and value == sys.maxsize


def _check_index(index: Any) -> None:
    """TF1's rule: integers (numpy's too) and scalar integer tensors."""
    if isinstance(index, (int, np.integer, Dimension)) and not isinstance(index, (bool, np.bool_)):
        return
    dtype = getattr(index, "dtype", None)
    shape = getattr(index, "shape", ())
    rank = shape.ndims if hasattr(shape, "ndims") else len(shape)
    if dtype is None or dtypes.as_dtype(dtype).base_dtype not in dtypes.INDEX or rank:
        raise TypeError(f"{_ERROR}, got {index!r} {at()}")


@learned
def slice_helper(tensor: Any, slice_spec_: Any, var: Any = None) -> Tensor:
    """``tensor[slice_spec_]``: the nodes TF1 makes, named ``strided_slice`` and ``strided_slice/stack``."""
    if isinstance(slice_spec_, (Tensor, np.ndarray)) and slice_spec_.dtype == dtypes.bool:  # TF1's rule for a mask
        return boolean_mask(tensor, slice_spec_)
    begin, end, strides, masks = slice_spec(slice_spec_)
    if context.executing_eagerly() and all(type(v) is int for v in (*begin, *end, *strides)):
        return raw_ops.StridedSlice(tensor, begin, end, strides, **masks)
    with name_scope(None, "strided_slice", [tensor, *begin, *end, *strides]) as scope:
        if begin:
            packed = [stack(v) for v in (begin, end, strides)]
            if any(p.dtype == dtypes.int64 for p in packed):
                packed = [p if p.dtype == dtypes.int64 else raw_ops.Cast(p, DstT=dtypes.int64) for p in packed]
        else:
            packed = [constant([], dtypes.int32)] * 3
        return raw_ops.StridedSlice(tensor, *packed, **masks, name=scope)


Tensor._override_operator("__getitem__", slice_helper)
