"""Places in sorted rows and flat orders: LowerBound, UpperBound, Bucketize, NthElement, UnravelIndex."""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core.dtypes import INDEX, REAL, float32, float64, int32, int64
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.internal.opaque import is_traced


def _bound_shape(sorted_inputs, values, out_type):
    rows, own = sorted_inputs.with_rank(2).tuple[0], values.with_rank(2).tuple[0]
    if None not in (rows, own) and rows != own:
        raise ValueError(f"Dimensions must be equal, but are {rows} and {own}: rows of sorted_inputs and values")
    return values


def _bound(right):
    def kernel(sorted_inputs, values, out_type):
        if sorted_inputs.shape[0] != values.shape[0]:
            raise ValueError(
                f"Leading dim_size of both tensors must match, got {sorted_inputs.shape[0]} and {values.shape[0]}"
            )
        if sorted_inputs.shape[1] == 0:
            return torch.zeros_like(values, dtype=out_type)
        return torch.searchsorted(sorted_inputs.contiguous(), values.contiguous(), right=right).to(out_type)

    return kernel


for _name, _right in (("LowerBound", False), ("UpperBound", True)):
    _op = op(
        f"{_name}(sorted_inputs: T[2], values: T[2]; out_type: type = int32) -> (output: out_type)",
        T=REAL,
        out_type=INDEX,
    )
    _op.shape(_bound_shape)
    _op.kernel(_bound(_right))


bucketize = op(
    "Bucketize(input: T; boundaries: list(float)) -> (output: int32)", T=(int32, int64, float32, float64), view=False
)


@bucketize.shape
def _(input, boundaries):
    if list(boundaries) != sorted(boundaries):
        raise ValueError(f"Expected sorted boundaries, got {list(boundaries)}")
    return input


@bucketize.kernel
def _(input, boundaries):
    limits = torch.tensor(boundaries, dtype=torch.float32, device=input.device)
    values = input if input.is_floating_point() else input.to(torch.float64)
    return torch.bucketize(values, limits.to(values.dtype), right=True).to(torch.int32)


_PARTED = (torch.float32, torch.float64, torch.int32, torch.int64)  # by NumPy, in a quarter of the time of sorting
nth = op("NthElement(input: T[1+], n: host int32[0]; reverse: bool = False) -> (values: T)", T=REAL, view=False)


@nth.shape
def _(input, n, reverse):
    dims = input.with_rank_at_least(1).tuple
    if dims is None:
        return None
    if n is not None and (n < 0 or (dims[-1] is not None and dims[-1] <= n)):
        raise ValueError(f"Input must have last dimension > n = {n} but is {dims[-1]}")
    return dims[:-1]


@nth.kernel
def _(input, n, reverse):
    if not 0 <= n < input.shape[-1]:
        raise ValueError(f"Input must have last dimension > n = {n} but is {input.shape[-1]}")
    if type(input) is torch.Tensor and input.is_cpu and input.dtype in _PARTED and not input.requires_grad:
        place = input.shape[-1] - 1 - n if reverse else n
        element = np.partition(input.numpy(), place, -1)[..., place]
        return torch.from_numpy(np.array(element))
    return torch.sort(input, dim=-1, descending=reverse)[0][..., n].clone()


@nth.gradient
def _(node, grad):
    """Equal elements share the gradient."""
    input, selected = node.inputs[0], raw_ops.ExpandDims(node.outputs[0], -1)
    same = raw_ops.Cast(raw_ops.Equal(input, selected), DstT=grad.dtype)
    count = raw_ops.Sum(same, -1, keep_dims=True)
    return [raw_ops.Mul(raw_ops.RealDiv(same, count), raw_ops.ExpandDims(grad, -1)), None]


unravel = op(
    "UnravelIndex(indices: Tidx, dims: host Tidx[1]) -> (output: Tidx)",
    Tidx=INDEX, view=False, lenient=True, opaque_on_cpu=True,
)  # fmt: skip


@unravel.shape
def _(indices, dims):
    own = indices.tuple
    if own is None:
        return None
    if len(own) > 1:
        raise ValueError(f"indices must be a scalar or a vector, got shape {indices}")
    return (None if dims is None else len(dims), *own)


@unravel.kernel
def _(indices, dims):
    size = math.prod(dims)
    if indices.device.type == "cpu" and not is_traced(indices):
        flat = indices.reshape(-1)
        outside = flat[(flat < 0) | (flat >= size)]
        if outside.numel():
            raise ValueError(f"index is out of bound as with dims: {int(outside[0])} is not in [0, {size}) of {dims}")
    coordinates = []
    rest = indices
    for dim in reversed(dims):
        coordinates.append(rest % dim)
        rest = torch.div(rest, dim, rounding_mode="floor")
    return torch.stack(coordinates[::-1]) if coordinates else indices.new_zeros((0, *indices.shape))
