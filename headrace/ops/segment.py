"""Reductions over groups of rows: segments with sorted ids, chosen rows of them, unsorted segments, and counts of values."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import FLOATING, INDEX, INTEGER, NUMERIC, REAL
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.ops.declare.regular import WIDE_UNSIGNED
from headrace.ops.internal.opaque import is_traced
from headrace.ops.shared.refuse import expect_inside, expect_shape
from headrace.ops.shared.whole import whole

SUMMABLE = tuple(t for t in NUMERIC if t not in WIDE_UNSIGNED)
ORDERED = tuple(t for t in REAL if t not in WIDE_UNSIGNED)


def _spread(ids, data):
    """One id per element of the data, for scatters."""
    return ids.view(-1, *[1] * (data.ndim - 1)).expand(data.shape)


def _add(data, ids, rows):
    return data.new_zeros(rows, *data.shape[1:]).index_add_(0, ids, data)


def _combine(reduction, start):
    def reduce(data, ids, rows):
        out = data.new_full((rows, *data.shape[1:]), start(data.dtype))
        return out.scatter_reduce_(0, _spread(ids, data), data, reduction, include_self=False)

    return reduce


def _lowest(dtype):
    return torch.finfo(dtype).min if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype):
    return torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max


def _product(data, ids, rows):
    if not data.is_complex():
        return _combine("prod", lambda dtype: 1)(data, ids, rows)
    parts = [torch.prod(data[ids == i], 0) for i in range(rows)]
    return torch.stack(parts) if parts else data.new_ones((0, *data.shape[1:]))


def _zero(dtype):
    return 0


_largest = _combine("amax", _lowest)
_smallest = _combine("amin", _highest)

# ---- sorted ids: as many segments as the last id says


def _check_sorted(ids):
    """Refuses ids that are not sorted, where that can be seen without waiting: on the host, and not while traced."""
    if is_traced(ids) or not ids.is_cpu or ids.ndim != 1 or not ids.numel():
        return
    if ids[0] < 0 or bool((ids[1:] < ids[:-1]).any()):
        some = np.array2string(ids.numpy(), threshold=20, edgeitems=8)
        wrong = "segment ids are not increasing"
        if ids[-1] < 0:
            wrong = "segment ids must be >= 0"
        elif ids[0] < 0:
            wrong = (
                f"Segment id {int(ids[0])} out of range [0, {int(ids[-1]) + 1}), possibly because 'segment_ids' input is not "
                "sorted."
            )
        raise InvalidArgumentError(None, None, f"{wrong}: received {some}")


def _sorted(name, types, reduce, gradient=None):
    definition = op(
        f"{name}(data: T[1+], segment_ids: Tindices[1]) -> (output: T)", T=types, Tindices=INDEX, dynamic_shape=True
    )

    @definition.shape
    def _(data, segment_ids):
        segment_ids.with_rank(1)
        rest = data.with_rank_at_least(1).tuple
        return None if rest is None else (None, *rest[1:])

    @definition.kernel
    def _(data, segment_ids):
        if segment_ids.ndim != 1:
            raise ValueError(f"segment_ids should be a vector. Got shape {list(segment_ids.shape)}")
        if not data.ndim:
            raise ValueError("input must be at least rank 1, got a scalar")
        if segment_ids.shape != data.shape[:1]:
            raise ValueError(
                "segment_ids should be the same size as dimension 0 of input: got segment_ids of shape "
                f"{list(segment_ids.shape)} and data of shape {list(data.shape)}"
            )
        _check_sorted(segment_ids)
        ids = segment_ids.long()
        rows = int(ids[-1]) + 1 if ids.numel() else 0
        return reduce(data, ids, rows)

    if gradient is not None:
        definition.gradient(lambda node, grad: [gradient(node, grad), None])
    return definition


def _mean(data, ids, rows):
    counts = _add(torch.ones_like(ids), ids, rows).clamp_(min=1).view(-1, *[1] * (data.ndim - 1))
    total = _add(data, ids, rows)
    if data.is_floating_point() or data.is_complex():
        return total / counts
    return torch.div(total, counts, rounding_mode="trunc").to(data.dtype)


def _gather(values, ids):
    return raw_ops.GatherV2(values, ids, 0)


def _shared(node, grad):
    """Rows that equal the extreme share its gradient."""
    data, ids = node.inputs[0], node.inputs[1]
    hits = raw_ops.Cast(raw_ops.Equal(data, _gather(node.outputs[0], ids)), DstT=data.dtype.base_dtype)
    share = raw_ops.DivNoNan(grad, raw_ops.SegmentSum(hits, ids))
    return raw_ops.Mul(hits, _gather(share, ids))


def _mean_gradient(node, grad):
    ids = node.inputs[1]
    ones = raw_ops.Fill(
        raw_ops.ConcatV2([raw_ops.Shape(ids), raw_ops.Fill([raw_ops.Sub(raw_ops.Rank(node.inputs[0]), 1)], 1)], 0),
        raw_ops.Cast(1, DstT=grad.dtype.base_dtype),
    )
    return _gather(raw_ops.RealDiv(grad, raw_ops.SegmentSum(ones, ids)), ids)


_sorted("SegmentSum", SUMMABLE, _add, lambda node, grad: _gather(grad, node.inputs[1]))
_sorted("SegmentMean", SUMMABLE, _mean, _mean_gradient)
_sorted("SegmentProd", SUMMABLE, _product)
_sorted("SegmentMax", ORDERED, _combine("amax", _zero), _shared)  # segments without rows are zero
_sorted("SegmentMin", ORDERED, _combine("amin", _zero), _shared)

# ---- sorted ids of chosen rows, as embeddings of sparse ids use them

CHOSEN = (*FLOATING, *(t for t in INTEGER if t not in WIDE_UNSIGNED))


def _chosen_gradient(power):
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


def _chosen(name, types, power):
    """The sum of the chosen rows of each segment, over their number to ``power``."""
    inputs = "data: T[1+], indices: Tidx[1], segment_ids: Tsegmentids[1]"
    plain = op(f"{name}({inputs}) -> (output: T)", T=types, Tidx=INDEX, Tsegmentids=INDEX, dynamic_shape=True)
    sized = op(
        f"{name}WithNumSegments({inputs}, num_segments: host Tnumsegments[0]) -> (output: T)",
        T=types, Tidx=INDEX, Tsegmentids=INDEX, Tnumsegments=INDEX,
    )  # fmt: skip

    def shape(data, indices, segment_ids, num_segments=None):
        indices.with_rank(1).merge_with(segment_ids)
        rest = data.with_rank_at_least(1).tuple
        return None if rest is None else (num_segments, *rest[1:])

    def reduce(data, indices, segment_ids, rows):
        _check_sorted(segment_ids)
        ids = segment_ids.long()
        if not is_traced(ids) and ids.is_cpu and ids.numel() and ids[-1] >= rows:
            raise InvalidArgumentError(
                None, None, f"segment ids must be < num_segments, got {int(ids[-1])} and num_segments = {rows}"
            )
        total = _add(data.index_select(0, indices), ids, rows)
        if not power:
            return total
        count = _add(torch.ones(ids.shape, dtype=data.dtype, device=data.device), ids, rows).clamp_(min=1)
        return total / count.pow_(power).view(-1, *[1] * (data.ndim - 1))

    @plain.kernel
    def _(data, indices, segment_ids):
        return reduce(data, indices, segment_ids, int(segment_ids[-1]) + 1 if segment_ids.numel() else 0)

    def refuse(data, indices, segment_ids, rows=0):
        if rows < 0:
            raise ValueError(f"segment ids must be >= 0 and below num_segments, which is {rows}")
        for label, value in (("indices", indices), ("segment_ids", segment_ids)):
            if value.ndim != 1:
                raise ValueError(f"{label} should be a vector. Got shape {list(value.shape)}")
        if indices.shape != segment_ids.shape:
            raise ValueError(
                f"segment_ids and indices should have same size, got {list(segment_ids.shape)} and {list(indices.shape)}"
            )
        size = data.shape[0]
        expect_inside("indices", indices, size, "Bad: indices[{place}] == {value} out of range [0, {size})")

    plain.refuse(refuse)
    sized.refuse(refuse)
    sized.kernel(reduce)
    for definition in (plain, sized):
        definition.shape(shape)
        definition.gradient(_chosen_gradient(power))


_chosen("SparseSegmentSum", CHOSEN, 0)
_chosen("SparseSegmentMean", FLOATING, 1.0)
_chosen("SparseSegmentSqrtN", FLOATING, 0.5)

# ---- ids in any order: the number of segments is given, rows with negative ids are dropped


def _unsorted(name, types, reduce):
    definition = op(
        f"{name}(data: T, segment_ids: Tindices, num_segments: host Tnumsegments[0]) -> (output: T)",
        T=types, Tindices=INDEX, Tnumsegments=INDEX, lenient=True,
    )  # fmt: skip

    @definition.shape
    def _(data, segment_ids, num_segments):
        rows = num_segments if isinstance(num_segments, int) else None
        if rows is not None and rows < 0:
            raise ValueError(f"Input num_segments == {rows} must not be negative.")
        dims, prefix = data.tuple, segment_ids.tuple
        if dims is None or prefix is None:
            return None
        if len(prefix) > len(dims) or not TensorShape(dims[: len(prefix)]).is_compatible_with(segment_ids):
            raise ValueError(
                f"data.shape = {in_brackets(dims)} does not start with segment_ids.shape = {in_brackets(prefix)}"
            )
        return (rows, *dims[len(prefix) :])

    @definition.kernel
    def _(data, segment_ids, num_segments):
        ids = segment_ids.long()
        if ids.ndim != 1:
            ids, data = ids.reshape(-1), data.reshape(ids.numel(), *data.shape[ids.ndim :])
        # Negative ids go to an extra row, the first.
        return reduce(data, ids.clamp_min(-1).add_(1), num_segments + 1)[1:]

    @definition.refuse
    def _(data, segment_ids, num_segments):
        if num_segments < 0:
            raise ValueError(f"Input num_segments == {num_segments} must not be negative.")
        segments = segment_ids.clamp_min(0)  # negative ids are dropped
        expect_inside("segment_ids", segments, num_segments, "{label}[{place}] = {value} is out of range [0, {size})")

    return definition


def _gathered(values, ids):
    """The value of each row's segment (of the first one for dropped rows), and which rows were kept."""
    valid = raw_ops.GreaterEqual(ids, raw_ops.ZerosLike(ids))
    rows = raw_ops.GatherV2(values, raw_ops.Maximum(ids, raw_ops.ZerosLike(ids)), 0)
    return rows, valid


