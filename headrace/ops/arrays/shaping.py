"""Other shapes, orders and repetitions of the same elements."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

import numpy as np

from headrace.core.dtypes import COMPLEX, REAL
from headrace.core.registry import ANY_SIZE
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import MANY, check_inside

_ALL, _BACK = slice(None), slice(None, None, -1)


@on_arrays("Reshape", most=ANY_SIZE, saves=1.2)
def _reshape(tensor, shape):
    if 0 in shape and -1 in shape:
        left = math.prod(d for d in tensor.shape if d) // math.prod(d for d in shape if d and d != -1)
        shape = [left if d == -1 else d for d in shape]
    if shape and min(shape) < -1:  # numpy takes any negative number for "the rest"
        raise ValueError
    return tensor.reshape(shape)


@on_arrays("ExpandDims", most=ANY_SIZE, saves=1.2)
def _expand_dims(input, dim):
    while type(dim) is list:
        (dim,) = dim
    shape = list(input.shape)
    if dim < 0:
        dim += len(shape) + 1
    if not 0 <= dim <= len(shape):
        raise ValueError(f"dim {dim} does not fit the shape {shape}")
    shape.insert(dim, 1)
    return input.reshape(shape)


@on_arrays("Squeeze", most=ANY_SIZE)
def _squeeze(input, squeeze_dims):
    return input.squeeze(tuple(squeeze_dims)) if squeeze_dims else input.squeeze()


@on_arrays("ConjugateTranspose", most=ANY_SIZE, T=REAL)
@on_arrays("Transpose", most=ANY_SIZE, saves=1.4)
def _transpose(x, perm):
    return x.transpose(perm)


on_arrays("ConjugateTranspose", T=COMPLEX)(lambda x, perm: x.transpose(perm).conj())


@on_arrays("InvertPermutation", saves=8)
def _invert_permutation(x):
    size = x.size
    check_inside(x, size)
    found = np.empty(size, x.dtype)
    found.fill(-1)
    found[x] = np.arange(size, dtype=x.dtype)
    if size and np.minimum.reduce(found) < 0:
        raise ValueError("an element is repeated")
    return found


@on_arrays("BroadcastTo", most=ANY_SIZE, saves=1)
def _broadcast_to(input, shape):
    """A view that may be written to, as torch's: numpy's own may not."""
    own, steps = input.shape, [0] * len(shape)
    if type(input) is not np.ndarray or not input.flags.c_contiguous:
        input = np.array(input, order="C")
    for axis in range(-1, -1 - len(own), -1):
        if own[axis] == shape[axis]:
            steps[axis] = input.strides[axis]
        elif own[axis] != 1:
            raise ValueError("the shapes do not fit")
    return np.ndarray(shape, input.dtype, input, 0, steps)


@on_arrays("Tile", most=65536, saves=5)
def _tile(input, multiples):
    shape = input.shape
    if len(multiples) != len(shape):
        raise ValueError("there must be one of multiples for each dimension")
    apart, own, whole = [], [], []
    for size, times in zip(shape, multiples, strict=True):
        apart += (times, size)
        own += (1, size)
        whole.append(times * size)
    found = np.empty(apart, input.dtype)
    found[...] = input.reshape(own)
    return found.reshape(whole)


@on_arrays("ReverseV2", most=16384, saves=4)
def _reverse(tensor, axis):
    index = [_ALL] * tensor.ndim
    for a in axis:
        index[a] = _BACK
    return tensor[tuple(index)].copy()


@on_arrays("ReverseSequence", saves=15)
def _reverse_sequence(input, seq_lengths, seq_dim, batch_dim):
    steps = np.arange(input.shape[seq_dim], dtype=seq_lengths.dtype)
    lengths = seq_lengths[:, None]
    index = np.where(steps < lengths, lengths - 1 - steps, steps)
    order = [batch_dim, seq_dim, *(a for a in range(input.ndim) if a not in (batch_dim, seq_dim))]
    found = input.transpose(order)[np.arange(len(seq_lengths))[:, None], index]
    return found if order == sorted(order) else found.transpose([order.index(a) for a in range(input.ndim)])


@on_arrays("Roll", saves=3)
def _roll(input, shift, axis):
    pairs = zip(shift, axis, strict=True) if type(shift) is list else ((shift, axis),)
    found = input
    for by, a in pairs:
        size = input.shape[a]
        by = by % size if size else 0
        if by:
            lead = (_ALL,) * (a % input.ndim)
            found = np.concatenate((found[(*lead, slice(size - by, None))], found[(*lead, slice(0, size - by))]), a)
    return input.copy() if found is input else found


# ---- space, batch and depth


@lru_cache(maxsize=256)
def _blocks(shape, block_shape, paddings):
    """The shape in batches, with the blocks apart, and for each place within the blocks: (index there, index in space)."""
    there, places = [], []
    for size, block, (before, after) in zip(shape[1:], block_shape, paddings, strict=False):
        total = before + size + after
        if total % block or min(before, after) < 0:
            raise ValueError("the padded sizes are not divisible by the blocks")
        there.append(total // block)
        line = []
        for offset in range(block):
            first = max(-(-(before - offset) // block), 0)  # the first block whose element here is of the input
            start = first * block + offset - before
            count = max(-(-(size - start) // block), 0)
            line.append((offset, slice(first, first + count), slice(start, size, block)))
        places.append(line)
    pairs = []
    for chosen in product(*places):
        offsets, inside, outside = zip(*chosen, strict=True)
        pairs.append(((*offsets, _ALL, *inside), (_ALL, *outside)))
    return (*block_shape, shape[0], *there, *shape[len(block_shape) + 1 :]), pairs


@on_arrays("SpaceToBatchND", most=MANY, saves=20)
def _space_to_batch(input, block_shape, paddings):
    count = len(block_shape)
    shape, pairs = _blocks(input.shape, tuple(block_shape), tuple(map(tuple, paddings)))
    found = np.zeros(shape, input.dtype)
    for there, here in pairs:
        found[there] = input[here]
    return found.reshape(math.prod(shape[: count + 1]), *shape[count + 1 :])


@on_arrays("BatchToSpaceND", most=MANY, saves=15)
def _batch_to_space(input, block_shape, crops):
    count, blocks, sizes = len(block_shape), math.prod(block_shape), input.shape
    if sizes[0] % blocks:
        raise ValueError("the batch is not divisible by the blocks")
    space = [n * b - sum(crop) for n, b, crop in zip(sizes[1:], block_shape, crops, strict=False)]
    found = np.empty((sizes[0] // blocks, *space, *sizes[count + 1 :]), input.dtype)
    shape, pairs = _blocks(found.shape, tuple(block_shape), tuple(map(tuple, crops)))
    input = input.reshape(shape)
    for there, here in pairs:
        found[here] = input[there]
    return found


def _divided(size, by):
    if size % by:
        raise ValueError(f"{size} is not divisible by {by}")
    return size // by


@on_arrays("SpaceToDepth", most=65536, saves=5)
def _space_to_depth(input, block_size, data_format):
    n = block_size
    if data_format == "NHWC":
        b, h, w, c = input.shape
        h, w = _divided(h, n), _divided(w, n)
        return input.reshape(b, h, n, w, n, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h, w, n * n * c)
    b, c, h, w = input.shape
    h, w = _divided(h, n), _divided(w, n)
    return input.reshape(b, c, h, n, w, n).transpose(0, 3, 5, 1, 2, 4).reshape(b, n * n * c, h, w)


@on_arrays("DepthToSpace", most=65536, saves=5)
def _depth_to_space(input, block_size, data_format):
    n = block_size
    if data_format == "NHWC":
        b, h, w, c = input.shape
        c = _divided(c, n * n)
        return input.reshape(b, h, w, n, n, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h * n, w * n, c)
    b, c, h, w = input.shape
    c = _divided(c, n * n)
    return input.reshape(b, n, n, c, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(b, c, h * n, w * n)


# ---- diagonals


def _on_diagonals(matrices):
    """A view of the diagonals of contiguous matrices."""
    rows, columns = matrices.shape[-2:]
    size = min(rows, columns)
    lead = matrices.shape[:-2]
    return matrices.reshape(*lead, rows * columns)[..., : size * (columns + 1) : columns + 1]


@on_arrays("MatrixDiag", saves=2)
def _matrix_diag(diagonal):
    found = np.zeros((*diagonal.shape, diagonal.shape[-1]), diagonal.dtype)
    _on_diagonals(found)[...] = diagonal
    return found


@on_arrays("MatrixDiagPart", most=65536, saves=1)
def _matrix_diag_part(input):
    return _on_diagonals(input)


@on_arrays("MatrixSetDiag", saves=5)
def _matrix_set_diag(input, diagonal):
    found = np.array(input, order="C")
    _on_diagonals(found)[...] = diagonal
    return found


@lru_cache(maxsize=64)
def _band(rows, columns, lower, upper):
    below = np.arange(rows)[:, None] - np.arange(columns)
    return (below <= (lower if lower >= 0 else rows)) & (-below <= (upper if upper >= 0 else columns))


@on_arrays("MatrixBandPart", most=1024, saves=2)
def _band_part(input, num_lower, num_upper):
    rows, columns = input.shape[-2:]
    if num_lower > rows or num_upper > columns:
        raise ValueError("the band is wider than the matrix")
    return np.where(_band(rows, columns, num_lower, num_upper), input, input.dtype.type(0))


@on_arrays("Diag", saves=4)
def _diag(diagonal):
    size = diagonal.size
    found = np.zeros(size * size, diagonal.dtype)
    found[:: size + 1] = diagonal.reshape(-1)
    return found.reshape(diagonal.shape * 2)


@on_arrays("DiagPart", most=65536, saves=2)
def _diag_part(input):
    half = input.ndim // 2
    shape = input.shape[:half]
    if input.ndim % 2 or shape != input.shape[half:]:
        raise ValueError("the two halves of the shape differ")
    size = math.prod(shape)
    return _on_diagonals(input.reshape(size, size)).reshape(shape)
