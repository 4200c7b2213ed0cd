"""Elements by index or condition: gather, scatter_nd, where, boolean_mask, unique, partitions; diagonals and bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.scope import name_scope
from headrace.library.tensor.array import concat, reshape, shape, squeeze

# ---- gathering


@learned
def gather(
    params: Any, indices: Any, validate_indices: Any = None, name: str | None = None, axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:  # fmt: skip
    """Slices of ``params`` along ``axis``: ``tf.gather(embeddings, ids)``.  Its gradient stays sparse for axis 0.

    Args:
      params: The tensor to take slices of, of rank 1 or more, or a variable.
      indices: A tensor of int32 or int64 of any shape.
      validate_indices: Accepted and ignored, as in TensorFlow 1: an index out of range is an error on the CPU.
      name: A name for the op.
      axis: The dimension that is indexed; None for ``batch_dims``.
      batch_dims: How many leading dimensions ``params`` and ``indices`` share as a batch.

    Returns:
      A tensor of the type of ``params``, with the shape of ``indices`` in place of ``axis``.

    >>> tf.Session().run(tf.gather([10, 20, 30], [2, 0]))
    array([30, 10], dtype=int32)
    >>> tf.gather(tf.zeros([5, 3]), [0, 1, 4]).shape
    TensorShape([Dimension(3), Dimension(3)])
    """
    del validate_indices  # accepted and ignored, as in TF1
    if getattr(params, "_is_resource", False) and axis in (None, 0) and not batch_dims:
        return params.sparse_read(indices, name=name)
    return raw_ops.GatherV2(params, indices, batch_dims if axis is None else axis, batch_dims=batch_dims, name=name)


@learned
def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Elements or slices at coordinates: the last dimension of ``indices`` holds them.

    Args:
      params: The tensor to take from.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      name: A name for the op.
      batch_dims: How many leading dimensions ``params`` and ``indices`` share as a batch.

    Returns:
      A tensor of the type of ``params``, of shape ``indices.shape[:-1]`` and what the coordinates leave of ``params``.

    >>> tf.Session().run(tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]))
    array([2, 3], dtype=int32)
    """
    if not batch_dims and getattr(params, "_is_resource", False):
        return params.gather_nd(indices, name=name)
    if not batch_dims:
        return raw_ops.GatherNd(params, indices, name=name)
    with name_scope(name, "BatchGatherND", [params, indices]):
        params = convert_to_tensor(params, name="params")
        return _batch_gather_nd(params, convert_to_tensor(indices, name="indices"), batch_dims)


