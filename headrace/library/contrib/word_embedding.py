"""contrib.layers for words: bags of words, dense ids as sparse ones, and tables of hashed numbers in place of embeddings."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.contrib import outputs as collecting
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.contrib.variables import model_variable
from headrace.library.network.embedding import embedding_lookup
from headrace.library.network.embedding_sparse import embedding_lookup_sparse
from headrace.library.network.embedding_sparse import safe_embedding_lookup_sparse as safe_lookup
from headrace.library.numeric import division, math, reduction
from headrace.library.numeric.segment import segment_sum
from headrace.library.scope import name_scope
from headrace.library.sparse.cross import sparse_cross_hashed
from headrace.library.sparse.tensor import sparse_fill_empty_rows
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, gather_nd, unique, where

_HASH_KEY = 0xDECAFCAFFE


@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> SparseTensor:
    """The elements that are not ``eos_token`` as a sparse tensor.

    Args:
      tensor: A tensor.
      eos_token: The value to leave out.
      outputs_collections: The collections to add the output to; None for none.
      scope: The variable scope, or its name; None for `dense_to_sparse`.

    Returns:
      A `tf.SparseTensor`.

    >>> tf.Session().run(tf.contrib.layers.dense_to_sparse([[1, 2, 0]])).values
    array([1, 2], dtype=int32)
    """
    with variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = convert_to_tensor(tensor)
        indices = where(math.not_equal(tensor, convert_to_tensor(eos_token, tensor.dtype)))
        sparse = SparseTensor(indices, gather_nd(tensor, indices), array.shape(tensor, out_type=dtypes.int64))
        return collecting.collect_named_outputs(outputs_collections, sc.name, sparse)


def bow_encoder(
    ids: Any, vocab_size: int, embed_dim: int, sparse_lookup: bool = True, initializer: Any = None,
    regularizer: Any = None, trainable: bool = True, scope: Any = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """The mean of the embeddings of each example's words.

    Args:
      ids: The numbers of words: a tensor [batch, words], or a sparse one.
      vocab_size: The number of words.
      embed_dim: The length of an embedding.
      sparse_lookup: Whether zeros are left out of dense `ids`; if False they are words.
      initializer: What the embeddings start from; None for the initializer of the variable scope.
      regularizer: A function from the embeddings to a loss, which is collected; None for none.
      trainable: Whether the embeddings are trained.
      scope: The variable scope, or its name; None for `bow_encoder`.
      reuse: True to use embeddings that exist.

    Returns:
      A tensor [batch, embed_dim].

    >>> tf.contrib.layers.bow_encoder([[1, 2, 0], [3, 0, 0]], vocab_size=10, embed_dim=4).shape.as_list()
    [2, 4]
    """
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings", shape=[vocab_size, embed_dim], initializer=initializer, regularizer=regularizer,
            trainable=trainable,
        )  # fmt: skip
        if isinstance(ids, SparseTensor):
            if not sparse_lookup:
                raise TypeError(f"ids are expected to be dense Tensor, got: {ids} {at()}")
            return embedding_lookup_sparse(embeddings, ids, None, combiner="mean")
        if not sparse_lookup:
            return reduction.reduce_mean(embedding_lookup(embeddings, ids), axis=1)
        dense = convert_to_tensor(ids)
        means = embedding_lookup_sparse(embeddings, dense_to_sparse(dense, scope="ids"), None, combiner="mean")
        means.set_shape([dense.shape[0], embed_dim])
        return means


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: Any = None, combiner: str | None = None,
    default_id: int | None = None, name: str | None = None, partition_strategy: str = "div", max_norm: Any = None,
) -> Tensor:  # fmt: skip
    """The combined embeddings of each row of ids; `tf.nn.safe_embedding_lookup_sparse`.

    Args:
      embedding_weights: A tensor or variable [rows, dim], a list of its shards, or a partitioned variable.
      sparse_ids: A `tf.SparseTensor` [..., ids] of integers; negative ones are left out.
      sparse_weights: A `tf.SparseTensor` with the weight of each id; None for 1.
      combiner: "mean", "sqrtn" or "sum"; None for "mean".
      default_id: The id for rows without ids; None gives them zeros.
      name: A name for the op.
      partition_strategy: How several shards hold the rows: "mod" or "div".
      max_norm: The largest norm of an embedding; None for no limit.

    Returns:
      A tensor [..., dim].

    >>> ids = tf.SparseTensor([[0, 0]], [1], [2, 1])
    >>> tf.Session().run(tf.contrib.layers.safe_embedding_lookup_sparse(tf.constant([[1.0], [2.0]]), ids)).tolist()
    [[2.0], [0.0]]
    """
    return safe_lookup(
        embedding_weights, sparse_ids, sparse_weights, combiner or "mean", default_id, name, partition_strategy,
        max_norm,
    )  # fmt: skip


def _parts(params: Any) -> tuple[list[Any], int]:
    """The shards of a vector of numbers, and how many numbers they are."""
    parts = list(params) if isinstance(params, (list, tuple, PartitionedVariable)) else [params]
    if not parts:
        raise ValueError(f"Missing params: {params!r} {at()}")
    for part in parts:
        if part.shape.ndims != 1 or not part.shape.is_fully_defined():
            raise ValueError(
                f"params of a scattered lookup must be vectors of known length, got shape {part.shape} {at()}"
            )
    return parts, sum(part.shape[0].value for part in parts)


def scattered_embedding_lookup(
    params: Any, values: Any, dimension: int, name: str | None = None, hash_key: int | None = None
) -> Tensor:
    """Embeddings whose numbers are taken from one vector, at places that are hashes of the value and the dimension.

    Args:
      params: The vector, or a list of its shards.
      values: A tensor of strings or integers.
      dimension: The length of an embedding.
      name: A name for the op.
      hash_key: A number that makes another hash; None for the usual one.

    Returns:
      A tensor of the shape of `values` with one more axis, of size `dimension`.

    >>> tf.contrib.layers.scattered_embedding_lookup(tf.zeros([100]), ["a", "b"], dimension=5).shape.as_list()
    [2, 5]
    """
    if not isinstance(dimension, int) or dimension <= 0:
        raise ValueError(f"Dimension should be > 0, got {dimension!r} {at()}")
    parts, total = _parts(params)
    with name_scope(name, "scattered_embedding_lookup", [*parts, values]):
        values = convert_to_tensor(values)
        if values.dtype != dtypes.string:
            values = math.cast(values, dtypes.int64)
        column = array.reshape(values, [-1, 1])
        count: Any = array.shape(column)[0]
        pairs = array.reshape(array.tile(column, [1, dimension]), [-1, 1])
        places = array.tile(creation.range(dimension, dtype=dtypes.int64), [count])
        crossed = sparse_cross_hashed([array.expand_dims(places, 1), pairs], total, hash_key or _HASH_KEY)
        numbers = embedding_lookup(parts, crossed.values, partition_strategy="div")
        result = array.reshape(numbers, array.concat([array.shape(values), [dimension]], 0))
        result.set_shape([*values.shape, dimension] if values.shape.ndims is not None else None)
        return result


def scattered_embedding_lookup_sparse(
    params: Any, sparse_values: SparseTensor, dimension: int, combiner: str | None = None, default_value: Any = None,
    name: str | None = None, hash_key: int | None = None,
) -> Tensor:  # fmt: skip
    """The combined scattered embeddings of each row of values.

    Args:
      params: The vector, or a list of its shards.
      sparse_values: A `tf.SparseTensor` [rows, values] of strings or integers.
      dimension: The length of an embedding.
      combiner: "mean", "sqrtn" or "sum"; None for "mean".
      default_value: The value of rows without any; None for "" or 0.
      name: A name for the op.
      hash_key: A number that makes another hash; None for the usual one.

    Returns:
      A tensor [rows, dimension].

    >>> words = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "a"], [2, 2])
    >>> tf.contrib.layers.scattered_embedding_lookup_sparse(tf.zeros([100]), words, dimension=5).shape.as_list()
    [None, 5]
    """
    if not isinstance(sparse_values, SparseTensor):
        raise TypeError(f"sparse_values must be SparseTensor, got {type(sparse_values).__name__} {at()}")
    with name_scope(name, "scattered_sparse_lookup", [sparse_values]):
        if default_value is None:
            default_value = "" if sparse_values.dtype == dtypes.string else 0
        filled, _ = sparse_fill_empty_rows(sparse_values, default_value)
        different, places = unique(filled.values)
        embeddings = scattered_embedding_lookup(params, different, dimension, hash_key=hash_key)
        rows = filled.indices[:, 0]
        each = gather(embeddings, places)
        total = segment_sum(each, rows)
        if combiner == "sum":
            return total
        counts = segment_sum(creation.ones_like(math.cast(places, total.dtype)), rows)
        if combiner == "sqrtn":
            counts = math.sqrt(counts)
        elif combiner not in (None, "mean"):
            raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r} {at()}")
        return division.divide(total, array.expand_dims(counts, 1))
