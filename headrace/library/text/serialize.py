"""Tensors and sparse tensors as strings, and back (tf.serialize_tensor, tf.serialize_sparse ...)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.sparse.tensor import as_sparse


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """The tensor as an encoded TensorProto.

    Args:
      tensor: A tensor of any type and shape.
      name: A name for the op.

    Returns:
      A scalar string.

    >>> tf.Session().run(tf.parse_tensor(tf.serialize_tensor([1, 2]), tf.int32)).tolist()
    [1, 2]
    """
    return raw_ops.SerializeTensor(tensor, name=name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor in an encoded TensorProto; ``out_type`` must be its dtype.

    Args:
      serialized: A scalar string, as `tf.serialize_tensor` gives it.
      out_type: The type of the tensor in it.
      name: A name for the op.

    Returns:
      A tensor of `out_type`, whose shape is known only when it runs.

    >>> tf.Session().run(tf.parse_tensor(tf.serialize_tensor([1, 2]), tf.int32)).tolist()
    [1, 2]
    """
    return raw_ops.ParseTensor(serialized, out_type, name=name)


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """A sparse tensor as three strings.

    Args:
      sp_input: A `tf.SparseTensor`.
      name: A name for the op.
      out_type: Only `tf.string`.

    Returns:
      A vector of three strings: indices, values and shape.

    >>> tf.Session().run(tf.serialize_sparse(tf.SparseTensor([[0]], [7], [2]))).shape
    (3,)
    """
    sp = as_sparse(sp_input)
    return raw_ops.SerializeSparse(sp.indices, sp.values, sp.dense_shape, out_type, name=name)


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """Each row of a sparse tensor as three strings.

    Args:
      sp_input: A `tf.SparseTensor` of rank 2 or more; the first dimension is that of the rows.
      name: A name for the op.
      out_type: Only `tf.string`.

    Returns:
      A matrix of strings [rows, 3].

    >>> tf.Session().run(tf.serialize_many_sparse(tf.SparseTensor([[0, 1]], [7], [2, 3]))).shape
    (2, 3)
    """
    sp = as_sparse(sp_input)
    return raw_ops.SerializeManySparse(sp.indices, sp.values, sp.dense_shape, out_type, name=name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensors of a batch as one, with the batch as its first dimension.

    Args:
      serialized_sparse: A matrix of strings [batch, 3], as `tf.serialize_many_sparse` gives it.
      dtype: The type of the values.
      rank: The rank of each sparse tensor, without the batch; None if it is not known.
      name: A name for the op.

    Returns:
      A `tf.SparseTensor` of `dtype`, large enough for all.

    >>> rows = tf.serialize_many_sparse(tf.SparseTensor([[0, 1]], [7], [2, 3]))
    >>> tf.Session().run(tf.deserialize_many_sparse(rows, tf.int32)).indices.tolist()
    [[0, 1]]
    """
    indices, values, shape = raw_ops.DeserializeManySparse(serialized_sparse, dtype, name=name)
    indices.set_shape([None, None if rank is None else rank + 1])
    shape.set_shape([None if rank is None else rank + 1])
    return SparseTensor(indices, values, shape)
