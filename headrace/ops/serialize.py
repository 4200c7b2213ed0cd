"""Tensors and sparse tensors as strings, and back.  Runs on the host."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY, resource, string, variant
from headrace.core.registry import op
from headrace.ops.shared.sparse_entry import check_inside, check_parts, entries, join, select
from headrace.ops.shared.string_array import array_of, scalar_of
from headrace.resources.calling.packed import pack, unpack

HELD = tuple(t for t in ANY if t not in (resource, variant) and not t.is_quantized)


serialize = op("SerializeTensor(tensor: T) -> (serialized: string[0])", T=HELD, host=True)
serialize.kernel(lambda tensor: scalar_of(pack(tensor, raw_strings=False)))


parse = op(
    "ParseTensor(serialized: string; out_type: type) -> (output: out_type)",
    out_type=HELD,
    host=True,
    dynamic_shape=True,
)
parse.not_differentiable()
parse.shape(lambda serialized, out_type: None)


@parse.kernel
def _(serialized, out_type):
    _check_scalar(serialized)
    return unpack(serialized[()], out_type)


def _check_scalar(serialized):
    if serialized.ndim:
        raise ValueError(f"Expected `serialized` to be a scalar, got shape: {list(serialized.shape)}")


# ---- sparse tensors: indices, values and shape, each a string

_PARTS = "sparse_indices: int64[2], sparse_values: T[1], sparse_shape: int64[1]; out_type: type = string"

one = op(f"SerializeSparse({_PARTS}) -> (serialized_sparse: string)", T=HELD, out_type=string, host=True)


@one.shape
def _(sparse_indices, sparse_values, sparse_shape, out_type):
    entries(sparse_indices, sparse_values)
    return (3,)


@one.kernel
def _(sparse_indices, sparse_values, sparse_shape, out_type):
    check_parts(sparse_indices, sparse_values, sparse_shape.tolist())
    return array_of([pack(sparse_indices), pack(sparse_values), pack(sparse_shape)])


many = op(
    f"SerializeManySparse({_PARTS}) -> (serialized_sparse: string)",
    T=HELD,
    out_type=string,
    host=True,
    dynamic_shape=True,
)


@many.shape
def _(sparse_indices, sparse_values, sparse_shape, out_type):
    entries(sparse_indices, sparse_values)
    return (None, 3)


@many.kernel
def _(sparse_indices, sparse_values, sparse_shape, out_type):
    """One row for each row of the first dimension."""
    sizes = sparse_shape.tolist()
    check_parts(sparse_indices, sparse_values, sizes)
    if len(sizes) < 2:
        raise ValueError(f"Rank of input SparseTensor should be > 1, but saw rank: {len(sizes)}")
    check_inside(sparse_indices, sizes)
    shape = pack(sparse_shape[1:].clone())
    packed = []
    for row in range(sizes[0]):
        mine = sparse_indices[:, 0] == row
        packed += [pack(sparse_indices[mine][:, 1:].contiguous()), pack(select(sparse_values, mine)), shape]
    return array_of(packed, (sizes[0], 3))


_BACK = "dtype: type) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)"


def _join_rows(rows, lead, dtype):
    """Serialized sparse tensors of one rank as one of a higher rank; ``lead`` is the shape of the new dimensions."""
    parts = [(unpack(i, torch.int64), unpack(v, dtype), unpack(s, torch.int64)) for i, v, s in rows]
    ranks = {p[2].shape[0] for p in parts}
    if len(ranks) > 1:
        raise ValueError(f"Inconsistent rank across SparseTensors: saw ranks {sorted(ranks)}")
    indices, shape = [], torch.stack([p[2] for p in parts]).amax(0)
    for place, (index, _, _) in zip(np.ndindex(*lead), parts, strict=True):
        outer = torch.tensor(place, dtype=torch.int64).expand(index.shape[0], len(lead))
        indices.append(torch.cat([outer, index], 1))
    return torch.cat(indices), join([p[1] for p in parts]), torch.cat([torch.tensor(lead, dtype=torch.int64), shape])


back_many = op(
    f"DeserializeManySparse(serialized_sparse: string[2]; {_BACK}", dtype=HELD, host=True, dynamic_shape=True
)
back = op(f"DeserializeSparse(serialized_sparse: string[1+]; {_BACK}", dtype=HELD, host=True, dynamic_shape=True)
for _definition in (back_many, back):
    _definition.not_differentiable()


@back_many.shape
def _(serialized_sparse, dtype):
    serialized_sparse.merge_with([None, 3])
    return [(None, None), (None,), (None,)]


@back.shape
def _(serialized_sparse, dtype):
    dims = serialized_sparse.with_rank_at_least(1).tuple
    if dims is not None and dims[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {dims[-1]}")
    return [(None, None), (None,), (None,)]


@back_many.kernel
def _(serialized_sparse, dtype):
    if serialized_sparse.ndim != 2 or serialized_sparse.shape[1] != 3 or not len(serialized_sparse):
        raise ValueError(f"Serialized sparse should be a matrix with 3 columns, got {list(serialized_sparse.shape)}")
    return _join_rows(serialized_sparse, serialized_sparse.shape[:1], dtype)


@back.kernel
def _(serialized_sparse, dtype):
    if not serialized_sparse.ndim or serialized_sparse.shape[-1] != 3 or not serialized_sparse.size:
        raise ValueError(f"Serialized sparse should have 3 as the last dimension, got {list(serialized_sparse.shape)}")
    if serialized_sparse.ndim == 1:
        parts = zip(serialized_sparse, (torch.int64, dtype, torch.int64), strict=True)
        return tuple(unpack(data, part_dtype) for data, part_dtype in parts)
    return _join_rows(serialized_sparse.reshape(-1, 3), serialized_sparse.shape[:-1], dtype)
