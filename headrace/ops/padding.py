"""Repeating, padding, reversing and rolling along dimensions."""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX
from headrace.core.registry import op
from headrace.core.shape import unknown_shape
from headrace.graph import raw_ops
from headrace.graph.infer import known_value
from headrace.ops.declare.unsigned import move_as_signed

_SMALL = 4096  # the largest value, in elements, followed while building

# ---- Tile

tile = op("Tile(input: T, multiples: host Tmultiples[1]) -> (output: T)", T=ANY, Tmultiples=INDEX)
tile.kernel(np.tile, T=dtypes.string)


@tile.shape
def _(input, multiples):
    dims = input.tuple
    if isinstance(multiples, int) or (multiples and isinstance(multiples[0], list)):
        raise ValueError(
            f"Shape must be rank 1 but is rank {2 * (not isinstance(multiples, int))}: multiples {multiples}"
        )
    if multiples is None or dims is None:
        return unknown_shape(len(dims) if dims is not None else None if multiples is None else len(multiples))
    if len(multiples) != len(dims):
        raise ValueError(f"Shape must be rank {len(dims)} but is rank {len(multiples)}: multiples {multiples}")
    if any(m is not None and m < 0 for m in multiples):
        raise ValueError(f"Expected multiples >= 0, got {multiples}")
    return [0 if 0 in (d, m) else None if None in (d, m) else d * m for d, m in zip(dims, multiples, strict=True)]


@tile.value
def _(node, input, multiples):
    if input is None or multiples is None or multiples.dtype == object:
        return None
    return np.tile(input, multiples) if input.size * math.prod(multiples.tolist()) <= _SMALL else None


@tile.kernel
def _(input, multiples):
    if len(multiples) != input.ndim:
        raise ValueError(f"Expected multiples argument to be a vector of length {input.ndim} but got {multiples}")
    return input.repeat(multiples)


@tile.gradient
def _(node, grad):
    """Every dimension is seen as (repeat, size); the repeats are summed away."""
    input, multiples = node.inputs
    dims, times = input.shape.tuple, known_value(multiples)
    if dims is not None and times is not None and None not in (*dims, *times):
        pairs = [n for m, d in zip(times, dims, strict=True) for n in (m, d)]
        return [
            raw_ops.Sum(raw_ops.Reshape(grad, np.array(pairs, np.int32)), np.arange(0, len(pairs), 2, dtype=np.int32)),
            None,
        ]
    sizes = raw_ops.Shape(input, out_type=node.attrs["Tmultiples"])
    pairs = raw_ops.Reshape(raw_ops.Transpose(raw_ops.Pack([multiples, sizes]), [1, 0]), [-1])
    return [raw_ops.Sum(raw_ops.Reshape(grad, pairs), raw_ops.Range(0, raw_ops.Size(pairs), 2)), None]


# ---- Pad


def _padded(input, paddings, *rest):
    dims = input.tuple
    if paddings is None:
        return unknown_shape(None if dims is None else len(dims))
    if any(not isinstance(p, list) or len(p) != 2 for p in paddings):
        raise ValueError(f"paddings must be a matrix with 2 columns, got {paddings}")
    if dims is None:
        return unknown_shape(len(paddings))
    if len(paddings) != len(dims):
        raise ValueError(f"Shape must be rank {len(paddings)} but is rank {len(dims)}: input of shape {input}")
    if any(n is not None and n < 0 for p in paddings for n in p):
        raise ValueError(f"Paddings must be non-negative: {paddings}")
    return [None if None in (d, a, b) else d + a + b for d, (a, b) in zip(dims, paddings, strict=True)]


def _flat(input, paddings):
    """Paddings in torch's order: the last dimension first."""
    if len(paddings) != input.ndim:
        raise ValueError(f"The first dimension of paddings must be the rank of inputs: {paddings}, {list(input.shape)}")
    flat = [n for pair in reversed(paddings) for n in pair]
    if any(n < 0 for n in flat):
        raise ValueError(f"Paddings must be non-negative: {paddings}")
    return flat


def _unpad(node, grad):
    """The part of ``grad`` that came from the input."""
    input, paddings = node.inputs[:2]
    begin = raw_ops.StridedSlice(paddings, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2)
    return raw_ops.Slice(grad, begin, raw_ops.Shape(input, out_type=node.attrs["Tpaddings"]))


_EMPTY = np.array(b"", object)  # an array: of plain bytes numpy makes its own kind, without zeros at their end

pad = op("Pad(input: T, paddings: host Tpaddings[2]) -> (output: T)", T=ANY, Tpaddings=INDEX, lenient=True)
pad.shape(_padded)
pad.gradient(lambda node, grad: [_unpad(node, grad), None])
pad.kernel(lambda input, paddings: torch.constant_pad_nd(input, _flat(input, paddings)))
pad.kernel(lambda input, paddings: np.pad(input, paddings, constant_values=_EMPTY), T=dtypes.string)

