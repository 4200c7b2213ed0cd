"""Elements by index tensor: Gather, GatherNd and their inverse, ScatterNd and the TensorScatter ops.

On the CPU an index out of range raises an error that names it; the search for it runs only after torch has refused.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX, NUMERIC
from headrace.core.registry import op
from headrace.core.shape import TensorShape, unknown_shape
from headrace.core.wording import in_brackets
from headrace.graph import raw_ops
from headrace.graph.infer import known_value
from headrace.graph.structures import IndexedSlices
from headrace.ops.declare.unsigned import move_as_signed
from headrace.ops.shared.refuse import expect_sizes

NOT_STRING = tuple(d for d in ANY if d not in (dtypes.string, dtypes.resource, dtypes.variant))


_MANY = 1 << 14  # elements


def on_host(x):
    """Whether the values are in the host's memory, and real (not traced): then NumPy may look at them."""
    return type(x) is torch.Tensor and x.is_cpu


def check_index(indices, size, name="indices"):
    """Raises the error for the first index outside [0, size), if there is one."""
    flat = np.asarray(indices).reshape(-1)
    bad = np.flatnonzero((flat < 0) | (flat >= size))
    if bad.size:
        where = np.unravel_index(int(bad[0]), np.asarray(indices).shape)
        label = f"{name}[{','.join(map(str, where))}]" if where else name
        raise ValueError(f"{label} = {flat[bad[0]]} is not in [0, {size})")


# ---- Gather


def _gather_shape(params, indices, axis, batch_dims=0):
    p, i = params.tuple, indices.tuple
    if p is not None and not p:
        raise ValueError("Shape must be at least rank 1 but is rank 0: params of Gather")
    if i is not None and not -len(i) <= batch_dims <= len(i):
        raise ValueError(f"batch_dims ({batch_dims}) must be at most the rank of indices ({len(i)})")
    if p is None or i is None or axis is None:
        ranked = p is not None and i is not None
        return unknown_shape(len(p) + len(i) - 1 - batch_dims % (len(i) + 1) if ranked and batch_dims >= 0 else None)
    if isinstance(axis, list):
        raise ValueError(f"Shape must be rank 0 but is rank 1: axis {axis} of Gather")
    if not -len(p) <= axis < len(p):
        raise ValueError(f"Shape must be at least rank {axis + 1 if axis >= 0 else -axis} but is rank {len(p)}")
    axis %= len(p)
    batch = batch_dims + len(i) if batch_dims < 0 else batch_dims
    if batch > axis:
        raise ValueError(f"batch_dims ({batch_dims}) must be less than or equal to axis ({axis})")
    lead = TensorShape(p[:batch]).merge_with(i[:batch]).tuple
    return TensorShape.from_tuple((*lead, *p[batch:axis], *i[batch:], *p[axis + 1 :]))


def _gather(params, indices, axis, batch_dims):
    if batch_dims:
        return _batch_gather(params, indices, axis, batch_dims)
    try:
        if indices.ndim == 1:
            return params.index_select(axis, indices)
        axis = axis + params.ndim if axis < 0 else axis
        flat = params.index_select(axis, indices.reshape(-1))
        return flat.reshape(params.shape[:axis] + indices.shape + params.shape[axis + 1 :])
    except (IndexError, RuntimeError):
        check_index(indices.cpu(), params.shape[axis])
        raise


def _batch_layout(params_shape, indices_shape, axis, batch_dims):
    """-> the sizes (batch, between, axis, rest, indices) a batched gather works on, and the shape of its result."""
    axis %= len(params_shape)
    batch = batch_dims % len(indices_shape) if batch_dims < 0 else batch_dims
    sizes = (
        math.prod(params_shape[:batch]), math.prod(params_shape[batch:axis]), params_shape[axis],
        math.prod(params_shape[axis + 1 :]), math.prod(indices_shape[batch:]),
    )  # fmt: skip
    return sizes, (*params_shape[:axis], *indices_shape[batch:], *params_shape[axis + 1 :])


