"""Embeddings of sparse ids: the rows of each example's ids combined into one (tf.nn)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shape import unknown_shape
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library.network.embedding import embedding_lookup
from headrace.library.numeric.division import div
from headrace.library.numeric.math import cast, greater, greater_equal, pow, sqrt
from headrace.library.numeric.reduction import reduce_prod
from headrace.library.numeric.segment import segment_sum, sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from headrace.library.scope import name_scope
from headrace.library.sparse.tensor import sparse_fill_empty_rows, sparse_reshape, sparse_retain
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, unique, where
from headrace.library.tensor.slicing import slice

_COMBINERS = ("mean", "sqrtn", "sum")
_PLAIN = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod", name: str | None = None,
    combiner: str | None = None, max_norm: Any = None,
) -> Tensor:  # fmt: skip
    """For each row of ``sp_ids``: the sum, mean, or sum over the square root of the squared weights' sum of its embeddings.

    ``sp_weights`` (None: all 1) holds one weight for each id.  Every row needs an id; see
    ``safe_embedding_lookup_sparse`` otherwise.

    Args:
      params: A tensor or variable [rows, ...], a list of its shards, or a partitioned variable.
      sp_ids: A `tf.SparseTensor` [batch, ids] of int32 or int64.
      sp_weights: A `tf.SparseTensor` with the indices of `sp_ids`: the weight of each id; None for 1.
      partition_strategy: How several shards hold the rows: 'mod' or 'div'.
      name: A name for the op.
      combiner: 'mean', 'sqrtn' or 'sum'; None is 'mean'.
      max_norm: The largest Euclidean norm of an embedding; None for no limit.

    Returns:
      A tensor [batch, ...] with the shape of an embedding for the rest.

    >>> ids = tf.SparseTensor([[0, 0], [0, 1]], [0, 2], [1, 2])
    >>> table = tf.constant([[1.0], [2.0], [3.0]])
    >>> tf.Session().run(tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum")).tolist()
    [[4.0]]
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    tables = _tables(params, "params")
    ids_sparse = _sparse(sp_ids, "sp_ids")
    weights_sparse = None if sp_weights is None else _sparse(sp_weights, "sp_weights")
    if weights_sparse is not None:
        ids_sparse.values.shape.assert_is_compatible_with(weights_sparse.values.shape)
        ids_sparse.indices.shape.assert_is_compatible_with(weights_sparse.indices.shape)
        ids_sparse.dense_shape.shape.assert_is_compatible_with(weights_sparse.dense_shape.shape)
    with name_scope(name, "embedding_lookup_sparse", [*tables, ids_sparse]) as scope:
        rows = cast(ids_sparse.indices[:, 0], dtypes.int32)
        ids, places = unique(ids_sparse.values)
        embeddings = embedding_lookup(tables, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if embeddings.dtype in (dtypes.float16, dtypes.bfloat16):
            embeddings = cast(embeddings, dtypes.float32)
        if weights_sparse is None:
            return _PLAIN[combiner](embeddings, places, rows, name=scope)
        weights = weights_sparse.values
        if weights.dtype != embeddings.dtype:
            weights = cast(weights, embeddings.dtype)
        return _combine(gather(embeddings, places), weights, rows, combiner, scope)


def _combine(embeddings: Tensor, weights: Tensor, rows: Tensor, combiner: str, scope: str) -> Tensor:
    static = weights.shape
    ones = creation.fill(array.expand_dims(array.rank(embeddings) - 1, 0), 1)
    weights = array.reshape(weights, array.concat([array.shape(weights), ones], 0))
    if embeddings.shape.ndims is not None:
        weights.set_shape(static.concatenate([1] * (embeddings.shape.ndims - 1)))
    weighted = embeddings * weights
    if combiner == "sum":
        return segment_sum(weighted, rows, name=scope)
    total = segment_sum(weighted, rows)
    if combiner == "mean":
        return div(total, segment_sum(weights, rows), name=scope)
    return div(total, sqrt(segment_sum(pow(weights, 2), rows)), name=scope)


def _tables(params: Any, what: str) -> list[Any]:
    if params is None:
        raise ValueError(f"{what} must be specified")
    tables = list(params) if isinstance(params, (list, tuple, PartitionedVariable)) else [params]
    if not tables:
        raise ValueError(f"Missing {what} {params}.")
    return tables


def _sparse(value: Any, what: str) -> SparseTensor:
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        raise TypeError(f"{what} must be SparseTensor, got {type(value).__name__}")
    return SparseTensor.from_value(value)


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean",
    default_id: int | None = None, name: str | None = None, partition_strategy: str = "div", max_norm: Any = None,
) -> Tensor:  # fmt: skip
    """``embedding_lookup_sparse`` that leaves out negative ids and weights that are not positive.

    A row without ids gets the embedding of ``default_id``, or zeros.  ``sparse_ids`` may have more than two dimensions;
    the last one is combined.

    Args:
      embedding_weights: A tensor or variable [rows, dim], a list of its shards, or a partitioned variable.
      sparse_ids: A `tf.SparseTensor` [..., ids] of int32 or int64.
      sparse_weights: A `tf.SparseTensor` with the indices of `sparse_ids`: the weight of each id; None for 1.
      combiner: 'mean', 'sqrtn' or 'sum'. With 'sum', weights of any sign count.
      default_id: The id for rows without ids; None gives them zeros.
      name: A name for the op.
      partition_strategy: How several shards hold the rows: 'mod' or 'div'.
      max_norm: The largest Euclidean norm of an embedding; None for no limit.

    Returns:
      A tensor [..., dim].

    >>> ids = tf.SparseTensor([[0, 0]], [1], [2, 1])
    >>> table = tf.constant([[1.0], [2.0], [3.0]])
    >>> tf.Session().run(tf.nn.safe_embedding_lookup_sparse(table, ids)).tolist()
    [[2.0], [0.0]]
    """
    tables = _tables(embedding_weights, "embedding_weights")
    ids = _sparse(sparse_ids, "sparse_ids")
    weights = None if sparse_weights is None else _sparse(sparse_weights, "sparse_weights")
    with name_scope(name, "embedding_lookup", [*tables, ids]) as scope:
        original = ids.dense_shape
        static_rank = original.shape[0].value
        rank: Any = array.size(original) if static_rank is None else static_rank
        rows = reduce_prod(slice(original, [0], [rank - 1]))
        ids = sparse_reshape(ids, array.stack([rows, gather(original, rank - 1)]))
        if weights is not None:
            weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
        ids, weights = _without_invalid_ids(ids, weights)
        if combiner != "sum":
            ids, weights = _without_invalid_weights(ids, weights)
        ids, empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        combined = embedding_lookup_sparse(
            tables, ids, weights, combiner=combiner, partition_strategy=partition_strategy,
            name=None if default_id is None else scope, max_norm=max_norm,
        )  # fmt: skip
        if default_id is None:
            columns = array.stack([1, array.shape(combined)[1]])
            blank = array.tile(array.reshape(empty, [-1, 1]), columns)
            combined = where(blank, creation.zeros_like(combined), combined, name=scope)
        lead = slice(cast(original, dtypes.int32), [0], [rank - 1])
        result = array.reshape(combined, array.concat([lead, slice(array.shape(combined), [1], [-1])], 0))
        lead_shape = unknown_shape(None if static_rank is None else static_rank - 1)
        result.set_shape(lead_shape.concatenate(combined.shape[1:]))
        return result


def _without_invalid_ids(ids: SparseTensor, weights: SparseTensor | None) -> tuple[SparseTensor, SparseTensor | None]:
    valid = greater_equal(ids.values, 0)
    if weights is not None:
        return sparse_retain(ids, valid), sparse_retain(weights, valid)
    return sparse_retain(ids, valid), None


def _without_invalid_weights(
    ids: SparseTensor, weights: SparseTensor | None
) -> tuple[SparseTensor, SparseTensor | None]:
    if weights is None:
        return ids, None
    valid = greater(weights.values, 0)
    return sparse_retain(ids, valid), sparse_retain(weights, valid)
