"""Sets: each row of a tensor is one.  SetSize and the operations on two.  Runs on the host.

A set is the values along the last dimension; those before it number the sets.  Results are sparse, values in order.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.registry import op
from headrace.core.wording import in_brackets
from headrace.ops.shared.sparse_entry import check_inside, check_parts, entries, static_rank
from headrace.ops.shared.string_array import array_of
from headrace.resources.calling.value import from_numpy

VALUES = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string)
_OPERATIONS = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _operation(name):
    operation = _OPERATIONS.get(name.lower())
    if operation is None:
        raise ValueError(f"Invalid set_operation {name!r}; one of {', '.join(_OPERATIONS)} is accepted")
    return operation


def _listed(values):
    return values.reshape(-1).tolist()


def _dense_sets(values):
    """-> the shape that numbers the sets, and each set that has values, by its place."""
    if values.ndim < 2:
        raise ValueError(f"Shape {list(values.shape)} has rank {values.ndim} < 2: sets need at least 2 dimensions")
    shape = tuple(values.shape[:-1])
    width = values.shape[-1]
    items = _listed(values)
    places = np.ndindex(*shape)
    return shape, {place: set(items[i * width : (i + 1) * width]) for i, place in enumerate(places)}


def _sparse_sets(indices, values, shape, validate):
    if isinstance(values, torch.Tensor):
        check_parts(indices, values, shape)
    if len(shape) < 2:
        raise ValueError(f"Shape {list(shape)} has rank {len(shape)} < 2: sets need at least 2 dimensions")
    if validate:
        check_inside(indices, shape)
        _check_order(indices)
    sets = {}
    for place, item in zip(indices[:, :-1].tolist(), _listed(values), strict=True):
        sets.setdefault(tuple(place), set()).add(item)
    return tuple(int(d) for d in shape[:-1]), sets


def _check_order(indices):
    rows = indices.tolist()
    for i, (before, after) in enumerate(zip(rows, rows[1:], strict=False)):
        if after <= before:
            wrong = "repeated" if after == before else "out of order. Many sparse ops require sorted indices"
            raise ValueError(f"indices[{i + 1}] = {in_brackets(after)} is {wrong}.")


def _combined(first, second, operation, like):
    (shape, a), (other, b) = first, second
    if shape != other:
        raise ValueError(f"Mismatched shapes {in_brackets(shape)} vs {in_brackets(other)}")
    work = _operation(operation)
    places, values, longest = [], [], 0
    for place in sorted({*a, *b}):
        members = sorted(work(a.get(place, set()), b.get(place, set())))
        longest = max(longest, len(members))
        places += [(*place, i) for i in range(len(members))]
        values += members
    indices = torch.tensor(places, dtype=torch.int64).reshape(len(places), len(shape) + 1)
    return indices, _as_values(values, like), torch.tensor([*shape, longest], dtype=torch.int64)


def _as_values(values, like):
    if isinstance(like, np.ndarray):
        return array_of(values)
    return from_numpy(np.array(values, dtype=np.dtype(str(like.dtype).removeprefix("torch."))))


def _static(indices, values, shape):
    """The rank of sparse sets, as far as it is known; ValueError if their parts do not belong together."""
    return static_rank(entries(indices, values)[1], shape)


def _result(rank):
    return [(None, rank), (None,), (rank,)]


_OUT = "(result_indices: int64, result_values: T, result_shape: int64)"
_ATTRS = "set_operation: string, validate_indices: bool = True"
_TRAITS = {"T": VALUES, "host": True, "dynamic_shape": True}

size = op(
    "SetSize(set_indices: int64[2], set_values: T[1], set_shape: host int64[1]; validate_indices: bool = True) -> (size: int32)",
    T=VALUES, host=True, dynamic_shape=True,
)  # fmt: skip
size.shape(lambda indices, values, shape, validate: None)  # TensorFlow does not say it, and programs check that


@size.kernel
def _(set_indices, set_values, set_shape, validate_indices):
    shape, sets = _sparse_sets(set_indices, set_values, set_shape, validate_indices)
    counts = np.zeros(shape, np.int32)
    for place, members in sets.items():
        counts[place] = len(members)
    return from_numpy(counts)


dense_dense = op(f"DenseToDenseSetOperation(set1: T[2+], set2: T[2+]; {_ATTRS}) -> {_OUT}", **_TRAITS)


@dense_dense.shape
def _(set1, set2, set_operation, validate_indices):
    _operation(set_operation)
    rank = set1.with_rank_at_least(2).ndims
    other = set2.with_rank_at_least(2).ndims
    if None not in (rank, other):
        if rank != other:
            raise ValueError(f"Shape must be rank {rank} but is rank {other}")
        set1[:-1].merge_with(set2[:-1])
    return _result(rank if rank is not None else other)


@dense_dense.kernel
def _(set1, set2, set_operation, validate_indices):
    return _combined(_dense_sets(set1), _dense_sets(set2), set_operation, set1)


dense_sparse = op(
    f"DenseToSparseSetOperation(set1: T[2+], set2_indices: int64[2], set2_values: T[1], "
    f"set2_shape: host int64[1]; {_ATTRS}) -> {_OUT}",
    **_TRAITS,
)


@dense_sparse.shape
def _(set1, set2_indices, set2_values, set2_shape, set_operation, validate_indices):
    _operation(set_operation)
    rank = _static(set2_indices, set2_values, set2_shape)
    if None not in (set1.ndims, rank) and set1.ndims != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {set1.ndims}: both sets need the same rank")
    return _result(set1.ndims if set1.ndims is not None else rank)


@dense_sparse.kernel
def _(set1, set2_indices, set2_values, set2_shape, set_operation, validate_indices):
    second = _sparse_sets(set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(_dense_sets(set1), second, set_operation, set1)


sparse_sparse = op(
    "SparseToSparseSetOperation(set1_indices: int64[2], set1_values: T[1], set1_shape: host int64[1], set2_indices: int64[2], "
    f"set2_values: T[1], "
    f"set2_shape: host int64[1]; {_ATTRS}) -> {_OUT}",
    **_TRAITS,
)


@sparse_sparse.shape
def _(indices1, values1, shape1, indices2, values2, shape2, set_operation, validate_indices):
    _operation(set_operation)
    rank, other = _static(indices1, values1, shape1), _static(indices2, values2, shape2)
    if None not in (rank, other) and rank != other:
        raise ValueError(f"Shape must be rank {rank} but is rank {other}: both sets need the same rank")
    return _result(rank if rank is not None else other)


@sparse_sparse.kernel
def _(indices1, values1, shape1, indices2, values2, shape2, set_operation, validate_indices):
    first = _sparse_sets(indices1, values1, shape1, validate_indices)
    return _combined(first, _sparse_sets(indices2, values2, shape2, validate_indices), set_operation, values1)