pad_v2 = op(
    "PadV2(input: T, paddings: host Tpaddings[2], constant_values: host T[0]) -> (output: T)",
    T=ANY,
    Tpaddings=INDEX,
    lenient=True,
)
pad_v2.shape(_padded)
pad_v2.gradient(lambda node, grad: [_unpad(node, grad), None, None])
pad_v2.kernel(lambda input, paddings, value: torch.constant_pad_nd(input, _flat(input, paddings), value))
pad_v2.kernel(
    lambda input, paddings, value: np.pad(input, paddings, constant_values=value), T=dtypes.string
)  # fmt: skip


# ---- MirrorPad: torch's own reflection knows three dimensions at most, so pieces are flipped and joined instead


mirror_pad = op(
    "MirrorPad(input: T, paddings: host Tpaddings[2]; mode: string in {REFLECT, SYMMETRIC}) -> (output: T)",
    T=ANY,
    Tpaddings=INDEX,
    lenient=True,
)
mirror_pad.shape(_padded)


@mirror_pad.gradient
def _(node, grad):
    return [raw_ops.MirrorPadGrad(grad, node.inputs[1], mode=node.attrs["mode"]), None]


def _skip(mode):
    """REFLECT leaves the edge itself out of the mirror image."""
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mode must be REFLECT or SYMMETRIC, got {mode!r}")
    return 1 if mode == "REFLECT" else 0


@mirror_pad.kernel
def _(input, paddings, mode):
    skip = _skip(mode)
    for dim, (before, after) in enumerate(paddings):
        if not before and not after:
            continue
        size = input.shape[dim]
        if max(before, after) > size - skip:
            raise ValueError(
                f"paddings must be no greater than the dimension size{' minus 1' if skip else ''}: "
                f"{before}, {after} for a dimension of {size}"
            )
        head = input.narrow(dim, skip, before).flip(dim)
        tail = input.narrow(dim, size - skip - after, after).flip(dim)
        input = torch.cat([head, input, tail], dim)
    return input.clone() if not any(map(any, paddings)) else input


move_as_signed(mirror_pad)


@mirror_pad.kernel(T=dtypes.string)
def _(input, paddings, mode):
    return np.pad(input, paddings, mode="reflect" if _skip(mode) else "symmetric")


mirror_pad_grad = op(
    "MirrorPadGrad(input: T, paddings: host Tpaddings[2]; mode: string in {REFLECT, SYMMETRIC}) -> (output: T)",
    T=dtypes.NUMERIC,
    Tpaddings=INDEX,
    lenient=True,
)


@mirror_pad_grad.shape
def _(input, paddings, mode):
    dims = input.tuple
    if dims is None or paddings is None:
        return unknown_shape(None if dims is None else len(dims))
    if len(paddings) != len(dims) or any(not isinstance(pair, list) or len(pair) != 2 for pair in paddings):
        raise ValueError(f"paddings must be a matrix of shape [{len(dims)}, 2], got {paddings}")
    skip = _skip(mode)
    for d, pair in zip(dims, paddings, strict=True):
        if None not in (d, *pair) and not 0 <= min(pair) <= max(pair) <= d - sum(pair) - skip:
            raise ValueError(f"paddings must be no greater than the output dimension size: {pair}, {d - sum(pair)}")
    return [None if None in (d, a, b) else d - a - b for d, (a, b) in zip(dims, paddings, strict=True)]


@mirror_pad_grad.gradient
def _(node, grad):
    return [raw_ops.MirrorPad(grad, node.inputs[1], mode=node.attrs["mode"]), None]


@mirror_pad_grad.kernel
def _(input, paddings, mode):
    skip = _skip(mode)
    for dim, (before, after) in enumerate(paddings):
        size = input.shape[dim] - before - after
        middle = input.narrow(dim, before, size).clone()
        if before:
            middle.narrow(dim, skip, before).add_(input.narrow(dim, 0, before).flip(dim))
        if after:
            middle.narrow(dim, size - skip - after, after).add_(input.narrow(dim, before + size, after).flip(dim))
        input = middle
    return input if paddings else input.clone()


# ---- reversing and rolling

reverse = op("ReverseV2(tensor: T, axis: host Tidx[1]) -> (output: T)", T=ANY, Tidx=INDEX)
reverse.gradient(lambda node, grad: [raw_ops.ReverseV2(grad, node.inputs[1]), None])


@reverse.kernel
def _(tensor, axis):
    """NumPy copies whole rows in half the time of torch."""
    if type(tensor) is not torch.Tensor or not tensor.is_cpu or tensor.dtype is torch.bfloat16 or tensor.requires_grad:
        return torch.flip(tensor, axis)
    last = tensor.ndim - 1
    if last in axis or -1 in axis or len(set(axis)) != len(axis) or min(axis, default=-1) < 0 or max(axis) > last:
        return torch.flip(tensor, axis)
    backwards, forwards = slice(None, None, -1), slice(None)
    return torch.from_numpy(tensor.numpy()[tuple(backwards if a in axis else forwards for a in range(last + 1))].copy())


move_as_signed(reverse)
reverse.kernel(lambda tensor, axis: np.flip(tensor, tuple(axis)).copy(), T=dtypes.string)


