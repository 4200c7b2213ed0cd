"""Tensors made from a few numbers: Fill, Range, LinSpace, OneHot."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, FLOATING, INDEX, REAL
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.resources.calling.lazy_memory import LARGE, zeros
from headrace.resources.calling.value import TORCH_DTYPES

_SMALL = 4096  # the largest value, in elements, followed while building

fill = op("Fill(dims: host index_type[1], value: T[0]) -> (output: T)", T=ANY, index_type=INDEX)


@fill.shape
def _(dims, value):
    value.with_rank(0)
    if dims is not None and not isinstance(dims, list):
        raise ValueError(f"dims must be a vector, got the scalar {dims}")
    if dims is not None and any(isinstance(d, list) for d in dims):
        raise ValueError(f"dims must be a vector, got {dims}")
    return None if dims is None else dims


@fill.value
def _(node, dims, value):
    if dims is None or dims.dtype == object or value is None or math.prod(dims.tolist()) > _SMALL:
        return None
    return np.broadcast_to(value, [int(d) for d in dims])


fill.gradient(lambda node, grad: [None, raw_ops.Sum(grad, raw_ops.Range(0, raw_ops.Rank(grad), 1))])


def _scalar(value):
    """The value without dimensions: a vector of one counts as a scalar when it runs."""
    if tuple(value.shape) not in ((), (1,)):
        raise ValueError(f"value must represent a scalar, got shape {in_brackets(value.shape)}")
    return value.reshape(())


@fill.kernel
def _(dims, value):
    if dims and min(dims) < 0:
        raise ValueError(f"Fill dimensions must be >= 0, got {dims}")
    value = _scalar(value)
    if type(value) is torch.Tensor and value.device.type == "cpu" and math.prod(dims) * value.itemsize >= LARGE:
        if not value.view(1).view(torch.uint8).any():
            return zeros(dims, value.dtype)
    return value.expand(dims).clone(memory_format=torch.contiguous_format)


fill.array_kernel(lambda dims, value: np.full(dims, _scalar(value), value.dtype))


@fill.kernel(T=dtypes.string)
def _(dims, value):
    return np.broadcast_to(_scalar(value), dims).copy()  # np.full takes zeros off the end of bytes


# ---- sequences

range_op = op("Range(start: host Tidx[0], limit: host Tidx[0], delta: host Tidx[0]) -> (output: Tidx)", Tidx=REAL)
range_op.not_differentiable()


def _length(start, limit, delta):
    if delta == 0:
        raise ValueError("Requires delta != 0: 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    return len(range(start, limit, delta)) if isinstance(delta, int) else math.ceil(abs((limit - start) / delta))


@range_op.shape
def _(start, limit, delta):
    for value, name in ((start, "start"), (limit, "limit"), (delta, "delta")):
        if isinstance(value, list):
            raise ValueError(f"{name} must be a scalar, got {value}")
    return (None,) if None in (start, limit, delta) else (_length(start, limit, delta),)


@range_op.value
def _(node, start, limit, delta):
    if any(v is None or v.dtype == object for v in (start, limit, delta)):
        return None
    if _length(*(v.item() for v in (start, limit, delta))) > _SMALL:
        return None
    return np.arange(start, limit, delta, dtype=node.outputs[0].dtype.as_numpy_dtype)


def _only(value):
    """The number of a vector of one, which TensorFlow takes for a scalar when it runs."""
    return value[0] if type(value) is list and len(value) == 1 else value


def _range(start, limit, delta, *, device, dtype=None):
    start, limit, delta = _only(start), _only(limit), _only(delta)
    _length(start, limit, delta)
    return torch.arange(start, limit, delta, dtype=dtype, device=device)


for _dtype in REAL:
    range_op.kernel(partial(_range, dtype=TORCH_DTYPES[_dtype]), Tidx=_dtype)

lin_space = op(
    "LinSpace(start: T[0], stop: T[0], num: host Tidx[0]) -> (output: T)", T=FLOATING, Tidx=INDEX, lenient=True
)
lin_space.not_differentiable()


@lin_space.shape
def _(start, stop, num):
    start.with_rank(0)
    stop.with_rank(0)
    if num is not None and num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    return (num,)


@lin_space.kernel
def _(start, stop, num):
    if num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    if num == 1:
        return start.reshape(1).clone()
    steps = torch.arange(num, dtype=start.dtype, device=start.device)
    return torch.where(steps == num - 1, stop, start + steps * ((stop - start) / (num - 1)))


# ---- one hot

one_hot = op(
    "OneHot(indices: TI, depth: host int32[0], on_value: T[0], off_value: T[0]; axis: int = -1) -> (output: T)",
    T=ANY, TI=(dtypes.uint8, dtypes.int8, *INDEX), lenient=True,
)  # fmt: skip
one_hot.not_differentiable()


@one_hot.shape
def _(indices, depth, on_value, off_value, axis):
    on_value.with_rank(0)
    off_value.with_rank(0)
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be non-negative, got: {depth}")
    dims = indices.tuple
    if dims is None:
        return None
    if not -1 <= axis <= len(dims):
        raise ValueError(f"Expected axis to be -1 or between [0, {len(dims)}]. But received: {axis}")
    at = len(dims) if axis == -1 else axis
    return TensorShape.from_tuple((*dims[:at], depth, *dims[at:]))


def _compare(indices, depth, on_value, off_value, at):
    classes = torch.arange(depth, dtype=indices.dtype if depth < 128 else torch.int64, device=indices.device)
    hits = indices.unsqueeze(at) == classes.view(-1, *[1] * (indices.ndim - at))
    return torch.where(hits, on_value, off_value)


@one_hot.kernel
def _(indices, depth, on_value, off_value, axis):
    at = indices.ndim if axis == -1 else axis
    if type(indices) is not torch.Tensor or not indices.is_cpu or not depth:
        return _compare(indices, depth, on_value, off_value, at)
    # On the host: fill, then write one element of each row, which takes an eighth of the time.
    shape = (*indices.shape[:at], depth, *indices.shape[at:])
    output = torch.full(shape, off_value.item(), dtype=on_value.dtype)
    try:
        return output.scatter_(at, indices.long().unsqueeze(at), on_value.item())
    except RuntimeError:  # an index out of range has no place
        return _compare(indices, depth, on_value, off_value, at)


@one_hot.kernel(T=dtypes.string)
def _(indices, depth, on_value, off_value, axis):
    at = indices.ndim if axis == -1 else axis
    hits = np.expand_dims(indices.numpy(), at) == np.arange(depth).reshape(-1, *[1] * (indices.ndim - at))
    return np.where(hits, on_value, off_value)
