"""Combinations of the values of several sparse or dense features (tf.sparse.cross)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import SparseTensor

_HASH_KEY = 0xDECAFCAFFE


def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """Every combination of one value from each input, row by row, joined as text: "a_X_b".

    Inputs are sparse or dense matrices of strings or integers; in a combination the values of sparse ones come first.

    Args:
      inputs: A list of `SparseTensor`s and dense tensors, each with a row for each example.
      name: A name for the op.

    Returns:
      A `SparseTensor` of strings, with a row for each row of the inputs.

    >>> a, b = tf.constant([["x", "y"]]), tf.constant([[1, 2]], tf.int64)
    >>> tf.Session().run(tf.sparse.cross([a, b])).values
    array([b'x_X_1', b'x_X_2', b'y_X_1', b'y_X_2'], dtype=object)
    """
    return _crossed(inputs, False, 0, _HASH_KEY, name)


def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """`cross` with a bucket, 0 to `num_buckets` (or any int64), for each combination.

    Args:
      inputs: A list of `SparseTensor`s and dense tensors of strings or integers, each with a row for each example.
      num_buckets: How many buckets; 0 gives the hash itself, an int64.
      hash_key: An integer that changes the hash; None for the usual one.
      name: A name for the op.

    Returns:
      A `SparseTensor` of int64, with a row for each row of the inputs.

    >>> a, b = tf.constant([["x", "y"]]), tf.constant([["z"]])
    >>> tf.Session().run(tf.sparse.cross_hashed([a, b], num_buckets=100)).values.shape
    (2,)
    """
    return _crossed(inputs, True, num_buckets, _HASH_KEY if hash_key is None else hash_key, name)


def _crossed(inputs: Any, hashed: bool, num_buckets: int, hash_key: int, name: str | None) -> SparseTensor:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Inputs must be a list, got {type(inputs).__name__}")
    sparse = [i for i in inputs if isinstance(i, SparseTensor)]
    dense: list[Any] = [convert_to_tensor(i) for i in inputs if not isinstance(i, SparseTensor)]
    features: list[Any] = [*sparse, *dense]
    words = any(i.dtype.base_dtype == dtypes.string for i in features)
    values = [_whole(s.values) for s in sparse]
    parts = raw_ops.SparseCross(
        [s.indices for s in sparse], values, [s.dense_shape for s in sparse], [_whole(d) for d in dense],
        hashed_output=hashed, num_buckets=num_buckets, hash_key=hash_key,
        out_type=dtypes.int64 if hashed else dtypes.string,
        internal_type=dtypes.string if words or not hashed else dtypes.int64, name=name,
    )  # fmt: skip
    return SparseTensor(*parts)


def _whole(values: Any) -> Any:
    """Integers as int64; strings as they are."""
    dtype = values.dtype.base_dtype
    if dtype == dtypes.string or dtype == dtypes.int64:
        return values
    if not dtype.is_integer:
        raise TypeError(f"Inputs must be integers or strings, got {dtype.name}")
    return raw_ops.Cast(values, DstT=dtypes.int64)