@reverse.shape
def _(tensor, axis):
    ndims = tensor.ndims
    if ndims is not None and axis is not None:
        if not isinstance(axis, list) or any(isinstance(a, list) for a in axis):
            raise ValueError(f"Shape must be rank 1 but is rank {2 * isinstance(axis, list)}: axis {axis}")
        axes = [a for a in axis if a is not None]
        for i, a in enumerate(axis):
            if a is not None and not -ndims <= a < ndims:
                raise ValueError(f"'axis'[{i}] = {a} is out of valid range [0, {ndims - 1}]")
        if len({a % ndims for a in axes}) != len(axes):
            raise ValueError(f"axis {axis} specified more than once.")
    return tensor


@reverse.value
def _(node, tensor, axis):
    if tensor is None or axis is None or axis.dtype == object:
        return None
    return np.flip(tensor, tuple(int(a) for a in axis))


reverse_sequence = op(
    "ReverseSequence(input: T, seq_lengths: Tlen[1]; seq_dim: int, batch_dim: int = 0) -> (output: T)",
    T=ANY,
    Tlen=INDEX,
)


@reverse_sequence.shape
def _(input, seq_lengths, seq_dim, batch_dim):
    lengths = seq_lengths.with_rank(1).tuple
    dims = input.tuple
    if dims is None:
        return None
    for value, name in ((seq_dim, "seq_dim"), (batch_dim, "batch_dim")):
        if not 0 <= value < len(dims):
            raise ValueError(f"{name} must be < input rank: {value} vs. {len(dims)}")
    if seq_dim == batch_dim:
        raise ValueError(f"batch_dim == seq_dim == {seq_dim}")
    if None not in (dims[batch_dim], lengths[0]) and dims[batch_dim] != lengths[0]:
        raise ValueError(f"Dimensions must be equal, but are {dims[batch_dim]} and {lengths[0]}")
    return [lengths[0] if i == batch_dim and d is None else d for i, d in enumerate(dims)]


@reverse_sequence.gradient
def _(node, grad):
    seq_dim, batch_dim = node.attrs["seq_dim"], node.attrs["batch_dim"]
    return [raw_ops.ReverseSequence(grad, node.inputs[1], seq_dim=seq_dim, batch_dim=batch_dim), None]


@reverse_sequence.refuse
def _(input, seq_lengths, seq_dim, batch_dim):
    for i, length in enumerate(seq_lengths.tolist()):
        if length < 0:
            raise ValueError(f"seq_lens({i}) < 0: got {length}")
        if length > input.shape[seq_dim]:
            raise ValueError(f"seq_lens({i}) > input.dims({seq_dim}): got {length} and {input.shape[seq_dim]}")


@reverse_sequence.kernel
def _(input, seq_lengths, seq_dim, batch_dim):
    steps = torch.arange(input.shape[seq_dim], device=input.device)
    lengths = seq_lengths.long().unsqueeze(1)
    index = torch.where(steps < lengths, lengths - 1 - steps, steps)
    if seq_dim < batch_dim:
        index = index.t()
    shape = [n if i in (seq_dim, batch_dim) else 1 for i, n in enumerate(input.shape)]
    return input.gather(seq_dim, index.reshape(shape).expand(input.shape))


move_as_signed(reverse_sequence)


@reverse_sequence.kernel(T=dtypes.string)
def _(input, seq_lengths, seq_dim, batch_dim):
    result = input.copy()
    rows, back = (np.moveaxis(a, (batch_dim, seq_dim), (0, 1)) for a in (result, input))
    for row, source, length in zip(rows, back, seq_lengths.tolist(), strict=True):
        row[:length] = source[:length][::-1]
    return result


roll = op(
    "Roll(input: T[1+], shift: host Tshift[1-], axis: host Taxis[1-]) -> (output: T)", T=ANY, Tshift=INDEX, Taxis=INDEX
)


@roll.shape
def _(input, shift, axis):
    rank = input.ndims
    for one in axis if isinstance(axis, list) else [axis]:
        if None not in (rank, one) and not -rank <= one < rank:
            raise ValueError(f"axis {one} is out of range [{-rank}, {rank})")
    if None not in (shift, axis):
        _check_shift(shift, axis)
    return input.with_rank_at_least(1)


roll.gradient(lambda node, grad: [raw_ops.Roll(grad, raw_ops.Neg(node.inputs[1]), node.inputs[2]), None, None])


def _check_shift(shift, axis):
    ranks = [int(isinstance(value, list)) for value in (shift, axis)]
    if ranks[0] != ranks[1]:
        raise ValueError(
            f"Shapes must be equal rank, but are {ranks[0]} and {ranks[1]}: shift and axis must have the same size, got "
            f"{shift} and {axis}"
        )
    if ranks[0] and len(shift) != len(axis):
        raise ValueError(f"shift and axis must have the same size, got {shift} and {axis}")


def _rolling(kernel):
    def rolled(input, shift, axis):
        if isinstance(shift, list) or isinstance(axis, list):
            _check_shift(shift, axis)
        return kernel(input, shift, axis)

    return rolled


roll.kernel(_rolling(torch.roll))
roll.kernel(_rolling(np.roll), T=dtypes.string)
