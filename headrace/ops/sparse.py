"""Sparse tensors rearranged: order, shape, joining, splitting, slicing, filling of empty rows."""

from __future__ import annotations

import math

import torch

from headrace.core.dtypes import ANY, NUMERIC, resource, variant
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.regular import WIDE_UNSIGNED
from headrace.ops.shared.refuse import expect_inside
from headrace.ops.shared.sparse_entry import (
    check_inside,
    check_parts,
    coordinates,
    entries,
    host_vector,
    in_order,
    join,
    positions,
    select,
    static_rank,
    take,
)

VALUES = tuple(t for t in ANY if t not in (resource, variant, *WIDE_UNSIGNED))
SUMMABLE = tuple(t for t in NUMERIC if t not in WIDE_UNSIGNED)


def _vector(numbers, device):
    vector = host_vector(numbers)
    return vector if device.type == "cpu" else vector.to(device)


# ---- order

reorder = op(
    "SparseReorder(input_indices: int64[2], input_values: T[1], input_shape: host int64[1])"
    " -> (output_indices: int64, output_values: T)",
    T=VALUES, opaque=True,
)  # fmt: skip


@reorder.shape
def _(indices, values, shape):
    count, rank = entries(indices, values)
    return [(count, static_rank(rank, shape)), (count,)]


@reorder.kernel
def _(indices, values, shape):
    check_parts(indices, values, shape)
    return in_order(indices, values, shape)


@reorder.gradient
def _(node, indices_grad, values_grad):
    indices, _, shape = node.inputs
    count = raw_ops.Size(node.inputs[1])
    order = raw_ops.SparseReorder(indices, raw_ops.Range(0, count, 1), shape).output_values
    return [None, raw_ops.GatherV2(values_grad, raw_ops.InvertPermutation(order), 0), None]


# ---- another dense shape

reshape = op(
    "SparseReshape(input_indices: int64[2], input_shape: host int64[1], new_shape: host int64[1])"
    " -> (output_indices: int64, output_shape: int64)",
    opaque=True,
)  # fmt: skip


@reshape.shape
def _(indices, old, new):
    dims = indices.with_rank(2).tuple
    static_rank(dims[1] if dims else None, old)
    rank = None if new is None else len(new)
    return [(dims[0] if dims else None, rank), (rank,)]


@reshape.value
def _(node, indices, old, new):
    if old is None or new is None or any(v is None for v in (*old.tolist(), *new.tolist())):
        return None, None if new is None else [None if v in (None, -1) else v for v in new.tolist()]
    try:
        return None, _target(old.tolist(), new.tolist())
    except ValueError:  # it fails when it runs, naming the node
        return None, None


