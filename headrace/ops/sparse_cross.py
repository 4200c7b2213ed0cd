"""Crossed features: every combination of one value from each input, row by row (SparseCross).  Runs on the host."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from headrace.core import dtypes
from headrace.core.registry import op
from headrace.ops.shared.refuse import expect_inside, expect_shape
from headrace.ops.shared.string_array import array_of, fingerprint64

_VALUES = (dtypes.int64, dtypes.string)
_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def _mixed(value):
    return value ^ (value >> 47)


def _chained(one, other):
    """Two 64-bit fingerprints combined into one."""
    fingerprint = one ^ _MULTIPLIER
    fingerprint ^= _mixed(other * _MULTIPLIER & _MASK) * _MULTIPLIER & _MASK
    fingerprint = fingerprint * _MULTIPLIER & _MASK
    return _mixed(_mixed(fingerprint) * _MULTIPLIER & _MASK)


def _sparse_rows(indices, values, batch):
    rows = [[] for _ in range(batch)]
    if indices.ndim != 2 or indices.shape[1] != 2 or indices.shape[0] != len(values):
        raise ValueError(
            f"Expected size of values to be {indices.shape[0]} and indices of 2 columns, got values of shape "
            f"{list(values.shape)} and indices of shape {list(indices.shape)}"
        )
    expect_inside("indices", indices[:, 0], batch)
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        rows[row].append(value)
    return rows


def _text(value):
    return value if isinstance(value, bytes) else str(value).encode()


def _number(value):
    return fingerprint64(value) if isinstance(value, bytes) else value & _MASK


cross = op(
    "SparseCross(indices: N*int64[2], values: list(sparse_types)[1], shapes: N*int64[1], dense_inputs: list(dense_types)[2]; "
    "hashed_output: bool, num_buckets: int, hash_key: int, out_type: type, internal_type: type) "
    "-> (output_indices: int64, output_values: out_type, output_shape: int64)",
    sparse_types=_VALUES, dense_types=_VALUES, out_type=_VALUES, internal_type=_VALUES, N=0, host=True,
    dynamic_shape=True,
)  # fmt: skip


@cross.shape
def _(indices, values, shapes, dense_inputs, hashed_output, num_buckets, *rest):
    if num_buckets < 0:
        raise ValueError(f"num_buckets must be >= 0, got {num_buckets}")
    for shape in (*indices, *dense_inputs):
        shape.with_rank(2)
    return [(None, 2), (None,), (2,)]


@cross.kernel
def _(indices, values, shapes, dense_inputs, hashed_output, num_buckets, hash_key, out_type, internal_type):
    for s in shapes:
        expect_shape("shapes", s, [2])
    sizes = {int(s[0]) for s in shapes} | {d.shape[0] for d in dense_inputs}
    if len(sizes) > 1:
        raise ValueError(f"Expected the same batch size in every input, got {sorted(sizes)}")
    batch = sizes.pop() if sizes else 0
    columns = [_sparse_rows(i, v, batch) for i, v in zip(indices, values, strict=True)]
    columns += [dense.tolist() for dense in dense_inputs]
    join = _bucket(num_buckets, hash_key) if hashed_output else lambda parts: b"_X_".join(map(_text, parts))
    places, crosses, longest = [], [], 0
    for row in range(batch):
        row_crosses = [join(parts) for parts in itertools.product(*(column[row] for column in columns))]
        places += [(row, i) for i in range(len(row_crosses))]
        crosses += row_crosses
        longest = max(longest, len(row_crosses))
    where = torch.tensor(places, dtype=torch.int64).reshape(len(places), 2)
    out = torch.tensor(crosses, dtype=torch.int64) if hashed_output else array_of(crosses)
    return where, out, torch.tensor([batch, longest])


def _bucket(num_buckets, hash_key):
    """A function that gives the bucket of a combination; without a number of buckets, any positive int64."""
    most = num_buckets or np.iinfo(np.int64).max

    def bucket(parts):
        whole = hash_key & _MASK
        for part in parts:
            whole = _chained(whole, _number(part))
        return whole % most

    return bucket
