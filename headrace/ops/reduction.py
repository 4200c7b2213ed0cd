"""Reductions along axes: Sum, Mean, Prod, Max, Min, All, Any, EuclideanNorm, ArgMax, ArgMin; running sums and products.

An empty list of axes reduces nothing, as in TensorFlow; the library passes all of them when the user gives none.
"""

from __future__ import annotations

import functools
import math
import operator
from itertools import pairwise

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import COMPLEX, FLOATING, INDEX, INTEGER, NUMERIC, REAL
from headrace.core.registry import op
from headrace.core.shape import unknown_shape
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.graph.handle import shape_for_gradient
from headrace.ops.declare.regular import WIDE_UNSIGNED, whole_value


def _reduced(input, axis, keep_dims):
    """The shape rule of all reductions."""
    dims = input.tuple
    if isinstance(axis, list) and any(isinstance(a, list) for a in axis):
        raise ValueError(f"Shape must be at most rank 1 but is rank 2: the axes of a reduction, got {axis}")
    if dims is None:
        return None
    if axis is None or (isinstance(axis, list) and None in axis):
        if isinstance(axis, list) and len(axis) == len(dims):
            return (1,) * len(dims) if keep_dims else ()
        return unknown_shape(len(dims)) if keep_dims else None
    chosen = {normal(a, len(dims)) for a in (axis if isinstance(axis, list) else [axis])}  # twice: refused when it runs
    if keep_dims:
        return tuple(1 if i in chosen else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in chosen)


def normal(axis, rank):
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions")
    return axis % rank if rank else 0


def _axes(axis, rank):
    """The axes to reduce, counted from the front, in order.  When it runs, a matrix of axes is as good as a list."""
    while isinstance(axis, list) and any(isinstance(a, list) for a in axis):
        axis = [a for row in axis for a in row]
    axes = sorted(normal(a, rank) for a in (axis if isinstance(axis, list) else [axis]))
    for a, b in pairwise(axes):
        if a == b:
            raise ValueError(f"Invalid reduction arguments: Axes contains duplicate dimension: {a}")
    return axes


def _refuse_axes(input, axis, keep_dims):
    _axes(axis, input.ndim)


NARROW_INTEGER = tuple(t for t in INTEGER if t not in WIDE_UNSIGNED)


_SIGN = torch.iinfo(torch.int64).min


def _reduction(name, types, kernel, gradient=None, integer=None, ordered=False, array=None):
    """Declares a reduction; ``integer`` is its kernel for integers where that differs, ``ordered`` if it compares them.

    ``array(x, axes, dtype, out, keep)``, the ``reduce`` of a ufunc, computes it on numpy arrays.
    """
    definition = op(
        f"{name}(input: T, reduction_indices: host Tidx; keep_dims: bool = False) -> (output: T)", T=types, Tidx=INDEX
    )
    definition.shape(_reduced)
    definition.refuse(_refuse_axes)
    definition.kernel(kernel)
    on_integers = integer or kernel
    if integer is not None:
        definition.kernel(integer, T=NARROW_INTEGER)
    if WIDE_UNSIGNED[0] in types and ordered:  # with the highest bit turned, int64 has the order of uint64
        definition.kernel(
            lambda x, axis, keep: (on_integers(x.to(torch.int64) ^ _SIGN, axis, keep) ^ _SIGN).to(x.dtype),
            T=WIDE_UNSIGNED,
        )
    elif WIDE_UNSIGNED[0] in types:
        definition.kernel(lambda x, axis, keep: on_integers(x.to(torch.int64), axis, keep).to(x.dtype), T=WIDE_UNSIGNED)
    if gradient is not None:
        definition.gradient(lambda node, grad: [gradient(node, grad), None])
    if array is not None:
        definition.array_kernel(lambda x, axis, keep: array(x, _as_tuple(axis), x.dtype, None, keep))
    return definition


def _as_tuple(axis):
    return tuple(axis) if type(axis) is list else axis


def _unreduce(node, tensor, mean=False):
    """A tensor of the reduced shape repeated back over the reduced axes."""
    return raw_ops._Unreduce(
        tensor, shape_for_gradient(node.inputs[0]), node.inputs[1], keep_dims=node.attrs["keep_dims"], mean=mean
    )


# ---- sums


def _sum(x, axis, keep):
    return x.clone() if axis == [] else torch.sum(x, axis, keep)


def _integer_sum(x, axis, keep):
    return x.clone() if axis == [] else torch.sum(x, axis, keep, dtype=x.dtype)


total = _reduction("Sum", NUMERIC, _sum, _unreduce, _integer_sum, array=np.add.reduce)


def _mean(x, axis, keep):
    return x.clone() if axis == [] else torch.mean(x, axis, keep)


