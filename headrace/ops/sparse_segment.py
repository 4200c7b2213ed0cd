"""Sums and means of chosen rows over sorted segments, as embeddings of sparse ids use them."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import FLOATING, INDEX, INTEGER
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops import _sorted_segments
from headrace.ops._declare import WIDE_UNSIGNED

SUMMABLE = (*FLOATING, *(t for t in INTEGER if t not in WIDE_UNSIGNED))


def _sum(data, indices, segment_ids, rows):
    if _on_host(data, segment_ids):
        return _checked(_sorted_segments.sums, data, indices, _host_counts(segment_ids, rows))
    _sorted_segments.check(segment_ids)
    sums = data.new_zeros(rows, *data.shape[1:])
    return sums.index_add_(0, segment_ids.long(), data.index_select(0, indices))


def _mean(data, indices, segment_ids, rows):
    if _on_host(data, segment_ids):
        return _checked(_sorted_segments.means, data, indices, _host_counts(segment_ids, rows))
    return _sum(data, indices, segment_ids, rows) / _count(data, segment_ids, rows)


def _sqrt_n(data, indices, segment_ids, rows):
    if _on_host(data, segment_ids):
        count = _host_counts(segment_ids, rows)
        roots = _sorted_segments.divisors(count, 2).sqrt_()
        return _checked(_sorted_segments.sums, data, indices, count).div_(roots)
    return _sum(data, indices, segment_ids, rows) / _count(data, segment_ids, rows).sqrt()


def _count(data, segment_ids, rows):
    """How many rows each segment has, at least one, shaped to divide them."""
    ones = torch.ones(segment_ids.shape, dtype=data.dtype, device=data.device)
    count = data.new_zeros(rows).index_add_(0, segment_ids.long(), ones)
    return count.clamp_(min=1).view(-1, *[1] * (data.ndim - 1))


def _on_host(data, segment_ids):
    return data.ndim == 2 and _sorted_segments.suits(data, segment_ids) and segment_ids.numel() > 0


def _host_counts(segment_ids, rows):
    """How many rows each segment has; ``rows`` None is one more than the last id."""
    count = _sorted_segments.counts(segment_ids)
    if rows is None or rows == len(count):
        return count
    if rows < len(count):
        raise InvalidArgumentError(None, None, f"segment id {len(count) - 1} is not below num_segments = {rows}")
    return np.pad(count, (0, rows - len(count)))


def _checked(reduce, data, indices, count):
    try:
        return reduce(data, count, indices)
    except RuntimeError:
        data.index_select(0, indices)  # raises the error of a wrong index
        raise


def _gradient(power):
    """Each chosen row gets its segment's gradient over the number of rows to ``power``; rows chosen twice add up."""

    def rule(node, grad):
        data, indices, ids = node.inputs[:3]
        if power:
            rows = raw_ops.StridedSlice(raw_ops.Shape(grad), [0], [1], [1], shrink_axis_mask=1)
            ones = raw_ops.Fill(raw_ops.Shape(ids), raw_ops.Cast(1, DstT=grad.dtype.base_dtype))
            count = raw_ops.Maximum(raw_ops.UnsortedSegmentSum(ones, ids, rows), 1.0)
            scale = raw_ops.Pow(count, -power)
            lead = raw_ops.Fill([raw_ops.Sub(raw_ops.Rank(grad), 1)], 1)
            scale = raw_ops.Reshape(scale, raw_ops.ConcatV2([raw_ops.Shape(scale), lead], 0))
            grad = raw_ops.Mul(grad, scale)
        size = raw_ops.StridedSlice(raw_ops.Shape(data), [0], [1], [1], shrink_axis_mask=1)
        spread = raw_ops.UnsortedSegmentSum(raw_ops.GatherV2(grad, ids, 0), indices, size)
        return [spread] + [None] * (len(node.inputs) - 1)

    return rule


def _declare(name, types, reduce, gradient):
    inputs = "data: T, indices: Tidx, segment_ids: Tsegmentids"
    plain = op(f"{name}({inputs}) -> (output: T)", T=types, Tidx=INDEX, Tsegmentids=INDEX, dynamic_shape=True)
    sized = op(
        f"{name}WithNumSegments({inputs}, num_segments: host Tnumsegments) -> (output: T)",
        T=types, Tidx=INDEX, Tsegmentids=INDEX, Tnumsegments=INDEX,
    )  # fmt: skip

    def shape(data, indices, segment_ids, num_segments=None):
        indices.with_rank(1).merge_with(segment_ids)
        rest = data.with_rank_at_least(1).tuple
        return None if rest is None else (num_segments, *rest[1:])

    @plain.kernel
    def _(data, indices, segment_ids):
        if _on_host(data, segment_ids):
            return reduce(data, indices, segment_ids, None)
        rows = int(segment_ids[-1]) + 1 if segment_ids.numel() else 0
        return reduce(data, indices, segment_ids, rows)

    sized.kernel(reduce)
    for definition in (plain, sized):
        definition.shape(shape)
        definition.gradient(gradient)


_declare("SparseSegmentSum", SUMMABLE, _sum, _gradient(0))
_declare("SparseSegmentMean", FLOATING, _mean, _gradient(1.0))
_declare("SparseSegmentSqrtN", FLOATING, _sqrt_n, _gradient(0.5))