def _batch_gather_nd(params: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """Puts the position in the batch in front of every coordinate."""
    depth = indices.shape.ndims
    if depth is None or not 0 <= batch_dims < depth:
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {depth}")
    sizes = shape(indices)
    columns = []
    lead = raw_ops.ConcatV2([_slice(sizes, 0, depth - 1), [1]], 0)
    for i in range(batch_dims):
        line = raw_ops.Range(0, raw_ops.StridedSlice(sizes, [i], [i + 1], [1], shrink_axis_mask=1), 1)
        line = raw_ops.Cast(line, DstT=indices.dtype.base_dtype)
        line = reshape(line, [1] * i + [-1] + [1] * (depth - i - 1))
        columns.append(raw_ops.BroadcastTo(line, lead))
    return raw_ops.GatherNd(params, concat([*columns, indices], -1))


def _slice(vector: Tensor, begin: int, end: int) -> Tensor:
    return raw_ops.StridedSlice(vector, [begin], [end], [1])


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """``gather`` along the last dimension of ``indices``, all before it being the batch.

    Args:
      params: The tensor to take from.
      indices: A tensor of int32 or int64 of known rank; its leading dimensions are those of ``params``.
      name: A name for the op.

    Returns:
      A tensor of the type of ``params``.

    >>> tf.Session().run(tf.batch_gather([[1, 2, 3], [4, 5, 6]], [[2, 0], [1, 1]]))
    array([[3, 1],
           [5, 5]], dtype=int32)
    """
    with name_scope(name, "BatchGather", [params, indices]):
        params = convert_to_tensor(params, name="params")
        indices = convert_to_tensor(indices, name="indices")
        ndims = indices.shape.ndims
        if ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(params, indices, axis=ndims - 1, batch_dims=ndims - 1)


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of ``shape`` with ``updates`` added at coordinates; those that repeat add up.

    Args:
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: The elements or slices to add there.
      shape: The shape of the result, of the type of ``indices``.
      name: A name for the op.

    Returns:
      A tensor of the type of ``updates``.

    >>> tf.Session().run(tf.scatter_nd([[1], [3], [1]], [10, 20, 5], [4]))
    array([ 0, 15,  0, 20], dtype=int32)
    """
    return raw_ops.ScatterNd(indices, updates, shape, name=name)


def tensor_scatter_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy of ``tensor`` with elements or slices replaced.

    Args:
      tensor: The tensor to copy.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: The new elements or slices, of the type of ``tensor``.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``tensor``.

    >>> tf.Session().run(tf.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [10, 30]))
    array([10,  2, 30], dtype=int32)
    """
    return raw_ops.TensorScatterUpdate(tensor, indices, updates, name=name)


def tensor_scatter_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy of ``tensor`` with ``updates`` added at coordinates.

    Args:
      tensor: The tensor to copy.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: What to add there, of the type of ``tensor``; coordinates that repeat add up.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``tensor``.

    >>> tf.Session().run(tf.tensor_scatter_nd_add([1, 2, 3], [[0], [2]], [10, 30]))
    array([11,  2, 33], dtype=int32)
    """
    return raw_ops.TensorScatterAdd(tensor, indices, updates, name=name)


def tensor_scatter_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy of ``tensor`` with ``updates`` subtracted at coordinates.

    Args:
      tensor: The tensor to copy.
      indices: A tensor of int32 or int64.  Each row of its last dimension is the coordinates of one element or slice.
      updates: What to subtract there, of the type of ``tensor``; coordinates that repeat add up.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``tensor``.

    >>> tf.Session().run(tf.tensor_scatter_nd_sub([1, 2, 3], [[0], [2]], [10, 30]))
    array([ -9,   2, -27], dtype=int32)
    """
    return raw_ops.TensorScatterSub(tensor, indices, updates, name=name)


tensor_scatter_nd_update = tensor_scatter_update
tensor_scatter_nd_add = tensor_scatter_add
tensor_scatter_nd_sub = tensor_scatter_sub

# ---- conditions


@learned
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements (or rows) of x where ``condition`` holds, else of y; without x and y, where ``condition`` holds.

    Args:
      condition: A bool tensor; without ``x`` and ``y`` also numbers, which hold where they are not zero.
      x, y: Tensors of one type and shape, both or none.  A 1-D ``condition`` chooses whole rows of them.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``x``; without ``x`` and ``y``, an int64 tensor with the coordinates of one
      element a row.

    >>> tf.Session().run(tf.where([True, False], [1, 2], [30, 40]))
    array([ 1, 40], dtype=int32)
    >>> tf.Session().run(tf.where([False, True, True]))
    array([[1],
           [2]])
    """
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            condition = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
            return raw_ops.Where(condition, name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw_ops.Select(condition, x, y, name=name)


@learned
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``where`` whose three arguments broadcast against each other.

    Args:
      condition: A bool tensor; without ``x`` and ``y`` also numbers, which hold where they are not zero.
      x, y: Tensors of one type, both or none.
      name: A name for the op.

    Returns:
      A tensor of the type of ``x``; without ``x`` and ``y``, an int64 tensor with the coordinates of one element a row.

    >>> tf.Session().run(tf.where_v2([[True], [False]], [1, 2], 0))
    array([[1, 2],
           [0, 0]], dtype=int32)
    """
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw_ops.SelectV2(condition, x, y, name=name)


@learned
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """``tensor[mask]``: the slices for which ``mask``, which covers the dimensions from ``axis`` on, is true.

    Args:
      tensor: The tensor to take from.
      mask: A bool tensor of known rank, at least 1, of the shape of the dimensions it covers.
      name: A name for the op.
      axis: The first dimension that the mask covers; None for 0.

    Returns:
      A tensor of the type of ``tensor``, with one dimension in place of those that the mask covers.

    >>> tf.Session().run(tf.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]))
    array([[1, 2],
           [5, 6]], dtype=int32)
    """
    with name_scope(name, "boolean_mask", [tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        width = mask.shape.ndims
        if width == 0:
            raise ValueError("mask cannot be scalar.")
        if width is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is "
                "ok, but shape=None is not."
            )
        start = 0 if axis is None else int(constant_value(axis) if isinstance(axis, Tensor) else axis)
        if start < 0:
            start += len(tensor.shape)
        tensor.shape[start : start + width].assert_is_compatible_with(mask.shape)
        flat = _merge_dimensions(tensor, start, width)
        chosen = squeeze(raw_ops.Where(reshape(mask, [-1])), axis=[1])
        return gather(flat, chosen, axis=start)


def _merge_dimensions(tensor: Tensor, start: int, width: int) -> Tensor:
    """The dimensions start to start + width as one."""
    dims = tensor.shape.tuple
    sizes = shape(tensor)
    leading = raw_ops.Prod(_slice(sizes, start, start + width), [0])
    tail = raw_ops.StridedSlice(sizes, [start + width], [0], [1], end_mask=1)
    merged = reshape(tensor, concat([_slice(sizes, 0, start), [leading], tail], 0))
    if dims is not None:
        middle = TensorShape(dims[start : start + width]).num_elements()
        merged.set_shape([*dims[:start], middle, *dims[start + width :]])
    return merged


# ---- values that repeat


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """-> (y, idx): the different values in order of first appearance, and for each element the place of its value.

    Args:
      x: A 1-D tensor.
      out_idx: The type of ``idx``: ``tf.int32`` or ``tf.int64``.
      name: A name for the op.

    Returns:
      A named tuple (y, idx) of 1-D tensors.

    >>> y, idx = tf.unique([7, 5, 7])
    >>> tf.Session().run([y, idx])
    [array([7, 5], dtype=int32), array([0, 1, 0], dtype=int32)]
    """
    return raw_ops.Unique(x, out_idx=out_idx, name=name)


def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """``unique`` and how often each value occurs: (y, idx, count).

    Args:
      x: A 1-D tensor.
      out_idx: The type of ``idx`` and ``count``: ``tf.int32`` or ``tf.int64``.
      name: A name for the op.

    Returns:
      A named tuple (y, idx, count) of 1-D tensors.

    >>> y, idx, count = tf.unique_with_counts([7, 5, 7])
    >>> tf.Session().run([y, count])
    [array([7, 5], dtype=int32), array([2, 1], dtype=int32)]
    """
    return raw_ops.UniqueWithCounts(x, out_idx=out_idx, name=name)


def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """-> (out, idx): the elements of x that are not in y, and their places.

    Args:
      x: A 1-D tensor.
      y: A 1-D tensor of the type of ``x``: the values to leave out.
      index_dtype: The type of ``idx``: ``tf.int32`` or ``tf.int64``.
      name: A name for the op.

    Returns:
      A named tuple (out, idx) of 1-D tensors.

    >>> tf.Session().run(tf.setdiff1d([1, 2, 3, 4], [2, 4]).out)
    array([1, 3], dtype=int32)
    """
    return raw_ops.ListDiff(x, y, out_idx=index_dtype, name=name)


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Deals the slices of ``data`` out to ``num_partitions`` tensors, by the numbers in ``partitions``.

    Args:
      data: A tensor.
      partitions: A tensor of int32 with a number from 0 to ``num_partitions - 1`` for each slice: its shape begins that
        of ``data``.
      num_partitions: How many tensors to make.
      name: A name for the op.

    Returns:
      A list of tensors of the type of ``data``, which keep the order of the slices.

    >>> small, large = tf.dynamic_partition([10, 20, 30], [0, 1, 0], 2)
    >>> tf.Session().run([small, large])
    [array([10, 30], dtype=int32), array([20], dtype=int32)]
    """
    return raw_ops.DynamicPartition(data, partitions, num_partitions=num_partitions, name=name)


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Interleaves tensors: row ``indices[m][i]`` of the result is ``data[m][i]``; later ones win.

    Args:
      indices: A list of int32 tensors.
      data: A list of tensors of one type; the shape of ``data[m]`` begins with that of ``indices[m]``.
      name: A name for the op.

    Returns:
      A tensor of the type of ``data`` with as many rows as the largest index asks for.

    >>> tf.Session().run(tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]))
    array([10, 20, 30], dtype=int32)
    """
    merged: Tensor = raw_ops.DynamicStitch(indices, data, name=name)
    static_indices = [constant_value(t) for t in merged.op.inputs[: len(merged.op.inputs) // 2]]
    if all(v is not None for v in static_indices):
        rows = max((int(np.max(v)) + 1 for v in static_indices if v.size), default=0)
        merged.set_shape(TensorShape([rows]).concatenate(merged.shape[1:]))
    return merged


# ---- diagonals and bands


@learned
def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor of twice the rank with ``diagonal`` on its diagonal.

    Args:
      diagonal: A tensor of numbers of rank 1 or more.
      name: A name for the op.

    Returns:
      A tensor of shape ``diagonal.shape + diagonal.shape``, zero off the diagonal.

    >>> tf.Session().run(tf.diag([1, 2]))
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return raw_ops.Diag(diagonal, name=name)


@learned
def diag_part(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """The diagonal of a tensor whose shape is some shape twice over.

    Args:
      input: A tensor of even rank, such as a square matrix.
      name: A name for the op.

    Returns:
      A tensor of half the rank of ``input``.

    >>> tf.Session().run(tf.diag_part([[1, 2], [3, 4]]))
    array([1, 4], dtype=int32)
    """
    return raw_ops.DiagPart(input, name=name)


def _is_main(k: Any) -> bool:
    return isinstance(k, int) and k == 0


def matrix_diag(
    diagonal: Any, name: str = "diag", k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0
) -> Tensor:
    """Matrices with the given diagonals; ``k`` names one or, as (lower, upper), several of them.

    Args:
      diagonal: A tensor of rank 1 or more: its last dimension is one diagonal.  For several, the last two hold one a
        row.
      name: A name for the op.
      k: Which diagonal: 0 the main one, positive above it, negative below it.  A pair names the lowest and the highest.
      num_rows, num_cols: The sizes of the matrices; -1 for the smallest that have the diagonals.
      padding_value: The scalar off the diagonals.

    Returns:
      A tensor of the type of ``diagonal``, whose last two dimensions are matrices.

    >>> tf.Session().run(tf.matrix_diag([1, 2]))
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    plain = all(isinstance(v, int) for v in (num_rows, num_cols, padding_value))
    if _is_main(k) and plain and num_rows == num_cols == -1 and padding_value == 0:
        return raw_ops.MatrixDiag(diagonal, name=name)
    return raw_ops.MatrixDiagV2(diagonal, k, num_rows, num_cols, padding_value, name=name)


def matrix_diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0) -> Tensor:  # noqa: A002
    """The diagonals of matrices; several (``k`` = (lower, upper)) are padded on the right to one length.

    Args:
      input: A tensor of rank 2 or more, whose last two dimensions are matrices.
      name: A name for the op.
      k: Which diagonal: 0 the main one, positive above it, negative below it.  A pair names the lowest and the highest.
      padding_value: The scalar that fills shorter diagonals up.

    Returns:
      A tensor of the type of ``input``: the last dimension is a diagonal, the highest one first where there are
      several.

    >>> tf.Session().run(tf.matrix_diag_part([[1, 2], [3, 4]]))
    array([1, 4], dtype=int32)
    """
    if _is_main(k):
        return raw_ops.MatrixDiagPart(input, name=name)
    return raw_ops.MatrixDiagPartV2(input, k, padding_value, name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:  # noqa: A002
    """The matrices with other diagonals.

    Args:
      input: A tensor of rank 2 or more, whose last two dimensions are matrices.
      diagonal: The new diagonals, in the form that ``matrix_diag_part`` gives.
      name: A name for the op.
      k: Which diagonal: 0 the main one, positive above it, negative below it.  A pair names the lowest and the highest.

    Returns:
      A tensor of the type and shape of ``input``.

    >>> tf.Session().run(tf.matrix_set_diag([[1, 2], [3, 4]], [8, 9]))
    array([[8, 2],
           [3, 9]], dtype=int32)
    """
    if _is_main(k):
        return raw_ops.MatrixSetDiag(input, diagonal, name=name)
    return raw_ops.MatrixSetDiagV2(input, diagonal, k, name=name)


@learned
def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Keeps ``num_lower`` diagonals below and ``num_upper`` above the main one; negative keeps all.

    Args:
      input: A tensor of rank 2 or more, whose last two dimensions are matrices.
      num_lower, num_upper: How many diagonals to keep below and above the main one.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``input``, zero outside the band.

    >>> tf.Session().run(tf.matrix_band_part([[1, 2], [3, 4]], 0, -1))
    array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return raw_ops.MatrixBandPart(input, num_lower, num_upper, name=name)