def _integer_mean(x, axis, keep):
    if axis == []:
        return x.clone()
    result = torch.sum(x, axis, keep, dtype=torch.int64)  # as TensorFlow: the sum may not fit the type of the mean
    return torch.div(result, max(1, x.numel() // max(1, result.numel())), rounding_mode="trunc").to(x.dtype)


mean = _reduction("Mean", NUMERIC, _mean, lambda node, grad: _unreduce(node, grad, mean=True), _integer_mean)


@mean.array_kernel(T=FLOATING)
def _(x, axis, keep):
    result = np.add.reduce(x, _as_tuple(axis), None, None, keep)
    return result / (x.size // max(1, result.size))  # for one number, "/" takes half the time of np.divide


unreduce = op(
    "_Unreduce(x: T, shape: host Tshape, reduction_indices: host Tidx; keep_dims: bool = False, mean: bool = False) "
    "-> (y: T)",
    T=NUMERIC, Tshape=INDEX, Tidx=INDEX, view=True,
)  # fmt: skip
unreduce.shape(lambda x, shape, axis, keep_dims, mean: None if shape is None else tuple(shape))


@unreduce.kernel
def _(x, shape, axis, keep_dims, mean):
    if mean:
        x = x / (math.prod(shape) / max(1, x.numel()))
    if not keep_dims and x.ndim:
        rank = len(shape)
        for a in sorted({a % rank for a in (axis if isinstance(axis, list) else [axis])}):
            x = x.unsqueeze(a)
    return x.expand(shape)


@unreduce.array_kernel(T=FLOATING)
def _(x, shape, axis, keep_dims, mean):
    if mean:
        x = np.divide(x, x.dtype.type(math.prod(shape) / max(1, x.size)))
    if not keep_dims and x.ndim:
        gone = _axes(axis, len(shape))
        x = x.reshape([1 if i in gone else size for i, size in enumerate(shape)])
    return np.full(shape, x, x.dtype)


@unreduce.gradient
def _(node, grad):
    reduce = raw_ops.Mean if node.attrs["mean"] else raw_ops.Sum
    return [reduce(grad, node.inputs[2], keep_dims=node.attrs["keep_dims"]), None, None]


# ---- products


def _prod(x, axis, keep):
    axes = _axes(axis, x.ndim)
    if not axes:
        return x.clone()
    if len(axes) == x.ndim:
        result = torch.prod(x, dtype=x.dtype)
        return result.reshape((1,) * x.ndim) if keep else result
    for a in reversed(axes):
        x = torch.prod(x, a, keep, dtype=x.dtype)
    return x


prod = _reduction("Prod", NUMERIC, _prod)

# ---- extremes


def _extreme(reduce, worst):
    def kernel(x, axis, keep):
        if axis == []:
            return x.clone()
        if x.numel():
            return reduce(x, axis, keep)
        axes = _axes(axis, x.ndim)  # the neutral element, for no elements
        shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes]
        return torch.full(shape, worst(x.dtype), dtype=x.dtype, device=x.device)

    return kernel


def _lowest(dtype):
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype):
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def _shared(node, grad):
    """Ties share the gradient equally."""
    x, y = node.inputs[0], node.outputs[0]
    hits = raw_ops.Cast(raw_ops.Equal(_unreduce(node, y), x), DstT=grad.dtype.base_dtype)
    count = raw_ops.Sum(hits, node.inputs[1], keep_dims=node.attrs["keep_dims"])
    return raw_ops.Mul(hits, _unreduce(node, raw_ops.RealDiv(grad, count)))


largest = _reduction("Max", REAL, _extreme(torch.amax, _lowest), _shared, ordered=True, array=np.maximum.reduce)
smallest = _reduction("Min", REAL, _extreme(torch.amin, _highest), _shared, ordered=True, array=np.minimum.reduce)


def _follow(definition, combine, start=None):
    """Follows small integer values through a reduction to a scalar while the graph is built."""

    @definition.value
    def _(node, x, axis):
        value = whole_value(node, [x, axis])
        if value is not None or x is None or axis is None or axis.dtype == object or x.ndim != 1 or axis.size != 1:
            return value
        if any(v is None for v in x):
            return None
        result = functools.reduce(combine, x.tolist()) if x.size else start
        return None if result is None else np.array([result] if node.attrs["keep_dims"] else result)


_follow(total, operator.add, 0)
_follow(prod, operator.mul, 1)
_follow(largest, max)
_follow(smallest, min)

# ---- truth


def _are(reduce, x, axis, keep):
    return x.clone() if axis == [] else reduce(x, axis, keep)


for _name, _kernel, _array in (("All", torch.all, np.logical_and.reduce), ("Any", torch.any, np.logical_or.reduce)):
    _truth = op(
        f"{_name}(input: bool, reduction_indices: host Tidx; keep_dims: bool = False) -> (output: bool)", Tidx=INDEX
    )
    _truth.shape(_reduced)
    _truth.refuse(_refuse_axes)
    _truth.kernel(functools.partial(_are, _kernel))
    _truth.array_kernel(lambda x, axis, keep, reduce=_array: reduce(x, _as_tuple(axis), None, None, keep))

# ---- norm


def _norm(x, axis, keep):
    return torch.abs(x) if axis == [] else torch.linalg.vector_norm(x, 2, axis, keep).to(x.dtype)


def _norm_gradient(node, grad):
    return raw_ops.Mul(node.inputs[0], _unreduce(node, raw_ops.DivNoNan(grad, node.outputs[0])))


_reduction("EuclideanNorm", (*FLOATING, *COMPLEX), _norm, _norm_gradient)

# ---- where the extremes are


def _argument(name, search):
    definition = op(
        f"{name}(input: T, dimension: host Tidx[0]; output_type: type = int64) -> (output: output_type)",
        T=(*REAL, dtypes.bool), Tidx=INDEX, output_type=INDEX, lenient=True,
    )  # fmt: skip

    @definition.shape
    def _(input, dimension, output_type):
        if input.ndims == 0:
            raise ValueError(f"{name} needs an input of rank 1 or more, but it is a scalar")
        if isinstance(dimension, list):
            raise ValueError(f"Shape must be rank 0 but is rank 1: dimension {dimension}")
        if dimension is None and input.ndims is not None:
            return unknown_shape(input.ndims - 1)
        rank = input.ndims
        if rank == 1:
            return ()  # a dimension out of range is refused when it runs
        if None not in (rank, dimension) and not -rank <= dimension < rank:
            raise ValueError(
                f"Dimension ({dimension}) must be in the range [{-rank}, {rank}), where {rank} is the number of "
                "dimensions in the input."
            )
        return _reduced(input, dimension, False)

    @definition.refuse
    def _(input, dimension, output_type):
        if not -input.ndim <= dimension < input.ndim:
            raise ValueError(f"Expected dimension in the range [{-input.ndim}, {input.ndim}), but got {dimension}")
        if not input.shape[dimension]:
            raise ValueError(f"Reduction axis {dimension} is empty in shape {list(input.shape)}")

    @definition.kernel
    def _(input, dimension, output_type):
        index = search(input, dimension)
        return index if output_type is torch.int64 else index.to(output_type)

    @definition.kernel(T=(dtypes.bool, *WIDE_UNSIGNED))
    def _(input, dimension, output_type):
        return search(input.to(torch.int64), dimension).to(output_type)


_argument("ArgMax", torch.argmax)
_argument("ArgMin", torch.argmin)

# ---- running sums and products


def _refuse_scan(x, axis, exclusive, reverse):
    if isinstance(axis, list):
        raise ValueError(f"ScanOp: axis must be a scalar, not {in_brackets(np.shape(axis))}")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}")


