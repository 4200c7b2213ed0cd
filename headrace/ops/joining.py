"""Joining and cutting whole tensors along one axis: ConcatV2, Split, SplitV, Pack, Unpack."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX
from headrace.core.registry import ALL, op
from headrace.core.shape import TensorShape, unknown_shape
from headrace.graph import raw_ops
from headrace.graph.infer import known_value


def _axis(axis, ndims, what="axis"):
    """The axis as a number from 0, or a ValueError."""
    if isinstance(axis, list):
        raise ValueError(f"Shape must be rank 0 but is rank 1: {what} {axis}")
    if not -ndims <= axis < ndims:
        raise ValueError(f"{what} {axis} is not in the valid range [{-ndims}, {ndims})")
    return axis + ndims if axis < 0 else axis


def _known(values):
    return values is not None and all(v is not None for v in values)


# ---- concatenation


def _concat_shape(values, axis):
    merged = unknown_shape()
    for s in values:
        if s.ndims is not None:
            merged = s if merged.ndims is None else merged
            if s.ndims != merged.ndims:
                raise ValueError(f"Shapes must be equal rank, but are {merged.ndims} and {s.ndims}")
    ndims = merged.ndims
    if ndims is None:
        return None
    if ndims == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    if axis is None:
        return unknown_shape(ndims)
    least = axis + 1 if isinstance(axis, int) and axis >= 0 else -axis if isinstance(axis, int) else 0
    if least > ndims:
        raise ValueError(
            f"Shape must be at least rank {least} but is rank {ndims}: the axis of the concatenation is {axis}"
        )
    at = _axis(axis, ndims, "concat axis")
    dims = [None] * ndims
    total = 0
    for s in values:
        own = s.tuple
        if own is None:
            total = None
            continue
        for i, d in enumerate(own):
            if i != at and d is not None:
                if dims[i] not in (None, d):
                    raise ValueError(
                        f"Dimension {i} in both shapes must be equal, but are {dims[i]} and {d}. "
                        f"Shapes are {', '.join(map(str, values))}; the axis is {axis}"
                    )
                dims[i] = d
        total = None if total is None or own[at] is None else total + own[at]
    dims[at] = total
    return dims


def _concat_value(values, axis):
    if axis is None or axis.dtype == object or any(v is None for v in values):
        return None
    try:
        return np.concatenate(values, int(axis))
    except ValueError:
        return None


def _concat_gradient(grad, values, axis):
    """The pieces of ``grad``: sizes as constants where they are known."""
    at = known_value(axis)
    ndims = next((v.shape.ndims for v in values if v.shape.ndims is not None), grad.shape.ndims)
    if at is None or (at < 0 and ndims is None):
        index = raw_ops.FloorMod(axis, raw_ops.Rank(grad))
        sizes = raw_ops.Pack([raw_ops.GatherV2(raw_ops.Shape(v), index, 0) for v in values])
        return list(raw_ops.SplitV(grad, sizes, index, num_split=len(values)))
    at %= ndims or at + 1
    sizes = [None if v.shape.tuple is None else v.shape.tuple[at] for v in values]
    if not _known(sizes):
        sizes = raw_ops.Pack(
            [raw_ops.StridedSlice(raw_ops.Shape(v), [at], [at + 1], [1], shrink_axis_mask=1) for v in values]
        )
    return list(raw_ops.SplitV(grad, sizes, at, num_split=len(values)))


def _refuse_axis(values, axis):
    rank = values[0].ndim
    if isinstance(axis, int) and rank and not -rank <= axis < rank:
        raise ValueError(f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got {axis}")


concat_v2 = op("ConcatV2(values: N*T, axis: host Tidx[0]) -> (output: T)", T=ANY, Tidx=INDEX)
concat_v2.shape(_concat_shape)
concat_v2.value(lambda node, *inputs: _concat_value(inputs[:-1], inputs[-1]))
concat_v2.gradient(lambda node, grad: [*_concat_gradient(grad, node.inputs[:-1], node.inputs[-1]), None])
concat_v2.refuse(_refuse_axis)
concat_v2.kernel(torch.cat)
concat_v2.kernel(np.concatenate, T=dtypes.string)
concat_v2.array_kernel(np.concatenate)

concat = op("Concat(concat_dim: host int32[0], values: N*T) -> (output: T)", T=ANY)
concat.shape(lambda concat_dim, values: _concat_shape(values, concat_dim))
concat.value(lambda node, axis, *values: _concat_value(values, axis))
concat.gradient(lambda node, grad: [None, *_concat_gradient(grad, node.inputs[1:], node.inputs[0])])
concat.refuse(lambda concat_dim, values: _refuse_axis(values, concat_dim))
concat.kernel(lambda concat_dim, values: torch.cat(values, concat_dim))
concat.kernel(lambda concat_dim, values: np.concatenate(values, concat_dim), T=dtypes.string)

offset = op("ConcatOffset(concat_dim: host int32[0], shape: N*int32[1]) -> (offset: N*int32)", lenient=True)


@offset.shape
def _(concat_dim, shape):
    for one in shape:
        size = (one.tuple or (None,))[0]
        if None not in (size, concat_dim) and not -size <= concat_dim < size:
            raise ValueError(f"Concat dim is out of range: {concat_dim} vs. {size}")
        shape[0].merge_with(one)
    return list(shape)


@offset.kernel
def _(concat_dim, shape):
    offsets, start = [], 0
    for s in shape:
        mask = torch.arange(s.shape[0], device=s.device) == concat_dim % s.shape[0]
        offsets.append(torch.where(mask, start, 0).to(s.dtype))
        start = start + s[concat_dim]
    return offsets


# ---- splitting


split = op("Split(split_dim: host int32[0], value: T; num_split: int) -> (output: num_split*T)", T=ANY, view=True)
split.gradient(lambda node, *grads: [None, raw_ops.ConcatV2(list(grads), node.inputs[0])])


@split.shape
def _(split_dim, value, num_split):
    if num_split < 1:
        raise ValueError(f"Value for attr 'num_split' of {num_split} must be at least minimum 1")
    dims = value.tuple
    if dims is None or split_dim is None:
        return [unknown_shape(None if dims is None else len(dims))] * num_split
    at = _axis(split_dim, len(dims), "split_dim")
    size = dims[at]
    if size is not None and size % num_split:
        raise ValueError(
            f"Dimension size must be evenly divisible by {num_split} but is {size}. Number of ways to split should "
            "evenly divide the split dimension"
        )
    piece = (*dims[:at], None if size is None else size // num_split, *dims[at + 1 :])
    return [TensorShape.from_tuple(piece)] * num_split


@split.value
def _(node, axis, value):
    count = node.attrs["num_split"]
    if axis is None or axis.dtype == object or value is None or value.shape[int(axis)] % count:
        return None
    return tuple(np.split(value, count, int(axis)))


@split.kernel
def _(split_dim, value, num_split):
    size = value.shape[split_dim]
    if size % num_split:
        raise ValueError(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim {split_dim} "
            f"(size = {size}) and num_split {num_split}"
        )
    if not size:
        return (value,) * num_split
    return value.chunk(num_split, split_dim)  # unlike split, no Python in between


split.kernel(lambda split_dim, value, num_split: np.split(value, num_split, split_dim), T=dtypes.string)


@split.array_kernel
def _(split_dim, value, num_split):
    return _cut(value, [value.shape[split_dim] // num_split] * num_split, split_dim)


def _cut(array, sizes, axis):
    """The parts of an array, which share its memory."""
    before, parts, start = (slice(None),) * (axis % array.ndim), [], 0
    for size in sizes:
        parts.append(array[(*before, slice(start, start + size))])
        start += size
    return parts


split_v = op(
    "SplitV(value: T, size_splits: host Tlen[1], split_dim: host int32[0]; num_split: int) -> (output: num_split*T)",
    T=ANY, Tlen=INDEX, view=True,
)  # fmt: skip
split_v.gradient(lambda node, *grads: [raw_ops.ConcatV2(list(grads), node.inputs[2]), None, None])


@split_v.shape
def _(value, size_splits, split_dim, num_split):
    if num_split < 1:
        raise ValueError(f"Value for attr 'num_split' of {num_split} must be at least minimum 1")
    dims = value.tuple
    if dims is None or split_dim is None:
        return [unknown_shape(None if dims is None else len(dims))] * num_split
    at = _axis(split_dim, len(dims), "split_dim")
    sizes = [None] * num_split if size_splits is None else list(size_splits)
    if len(sizes) != num_split:
        raise ValueError(f"size_splits has {len(sizes)} elements but num_split is {num_split}")
    if _known(sizes) and dims[at] is not None:
        sizes = _sizes(sizes, dims[at])
    return [TensorShape.from_tuple((*dims[:at], None if s is None or s < 0 else s, *dims[at + 1 :])) for s in sizes]


@split_v.value
def _(node, value, sizes, axis):
    if value is None or any(v is None or v.dtype == object for v in (sizes, axis)):
        return None
    at = int(axis)
    return tuple(np.split(value, np.cumsum(_sizes(sizes.tolist(), value.shape[at]))[:-1], at))


def _sizes(sizes, total):
    """The sizes with -1 replaced by what is left."""
    if -1 in sizes:
        left = total - sum(s for s in sizes if s >= 0)
        if sizes.count(-1) > 1 or left < 0:
            raise ValueError(f"size_splits {sizes} do not fit a dimension of {total}; one -1 at most is allowed")
        return [left if s < 0 else s for s in sizes]
    if sum(sizes) != total:
        raise ValueError(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
            f"the size of the input along split_dim if not fully specified.  Got: {sum(sizes)}; the sizes {sizes} do not "
            f"split an axis of size {total}"
        )
    return sizes


@split_v.kernel
def _(value, size_splits, split_dim, num_split):
    if -1 in size_splits:
        size_splits = _sizes(size_splits, value.shape[split_dim])
    return value.split(size_splits, split_dim)


@split_v.array_kernel
def _(value, size_splits, split_dim, num_split):
    return _cut(value, _sizes(size_splits, value.shape[split_dim]), split_dim)


@split_v.kernel(T=dtypes.string)
def _(value, size_splits, split_dim, num_split):
    sizes = _sizes(size_splits, value.shape[split_dim])
    return np.split(value, np.cumsum(sizes)[:-1], split_dim)


# ---- packing: a new axis

pack = op("Pack(values: N*T; axis: int = 0) -> (output: T)", T=ANY)
pack.kernel(torch.stack)
pack.kernel(np.stack, T=dtypes.string)
pack.array_kernel(lambda values, axis: np.stack(values, axis) if axis else np.array(values))
pack.number_kernel(ALL)
pack.gradient(lambda node, grad: list(raw_ops.Unpack(grad, num=len(node.inputs), axis=node.attrs["axis"])))


@pack.shape
def _(values, axis):
    merged = values[0]
    for i, s in enumerate(values[1:]):
        try:
            merged = merged.merge_with(s)
        except ValueError as error:
            raise ValueError(f"{error} From merging shape {i} with other shapes.") from None
    dims = merged.tuple
    if dims is None:
        return None
    at = _axis(axis, len(dims) + 1)
    return TensorShape.from_tuple((*dims[:at], len(values), *dims[at:]))


@pack.value
def _(node, *values):
    if any(v is None for v in values):
        return None
    return np.stack(values, node.attrs["axis"])


unpack = op("Unpack(value: T; num: int, axis: int = 0) -> (output: num*T)", T=ANY, view=True)
unpack.gradient(lambda node, *grads: [raw_ops.Pack(list(grads), axis=node.attrs["axis"])])


@unpack.shape
def _(value, num, axis):
    dims = value.tuple
    if dims is None:
        return [unknown_shape()] * num
    at = _axis(axis, len(dims))
    if dims[at] not in (None, num):
        raise ValueError(f"Dimension must be {num} but is {dims[at]}: cannot unstack shape {value} along axis {axis}")
    return [TensorShape.from_tuple(dims[:at] + dims[at + 1 :])] * num


@unpack.value
def _(node, value):
    if value is None:
        return None
    axis = node.attrs["axis"]
    return tuple(value.take(i, axis) for i in range(node.attrs["num"]))


@unpack.kernel
def _(value, num, axis):
    if value.shape[axis] != num:
        raise ValueError(f"Input shape axis {axis} must equal {num}, got shape {list(value.shape)}")
    return value.unbind(axis)


@unpack.kernel(T=dtypes.string)
def _(value, num, axis):
    if value.shape[axis] != num:
        raise ValueError(f"Input shape axis {axis} must equal {num}, got shape {list(value.shape)}")
    return [np.asarray(v, dtype=object) for v in np.moveaxis(value, axis, 0)]


parallel = op("ParallelConcat(values: N*T; shape: shape) -> (output: T)", T=ANY)
parallel.kernel(lambda values, shape: torch.cat(values, 0))
parallel.kernel(lambda values, shape: np.concatenate(values, 0), T=dtypes.string)
parallel.gradient(lambda node, grad: list(raw_ops.Split(0, grad, num_split=len(node.inputs))))


@parallel.shape
def _(values, shape):
    for s in values:
        if s.tuple is not None and s.tuple[:1] not in ((1,), (None,)):
            raise ValueError(f"Size of first dimension must be 1, got shape {s}")
        if s.tuple is not None and not TensorShape(s.tuple[1:]).is_compatible_with(TensorShape(shape)[1:]):
            raise ValueError(f"All input shapes must be {shape} after the first dimension, got {s}")
    return shape
