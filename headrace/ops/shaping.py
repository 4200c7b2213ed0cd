"""Asking for a shape and giving another one: Shape, Size, Rank, Reshape, ExpandDims, Squeeze, Transpose, broadcasting.

Kernels that only relabel memory return views.  Strings are numpy object arrays on the host and have their own kernels.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX, NUMERIC
from headrace.core.registry import op
from headrace.core.shape import TensorShape, broadcast_shape, unknown_shape
from headrace.graph import raw_ops
from headrace.graph.handle import shape_for_gradient
from headrace.ops.declare.regular import sum_to_shape
from headrace.ops.internal.opaque import is_traced

# ---- questions about shapes: answers stay on the host

_QUESTION = {"host_output": True, "of_shapes": True}
shape = op("Shape(input: T; out_type: type = int32) -> (output: out_type)", T=ANY, out_type=INDEX, **_QUESTION)
shape.shape(lambda input, out_type: (input.ndims,))
shape.kernel(lambda input, out_type: torch.tensor(input.shape, dtype=out_type))
shape.value(lambda node, input: _dims_array(node.inputs[0].shape.tuple))


def _dims_array(dims):
    if dims is None:
        return None
    return np.array(dims, dtype=object if None in dims else np.int64)


shape_n = op("ShapeN(input: N*T; out_type: type = int32) -> (output: N*out_type)", T=ANY, out_type=INDEX, **_QUESTION)
shape_n.shape(lambda input, out_type: [(s.ndims,) for s in input])
shape_n.value(lambda node, *inputs: tuple(_dims_array(t.shape.tuple) for t in node.inputs))
shape_n.kernel(lambda input, out_type: [torch.tensor(x.shape, dtype=out_type) for x in input])

size = op("Size(input: T; out_type: type = int32) -> (output: out_type[0])", T=ANY, out_type=INDEX, **_QUESTION)
size.kernel(lambda input, out_type: torch.tensor(math.prod(input.shape), dtype=out_type))


@size.value
def _(node, input):
    count = node.inputs[0].shape.num_elements()
    return None if count is None else np.array(count)


rank = op("Rank(input: T) -> (output: int32[0])", T=ANY, **_QUESTION)
rank.kernel(lambda input: torch.tensor(input.ndim, dtype=torch.int32))


@rank.value
def _(node, input):
    ndims = node.inputs[0].shape.ndims
    return None if ndims is None else np.array(ndims)


# ---- the same elements under another shape

reshape = op("Reshape(tensor: T, shape: host Tshape[1]) -> (output: T)", T=ANY, Tshape=INDEX, view=True)
reshape.gradient(lambda node, grad: [raw_ops.Reshape(grad, shape_for_gradient(node.inputs[0])), None])


def _reshape(tensor, shape):
    if -1 in shape and 0 in shape:
        shape = [_left_over(tensor.shape, shape) if d == -1 else d for d in shape]
    return tensor.reshape(shape)


@reshape.refuse
def _(tensor, shape):
    if not isinstance(shape, list) or min(shape, default=0) < -1 or shape.count(-1) > 1:
        return
    total, asked_for = math.prod(tensor.shape), math.prod(d for d in shape if d != -1)
    beginning = f"Input to reshape is a tensor with {total} values, but the requested shape "
    if -1 not in shape and asked_for != total:
        raise ValueError(f"{beginning}has {asked_for}: got {shape} for a tensor of shape {list(tensor.shape)}")
    if -1 in shape and asked_for and total % asked_for:
        raise ValueError(f"{beginning}requires a multiple of {asked_for}: got {shape}")
    if -1 in shape and not math.prod(d for d in shape if d != -1):
        raise ValueError(
            "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
            f"non-zero: got {shape} for a tensor of shape {list(tensor.shape)}"
        )


def _left_over(old, new):
    """What -1 stands for beside a zero.  Any size would do, so the zeros of both shapes are left out."""
    return math.prod(d for d in old if d) // math.prod(d for d in new if d and d != -1)


reshape.kernel(_reshape)
reshape.kernel(_reshape, T=dtypes.string)
reshape.array_kernel(_reshape)


@reshape.shape
def _(tensor, shape):
    if shape is None:
        return None
    if not isinstance(shape, list):
        raise ValueError(f"Shape must be rank 1 but is rank 0: the shape given to Reshape is {shape}")
    return reshaped(tensor, shape)


def reshaped(tensor, shape):
    """The static shape of ``tensor`` given the new shape, in which -1 and None are unknown."""
    dims = [None if d is None or d == -1 else d for d in shape]
    if shape.count(-1) > 1:
        raise ValueError(f"Only one input size may be -1, got the shape {shape}")
    if any(d is not None and d < -1 for d in shape):
        raise ValueError(f"Size {min(d for d in shape if d is not None)} must be non-negative in the shape {shape}")
    total = tensor.num_elements()
    if total is None:
        return dims if tensor.tuple is not None or dims else ()
    product = math.prod(d for d in dims if d is not None)
    if None not in dims:
        if product != total:
            raise ValueError(f"Cannot reshape a tensor with {total} elements to shape {dims} ({product} elements)")
    elif dims.count(None) == 1 and product:
        if total % product:
            raise ValueError(
                f"Dimension size must be evenly divisible by {product} but is {total}: cannot reshape {tensor} to {shape}"
            )
        dims[dims.index(None)] = total // product
    elif shape.count(-1) == 1 and None not in shape:
        dims[dims.index(None)] = _left_over(tensor.tuple, shape)
    return dims


@reshape.value
def _(node, tensor, shape):
    if tensor is None or shape is None or any(d is None for d in shape.flat):
        return None
    try:
        return tensor.reshape([int(d) for d in shape])
    except ValueError:
        return None


expand_dims = op("ExpandDims(input: T, dim: host Tdim) -> (output: T)", T=ANY, Tdim=INDEX, view=True)
expand_dims.gradient(lambda node, grad: [raw_ops.Reshape(grad, shape_for_gradient(node.inputs[0])), None])


def _one(dim):
    """A dimension given as a number or as a list of one."""
    while isinstance(dim, list):
        if len(dim) != 1:
            raise ValueError(f"'dim' must be a tensor with a single value, got {dim}")
        dim = dim[0]
    return dim


@expand_dims.shape
def _(input, dim):
    dim = _one(dim)
    dims = input.tuple
    if dims is None:
        return None
    if dim is None:
        return unknown_shape(len(dims) + 1)
    if not -len(dims) - 1 <= dim <= len(dims):
        raise ValueError(f"dim {dim} not in the interval [{-len(dims) - 1}, {len(dims)}].")
    at = dim + len(dims) + 1 if dim < 0 else dim
    return TensorShape.from_tuple((*dims[:at], 1, *dims[at:]))


@expand_dims.value
def _(node, input, dim):
    if input is None or dim is None or dim.dtype == object:
        return None
    return np.expand_dims(input, int(dim.reshape(())))


expand_dims.kernel(lambda input, dim: input.unsqueeze(dim if type(dim) is int else _one(dim)))


@expand_dims.kernel(T=dtypes.string)
@expand_dims.array_kernel
def _(input, dim):
    dim, shape = _one(dim), list(input.shape)
    shape.insert(dim if dim >= 0 else dim + len(shape) + 1, 1)
    return input.reshape(shape)


squeeze = op("Squeeze(input: T; squeeze_dims: list(int) = []) -> (output: T)", T=ANY, view=True)
squeeze.gradient(lambda node, grad: [raw_ops.Reshape(grad, shape_for_gradient(node.inputs[0]))])


@squeeze.shape
def _(input, squeeze_dims):
    dims = input.tuple
    if dims is None:
        return None
    if not squeeze_dims:
        return unknown_shape() if None in dims else [d for d in dims if d != 1]
    chosen = _squeezed(dims, squeeze_dims)
    return [d for i, d in enumerate(dims) if i not in chosen]


def _squeezed(dims, squeeze_dims):
    chosen = set()
    for dim in squeeze_dims:
        at = dim + len(dims) if dim < 0 else dim
        if not 0 <= at < len(dims):
            raise ValueError(f"Tried to squeeze dim index {dim} for tensor with {len(dims)} dimensions.")
        if dims[at] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{at}], expected a dimension of 1, got {dims[at]}")
        chosen.add(at)
    return chosen


@squeeze.value
def _(node, input):
    axes = node.attrs["squeeze_dims"]
    return None if input is None else np.squeeze(input, tuple(axes) or None)


@squeeze.kernel
def _(input, squeeze_dims):
    if not squeeze_dims:
        return input.squeeze()
    shape, ndim = input.shape, input.ndim
    for dim in squeeze_dims:
        if not -ndim <= dim < ndim or shape[dim] != 1:
            _squeezed(shape, squeeze_dims)  # which says what is wrong
    return input.squeeze(squeeze_dims)


@squeeze.kernel(T=dtypes.string)
@squeeze.array_kernel
def _(input, squeeze_dims):
    return input.squeeze(tuple(squeeze_dims) or None)


# ---- the order of dimensions


def _transposed(x, perm):
    dims = x.tuple
    if perm is None:
        return unknown_shape(None if dims is None else len(dims))
    if not isinstance(perm, list):
        perm = [perm]
    if dims is not None and len(perm) != len(dims):
        raise ValueError(
            f"Dimension must be {len(dims)} but is {len(perm)}: perm {perm} does not fit a tensor of shape {x}"
        )
    axes = [p for p in perm if p is not None]
    if any(not -len(perm) <= p < len(perm) for p in axes):
        raise ValueError(f"perm {perm} must hold numbers between 0 and {len(perm) - 1}")
    if len({p % len(perm) for p in axes}) != len(axes):
        missing = min(set(range(len(perm))) - {p % len(perm) for p in axes})
        listed = ",".join(map(str, perm))
        raise ValueError(f"{missing} is missing from {{{listed}}}: perm must be a permutation of 0 to {len(perm) - 1}")
    if dims is None:
        return unknown_shape(len(perm))
    return [None if p is None else dims[p] for p in perm]


def _permute_value(node, x, perm):
    if x is None or perm is None or perm.dtype == object:
        return None
    return np.transpose(x, [int(p) for p in perm])


transpose = op("Transpose(x: T, perm: host Tperm) -> (y: T)", T=ANY, Tperm=INDEX, view=True)
transpose.shape(_transposed)
transpose.value(_permute_value)
transpose.gradient(lambda node, grad: [raw_ops.Transpose(grad, raw_ops.InvertPermutation(node.inputs[1])), None])
transpose.kernel(torch.permute)
transpose.kernel(np.transpose, T=dtypes.string)
transpose.array_kernel(lambda x, perm: x.transpose(perm))

conjugate_transpose = op("ConjugateTranspose(x: T, perm: host Tperm) -> (y: T)", T=NUMERIC, Tperm=INDEX, view=True)
conjugate_transpose.shape(_transposed)
conjugate_transpose.kernel(lambda x, perm: torch.conj_physical(x.permute(perm)))


@conjugate_transpose.gradient
def _(node, grad):
    return [raw_ops.ConjugateTranspose(grad, raw_ops.InvertPermutation(node.inputs[1])), None]


invert_permutation = op("InvertPermutation(x: T[1]) -> (y: T)", T=INDEX, opaque_on_cpu=True)
invert_permutation.shape(lambda x: x.with_rank(1))


@invert_permutation.kernel
def _(x):
    if x.is_cpu and not is_traced(x):
        return torch.from_numpy(_inverse(x.numpy()))
    return torch.argsort(x).to(x.dtype)


def _inverse(x):
    outside = x[(x < 0) | (x >= len(x))]
    if len(outside):
        raise ValueError(f"{outside[0]} is not between 0 and {len(x)}")
    inverse = np.full(x.shape, -1, x.dtype)
    inverse[x] = np.arange(len(x), dtype=x.dtype)
    if inverse.size and inverse.min() < 0:
        raise ValueError(f"{np.bincount(x).argmax()} is duplicated in the input.")
    return inverse


# ---- broadcasting

broadcast_to = op(
    "BroadcastTo(input: T, shape: host Tidx[1]) -> (output: T)", T=ANY, Tidx=INDEX, view=True, lenient=True
)
broadcast_to.gradient(lambda node, grad: [sum_to_shape(grad, node.inputs[0]), None])
broadcast_to.kernel(torch.broadcast_to)
broadcast_to.kernel(np.broadcast_to, T=dtypes.string)


@broadcast_to.shape
def _(input, shape):
    if shape is None:
        return None
    if any(n is not None and n < 0 for n in shape):
        raise ValueError(
            f"Dimension {min(n for n in shape if n is not None)} must be >= 0: cannot broadcast to {shape}"
        )
    dims = input.tuple
    if dims is not None:
        if len(dims) > len(shape):
            raise ValueError(
                f"Rank of input ({len(dims)}) must be no greater than rank of output shape ({len(shape)})."
            )
        for have, want in zip(reversed(dims), reversed(shape), strict=False):
            if have not in (None, 1) and want is not None and have != want:
                raise ValueError(f"Incompatible shapes: cannot broadcast {input} to {shape}")
    return shape


@broadcast_to.value
def _(node, input, shape):
    if input is None or shape is None or shape.dtype == object or math.prod(shape.tolist()) > 4096:
        return None
    return np.broadcast_to(input, [int(d) for d in shape])


broadcast_args = op("BroadcastArgs(s0: T[1], s1: T[1]) -> (r0: T)", T=INDEX, host=True)


@broadcast_args.shape
def _(s0, s1):
    a, b = s0.with_rank(1).tuple, s1.with_rank(1).tuple
    return (None,) if None in (*a, *b) else (max(a[0], b[0]),)


@broadcast_args.value
def _(node, s0, s1):
    if s0 is None or s1 is None:
        return None
    return _dims_array(broadcast_shape(s0.tolist(), s1.tolist()).tuple)


broadcast_args.kernel(lambda s0, s1: torch.tensor(_together(s0.tolist(), s1.tolist()), dtype=s0.dtype))


def _together(a, b):
    """The shape that two shapes broadcast to."""
    if min([*a, *b, 0]) < 0:
        raise ValueError(f"Dimensions must be non-negative, got shapes {a} and {b}")
    try:
        return broadcast_shape(a, b).as_list()
    except ValueError:
        raise ValueError(f"Incompatible shapes: {a} vs. {b}") from None


gradient_args = op(
    "BroadcastGradientArgs(s0: T[1], s1: T[1]) -> (r0: T, r1: T)", T=INDEX, host=True, dynamic_shape=True
)
gradient_args.shape(lambda s0, s1: [(None,), (None,)])


@gradient_args.kernel
def _(s0, s1):
    """The axes along which each operand may have been broadcast, all those of size one, so that its gradient sums over them."""
    a, b = s0.tolist(), s1.tolist()
    _together(a, b)
    rank = max(len(a), len(b)) if a != b else 0
    axes = [[i for i, n in enumerate([1] * (rank - len(x)) + x) if n == 1 and rank] for x in (a, b)]
    return tuple(torch.tensor(x, dtype=s0.dtype) for x in axes)