def _batch_gather(params, indices, axis, batch_dims):
    (batch, between, size, rest, count), shape = _batch_layout(params.shape, indices.shape, axis, batch_dims)
    index = indices.reshape(batch, 1, count, 1).long().expand(batch, between, count, rest)
    try:
        return params.reshape(batch, between, size, rest).gather(2, index).reshape(shape)
    except RuntimeError:
        check_index(indices.cpu(), size)
        raise


def _gather_arrays(params, indices, axis, batch_dims):
    indices = np.asarray(indices)
    unsigned = indices.view(f"u{indices.itemsize}")  # so negative ones are too large
    if indices.size and np.maximum.reduce(unsigned, None) >= params.shape[axis]:
        check_index(indices, params.shape[axis])
    if not batch_dims:
        return params.take(indices, axis)
    (batch, between, size, rest, count), shape = _batch_layout(params.shape, indices.shape, axis, batch_dims)
    index = np.broadcast_to(indices.reshape(batch, 1, count, 1), (batch, between, count, rest))
    return np.take_along_axis(params.reshape(batch, between, size, rest), index, 2).reshape(shape)


def _gather_strings(params, indices, axis, batch_dims):
    return np.asarray(_gather_arrays(params, indices.numpy(), axis, batch_dims), dtype=object)


gather_v2 = op(
    "GatherV2(params: Tparams[1+], indices: Tindices, axis: host Taxis[0]; batch_dims: int = 0) -> (output: Tparams)",
    Tparams=ANY, Tindices=INDEX, Taxis=INDEX,
)  # fmt: skip
gather_v2.shape(_gather_shape)
gather_v2.kernel(_gather)
gather_v2.kernel(_gather_strings, Tparams=dtypes.string)
gather_v2.array_kernel(_gather_arrays, large="params")
move_as_signed(gather_v2, "Tparams")


@gather_v2.value
def _(node, params, indices, axis):
    if params is None or indices is None or axis is None or object in (indices.dtype, axis.dtype):
        return None
    size = params.shape[int(axis)]
    if node.attrs["batch_dims"] or ((indices < 0) | (indices >= size)).any():
        return None
    return np.take(params, indices, int(axis))


def _rows_gradient(grad, params, indices):
    """Gradients of whole rows stay sparse, as TF1 keeps them."""
    return _sparse_rows(grad, raw_ops.Shape(params), indices)


def _sparse_rows(grad, dense_shape, indices):
    tail = raw_ops.StridedSlice(dense_shape, [1], [0], [1], end_mask=1)
    size = raw_ops.ExpandDims(raw_ops.Size(indices), 0)
    values = raw_ops.Reshape(grad, raw_ops.ConcatV2([size, tail], 0))
    return IndexedSlices(values, raw_ops.Reshape(indices, size), dense_shape)


@gather_v2.gradient
def _(node, grad):
    params, indices, axis = node.inputs
    batch_dims = node.attrs["batch_dims"]
    if batch_dims == 0 and known_value(axis) == 0:
        return [_rows_gradient(grad, params, indices), None, None]
    dense = raw_ops._GatherGrad(grad, indices, raw_ops.Shape(params), axis, batch_dims=batch_dims)
    return [dense, None, None]


gather = op(
    "Gather(params: Tparams[1+], indices: Tindices; validate_indices: bool = True) -> (output: Tparams)",
    Tparams=ANY, Tindices=INDEX,
)  # fmt: skip
gather.shape(lambda params, indices, validate_indices: _gather_shape(params, indices, 0))
gather.gradient(lambda node, grad: [_rows_gradient(grad, *node.inputs), None])
gather.kernel(lambda params, indices, validate_indices: _gather(params, indices, 0, 0))
gather.kernel(lambda params, indices, validate_indices: _gather_strings(params, indices, 0, 0), Tparams=dtypes.string)

move_as_signed(gather, "Tparams")

resource_gather = op(
    "ResourceGather(resource: resource dtype, indices: Tindices; dtype: type, batch_dims: int = 0, "
    "validate_indices: bool = True) -> (output: dtype)",
    dtype=ANY, Tindices=INDEX, reads=True, stateful=True, by_ref="GatherV2",
)  # fmt: skip