def _only(rows, valid, like):
    """Zero where ``valid``, which has the ids' shape, says a row was dropped."""
    ids_rank, rank = valid.shape.ndims, like.shape.ndims
    if ids_rank is None or rank is None:
        extra = raw_ops.Fill([raw_ops.Sub(raw_ops.Rank(rows), raw_ops.Rank(valid))], 1)
        valid = raw_ops.Reshape(valid, raw_ops.ConcatV2([raw_ops.Shape(valid), extra], 0))
    else:
        for _ in range(rank - ids_rank):
            valid = raw_ops.ExpandDims(valid, -1)
    return raw_ops.SelectV2(valid, rows, raw_ops.ZerosLike(rows))


total = _unsorted("UnsortedSegmentSum", SUMMABLE, _add)


@total.gradient
def _(node, grad):
    rows, valid = _gathered(grad, node.inputs[1])
    return [_only(rows, valid, node.inputs[0]), None, None]


def _unsorted_shared(node, grad):
    data, ids, count = node.inputs
    rows, valid = _gathered(node.outputs[0], ids)
    equal = raw_ops.Equal(data, rows)
    hits = raw_ops.Cast(equal, DstT=data.dtype.base_dtype)
    hits = _only(hits, valid, data)
    share = raw_ops.DivNoNan(grad, raw_ops.UnsortedSegmentSum(hits, ids, count))
    return [raw_ops.Mul(hits, _gathered(share, ids)[0]), None, None]


