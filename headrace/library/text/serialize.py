"""Tensors and sparse tensors as strings, and back (tf.serialize_tensor, tf.serialize_sparse ...)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.sparse.tensor import as_sparse


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """The tensor as an encoded TensorProto."""
    return raw_ops.SerializeTensor(tensor, name=name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor in an encoded TensorProto; ``out_type`` must be its dtype."""
    return raw_ops.ParseTensor(serialized, out_type, name=name)


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """A sparse tensor as three strings."""
    sp = as_sparse(sp_input)
    return raw_ops.SerializeSparse(sp.indices, sp.values, sp.dense_shape, out_type, name=name)


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """Each row of a sparse tensor as three strings."""
    sp = as_sparse(sp_input)
    return raw_ops.SerializeManySparse(sp.indices, sp.values, sp.dense_shape, out_type, name=name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensors of a batch as one, with the batch as its first dimension."""
    indices, values, shape = raw_ops.DeserializeManySparse(serialized_sparse, dtype, name=name)
    indices.set_shape([None, None if rank is None else rank + 1])
    shape.set_shape([None if rank is None else rank + 1])
    return SparseTensor(indices, values, shape)