@resource_gather.shape
def _(resource, indices, dtype, batch_dims, validate_indices):
    return _gather_shape(resource, indices, batch_dims, batch_dims)


@resource_gather.gradient
def _(node, grad):
    handle, indices = node.inputs
    batch_dims = node.attrs["batch_dims"]
    shape = raw_ops.VariableShape(handle)
    if batch_dims == 0:
        return [_sparse_rows(grad, shape, indices), None]
    return [raw_ops._GatherGrad(grad, indices, shape, batch_dims, batch_dims=batch_dims), None]


@resource_gather.kernel
def _(resource, indices, dtype, batch_dims, validate_indices):
    return _gather(resource.value, indices, batch_dims, batch_dims)


@resource_gather.kernel(dtype=dtypes.string)
def _(resource, indices, dtype, batch_dims, validate_indices):
    return _gather_strings(resource.value, indices, batch_dims, batch_dims)


gather_grad = op(
    "_GatherGrad(grad: T, indices: Tindices, shape: host int32, axis: host Taxis; batch_dims: int = 0) -> (output: T)",
    T=NUMERIC, Tindices=INDEX, Taxis=INDEX,
)  # fmt: skip
gather_grad.shape(lambda grad, indices, shape, axis, batch_dims: shape)


@gather_grad.kernel
def _(grad, indices, shape, axis, batch_dims):
    """The transpose of Gather: adds each slice of ``grad`` to the place it was read from."""
    (batch, between, size, rest, count), _ = _batch_layout(shape, indices.shape, axis, batch_dims)
    index = indices.reshape(batch, 1, count, 1).long().expand(batch, between, count, rest)
    zeros = grad.new_zeros((batch, between, size, rest))
    return zeros.scatter_add(2, index, grad.reshape(batch, between, count, rest)).reshape(shape)


@gather_grad.gradient
def _(node, grad):
    _, indices, _, axis = node.inputs
    return [raw_ops.GatherV2(grad, indices, axis, batch_dims=node.attrs["batch_dims"]), None, None, None]


# ---- GatherNd, ScatterNd


def _nd_index(indices, shape, what="shape"):
    """Index tuples along the last axis as flat positions into the leading dimensions of ``shape``."""
    depth = indices.shape[-1]
    if depth > len(shape):
        raise ValueError(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {len(shape)}")
    lead = tuple(shape[:depth])
    if depth == 1:
        return indices.reshape(-1), lead
    if depth and on_host(indices) and 0 not in indices.shape:
        columns = indices.numpy().reshape(-1, depth).T
        try:
            return torch.from_numpy(np.ravel_multi_index(tuple(columns), lead)), lead
        except ValueError:
            _check_nd(indices, shape, what)
            raise
    strides = [math.prod(lead[i + 1 :]) for i in range(depth)]
    flat = indices.reshape(math.prod(indices.shape[:-1]), depth).long()
    position = flat.new_zeros(flat.shape[0])
    for i, stride in enumerate(strides):
        column = flat[:, i]
        if column.device.type == "cpu":
            # Within a row of indices a bad entry could land on another valid position: mark it instead.
            column = torch.where((column < 0) | (column >= lead[i]), math.prod(lead), column)
        position = position + column * stride
    return position, lead


def _check_nd(indices, shape, what="shape"):
    flat = indices.reshape(math.prod(indices.shape[:-1]), indices.shape[-1]).cpu()
    limits = torch.tensor(list(shape[: flat.shape[1]]))
    bad = ((flat < 0) | (flat >= limits)).any(1).nonzero()
    if bad.numel():
        row = int(bad[0, 0])
        where = np.unravel_index(row, tuple(indices.shape[:-1])) if indices.ndim > 1 else ()
        label = f"indices[{','.join(map(str, where))}]" if where else "indices"
        raise ValueError(f"{label} = {flat[row].tolist()} does not index into {what} {in_brackets(shape)}")


gather_nd = op(
    "GatherNd(params: Tparams, indices: Tindices[1+]) -> (output: Tparams)", Tparams=ANY, Tindices=INDEX, lenient=True
)  # fmt: skip


@gather_nd.shape
def _nd_gathered_shape(params, indices):
    p, i = params.tuple, indices.tuple
    if i is not None and not i:
        raise ValueError("Shape must be at least rank 1 but is rank 0: indices of GatherNd")
    if p is None or i is None or i[-1] is None:
        return None
    if i[-1] > len(p):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape {indices} and params shape {params}"
        )
    return i[:-1] + p[i[-1] :]


