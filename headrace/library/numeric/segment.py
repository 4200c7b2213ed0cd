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

_NAME = "  name: A name for the op."
_UNSORTED = "int32 or int64; its shape begins that of ``data``.  Rows with a negative id are left out."


def _told(text: str, args: str, result: str, example: str, shown: str) -> str:
    """A help text; ``shown`` is the elements of the example's value, int32 unless they have points."""
    dtype = "float32" if "." in shown else "int32"
    return (
        f"{text}\n\nArgs:\n{args}\n\nReturns:\n  A tensor of the type of ``data``, with a row for each segment; {result}\n\n"
        f">>> tf.Session().run(tf.{example})\narray({shown}, dtype={dtype})\n"
    )


def _elements(op_type: str) -> str:
    """What the rows of a segment may hold: complex numbers have no order."""
    return "real numbers" if op_type.endswith(("Max", "Min")) else "numbers"


def _segment(name: str, op_type: str, text: str, empty: str, shown: str) -> Callable[..., Any]:
    """A reduction of sorted segments.  For the help text: what an ``empty`` segment gives, and the value of the example."""
    args = (
        f"  data: A tensor of {_elements(op_type)} of rank 1 or more.\n"
        f"  segment_ids: The segment of each row, a 1-D tensor of int32 or int64 in rising order from 0.\n{_NAME}"
    )
    example = f"{name}([{'1.0, 2.0, 4.0' if '.' in shown else '1, 2, 4'}], [0, 0, 1])"

    @called(name, _told(text, args, f"one without rows gives {empty}.", example, shown))
    def segment_op(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(data, segment_ids, name=name)

    return segment_op


segment_sum = _segment(
    "segment_sum", "SegmentSum", "The sum of the rows of each segment; ids are sorted.", "0", "[3, 4]"
)
segment_mean = _segment(
    "segment_mean", "SegmentMean", "The mean of the rows of each segment; ids are sorted.", "0", "[1.5, 4. ]"
)
segment_prod = _segment(
    "segment_prod", "SegmentProd", "The product of the rows of each segment; ids are sorted.", "1", "[2, 4]"
)
segment_max = _segment(
    "segment_max", "SegmentMax", "The largest of the rows of each segment; ids are sorted.", "0", "[2, 4]"
)
segment_min = _segment(
    "segment_min", "SegmentMin", "The smallest of the rows of each segment; ids are sorted.", "0", "[1, 4]"
)


def _unsorted(name: str, op_type: str, text: str, empty: str, shown: str) -> Callable[..., Any]:
    """A reduction of unsorted segments.  For the help text: what an ``empty`` segment gives, and the value of the example."""
    args = (
        f"  data: A tensor of {_elements(op_type)}.\n  segment_ids: The segment of each row, {_UNSORTED}\n"
        f"  num_segments: How many segments there are.\n{_NAME}"
    )

    @called(name, _told(text, args, f"one without rows gives {empty}.", f"{name}([1, 2, 4], [1, 0, 0], 2)", shown))
    def segment_op(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return getattr(raw_ops, op_type)(data, segment_ids, num_segments, name=name)

    return segment_op


unsorted_segment_sum = _unsorted(
    "unsorted_segment_sum", "UnsortedSegmentSum", "The sum of the rows of each segment.", "0", "[6, 1]"
)
unsorted_segment_prod = _unsorted(
    "unsorted_segment_prod", "UnsortedSegmentProd", "The product of each segment's rows.", "1", "[8, 1]"
)
unsorted_segment_max = _unsorted(
    "unsorted_segment_max", "UnsortedSegmentMax", "The largest of each segment's rows.", "the lowest number", "[4, 1]"
)
unsorted_segment_min = _unsorted(
    "unsorted_segment_min", "UnsortedSegmentMin", "The smallest of each segment's rows.", "the highest number", "[2, 1]"
)


def _rows_per_segment(data: Tensor, segment_ids: Tensor, num_segments: Tensor) -> Tensor:
    """How many rows each segment has, at least one, shaped to divide the segments' sums."""
    ones = raw_ops.Fill(raw_ops.Shape(segment_ids), constant(1, dtype=data.dtype.base_dtype))
    count = raw_ops.UnsortedSegmentSum(ones, segment_ids, num_segments)
    rank = raw_ops.Sub(raw_ops.Rank(data), raw_ops.Rank(segment_ids))
    tail = raw_ops.Fill(raw_ops.Reshape(rank, [1]), 1)
    count = raw_ops.Reshape(count, raw_ops.ConcatV2([raw_ops.Reshape(num_segments, [1]), tail], 0))
    return raw_ops.Maximum(count, 1)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment.

    Args:
      data: A tensor of floating-point or complex numbers.
      segment_ids: The segment of each row, int32 or int64; its shape begins that of ``data``.  Rows with a negative id
        are left out.
      num_segments: How many segments there are.
      name: A name for the op.

    Returns:
      A tensor of the type of ``data`` with ``num_segments`` rows; a segment without rows gives 0.

    >>> tf.Session().run(tf.unsorted_segment_mean([1.0, 2.0, 4.0], [1, 0, 0], 2))
    array([3., 1.], dtype=float32)
    """
    with name_scope(name, "UnsortedSegmentMean"):
        rows, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _rows_per_segment(rows, ids, convert_to_tensor(num_segments, dtypes.int32))
        total = raw_ops.UnsortedSegmentSum(rows, ids, num_segments)
        return raw_ops.RealDiv(total, count, name="truediv")


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment over the square root of their number.

    Args:
      data: A tensor of floating-point or complex numbers.
      segment_ids: The segment of each row, int32 or int64; its shape begins that of ``data``.  Rows with a negative id
        are left out.
      num_segments: How many segments there are.
      name: A name for the op.

    Returns:
      A tensor of the type of ``data`` with ``num_segments`` rows; a segment without rows gives 0.

    >>> tf.Session().run(tf.unsorted_segment_sqrt_n([1.0, 2.0, 4.0, 0.0, 0.0], [1, 0, 0, 0, 0], 2))
    array([3., 1.], dtype=float32)
    """
    with name_scope(name, "UnsortedSegmentSqrtN"):
        rows, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _rows_per_segment(rows, ids, convert_to_tensor(num_segments, dtypes.int32))
        total = raw_ops.UnsortedSegmentSum(rows, ids, num_segments)
        return raw_ops.RealDiv(total, raw_ops.Sqrt(count), name="truediv")


# ---- chosen rows


def _chosen(name: str, op_type: str, text: str, of: str, shown: str) -> Callable[..., Any]:
    """A reduction of chosen rows.  For the help text: what elements ``data`` has, and the value of the example."""
    args = (
        f"  data: A tensor of {of} of rank 1 or more.\n"
        "  indices: The rows to take, a 1-D tensor of int32 or int64.\n"
        "  segment_ids: The segment of each index, a 1-D tensor of int32 or int64 in rising order from 0.\n"
        f"{_NAME}\n  num_segments: How many segments there are; None for one more than the last id."
    )

    @called(
        name,
        _told(text, args, "one without rows gives 0.", f"{name}([1.0, 2.0, 4.0], [2, 0, 1], [0, 0, 1])", shown),
    )
    def segment_op(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Any:
        if num_segments is None:
            return getattr(raw_ops, op_type)(data, indices, segment_ids, name=name)
        return getattr(raw_ops, f"{op_type}WithNumSegments")(data, indices, segment_ids, num_segments, name=name)

    return segment_op


sparse_segment_sum = _chosen(
    "sparse_segment_sum",
    "SparseSegmentSum",
    "The sum of the chosen rows of each segment.",
    "real numbers",
    "[5., 2.]",
)
sparse_segment_mean = _chosen(
    "sparse_segment_mean",
    "SparseSegmentMean",
    "The mean of the chosen rows of each segment.",
    "floating-point numbers",
    "[2.5, 2. ]",
)
sparse_segment_sqrt_n = _chosen(
    "sparse_segment_sqrt_n",
    "SparseSegmentSqrtN",
    "The sum of the chosen rows over the square root of their number.",
    "floating-point numbers",
    "[3.535..., 2. ]",
)