def _running(name, accumulate, neutral):
    definition = op(
        f"{name}(x: T, axis: host Tidx; exclusive: bool = False, reverse: bool = False) -> (out: T)",
        T=NUMERIC,
        Tidx=INDEX,
    )

    @definition.shape
    def _(x, axis, exclusive, reverse):
        return x  # an axis out of range is refused when it runs

    definition.refuse(_refuse_scan)

    @definition.kernel
    def _(x, axis, exclusive, reverse):
        if not x.ndim:
            _refuse_scan(x, axis, exclusive, reverse)  # torch takes scalars
        dtype = x.dtype
        wide = x.to(torch.int64) if dtype in (torch.uint16, torch.uint32, torch.uint64) else x
        if reverse:
            wide = wide.flip(axis)
        if exclusive and x.shape[axis]:
            edge = torch.full_like(wide.narrow(axis, 0, 1), neutral)
            wide = torch.cat([edge, wide.narrow(axis, 0, x.shape[axis] - 1)], axis)
        result = accumulate(wide, axis, dtype=wide.dtype)
        result = result.flip(axis) if reverse else result
        return result if result.dtype is dtype else result.to(dtype)

    return definition


cumsum = _running("Cumsum", torch.cumsum, 0)
cumprod = _running("Cumprod", torch.cumprod, 1)


@cumsum.gradient
def _(node, grad):
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    return [raw_ops.Cumsum(grad, node.inputs[1], exclusive=exclusive, reverse=not reverse), None]


running_logsumexp = op(
    "CumulativeLogsumexp(x: T, axis: host Tidx; exclusive: bool = False, reverse: bool = False) -> (out: T)",
    T=FLOATING, Tidx=INDEX,
)  # fmt: skip


running_logsumexp.shape(lambda x, axis, exclusive, reverse: x)
running_logsumexp.refuse(_refuse_scan)


@running_logsumexp.kernel
def _(x, axis, exclusive, reverse):
    if not x.ndim:
        _refuse_scan(x, axis, exclusive, reverse)
    if reverse:
        x = x.flip(axis)
    if exclusive and x.shape[axis]:
        edge = torch.full_like(x.narrow(axis, 0, 1), torch.finfo(x.dtype).min)
        x = torch.cat([edge, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    result = torch.logcumsumexp(x, axis)
    return result.flip(axis) if reverse else result