@gather_nd.gradient
def _(node, grad):
    params, indices = node.inputs
    return _nd_gradient(grad, raw_ops.Shape(params, out_type=node.attrs["Tindices"]), indices)


def _nd_gradient(grad, shape, indices):
    dims = indices.shape.tuple
    if dims is not None and len(dims) == 2 and dims[-1] == 1:
        return [IndexedSlices(grad, raw_ops.Squeeze(indices, [-1]), shape), None]
    return [raw_ops.ScatterNd(indices, grad, shape), None]


@gather_nd.kernel
def _gather_nd(params, indices):
    position, lead = _nd_index(indices, params.shape, "param shape")
    rest = params.shape[len(lead) :]
    try:
        rows = params if len(lead) == 1 else params.reshape(math.prod(lead), *rest)
        taken = rows.index_select(0, position)
    except IndexError:
        _check_nd(indices, params.shape, "param shape")
        raise
    return taken if indices.ndim == 2 else taken.reshape(indices.shape[:-1] + rest)


move_as_signed(gather_nd, "Tparams")


@gather_nd.kernel(Tparams=dtypes.string)
def _gather_nd_strings(params, indices):
    _check_nd(indices, params.shape, "param shape")
    index = indices.numpy()
    return np.asarray(params[tuple(np.moveaxis(index, -1, 0))], dtype=object)


resource_gather_nd = op(
    "ResourceGatherNd(resource: resource dtype, indices: Tindices; dtype: type) -> (output: dtype)",
    dtype=ANY, Tindices=INDEX, reads=True, stateful=True, by_ref="GatherNd",
)  # fmt: skip
resource_gather_nd.shape(lambda resource, indices, dtype: _nd_gathered_shape(resource, indices))
resource_gather_nd.kernel(lambda resource, indices, dtype: _gather_nd(resource.value, indices))
resource_gather_nd.kernel(
    lambda resource, indices, dtype: _gather_nd_strings(resource.value, indices), dtype=dtypes.string
)


@resource_gather_nd.gradient
def _(node, grad):
    handle, indices = node.inputs
    return _nd_gradient(grad, raw_ops.VariableShape(handle, out_type=node.attrs["Tindices"]), indices)


def _scatter_shape(indices, updates, shape):
    i, u = indices.tuple, updates.tuple
    if i is not None and u is not None and i and i[-1] is not None and shape is not None:
        if i[-1] > len(shape):
            raise ValueError(
                f"The inner dimension of indices ({i[-1]}) is larger than the rank of the output ({len(shape)})"
            )
        want = TensorShape(i[:-1] + tuple(shape[i[-1] :]))
        if not want.is_compatible_with(updates):
            raise ValueError(
                f"Shape of updates {updates} must match indices.shape[:-1] + shape[indices.shape[-1]:] = {want}"
            )
    return shape


def _check_updates(indices, updates, shape):
    want = indices.shape[:-1] + shape[indices.shape[-1] :]
    if updates.shape != want:
        raise ValueError(
            f"updates have shape {list(updates.shape)}, but indices of shape {list(indices.shape)} into {list(shape)} "
            f"ask for {list(want)}"
        )