def _target(old, new):
    """The new shape with its -1 worked out."""
    total = math.prod(old)
    unknown = [i for i, size in enumerate(new) if size == -1]
    if len(unknown) > 1:
        raise ValueError(f"only one output dimension may be -1, not both {unknown[0]} and {unknown[1]}")
    if any(size < -1 for size in new):
        raise ValueError(f"size {min(new)} must be non-negative, not {min(new)}")
    if not unknown:
        if math.prod(new) != total:
            raise ValueError(
                f"Input to reshape is a tensor with {total} dense values, but the requested shape has {math.prod(new)}"
            )
        return list(new)
    product = -math.prod(new)
    if product <= 0:
        raise ValueError(
            f"reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
            f"non-zero: {new}"
        )
    if total % product:
        raise ValueError(
            f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a multiple "
            f"of {product}. input_shape={old} output_shape={new}"
        )
    return [total // product if size == -1 else size for size in new]


@reshape.kernel
def _(indices, old, new, *, device):
    if indices.ndim != 2 or indices.shape[1] != len(old):
        raise ValueError(f"indices of shape {list(indices.shape)} do not fit a dense shape of length {len(old)}")
    target = _target(old, new)
    moved = indices.clone() if target == old else coordinates(positions(indices, old), target)
    return moved, _vector(target, device)


# ---- joining and splitting

concat = op(
    "SparseConcat(indices: N*int64[2], values: N*T[1], shapes: N*int64[1]; concat_dim: int)"
    " -> (output_indices: int64, output_values: T, output_shape: int64)",
    T=VALUES, N=2, opaque=True, lenient=True,
)  # fmt: skip
concat.not_differentiable()


@concat.shape
def _(indices, values, shapes, concat_dim):
    counts, rank = [], None
    for i, v, s in zip(indices, values, shapes, strict=True):
        count, columns = entries(i, v)
        length = s.with_rank(1).tuple or (None,)
        for size in (columns, length[0]):
            if None not in (size, rank) and size != rank:
                raise ValueError(
                    f"Dimensions must be equal, but are {rank} and {size}: the ranks of the sparse tensors"
                )
            rank = size if rank is None else rank
        counts.append(count)
    if rank is not None and not -rank <= concat_dim < rank:
        raise ValueError(f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}")
    total = None if None in counts else sum(counts)
    return [(total, rank), (total,), (rank,)]


@concat.kernel
def _(indices, values, shapes, concat_dim, *, device):
    sizes = [s.tolist() for s in shapes]
    axis = concat_dim % len(sizes[0])
    offset, offsets = 0, []
    for number, (i, v, size) in enumerate(zip(indices, values, sizes, strict=True)):
        check_parts(i, v, size)
        for dim, (a, b) in enumerate(zip(sizes[0], size, strict=True)):
            if dim != axis and a != b:
                raise ValueError(
                    f"Input shapes must match: expected {a} for dimension {dim} but got {b} at position {number}"
                )
        offsets.append(offset)
        offset += size[axis]
    shape = [offset if d == axis else s for d, s in enumerate(sizes[0])]
    together, start = torch.cat(indices), 0
    for i, by in zip(indices, offsets, strict=True):
        if by:
            together[start : start + len(i), axis] += by
        start += len(i)
    return *in_order(together, join(values), shape), _vector(shape, device)


split = op(
    "SparseSplit(split_dim: host int64[0], indices: int64[2], values: T[1], shape: host int64[1]; num_split: int)"
    " -> (output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64)",
    T=VALUES, dynamic_shape=True,
)  # fmt: skip
split.not_differentiable()


@split.shape
def _(split_dim, indices, values, shape, num_split):
    rank = static_rank(entries(indices, values)[1], shape)
    if num_split < 1:
        raise ValueError(f"num_split must be at least 1, got {num_split}")
    return [(None, rank)] * num_split + [(None,)] * num_split + [(rank,)] * num_split


@split.kernel
def _(split_dim, indices, values, shape, num_split, *, device):
    check_parts(indices, values, shape)
    check_inside(indices, shape)
    axis = int(split_dim) + len(shape) if int(split_dim) < 0 else int(split_dim)
    if not 0 <= axis < len(shape):
        raise ValueError(f"Input split_dim should be between 0 and rank ({len(shape)}), got {split_dim}")
    if not 1 <= num_split <= shape[axis]:
        raise ValueError(
            f"Input num_split should be between 1 and the splitting dimension size ({shape[axis]}), got {num_split}"
        )
    size, extra = divmod(shape[axis], num_split)  # the first ``extra`` parts are one larger
    start, outputs = 0, ([], [], [])
    for part in range(num_split):
        length = size + (part < extra)
        sizes = [length if d == axis else s for d, s in enumerate(shape)]
        starts = [start if d == axis else 0 for d in range(len(shape))]
        for out, value in zip(outputs, _cut(indices, values, starts, sizes, device), strict=True):
            out.append(value)
        start += length
    return outputs


def _cut(indices, values, start, size, device):
    """The entries within a box, with coordinates counted from its corner."""
    corner = _vector(start, device)
    inside = ((indices >= corner) & (indices < corner + _vector(size, device))).all(1)
    return indices[inside] - corner, select(values, inside), _vector(size, device)


# ---- slicing

slice_ = op(
    "SparseSlice(indices: int64[2], values: T[1], shape: host int64[1], start: host int64[1], size: host int64[1])"
    " -> (output_indices: int64, output_values: T, output_shape: int64)",
    T=VALUES, dynamic_shape=True,
)  # fmt: skip


@slice_.shape
def _(indices, values, shape, start, size):
    rank = static_rank(static_rank(static_rank(entries(indices, values)[1], shape), start), size)
    return [(None, rank), (None,), (rank,)]


@slice_.value
def _(node, indices, values, *hosts):
    if any(h is None or h.dtype == object for h in hosts):
        return None, None, None
    return None, None, _slice_shape(*(h.tolist() for h in hosts))


def _slice_shape(shape, start, size):
    return [max(0, min(n, s - b)) for s, b, n in zip(shape, start, size, strict=True)]


@slice_.kernel
def _(indices, values, shape, start, size, *, device):
    check_parts(indices, values, shape)
    return _cut(indices, values, start, _slice_shape(shape, start, size), device)


@slice_.gradient
def _(node, indices_grad, values_grad, shape_grad):
    indices, _, _, start, _ = node.inputs
    return [None, raw_ops.SparseSliceGrad(values_grad, indices, start, node.outputs[0]), None, None, None]


def _matches(places, among):
    """For each row of ``places``: where the equal row of ``among`` is, and whether there is one.  Rows do not repeat."""
    both = torch.cat([places, among])
    sizes = both.amax(0) + 1
    key = both[:, 0] if both.shape[1] else both.new_zeros(both.shape[0])
    for axis in range(1, both.shape[1]):
        key = key * sizes[axis] + both[:, axis]
    mine, theirs = key[: places.shape[0]], key[places.shape[0] :]
    ordered, order = theirs.sort()
    place = torch.searchsorted(ordered, mine).clamp(max=ordered.shape[0] - 1)
    return order.index_select(0, place), ordered.index_select(0, place) == mine


def _back(grad, places, among):
    """Each wanted entry's share of a gradient that belongs to the entries ``among``; zero where there is none."""
    if not places.shape[0] or not among.shape[0]:
        return grad.new_zeros(places.shape[0])
    place, matched = _matches(places, among)
    return torch.where(matched, grad.index_select(0, place), torch.zeros((), dtype=grad.dtype, device=grad.device))


def _check_back(grad, entries, *others):
    """A gradient has one number for each entry, and all indices are of one rank."""
    if grad.shape[0] != entries.shape[0]:
        raise ValueError(
            f"# elements in backprop_val_grad and rows in the result's indices should match ({grad.shape[0]} vs. "
            f"{entries.shape[0]})"
        )
    ranks = [t.shape[-1] for t in (entries, *others)]
    if len(set(ranks)) > 1:
        raise ValueError(f"The densified operands should have the same ndims; got ranks {ranks}")


slice_grad = op(
    "SparseSliceGrad(backprop_val_grad: T[1], input_indices: int64[2], input_start: int64[1], output_indices: int64[2])"
    " -> (val_grad: T)",
    T=SUMMABLE, opaque=True, lenient=True,
)  # fmt: skip
slice_grad.shape(lambda grad, indices, start, output: (indices.with_rank(2)[0],))
slice_grad.refuse(lambda grad, indices, start, output: _check_back(grad, output, indices, start[None]))
slice_grad.kernel(lambda grad, indices, start, output: _back(grad, indices, output + start))

add_grad = op(
    "SparseAddGrad(backprop_val_grad: T[1], a_indices: int64[2], b_indices: int64[2], sum_indices: int64[2])"
    " -> (a_val_grad: T, b_val_grad: T)",
    T=SUMMABLE, opaque=True,
)  # fmt: skip
add_grad.shape(lambda grad, a, b, total: [(a.with_rank(2)[0],), (b.with_rank(2)[0],)])
add_grad.refuse(lambda grad, a, b, total: _check_back(grad, total, a, b))
add_grad.kernel(lambda grad, a, b, total: (_back(grad, a, total), _back(grad, b, total)))

# ---- rows without entries

fill_empty_rows = op(
    "SparseFillEmptyRows(indices: int64[2], values: T[1], dense_shape: host int64[1], default_value: T[0])"
    " -> (output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    T=VALUES, dynamic_shape=True, lenient=True,
)  # fmt: skip


@fill_empty_rows.shape
def _(indices, values, dense_shape, default_value):
    count, rank = entries(indices, values)
    default_value.with_rank(0)
    rows = dense_shape[0] if dense_shape else None
    return [(None, static_rank(rank, dense_shape)), (None,), (rows,), (count,)]


@fill_empty_rows.kernel
def _(indices, values, dense_shape, default_value, *, device):
    check_parts(indices, values, dense_shape)
    if not dense_shape:
        raise ValueError("Dense shape cannot be empty.")
    check_inside(indices[:, :1], dense_shape[:1])
    rows = dense_shape[0]
    empty = torch.ones(rows, dtype=torch.bool, device=device)
    empty[indices[:, 0]] = False
    missing = empty.nonzero()[:, 0]
    places = torch.zeros((missing.shape[0], indices.shape[1]), dtype=torch.int64, device=device)
    places[:, 0] = missing
    together = torch.cat([indices, places])
    order = torch.argsort(together[:, 0], stable=True)
    back = torch.empty_like(order)
    back[order] = torch.arange(order.shape[0], device=device)
    all_values = join([values, take(default_value.reshape(1), torch.zeros_like(missing))])
    return together.index_select(0, order), take(all_values, order), empty, back[: indices.shape[0]]


@fill_empty_rows.gradient
def _(node, indices_grad, values_grad, empty_grad, map_grad):
    gradients = raw_ops.SparseFillEmptyRowsGrad(node.outputs[3], values_grad)
    return [None, gradients.d_values, None, gradients.d_default_value]


fill_empty_rows_grad = op(
    "SparseFillEmptyRowsGrad(reverse_index_map: int64[1], grad_values: T[1]) -> (d_values: T, d_default_value: T)",
    T=SUMMABLE,
    lenient=True,
)
fill_empty_rows_grad.shape(lambda reverse, grad: [reverse.with_rank(1), ()])


@fill_empty_rows_grad.refuse
def _(reverse_index_map, grad_values):
    size = grad_values.shape[0]
    expect_inside(
        "reverse index", reverse_index_map, size, "Elements in {label} must be in [0, {size}) but got {value}"
    )


@fill_empty_rows_grad.kernel
def _(reverse_index_map, grad_values):
    """Entries that were there get their own gradient; the default value gets the rest."""
    filled = torch.ones_like(grad_values).index_fill(0, reverse_index_map, 0)
    total = (grad_values * filled).sum(0)
    return grad_values.index_select(0, reverse_index_map), total.to(grad_values.dtype)
