"""Partitioners: functions that say into how many pieces a variable of a shape and dtype is cut along each dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.dtypes import string as string_dtype
from headrace.core.shape import TensorShape, as_shape

Partitioner = Callable[..., list[int]]


class PartitionInfo:
    """Which part of the whole an initializer fills: the whole's shape and the part's offset."""

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        if not isinstance(full_shape, (list, tuple)) or not isinstance(var_offset, (list, tuple)):
            raise TypeError(f"full_shape and var_offset must be lists or tuples, got {full_shape!r}, {var_offset!r}")
        if len(var_offset) != len(full_shape):
            raise ValueError(f"full_shape {full_shape} and var_offset {var_offset} must have equal length")
        for offset, size in zip(var_offset, full_shape, strict=True):
            if offset < 0 or offset >= size:
                raise ValueError(f"var_offset {var_offset} must lie inside full_shape {full_shape}")
        self.full_shape = list(full_shape)
        self.var_offset = list(var_offset)

    def single_offset(self, shape: Sequence[int]) -> int:
        """The offset along the one dimension that is partitioned."""
        axis = self.single_slice_dim(shape)
        return self.var_offset[axis] if axis is not None else 0

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The dimension in which ``shape`` is smaller than the whole; None if there is none, an error if several."""
        if len(shape) != len(self.full_shape):
            raise ValueError(f"Expected equal length, but received shape={shape} for full_shape={self.full_shape}")
        for i, (part, whole) in enumerate(zip(shape, self.full_shape, strict=True)):
            if self.var_offset[i] + part > whole:
                raise ValueError(
                    f"With self.var_offset={self.var_offset}, a partition of shape={shape} would exceed "
                    f"self.full_shape={self.full_shape} in dimension {i}."
                )
        cut = [i for i, (part, whole) in enumerate(zip(shape, self.full_shape, strict=True)) if part != whole]
        if len(cut) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and full_shape={self.full_shape}: slice dim could "
                f"be either of {cut}."
            )
        return cut[0] if cut else None


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Cuts ``axis`` into ``num_shards`` pieces, or as many as the dimension has elements.

    Args:
      num_shards: How many pieces.
      axis: The dimension to cut.

    Returns:
      A partitioner, for ``tf.get_variable`` and ``tf.variable_scope``: a function of a shape and a dtype that gives the
      number of pieces along each dimension.

    >>> tf.fixed_size_partitioner(3)(shape=[10, 4], dtype=tf.float32)
    [3, 1]
    """

    def partition(shape: Any, **unused: Any) -> list[int]:
        sizes: list[Any] = as_shape(shape).as_list()
        parts = [1] * len(sizes)
        parts[axis] = min(num_shards, sizes[axis])
        return parts

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Cuts ``axis`` so that no piece is larger than ``max_shard_bytes``, in at most ``max_shards`` pieces.

    Args:
      max_shard_bytes: The largest size of a piece; one row is the least.
      axis: The dimension to cut.
      bytes_per_string_element: What to count for a string, whose size is not known.
      max_shards: The largest number of pieces, even if they are larger then; None for no limit.

    Returns:
      A partitioner, for ``tf.get_variable`` and ``tf.variable_scope``: a function of a shape and a dtype that gives the
      number of pieces along each dimension.

    >>> tf.variable_axis_size_partitioner(64)(shape=[10, 4], dtype=tf.float32)
    [3, 1]
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            f"Both max_shard_bytes and bytes_per_string_element must be positive, got {max_shard_bytes} and "
            f"{bytes_per_string_element}."
        )
    if max_shards and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}.")

    def partition(shape: Any, dtype: DType) -> list[int]:
        sizes = _defined(shape)
        element = bytes_per_string_element if dtype.base_dtype == string_dtype else dtype.size
        parts = [1] * len(sizes)
        slice_bytes = math.prod(sizes) / sizes[axis] * element
        slices_per_shard = max(1, math.floor(max_shard_bytes / slice_bytes))
        count = math.ceil(sizes[axis] / slices_per_shard)
        if max_shards:
            count = min(max_shards, count)
        parts[axis] = count
        return parts

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """Cuts ``axis`` into at most ``max_partitions`` pieces of at least ``min_slice_size`` bytes.

    Args:
      max_partitions: The largest number of pieces.
      axis: The dimension to cut.
      min_slice_size: The least size of a piece in bytes.
      bytes_per_string_element: What to count for a string, whose size is not known.

    Returns:
      A partitioner, for ``tf.get_variable`` and ``tf.variable_scope``: a function of a shape and a dtype that gives the
      number of pieces along each dimension.

    >>> tf.min_max_variable_partitioner(8, min_slice_size=64)(shape=[10, 4], dtype=tf.float32)
    [3, 1]
    """
    if max_partitions < 1 or min_slice_size < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "max_partitions, min_slice_size and bytes_per_string_element must be positive, got "
            f"{max_partitions}, {min_slice_size} and {bytes_per_string_element}."
        )

    def partition(shape: Any, dtype: DType) -> list[int]:
        sizes = _defined(shape)
        element = bytes_per_string_element if dtype.base_dtype == string_dtype else dtype.size
        total = math.prod(sizes) * element
        count = max(1, min(max_partitions, math.ceil(total / min_slice_size)))
        parts = [1] * len(sizes)
        parts[axis] = max(1, min(sizes[axis], count))
        return parts

    return partition


def _defined(shape: Any) -> list[int]:
    shape = as_shape(shape)
    if not shape.is_fully_defined():
        raise ValueError(f"shape is not fully defined: {shape}")
    return shape.as_list()


def call_partitioner(partitioner: Partitioner, shape: TensorShape, dtype: DType) -> list[int]:
    """The checked answer of a partitioner: one positive number a dimension, at most one of them above 1."""
    if not shape.is_fully_defined():
        raise ValueError(f"Shape of a new partitioned variable must be fully defined, but instead was {shape}.")
    if not shape.ndims:
        raise ValueError(f"A partitioned Variable must have rank at least 1, but instead its shape was {shape}.")
    parts = partitioner(shape=shape, dtype=dtype)
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {parts!r}")
    if len(parts) != shape.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {parts} vs. {shape}"
        )
    if any(p < 1 for p in parts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {parts}")
    if sum(p > 1 for p in parts) > 1:
        raise ValueError(f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {parts}")
    return list(parts)


def slices(shape: Sequence[int], partitions: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """(offset, size) of each piece; when the dimension does not divide, the first pieces are one larger."""
    count = max(partitions)
    axis = list(partitions).index(count) if count > 1 else 0
    if count > shape[axis]:
        raise ValueError(f"Cannot cut dimension {axis} of shape {list(shape)} into {count} slices")
    least, larger = divmod(shape[axis], count)
    offset = [0] * len(shape)
    for i in range(count):
        size = list(shape)
        size[axis] = least + (i < larger)
        yield offset[:], size
        offset[axis] += size[axis]