def scatter_nd_into(base, indices, updates, mode, owned=False):
    """A copy of ``base``, or itself if it is ``owned``, with slices added, subtracted or replaced."""
    _check_updates(indices, updates, base.shape)
    if on_host(indices) and not base.numel():
        _check_nd(indices, base.shape)  # torch would ignore them
    position, lead = _nd_index(indices, base.shape)
    rest = base.shape[len(lead) :]
    flat = base if len(lead) == 1 else base.reshape(math.prod(lead), *rest)
    rows = updates if indices.ndim == 2 else updates.reshape(position.shape[0], *rest)
    changed = flat if owned else flat.clone()
    try:
        if mode == "update":
            changed.index_copy_(0, position.long(), rows)
        elif on_host(rows) and rows.ndim == 2 and rows.numel() > _MANY and rows.dtype in (torch.float32, torch.float64):
            # This takes a third less time than index_add_ for many rows.
            index = position.long().unsqueeze(1).expand(rows.shape)
            changed.scatter_add_(0, index, rows if mode == "add" else rows.neg())
        else:
            changed.index_add_(0, position, rows, alpha=1 if mode == "add" else -1)
    except (IndexError, RuntimeError):
        _check_nd(indices, base.shape)
        raise
    return changed if len(lead) == 1 else changed.reshape(base.shape)


scatter_nd = op(
    "ScatterNd(indices: Tindices[1+], updates: T, shape: host Tindices[1]) -> (output: T)",
    T=(*NOT_STRING, dtypes.string),
    Tindices=INDEX,
    lenient=True,
)
scatter_nd.shape(_scatter_shape)
scatter_nd.gradient(lambda node, grad: [None, raw_ops.GatherNd(grad, node.inputs[0]), None])


@scatter_nd.refuse
def _(indices, updates, shape):
    expect_sizes("shape", shape)


@scatter_nd.kernel
def _(indices, updates, shape):
    mode = "update" if updates.dtype is torch.bool else "add"
    return scatter_nd_into(updates.new_zeros(shape), indices, updates, mode, owned=True)


move_as_signed(scatter_nd)


def _scatter_strings(base, indices, updates, join):
    """Puts slices into an array of strings, behind what is there or in its place."""
    _check_updates(indices, updates, base.shape)
    _check_nd(indices, base.shape)
    index = indices.numpy()
    for at in np.ndindex(*index.shape[:-1]):
        where = tuple(index[at])
        base[where] = base[where] + updates[at] if join else updates[at]
    return base


@scatter_nd.kernel(T=dtypes.string)
def _(indices, updates, shape):
    return _scatter_strings(np.full(shape, b"", object), indices, updates, join=True)


def _tensor_scatter(name, first, mode, types):
    definition = op(
        f"{name}({first}: T[1+], indices: Tindices[1+], updates: T) -> (output: T)", T=types, Tindices=INDEX
    )  # fmt: skip
    definition.shape(lambda base, indices, updates: _scatter_shape(indices, updates, base.tuple) or base)
    definition.kernel(lambda base, indices, updates: scatter_nd_into(base, indices, updates, mode))
    move_as_signed(definition)
    return definition


tensor_scatter_update = _tensor_scatter("TensorScatterUpdate", "tensor", "update", (*NOT_STRING, dtypes.string))
tensor_scatter_update.kernel(
    lambda base, indices, updates: _scatter_strings(base.copy(), indices, updates, join=False), T=dtypes.string
)
tensor_scatter_add = _tensor_scatter("TensorScatterAdd", "tensor", "add", NUMERIC)
tensor_scatter_sub = _tensor_scatter("TensorScatterSub", "tensor", "sub", NUMERIC)
non_aliasing_add = _tensor_scatter("ScatterNdNonAliasingAdd", "input", "add", NUMERIC)


@tensor_scatter_update.gradient
def _(node, grad):
    _, indices, updates = node.inputs
    erased = raw_ops.TensorScatterUpdate(grad, indices, raw_ops.ZerosLike(updates))
    return [erased, None, raw_ops.GatherNd(grad, indices)]


tensor_scatter_add.gradient(lambda node, grad: [grad, None, raw_ops.GatherNd(grad, node.inputs[1])])
tensor_scatter_sub.gradient(lambda node, grad: [grad, None, raw_ops.Neg(raw_ops.GatherNd(grad, node.inputs[1]))])
non_aliasing_add.gradient(lambda node, grad: [grad, None, raw_ops.GatherNd(grad, node.inputs[1])])
