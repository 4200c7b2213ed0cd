"""Reductions over groups of rows: sorted segments, unsorted ones, and segments of chosen rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.factory import called
from headrace.library.scope import name_scope


def _segment(name: str, op_type: str, text: str) -> Callable[..., Any]:
    @called(name, text)
    def segment_op(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(data, segment_ids, name=name)

    return segment_op


segment_sum = _segment("segment_sum", "SegmentSum", "The sum of the rows of each segment; ids are sorted.")
segment_mean = _segment("segment_mean", "SegmentMean", "The mean of the rows of each segment; ids are sorted.")
segment_prod = _segment("segment_prod", "SegmentProd", "The product of the rows of each segment; ids are sorted.")
segment_max = _segment("segment_max", "SegmentMax", "The largest of the rows of each segment; ids are sorted.")
segment_min = _segment("segment_min", "SegmentMin", "The smallest of the rows of each segment; ids are sorted.")


def _unsorted(name: str, op_type: str, text: str) -> Callable[..., Any]:
    @called(name, text)
    def segment_op(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(data, segment_ids, num_segments, name=name)

    return segment_op


unsorted_segment_sum = _unsorted("unsorted_segment_sum", "UnsortedSegmentSum", "The sum of the rows of each segment.")
unsorted_segment_prod = _unsorted("unsorted_segment_prod", "UnsortedSegmentProd", "The product of each segment's rows.")
unsorted_segment_max = _unsorted("unsorted_segment_max", "UnsortedSegmentMax", "The largest of each segment's rows.")
unsorted_segment_min = _unsorted("unsorted_segment_min", "UnsortedSegmentMin", "The smallest of each segment's rows.")


def _rows_per_segment(data: Tensor, segment_ids: Tensor, num_segments: Tensor) -> Tensor:
    """How many rows each segment has, at least one, shaped to divide the segments' sums."""
    ones = raw_ops.Fill(raw_ops.Shape(segment_ids), constant(1, dtype=data.dtype.base_dtype))
    count = raw_ops.UnsortedSegmentSum(ones, segment_ids, num_segments)
    rank = raw_ops.Sub(raw_ops.Rank(data), raw_ops.Rank(segment_ids))
    tail = raw_ops.Fill(raw_ops.Reshape(rank, [1]), 1)
    count = raw_ops.Reshape(count, raw_ops.ConcatV2([raw_ops.Reshape(num_segments, [1]), tail], 0))
    return raw_ops.Maximum(count, 1)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment."""
    with name_scope(name, "UnsortedSegmentMean"):
        rows, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _rows_per_segment(rows, ids, convert_to_tensor(num_segments, dtypes.int32))
        total = raw_ops.UnsortedSegmentSum(rows, ids, num_segments)
        return raw_ops.RealDiv(total, count, name="truediv")


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment over the square root of their number."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        rows, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _rows_per_segment(rows, ids, convert_to_tensor(num_segments, dtypes.int32))
        total = raw_ops.UnsortedSegmentSum(rows, ids, num_segments)
        return raw_ops.RealDiv(total, raw_ops.Sqrt(count), name="truediv")


# ---- chosen rows


def _chosen(name: str, op_type: str, text: str) -> Callable[..., Any]:
    @called(name, text)
    def segment_op(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Any:
        if num_segments is None:
            return getattr(raw_ops, op_type)(data, indices, segment_ids, name=name)
        return getattr(raw_ops, f"{op_type}WithNumSegments")(data, indices, segment_ids, num_segments, name=name)

    return segment_op


sparse_segment_sum = _chosen("sparse_segment_sum", "SparseSegmentSum", "The sum of the chosen rows of each segment.")
sparse_segment_mean = _chosen(
    "sparse_segment_mean", "SparseSegmentMean", "The mean of the chosen rows of each segment."
)
sparse_segment_sqrt_n = _chosen(
    "sparse_segment_sqrt_n", "SparseSegmentSqrtN", "The sum of the chosen rows over the square root of their number."
)
