"""Arithmetic of sparse tensors: products with dense ones, sums, element-wise ops, reductions, softmax, densifying."""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core.dtypes import ANY, INDEX, NUMERIC, REAL, float16, float32, float64, resource, string, variant
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.regular import WIDE_UNSIGNED, conjugate
from headrace.ops.shared.refuse import expect_inside, expect_sizes
from headrace.ops.shared.sparse_entry import (
    LARGEST,
    check_inside,
    check_parts,
    entries,
    groups,
    host_positions,
    host_vector,
    is_rising,
    keys,
    merged,
    positions,
    static_rank,
)

VALUES = tuple(t for t in ANY if t not in (resource, variant, *WIDE_UNSIGNED))
SUMMABLE = tuple(t for t in NUMERIC if t not in WIDE_UNSIGNED)
ORDERED = tuple(t for t in REAL if t not in WIDE_UNSIGNED)

# ---- the product of a sparse and a dense matrix

matmul = op(
    "SparseTensorDenseMatMul(a_indices: Tindices[2], a_values: T[1], a_shape: host int64[1], b: T[2];"
    " adjoint_a: bool = False, adjoint_b: bool = False) -> (product: T)",
    T=SUMMABLE, Tindices=INDEX, opaque=True,
)  # fmt: skip


@matmul.shape
def _(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    rank = static_rank(entries(a_indices, a_values)[1], a_shape)
    if rank is not None and rank != 2:
        raise ValueError(f"Tensor 'a_shape' must have 2 elements, got {rank}")
    rows, inner = (a_shape or (None, None))[:: -1 if adjoint_a else 1]
    dims = b.with_rank(2).tuple or (None, None)
    b_inner, columns = dims[::-1] if adjoint_b else dims
    if None not in (inner, b_inner) and inner != b_inner:
        raise ValueError(f"Dimensions must be equal, but are {inner} and {b_inner}")
    return (rows, columns)


def _operands(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    rows, inner = a_shape[::-1] if adjoint_a else a_shape
    b = b.mH if adjoint_b else b
    if b.shape[0] != inner:
        raise ValueError(f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {b.shape[0]}")
    index = a_indices.t()
    if adjoint_a:
        index = index.flip(0)
        a_values = a_values.conj() if a_values.is_complex() else a_values
    return index, a_values, (rows, inner), b


@matmul.kernel
def _(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    check_inside(a_indices, a_shape, "a_indices")
    (row, column), values, (rows, _), b = _operands(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
    parts = b.index_select(0, column) * values[:, None]
    return torch.zeros((rows, b.shape[1]), dtype=b.dtype, device=b.device).index_add(0, row, parts)


@matmul.kernel(T=(float32, float64))
def _(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    index, values, shape, b = _operands(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
    # No check of the entries here: the product refuses those outside the shape.
    sparse = torch.sparse_coo_tensor(index, values, shape, check_invariants=False)
    return torch.sparse.mm(sparse, b)


@matmul.refuse
def _(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    expect_sizes("a_shape", a_shape)
    for axis, letter in enumerate("mk"):
        form = letter + " ({value}) from index[{place}," + f"{axis}] out of bounds " + "(>={size})"
        expect_inside("a_indices", a_indices[:, axis], a_shape[axis], form)


@matmul.gradient
def _(node, grad):
    indices, values, shape, b = node.inputs
    adjoint_a, adjoint_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]
    row, column = raw_ops.Unpack(indices, 2, axis=1)
    if adjoint_a:
        row, column = column, row
    b_part = raw_ops.GatherV2(_adjoint(b) if adjoint_b else b, column, 0)
    values_grad = raw_ops.Sum(raw_ops.Mul(raw_ops.GatherV2(grad, row, 0), conjugate(b_part)), [1])
    if adjoint_a:
        values_grad = conjugate(values_grad)
    b_grad = raw_ops.SparseTensorDenseMatMul(indices, values, shape, grad, adjoint_a=not adjoint_a)
    return [None, values_grad, None, _adjoint(b_grad) if adjoint_b else b_grad]


def _adjoint(x):
    return raw_ops.ConjugateTranspose(x, [1, 0]) if x.dtype.base_dtype.is_complex else raw_ops.Transpose(x, [1, 0])


# ---- sums

_PAIR = (
    "a_indices: int64[2], a_values: T[1], a_shape: host int64[1], "
    "b_indices: int64[2], b_values: T[1], b_shape: host int64[1]"
)

add = op(
    f"SparseAdd({_PAIR}, thresh: Treal[0]) -> (sum_indices: int64, sum_values: T, sum_shape: int64)",
    T=SUMMABLE, Treal=ORDERED, dynamic_shape=True, lenient=True,
)  # fmt: skip


@add.shape
def _(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    rank = _pair_rank(a_indices, a_values, a_shape, b_indices, b_values, b_shape)
    return [(None, rank), (None,), (rank,)]


def _pair_rank(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
    a = static_rank(entries(a_indices, a_values)[1], a_shape)
    b = static_rank(entries(b_indices, b_values)[1], b_shape)
    if None not in (a, b) and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}: the ranks of the sparse tensors")
    return b if a is None else a


def _check_pair(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
    check_parts(a_indices, a_values, a_shape)
    check_parts(b_indices, b_values, b_shape)
    if a_shape != b_shape:
        raise ValueError(f"Operands' shapes do not match: got {a_shape} for operand a and {b_shape} for operand b")


def _aligned(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
    """Puts both on the union of their coordinates: -> indices, values of a, values of b (0 if missing), how many had one."""
    both = torch.cat([a_indices, b_indices])
    order, group, first = groups(keys(both, a_shape))
    place = torch.empty_like(order)
    place[order] = group
    count = a_indices.shape[0]
    spread = [
        v.new_zeros(first.shape[0]).index_add(0, p, v)
        for v, p in ((a_values, place[:count]), (b_values, place[count:]))
    ]
    return both.index_select(0, first), *spread, torch.bincount(place, minlength=first.shape[0])


def _sum_on_host(a_indices, a_values, b_indices, b_values, shape, thresh):
    """-> indices and values of the sum of two sparse tensors with sorted entries; None if they are not sorted."""
    flat = host_positions(a_indices, shape), host_positions(b_indices, shape)
    if any(f is None or not is_rising(f) for f in flat):
        return None
    places, values = merged(np.concatenate(flat), np.concatenate((a_values, b_values)), thresh)
    indices = np.concatenate((a_indices, b_indices)).take(places, 0)
    return torch.from_numpy(indices), torch.from_numpy(values)


@add.kernel
def _(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh, *, device):
    _check_pair(a_indices, a_values, a_shape, b_indices, b_values, b_shape)
    if a_indices.is_cpu and a_values.dtype is not torch.bfloat16 and math.prod(a_shape) <= LARGEST:
        arrays = a_indices.numpy(), a_values.numpy(), b_indices.numpy(), b_values.numpy()
        if parts := _sum_on_host(*arrays, a_shape, thresh.item()):
            return *parts, host_vector(a_shape)
    indices, a, b, present = _aligned(a_indices, a_values, a_shape, b_indices, b_values, b_shape)
    total = a + b
    large = (total.abs() >= thresh) | (present == 1)  # a value that only one of them has stays, however small
    return indices[large], total[large], torch.tensor(a_shape, dtype=torch.int64, device=device)


@add.gradient
def _(node, indices_grad, values_grad, shape_grad):
    gradients = raw_ops.SparseAddGrad(values_grad, node.inputs[0], node.inputs[3], node.outputs[0])
    return [None, gradients.a_val_grad, None, None, gradients.b_val_grad, None, None]


def _extreme(name, types, choose):
    definition = op(f"{name}({_PAIR}) -> (output_indices: int64, output_values: T)", T=types, dynamic_shape=True)
    definition.shape(lambda *parts: [(None, _pair_rank(*parts)), (None,)])

    @definition.kernel
    def _(*parts):
        _check_pair(*parts)
        for places, shape in ((parts[0], parts[2]), (parts[3], parts[5])):
            check_inside(places, shape)
        indices, a, b, _ = _aligned(*parts)
        return indices, choose(a, b)


_extreme("SparseSparseMaximum", ORDERED, torch.maximum)
_extreme("SparseSparseMinimum", ORDERED, torch.minimum)

dense_add = op(
    "SparseTensorDenseAdd(a_indices: Tindices[2], a_values: T[1], a_shape: host Tindices[1], b: T) -> (output: T)",
    T=SUMMABLE, Tindices=INDEX, opaque=True, lenient=True,
)  # fmt: skip
dense_add.gradient(lambda node, grad: [None, raw_ops.GatherNd(grad, node.inputs[0]), None, grad])


@dense_add.shape
def _(a_indices, a_values, a_shape, b):
    static_rank(entries(a_indices, a_values)[1], a_shape)
    return b if a_shape is None else b.merge_with(a_shape)


@dense_add.kernel
def _(a_indices, a_values, a_shape, b):
    if list(b.shape) != a_shape:
        raise ValueError(f"Dimensions of the sparse {a_shape} and the dense operand {list(b.shape)} must match")
    check_inside(a_indices, a_shape, "a_indices")
    return b.reshape(-1).index_add(0, positions(a_indices, a_shape), a_values).reshape(b.shape)


# ---- a dense operand, broadcast, at the places of the entries


def _places(indices, dense):
    """Index tuples into ``dense`` for each entry; along dimensions of size 1 they are 0."""
    rank = dense.shape.ndims
    if rank is None:
        start = raw_ops.Sub(raw_ops.Shape(indices), raw_ops.Rank(dense))
        start = raw_ops.StridedSlice(start, [1], [2], [1])
        start = raw_ops.ConcatV2([[0], start], 0)
        columns = raw_ops.Slice(indices, start, [-1, -1])
    else:
        columns = raw_ops.StridedSlice(indices, [0, -rank], [0, 0], [1, 1], begin_mask=1, end_mask=3) if rank else (
            raw_ops.Slice(indices, [0, 0], [-1, 0])
        )  # fmt: skip
    last = raw_ops.Sub(raw_ops.Shape(dense, out_type=indices.dtype), raw_ops.Cast(1, DstT=indices.dtype))
    return raw_ops.Minimum(columns, last)


def _picked(indices, shape, dense):
    """The dense operand's element for each entry, taken while the step runs."""
    if dense.ndim > len(shape):
        raise ValueError(
            f"SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: sparse {shape} vs. dense "
            f"{list(dense.shape)}"
        )
    lead = len(shape) - dense.ndim
    for own, target in zip(dense.shape, shape[lead:], strict=True):
        if own not in (1, target):
            raise ValueError(
                f"SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: sparse {shape} vs. "
                f"dense {list(dense.shape)}"
            )
    check_inside(indices, shape)
    flat = indices.new_zeros(indices.shape[0])
    for axis, size in enumerate(dense.shape):
        flat = flat * size + (indices[:, lead + axis] if size != 1 else 0)
    return dense.reshape(-1).index_select(0, flat)


def _with_dense(name, combine, gradient):
    definition = op(
        f"{name}(sp_indices: int64[2], sp_values: T[1], sp_shape: host int64[1], dense: T) -> (output: T)",
        T=SUMMABLE, opaque=True,
    )  # fmt: skip

    @definition.shape
    def _(sp_indices, sp_values, sp_shape, dense):
        count, rank = entries(sp_indices, sp_values)
        static_rank(rank, sp_shape)
        return (count,)

    @definition.kernel
    def _(sp_indices, sp_values, sp_shape, dense):
        check_parts(sp_indices, sp_values, sp_shape)
        return combine(sp_values, _picked(sp_indices, sp_shape, dense))

    @definition.gradient
    def _(node, grad):
        indices, values, _, dense = node.inputs
        places = _places(indices, dense)
        values_grad, picked_grad = gradient(grad, values, lambda: raw_ops.GatherNd(dense, places))
        dense_grad = raw_ops.ScatterNd(places, picked_grad, raw_ops.Shape(dense, out_type=indices.dtype))
        return [None, values_grad, None, dense_grad]


def _divide(x, y):
    if x.is_floating_point() or x.is_complex():
        return x / y
    return torch.div(x, y, rounding_mode="trunc")


def _divide_gradient(grad, x, y):
    y = conjugate(y())
    share = raw_ops.RealDiv(grad, y)
    return share, raw_ops.Neg(raw_ops.Mul(share, raw_ops.RealDiv(conjugate(x), y)))


_with_dense("SparseDenseCwiseAdd", torch.add, lambda grad, x, y: (grad, grad))
_with_dense(
    "SparseDenseCwiseMul", torch.mul,
    lambda grad, x, y: (raw_ops.Mul(grad, conjugate(y())), raw_ops.Mul(grad, conjugate(x))),
)  # fmt: skip
_with_dense("SparseDenseCwiseDiv", _divide, _divide_gradient)

# ---- reductions

_REDUCED = (
    "(input_indices: int64[2], input_values: T[1], input_shape: host int64[1], reduction_axes: host int32; "
    "keep_dims: bool = False)"
)


def _axes_left(rank, axes):
    """The axes that stay."""
    listed = axes if isinstance(axes, list) else [axes]
    for axis in listed:
        if isinstance(axis, list):
            raise ValueError(f"reduction_axes should be a scalar or a vector, got {axes}")
        if not -rank <= axis < rank:
            raise ValueError(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
    gone = {a % rank for a in listed}
    return [a for a in range(rank) if a not in gone]


def _reduced_shape(shape, axes, keep_dims):
    return [s if a in axes else 1 for a, s in enumerate(shape)] if keep_dims else [shape[a] for a in axes]


def _sum(values, place, count):
    return values.new_zeros(count).index_add(0, place, values)


def _max(values, place, count):
    return values.new_zeros(count).scatter_reduce(0, place, values, "amax", include_self=False)


def _reduction(name, types, reduce):
    dense = op(f"{name}{_REDUCED} -> (output: T)", T=types, opaque=True)
    sparse = op(
        f"{name}Sparse{_REDUCED} -> (output_indices: int64, output_values: T, output_shape: int64)",
        T=types, dynamic_shape=True,
    )  # fmt: skip
    sparse.not_differentiable()

    @dense.refuse
    def _(indices, values, shape, axes, keep_dims):
        expect_sizes("input_shape", shape)
        check_inside(indices, shape)

    @dense.shape
    def _(indices, values, shape, axes, keep_dims):
        rank = static_rank(entries(indices, values)[1], shape)
        if rank is None or axes is None or (isinstance(axes, list) and None in axes):
            return None
        return _reduced_shape(shape or [None] * rank, _axes_left(rank, axes), keep_dims)

    @dense.kernel
    def _(indices, values, shape, axes, keep_dims):
        check_parts(indices, values, shape)
        axes_left = _axes_left(len(shape), axes)
        sizes = [shape[a] for a in axes_left]
        place = positions(indices[:, axes_left], sizes)
        return reduce(values, place, math.prod(sizes)).reshape(_reduced_shape(shape, axes_left, keep_dims))

    @sparse.shape
    def _(indices, values, shape, axes, keep_dims):
        rank = static_rank(entries(indices, values)[1], shape)
        if rank is not None and not keep_dims:
            rank = None if axes is None or (isinstance(axes, list) and None in axes) else len(_axes_left(rank, axes))
        return [(None, rank), (None,), (rank,)]

    @sparse.kernel
    def _(indices, values, shape, axes, keep_dims, *, device):
        check_parts(indices, values, shape)
        axes_left = _axes_left(len(shape), axes)
        order, group, first = groups(keys(indices[:, axes_left], [shape[a] for a in axes_left]))
        total = reduce(values.index_select(0, order), group, first.shape[0])
        left = indices.index_select(0, first)
        if keep_dims:
            gone = [a for a in range(len(shape)) if a not in axes_left]
            left[:, gone] = 0
        else:
            left = left[:, axes_left]
        sizes = _reduced_shape(shape, axes_left, keep_dims)
        return left, total, torch.tensor(sizes, dtype=torch.int64, device=device)

    return dense


reduce_sum = _reduction("SparseReduceSum", SUMMABLE, _sum)
reduce_max = _reduction("SparseReduceMax", ORDERED, _max)


@reduce_sum.gradient
def _(node, grad):
    indices, _, shape, axes = node.inputs
    sizes = raw_ops._SparseReducedShape(shape, axes)
    places = raw_ops.Minimum(indices, raw_ops.Sub(sizes, np.int64(1)))  # 0 along the axes that are gone
    return [None, raw_ops.GatherNd(raw_ops.Reshape(grad, sizes), places), None, None]


reduced_shape = op("_SparseReducedShape(shape: host int64[1], axes: host int32) -> (output: int64)")
reduced_shape.shape(lambda shape, axes: (None if shape is None else len(shape),))
reduced_shape.kernel(
    lambda shape, axes: torch.tensor(_reduced_shape(shape, _axes_left(len(shape), axes), True), dtype=torch.int64)
)

# ---- softmax over the entries of each row

softmax = op(
    "SparseSoftmax(sp_indices: int64[2], sp_values: T[1], sp_shape: host int64[1]) -> (output: T)",
    T=(float16, float32, float64), opaque=True,
)  # fmt: skip


@softmax.shape
def _(sp_indices, sp_values, sp_shape):
    count, rank = entries(sp_indices, sp_values)
    rank = static_rank(rank, sp_shape)
    if rank is not None and rank < 2:
        raise ValueError(f"Input should have rank >= 2, but got {rank}")
    return (count,)


@softmax.kernel
def _(sp_indices, sp_values, sp_shape):
    check_parts(sp_indices, sp_values, sp_shape)
    if len(sp_shape) < 2:
        raise ValueError(f"Input should have rank >= 2, but got shape: {sp_shape}")
    _, row = torch.unique(keys(sp_indices[:, :-1], sp_shape[:-1]), return_inverse=True)
    count = sp_values.shape[0]
    largest = _max(sp_values, row, count)
    weight = (sp_values - largest.index_select(0, row)).exp()
    return weight / _sum(weight, row, count).index_select(0, row)


@softmax.gradient
def _(node, grad):
    indices, _, shape = node.inputs
    output = node.outputs[0]
    rows = raw_ops.SparseReduceSum(indices, raw_ops.Mul(grad, output), shape, [-1])
    lead = raw_ops.StridedSlice(indices, [0, 0], [0, -1], [1, 1], begin_mask=3, end_mask=1)
    return [None, raw_ops.Mul(raw_ops.Sub(grad, raw_ops.GatherNd(rows, lead)), output), None]


# ---- densifying

to_dense = op(
    "SparseToDense(sparse_indices: Tindices, output_shape: host Tindices[1], sparse_values: T, default_value: T;"
    " validate_indices: bool = True) -> (dense: T)",
    T=VALUES, Tindices=INDEX, opaque=True,
)  # fmt: skip


@to_dense.shape
def _(sparse_indices, output_shape, sparse_values, default_value, validate_indices):
    if sparse_indices.ndims is not None and sparse_indices.ndims > 2:
        raise ValueError(f"sparse_indices should be a scalar, vector, or matrix, got shape {sparse_indices}")
    default_value.with_rank(0)
    if isinstance(output_shape, list) and any(isinstance(size, list) for size in output_shape):
        raise ValueError(f"output_shape should be a vector: Shape must be rank 1, got {output_shape}")
    return output_shape


def _dense_places(indices, shape, values, default, validate):
    """Flat positions of the entries, on the host as an array; ``indices`` may be a scalar or a vector for one dimension."""
    if indices.ndim > 2:
        raise ValueError(f"sparse_indices should be a scalar, vector, or matrix, got shape {list(indices.shape)}")
    if not isinstance(shape, list) or any(isinstance(size, list) for size in shape):
        raise ValueError(f"output_shape should be a vector, got {shape}")
    if default.ndim:
        raise ValueError(f"default_value should be a scalar, got shape {list(default.shape)}")
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    if rows.shape[1] != len(shape):
        raise ValueError(
            f"output_shape has incorrect number of elements: {len(shape)} should be: {rows.shape[1]} to fit sparse_indices"
        )
    if values.ndim and tuple(values.shape) != (rows.shape[0],):
        raise ValueError(
            f"sparse_values has incorrect shape {list(values.shape)}, should be [] or [{rows.shape[0]}] to fit sparse_indices"
        )
    if not rows.is_cpu:
        return positions(rows, shape)
    flat = host_positions(rows.numpy(), shape)
    if flat is None:
        check_inside(rows, shape)  # names the entry
    if validate and not is_rising(flat):
        row = int(np.nonzero(flat[1:] <= flat[:-1])[0][0]) + 1
        fault = "repeated" if flat[row] == flat[row - 1] else "out of order"
        raise ValueError(
            f"indices[{row}] = {rows[row].tolist()} is {fault}. Many sparse ops require sorted indices; use "
            "tf.sparse_reorder, or validate_indices=False"
        )
    return flat


@to_dense.kernel
def _(sparse_indices, output_shape, sparse_values, default_value, validate_indices):
    place = _dense_places(sparse_indices, output_shape, sparse_values, default_value, validate_indices)
    if isinstance(place, np.ndarray) and default_value.dtype is not torch.bfloat16:
        dense = torch.full(output_shape, default_value.item(), dtype=default_value.dtype)
        dense.numpy().put(place, sparse_values.numpy())
        return dense
    place = torch.as_tensor(place)
    dense = default_value.expand(output_shape).clone()
    dense.view(-1).index_copy_(0, place, sparse_values.expand(place.shape))
    return dense


@to_dense.kernel(T=string)
def _(sparse_indices, output_shape, sparse_values, default_value, validate_indices):
    place = _dense_places(sparse_indices.cpu(), output_shape, sparse_values, default_value, validate_indices)
    flat = np.repeat(default_value.reshape(1), math.prod(output_shape))
    flat[place] = sparse_values
    return flat.reshape(output_shape)


@to_dense.gradient
def _(node, grad):
    indices, _, values, _ = node.inputs
    rows = indices
    if indices.shape.ndims is None or indices.shape.ndims < 2:
        width = raw_ops.Size(node.inputs[1])
        rows = raw_ops.Reshape(indices, raw_ops.Pack([-1, width]))
    picked = raw_ops.GatherNd(grad, rows)
    everything = raw_ops.Sum(picked, [0])
    rest = raw_ops.Sub(raw_ops.Sum(raw_ops.Reshape(grad, [-1]), [0]), everything)
    values_grad = everything if values.shape.ndims == 0 else raw_ops._SumToShape(picked, raw_ops.Shape(values))
    return [None, None, values_grad, rest]
