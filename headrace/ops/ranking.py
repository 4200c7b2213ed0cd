"""The largest elements and membership among them: TopK, TopKV2, InTopK, InTopKV2."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import INDEX, REAL, int64
from headrace.core.registry import op
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.ops.declare.regular import WIDE_UNSIGNED


def _top_shape(input, k):
    dims = input.with_rank_at_least(1).tuple
    if dims is None:
        return [None, None]
    if k is not None and dims[-1] is not None and dims[-1] < k:
        raise ValueError(f"input must have last dimension >= k = {k} but is {dims[-1]}")
    return [(*dims[:-1], k), (*dims[:-1], k)]


def _refuse(input, k):
    if k < 0:
        raise ValueError(f"Need k >= 0, got {k}")
    if input.shape[-1] < k:
        raise ValueError(f"input must have at least k columns. Had {input.shape[-1]}, needed {k}")


def _top(input, k):
    """The largest elements.  Equal ones keep their order, which torch.topk does not promise."""
    _refuse(input, k)
    if k == 1:
        values, indices = torch.max(input, -1, keepdim=True)
        return values, indices.to(torch.int32)
    if type(input) is torch.Tensor and input.is_cpu and input.numel() and k < input.shape[-1] // 4:
        values, indices = torch.topk(input, k + 1)
        if bool((values[..., :-1] > values[..., 1:]).all()):  # no two neighbours are equal
            return values[..., :k].clone(), indices[..., :k].to(torch.int32)
    values, indices = torch.sort(input, dim=-1, descending=True, stable=True)
    return values[..., :k].clone(), indices[..., :k].to(torch.int32)


top = op(
    "TopKV2(input: T[1+], k: host int32[0]; sorted: bool = True) -> (values: T, indices: int32)", T=REAL, lenient=True
)
top.shape(lambda input, k, sorted: _top_shape(input, k))
top.refuse(lambda input, k, sorted: _refuse(input, k))
top.kernel(lambda input, k, sorted: _top(input, k))

top_attr = op("TopK(input: T[1+]; k: int, sorted: bool = True) -> (values: T, indices: int32)", T=REAL)
top_attr.shape(lambda input, k, sorted: _top_shape(input, k))
top_attr.kernel(lambda input, k, sorted: _top(input, k))


def _top_gradient(node, grad):
    """Each gradient goes to the place its value came from."""
    input, indices = node.inputs[0], node.outputs[1]
    sizes = raw_ops.Shape(input, out_type=int64)
    last, count = (
        raw_ops.StridedSlice(shape, [-1], [0], [1], end_mask=1, shrink_axis_mask=1)
        for shape in (sizes, raw_ops.Shape(indices, out_type=int64))
    )
    total = raw_ops.Prod(sizes, [0])
    starts = raw_ops.Range(np.int64(0), raw_ops.Maximum(total, np.int64(1)), raw_ops.Maximum(last, np.int64(1)))
    rows = raw_ops.Reshape(raw_ops.Cast(indices, DstT=int64), raw_ops.Pack([np.int64(-1), count]))
    places = raw_ops.Reshape(raw_ops.AddV2(rows, raw_ops.ExpandDims(starts, 1)), [-1, 1])
    spread = raw_ops.ScatterNd(places, raw_ops.Reshape(grad, [-1]), raw_ops.ExpandDims(total, 0))
    return raw_ops.Reshape(spread, sizes)


top.gradient(lambda node, grad, _: [_top_gradient(node, grad), None])
top_attr.gradient(lambda node, grad, _: [_top_gradient(node, grad)])


def _wide(input, k, sorted):
    values, indices = _top(input.to(torch.int64), k)
    return values.to(input.dtype), indices


top.kernel(_wide, T=WIDE_UNSIGNED)
top_attr.kernel(_wide, T=WIDE_UNSIGNED)


def _among(predictions, targets, k):
    """Whether fewer than k predictions are larger than the target's.  False for a target out of range and for a row that
    is not finite."""
    if isinstance(k, list):
        raise ValueError(f"k must be 0-D, got shape {in_brackets(np.shape(k))}")
    classes = predictions.shape[1]
    if type(predictions) is torch.Tensor and predictions.is_cpu:
        return _among_on_host(predictions.numpy(), targets.numpy(), k)
    ids = targets.long()
    inside = (ids >= 0) & (ids < classes)
    chosen = predictions.gather(1, torch.where(inside, ids, torch.zeros_like(ids)).unsqueeze(1))
    larger = (predictions > chosen).sum(1)
    return inside & torch.isfinite(predictions).all(1) & (larger < k)


def _among_on_host(predictions, targets, k):
    inside = (targets >= 0) & (targets < predictions.shape[1])
    chosen = predictions[np.arange(len(targets)), targets * inside]
    larger = np.bitwise_count(np.packbits(predictions > chosen[:, None], axis=1)).sum(1, dtype=np.int64)
    return torch.from_numpy(inside & np.isfinite(predictions).all(1) & (larger < k))


def _among_shape(predictions, targets, k):
    if predictions.ndims == 2 and predictions.tuple[1] == 0:
        raise ValueError(f"predictions must have at least one class, got shape {predictions}")
    rows = predictions.with_rank(2).tuple
    return targets.with_rank(1).merge_with((None if rows is None else rows[0],))


in_top = op("InTopKV2(predictions: float32[2], targets: T[1], k: host T) -> (precision: bool)", T=INDEX, lenient=True)
in_top_attr = op("InTopK(predictions: float32[2], targets: T[1]; k: int) -> (precision: bool)", T=INDEX, lenient=True)
for _op in (in_top, in_top_attr):
    _op.shape(_among_shape)
    _op.kernel(_among)