for _name, _reduce in (("UnsortedSegmentMax", _largest), ("UnsortedSegmentMin", _smallest)):
    _unsorted(_name, ORDERED, _reduce).gradient(_unsorted_shared)
_unsorted("UnsortedSegmentProd", SUMMABLE, _product)

# ---- counts of values

bincount = op(
    "Bincount(arr: int32, size: host int32[0], weights: T) -> (bins: T)",
    T=(dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64),
)
bincount.not_differentiable()


@bincount.shape
def _(arr, size, weights):
    if size is not None and size < 0:
        raise ValueError(f"size ({size}) must be non-negative")
    return (size,)


bincount.refuse(lambda arr, size, weights: expect_shape("weights", weights, arr.shape))


@bincount.kernel
def _(arr, size, weights):
    ids = arr.reshape(-1).long()
    if not is_traced(ids) and ids.is_cpu and ids.numel() and ids.min() < 0:
        raise ValueError(f"Input arr must be non-negative, got {ids.min()}")
    values = weights.reshape(-1) if weights.numel() else torch.ones(ids.shape, dtype=weights.dtype, device=arr.device)
    ids = torch.where((ids < 0) | (ids >= size), size, ids)  # what does not fit is left out
    return _add(values, ids, size + 1)[:size]


histogram = op(
    "HistogramFixedWidth(values: T, value_range: T[1], nbins: host int32[0]; dtype: type = int32) -> (out: dtype)",
    T=(dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64), dtype=INDEX, lenient=True,
)  # fmt: skip


@histogram.shape
def _(values, value_range, nbins, dtype):
    if nbins is not None and nbins < 1:
        raise ValueError(f"nbins should be a positive number, but got '{nbins}'")
    if value_range.ndims == 1 and value_range.tuple[0] not in (None, 2):
        raise ValueError(f"value_range should be a vector of 2 elements, but got shape {value_range}")
    return (nbins,)


histogram.refuse(lambda values, value_range, nbins, dtype: _check_range(value_range))


def _check_range(value_range):
    if not bool(value_range[0] < value_range[1]):
        raise ValueError(f"value_range should satisfy value_range[0] < value_range[1], but got {value_range.tolist()}")


@histogram.kernel
def _(values, value_range, nbins, dtype):
    """Values outside the range are counted in the first and last bin."""
    low, high = value_range[0].double(), value_range[1].double()
    places = whole(torch.floor((values.reshape(-1).double() - low) / (high - low) * nbins), 0, nbins - 1)
    return _add(torch.ones(places.shape, dtype=dtype, device=values.device), places, nbins)
